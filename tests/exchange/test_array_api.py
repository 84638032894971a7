"""The array API standard, function by function, beside array-api-strict."""

from __future__ import annotations

import functools
import inspect
import json
import re
import warnings
from typing import Any

import array_api_programs as programs
import array_api_strict
import numpy as np
import pytest
from array_api_comparison import failures

import tensorbus
from tensorbus import array_api
from tensorbus._tools import coverage

FIGURES = json.loads(coverage.FIGURES.read_text("utf-8"))
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, np.inf, -np.inf, np.nan, 1e-40, 3e38]


def operands(xp: Any, floats: str, integers: str, device: Any = None) -> dict[str, Any]:
    """The programs' arrays, of ordinary values."""
    rng = np.random.default_rng(7)
    parts = {"float32": "complex64", "float64": "complex128"}[floats]
    made: dict[str, Any] = {}
    for a, b, values in (
        ("f", "g", lambda: rng.uniform(0.1, 0.9, (2, 3)).astype(floats)),
        ("i", "j", lambda: rng.integers(1, 5, (2, 3)).astype(integers)),
        ("b", "c", lambda: rng.random((2, 3)) < 0.5),
        ("z", "w", lambda: (rng.random((2, 3)) + 1j * rng.random((2, 3))).astype(parts)),
    ):
        made[a], made[b] = (xp.asarray(values(), device=device) for _ in range(2))
    half = rng.random((3, 3))
    made["p"] = xp.asarray((half @ half.T + 3 * np.eye(3)).astype(floats), device=device)
    return made


def special(xp: Any, dtype: str) -> dict[str, Any]:
    """Arrays of special values in which each meets each."""
    values = np.array(SPECIAL).astype(dtype)
    return {"f": xp.asarray(values.reshape(-1, 1)), "g": xp.asarray(values.reshape(1, -1))}


@pytest.fixture(autouse=True)
def defaults() -> Any:
    """The reference's default dtype, and silence about NaN and infinity."""
    before = tensorbus.get_default_dtype()
    tensorbus.set_default_dtype(tensorbus.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    tensorbus.set_default_dtype(before)


@pytest.mark.parametrize(("floats", "integers"), [("float64", "int64"), ("float32", "int8")])
def test_every_program_gives_what_the_reference_gives(floats: str, integers: str) -> None:
    assert len(programs.PROGRAMS) > 600
    names = functools.partial(operands, floats=floats, integers=integers)
    assert failures(programs.PROGRAMS, names) == []


def test_the_page_of_coverage_counts_them() -> None:
    called = {n for p in programs.PROGRAMS for n in re.findall(r"xp\.([\w.]+)\(", p)}
    assert FIGURES["functions"] == len(called)
    assert FIGURES["programs"]["cpu"] == [len(programs.PROGRAMS), {}]


@pytest.mark.slow
def test_programs_on_opencl() -> None:
    if "opencl" not in tensorbus.discovery.backend_names():
        pytest.skip("no OpenCL device")
    device = tensorbus.device("opencl")

    def names(xp: Any) -> dict[str, Any]:
        made = operands(array_api_strict, "float32", "int32")
        if xp is array_api_strict:
            return made
        real = {n: np.asarray(x) for n, x in made.items() if n not in "zw"}
        return {n: array_api.asarray(x, device=device) for n, x in real.items()}

    with device:
        found = failures(programs.PROGRAMS, names)
    passed, others = FIGURES["programs"]["opencl"]
    complex_ = [f for f in found if re.search(r"has no complex|name '[zw]'|kind='complex", f)]
    rest = [f for f in found if f not in complex_]
    assert [len(complex_), len(rest)] == list(others.values()), rest
    assert len(programs.PROGRAMS) - len(found) == passed and "DLPack" in rest[0]


def test_unsigned_integers_differ_in_the_dtype_of_sums_alone() -> None:
    """The standard wants uint64, in which nothing computes: PyTorch's int64 stands for it."""
    names = functools.partial(operands, floats="float32", integers="uint8")
    found = failures([p for p in programs.PROGRAMS if "-1, i" not in p], names)
    summed = ("xp.sum(i", "xp.prod(i", "xp.cumulative_sum(i", "xp.cumulative_prod(i", "trace(i")
    assert len(found) > 10
    assert all(any(s in f for s in summed) for f in found), found


def test_isin_inverted() -> None:
    """array-api-strict 2.6 ignores ``invert``."""
    x1, x2 = array_api.asarray([1, 2, 3]), array_api.asarray([2])
    assert array_api.isin(x1, x2, invert=True).tolist() == [True, False, True]


def test_other_devices_compute_where_the_arrays_are() -> None:
    tensorbus.set_default_dtype(tensorbus.float32)
    xp, x = array_api, array_api.asarray([[1.0, 2.0], [3.0, 4.0]], device="strict")
    assert xp.sum(x, axis=0).device == x.device and xp.add(1, x).tolist() == [[2, 3], [4, 5]]
    assert (
        xp.eye(2, device="strict").device
        == xp.take(x, xp.asarray([1], device="strict"), axis=0).device
    )
    info = xp.__array_namespace_info__()
    assert x.device in info.devices() and tensorbus.device("cpu") in info.devices()
    assert info.dtypes(device="strict", kind="integral").keys() >= {"int8", "uint8", "int64"}
    with pytest.raises(RuntimeError, match="same device"):
        xp.add(x, xp.ones((2, 2)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_values(dtype: str) -> None:
    chosen = [p for p in programs.ELEMENTWISE if "(f" in p]
    assert failures(chosen, functools.partial(special, dtype=dtype)) == []


def test_every_name_of_the_standard_is_there() -> None:
    own = {"set_array_api_strict_flags", "get_array_api_strict_flags", "__version__", "Device",
           "reset_array_api_strict_flags", "ArrayAPIStrictFlags"}  # fmt: skip
    for theirs, ours in (
        (array_api_strict, array_api),
        (array_api_strict.linalg, array_api.linalg),
        (array_api_strict.fft, array_api.fft),
    ):
        names = set(theirs.__all__) - own
        assert names <= set(ours.__all__)
        for name in names:
            found = getattr(ours, name)
            if not callable(found) or name == "bool":
                continue
            assert found.__doc__ is not None and signature(found) == signature(
                getattr(theirs, name)
            )
            assert f"{name}(" in str(programs.PROGRAMS) or name == "from_dlpack", name


def signature(function: Any) -> list[tuple[str, Any, Any]]:
    """Parameters by name, kind and default; array-api-strict marks some that are left out."""
    return [
        (p.name, p.kind, None if "Undef" in str(p.default) else p.default)
        for p in inspect.signature(function).parameters.values()
    ]


def test_the_array_object() -> None:
    """What the standard asks of an array itself, beside its operators."""
    x = array_api.asarray([[1.0, 2.0], [3.0, 4.0]], dtype=array_api.float32)
    assert (x.ndim, x.shape, x.device.type, x.dtype) == (2, (2, 2), "cpu", array_api.float32)
    assert x.T.tolist() == x.mT.tolist() == [[1, 3], [2, 4]]
    assert x.to_device(tensorbus.device("strict")).device == tensorbus.device("strict:0")
    for version in array_api.VERSIONS:
        assert x.__array_namespace__(api_version=version) is array_api
    one = array_api.asarray(3)
    assert (int(one), float(one), complex(one), bool(one), one.__index__()) == (3, 3.0, 3, True, 3)
    for convert in (int, float, complex, bool):
        with pytest.raises((TypeError, RuntimeError, ValueError)):
            convert(x)
    with pytest.raises(TypeError):
        x[0, 0].__index__()
    assert [v.tolist() for v in x] == x.tolist()


@pytest.mark.parametrize(("program", "error"), programs.REFUSED)
def test_refusals(program: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        eval(program, {"xp": array_api, **operands(array_api, "float64", "int64")})
