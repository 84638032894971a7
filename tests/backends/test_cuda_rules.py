"""What the ``cuda`` backend does otherwise than its library, run over NumPy: no GPU is needed.

These tests hold the logic of the tables, of fault keeping and of the probe's sentences. They say
nothing about results on a GPU.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import itertools
import math
import sys
import types
from contextlib import nullcontext

import numpy as np
import pytest

import tensorbus_cuda_cupy
from tensorbus._base import dtypes
from tensorbus.plugin import PRIMITIVES, IndexFault
from tensorbus_cuda_cupy.rules import CudaRules

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
RNG = np.random.default_rng(13)
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]


class OnHost(CudaRules):
    """The rules of ``cuda`` with NumPy instead of the GPU's library."""

    name = "cuda rules"
    xp = np


@pytest.fixture
def backend():
    return OnHost()


def kernel(backend, op, name):
    return backend.kernel(op, dtypes.dtype_by_name(name), 0)


# -- the probe -------------------------------------------------------------------------------
def fake_library(count):
    library = types.ModuleType("cupy")
    library.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
    library.__version__ = "14.2.0"
    library.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(getDeviceCount=count))
    return library


def test_a_missing_library_is_named_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"needs CuPy, which is not installed: pip install"):
        tensorbus_cuda_cupy.tensorbus_backend().probe()


def test_a_missing_gpu_is_told_apart_from_a_hidden_one(monkeypatch):
    def no_driver():
        raise RuntimeError("cudaErrorInsufficientDriver")

    probe = tensorbus_cuda_cupy.tensorbus_backend().probe
    monkeypatch.setitem(sys.modules, "cupy", fake_library(no_driver))
    with pytest.raises(RuntimeError, match=r"no usable GPU \(cudaErrorInsufficientDriver\).*smi"):
        probe()
    monkeypatch.setitem(sys.modules, "cupy", fake_library(lambda: 0))
    with pytest.raises(RuntimeError, match="CUDA_VISIBLE_DEVICES"):
        probe()
    monkeypatch.setitem(sys.modules, "cupy", fake_library(lambda: 1))
    assert probe() is None


def test_a_broken_library_says_why(monkeypatch):
    class Broken(importlib.machinery.SourceFileLoader):
        def exec_module(self, module):
            raise OSError("libcudart.so.12: cannot open shared object file")

    spec = importlib.machinery.ModuleSpec("cupy", Broken("cupy", "cupy.py"))

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return spec if name == "cupy" else None

    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    with pytest.raises(RuntimeError, match=r"can't be imported \(libcudart.*driver"):
        tensorbus_cuda_cupy.tensorbus_backend().probe()


# -- faults ----------------------------------------------------------------------------------
def test_faults_wait_for_the_next_read_and_the_first_one_stays(backend):
    x = np.arange(6.0).reshape(2, 3)
    take = kernel(backend, "take", "float64")
    got = take(x, 1, np.array([2, 7, -4]), False)
    assert got.shape == (2, 3) and got[0, 0] == 2
    take(x, 0, np.array([9]), False)
    take(x, 0, np.array([1]), False)
    with pytest.raises(IndexFault) as fault:
        backend.faults.raise_pending(0)
    assert (fault.value.value, fault.value.dim, fault.value.n) == (7, 1, 3)
    backend.faults.raise_pending(0)


@pytest.mark.parametrize("value", [3, -1, 2**62, -(2**63)])
def test_every_index_kernel_records_its_faults(backend, value):
    x, src = np.zeros((3, 2)), np.ones((1, 2))
    i = np.array([value])
    wide = np.broadcast_to(i[:, None], (1, 2))
    for call in (
        lambda: kernel(backend, "take", "float64")(x, 0, i, False),
        lambda: kernel(backend, "gather", "float64")(x, 0, wide),
        lambda: kernel(backend, "put", "float64")(x, 0, i, src, "add", False),
        lambda: kernel(backend, "scatter", "float64")(x, 0, wide, src, "set"),
    ):
        call()
        with pytest.raises(IndexFault) as fault:
            backend.faults.raise_pending(0)
        assert (fault.value.value, fault.value.dim, fault.value.n) == (value, 0, 3)


def test_faults_of_devices_are_apart_and_wrapped_indices_are_none(backend):
    first = backend.faults.checked(0, np.array([[-3, 2], [0, -1]]), 3, 1, True)
    assert first.tolist() == [[0, 2], [0, 2]]
    backend.faults.raise_pending(0)
    backend.faults.checked(1, np.array([-4]), 3, 2, True)
    backend.faults.raise_pending(0)
    with pytest.raises(IndexFault, match="index -4 is out of bounds for dimension 2 with size 3"):
        backend.faults.raise_pending(1)


# -- index kernels ---------------------------------------------------------------------------
OPS = {"set": lambda old, new: new, "add": lambda a, b: a + b, "mul": lambda a, b: a * b,
       "amax": max, "amin": min}  # fmt: skip


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", ["uint8", "int16", "int64", "float16", "float32"])
@pytest.mark.parametrize("dim", [0, 1])
def test_updates_of_every_kind(backend, op, name, dim):
    x = RNG.integers(0, 4, (5, 6)).astype(name)
    index = [3, 1, 0] if op == "set" else [3, 1, 1, 0, 1]
    shape = list(x.shape)
    shape[dim] = len(index)
    src = RNG.integers(0, 4, shape).astype(name)
    line = [1, 1]
    line[dim] = len(index)
    indices = np.broadcast_to(np.array(index).reshape(line), shape)
    want = x.copy()
    for at in np.ndindex(*shape):
        target = list(at)
        target[dim] = index[at[dim]]
        want[tuple(target)] = OPS[op](want[tuple(target)], src[at])
    for layout in ("C", "F"):
        out = x.copy(layout)
        assert kernel(backend, "put", name)(out, dim, np.array(index), src, op, False) is out
        np.testing.assert_array_equal(out, want)
        out = x.copy(layout)
        assert kernel(backend, "scatter", name)(out, dim, indices, src, op) is out
        np.testing.assert_array_equal(out, want)
    gathered = kernel(backend, "gather", name)(want, dim, indices)
    np.testing.assert_array_equal(gathered, want.take(index, dim))
    np.testing.assert_array_equal(
        kernel(backend, "take", name)(want, dim, np.array(index), False), gathered
    )


# -- arithmetic ------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_float_floor_divide_is_pythons(backend, name):
    pool = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -7.25, 1e-3, 100.7, math.inf, -math.inf, math.nan]
    x, y = (m.astype(name) for m in np.meshgrid(pool, pool))
    got = kernel(backend, "floor_divide", name)(x, y)
    assert got.dtype == np.dtype(name)
    for a, b, q in zip(x.ravel(), y.ravel(), got.ravel(), strict=True):
        a, b = float(a), float(b)
        if b == 0:
            want = (
                math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
            )
        elif math.isinf(a) or a != a or b != b:
            want = math.nan
        else:
            want = a // b
        np.testing.assert_array_equal(q, np.array(want, name), f"{a} // {b}")


@pytest.mark.parametrize("name", INTEGERS)
def test_shifts_and_powers_at_the_edges(backend, name):
    info = np.iinfo(name)
    bits = info.bits
    pool = [0, 1, 2, 3, 7, bits - 1, bits, info.max, info.min]
    pool += [-1, -2, -bits] if info.min else []
    x, y = (m.astype(name) for m in np.meshgrid(pool, pool))

    def wrap(v):
        v &= (1 << bits) - 1
        return v - (1 << bits) if info.min and v >> (bits - 1) else v

    def power(a, b):
        return pow(a, b, 1 << 64) if b >= 0 else {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)

    rules = {
        "lshift": lambda a, b: a << b if 0 <= b < bits else 0,
        "rshift": lambda a, b: a >> b if 0 <= b < bits else (0 if a >= 0 else -1),
        "pow": power,
    }
    for op, rule in rules.items():
        want = [
            wrap(rule(a, b)) for a, b in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)
        ]
        got = kernel(backend, op, name)(x, y)
        assert got.dtype == np.dtype(name)
        np.testing.assert_array_equal(got.ravel(), np.array(want, name), op)
        out = x.copy()
        kernel(backend, op, name)(out, y, out=out)
        np.testing.assert_array_equal(out, got)


# -- reductions and order --------------------------------------------------------------------
@pytest.mark.parametrize("name", ["int32", "float16", "float32"])
def test_reductions_scans_and_order(backend, name):
    x = RNG.integers(0, 5, (4, 9)).astype(name)
    own = np.dtype(name)
    for dim in (0, 1):
        for op, function in (("sum", np.sum), ("prod", np.prod)):
            want = function(x.astype(np.float64), axis=dim).astype(name)
            np.testing.assert_array_equal(kernel(backend, op, name)(x, (dim,), own), want)
        for op in ("amax", "amin"):
            np.testing.assert_array_equal(
                kernel(backend, op, name)(x, (dim,)), getattr(np, op)(x, dim)
            )
        for op in ("argmax", "argmin"):
            got = kernel(backend, op, name)(x, dim)
            assert got.dtype == np.int64
            np.testing.assert_array_equal(got, getattr(np, op)(x, dim))
        for op, function in (("cummax", max), ("cummin", min)):
            got = np.moveaxis(kernel(backend, op, name)(x, dim), dim, -1)
            rows = np.moveaxis(x, dim, -1)
            for at in np.ndindex(*rows.shape):
                assert got[at] == function(rows[at[:-1]][: at[-1] + 1].tolist())
        got = kernel(backend, "argsort", name)(x, dim)
        np.testing.assert_array_equal(got, np.argsort(x, dim, kind="stable"))


def test_order_of_zeros_and_nan(backend):
    x = np.array([np.nan, 0.0, -0.0, np.nan, -1.0, 0.0])
    assert kernel(backend, "argsort", "float64")(x, 0).tolist() == [4, 1, 2, 5, 0, 3]
    np.testing.assert_array_equal(
        kernel(backend, "cummax", "float64")(np.array([1, np.nan, 5]), 0), [1, np.nan, np.nan]
    )


def test_every_primitive_is_there(backend):
    for op in PRIMITIVES:
        integral = op.startswith("bitwise") or op in ("lshift", "rshift", "random_bits")
        assert callable(kernel(backend, op, "int64" if integral else "float32")), op


def test_scalars_travel_as_numbers_of_the_dtype(backend):
    for name, value, want in itertools.chain(
        [("float32", 2.5, 2.5), ("uint8", 300, 44), ("int8", -1.75, -1), ("bool", 7, True)]
    ):
        scalar = backend.scalar(value, dtypes.dtype_by_name(name))
        assert isinstance(scalar, np.generic) and scalar.dtype == np.dtype(name) and scalar == want


# -- the backend itself, over a stand-in -----------------------------------------------------
def test_kernels_run_on_their_own_device(monkeypatch):
    entered = []

    class Device(nullcontext):
        def __init__(self, index):
            super().__init__()
            entered.append(index)

    library = types.ModuleType("cupy")
    library.__getattr__ = lambda name: getattr(np, name)
    properties = {"name": b"Stand-in", "totalGlobalMem": 1 << 30, "major": 9, "minor": 0}
    library.cuda = types.SimpleNamespace(
        Device=Device,
        runtime=types.SimpleNamespace(
            getDeviceCount=lambda: 2,
            getDeviceProperties=lambda index: properties,
            runtimeGetVersion=lambda: 12090,
        ),
    )
    monkeypatch.setitem(sys.modules, "cupy", library)
    monkeypatch.delitem(sys.modules, "tensorbus_cuda_cupy.backend", raising=False)
    try:
        backend = tensorbus_cuda_cupy.tensorbus_backend().load()
        found = backend.capabilities(1)
        assert (found.name, found.memory_total) == ("Stand-in", 1 << 30)
        assert found.details["compute capability"] == "9.0"
        assert not backend.traits.host_sync
        add = backend.kernel("add", dtypes.float32, 1)
        assert add(np.ones(2), np.ones(2)).tolist() == [2, 2]
        assert entered == [1]
    finally:
        sys.modules.pop("tensorbus_cuda_cupy.backend", None)
