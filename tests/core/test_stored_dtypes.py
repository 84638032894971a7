"""The dtypes for storage: conversions, promotion, what runs on them, and how they travel."""

from __future__ import annotations

import copy
import io
import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus._base import dtypes

UNSIGNED = ("uint16", "uint32", "uint64")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
NAMES = (*UNSIGNED, *FLOAT8, "complex32")

# (fraction bits, exponent's bias, whether infinities exist, whether the one NaN is -0's pattern)
FORMATS = {
    "float8_e4m3fn": (3, 7, False, False), "float8_e5m2": (2, 15, True, False),
    "float8_e4m3fnuz": (3, 8, False, True), "float8_e5m2fnuz": (2, 16, False, True),
}  # fmt: skip


def value_of(bits: int, name: str) -> float:
    """The number that eight bits stand for, by the format's definition."""
    fraction_bits, bias, infinite, unsigned_zero = FORMATS[name]
    exponent = (bits & 0x7F) >> fraction_bits
    fraction = bits & ((1 << fraction_bits) - 1)
    sign = -1.0 if bits & 0x80 else 1.0
    if unsigned_zero and bits == 0x80:
        return math.nan
    if infinite and exponent == 31:
        return math.nan if fraction else sign * math.inf
    if not infinite and not unsigned_zero and bits & 0x7F == 0x7F:
        return math.nan
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - fraction_bits)
    return sign * math.ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits)


def same(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(np.array(got), np.array(want))


@pytest.mark.parametrize("name", FLOAT8)
def test_each_pattern_of_eight_bits_is_its_number(name: str) -> None:
    bits = tensorbus.arange(256, dtype=tensorbus.uint8)
    x = bits.view(getattr(tensorbus, name))
    want = [value_of(b, name) for b in range(256)]
    same(x.tolist(), want)
    same(x.float().numpy(), want)
    back = x.double().to(x.dtype).view(tensorbus.uint8)
    number = [b for b in range(256) if want[b] == want[b]]
    same(back[number].numpy(), number)


@pytest.mark.parametrize("name", FLOAT8)
def test_numbers_go_to_the_nearest_of_eight_bits(name: str) -> None:
    table = [v for b in range(256) if math.isfinite(v := value_of(b, name))]
    points = np.unique(table)
    middles = (points[1:] + points[:-1]) / 2
    even = {value_of(b, name): b % 2 == 0 for b in range(256)}
    ties = [low if even[low] else high for low, high in itertools.pairwise(points)]
    for dtype in (np.float32, np.float64):
        up, down = (np.nextafter(middles.astype(dtype), dtype(to)) for to in (np.inf, -np.inf))
        for given, want in ((middles.astype(dtype), ties), (up, points[1:]), (down, points[:-1])):
            same(tensorbus.from_numpy(given).to(getattr(tensorbus, name)).tolist(), want)


BEYOND = {
    "float8_e4m3fn": [448.0, -448.0, 448.0], "float8_e5m2": [math.inf, -math.inf, math.inf],
    "float8_e4m3fnuz": [math.nan] * 3, "float8_e5m2fnuz": [math.nan] * 3,
}  # fmt: skip


@pytest.mark.parametrize("name", FLOAT8)
def test_what_is_too_large_for_eight_bits(name: str) -> None:
    d = getattr(tensorbus, name)
    same(tensorbus.tensor([1e6, -1e6, math.inf]).to(d).tolist(), BEYOND[name])
    same(tensorbus.zeros(1, dtype=d).fill_(1e6).tolist(), BEYOND[name][:1])
    assert math.isnan(tensorbus.tensor(math.nan).to(d).item())


CASTS = {
    "uint16": [1, 65535, 65535, 4464, 0, 0], "uint32": [1, 2**32 - 1, 2**32 - 1, 70000, 0, 0],
    "uint64": [1, 2**64 - 1, 2**64 - 1, 70000, 2**63, 2**63],
}  # fmt: skip


@pytest.mark.parametrize("name", UNSIGNED)
def test_floats_become_unsigned_by_way_of_int64(name: str) -> None:
    x = tensorbus.tensor([1.9, -1.0, -1.9, 70000.0, math.nan, 2.0**63], dtype=tensorbus.float64)
    d = getattr(tensorbus, name)
    assert x.to(d).tolist() == CASTS[name]
    assert tensorbus.tensor([-1]).to(d).tolist() == [2 ** int(name[4:]) - 1]
    top = tensorbus.iinfo(d).max
    assert tensorbus.tensor([top, 0], dtype=d).tolist() == [top, 0]
    assert tensorbus.tensor([top], dtype=d).double().item() == float(top)


def test_the_largest_unsigned_numbers_keep_their_bits() -> None:
    x = tensorbus.tensor([2**64 - 1, 2**63], dtype=tensorbus.uint64)
    assert x.long().tolist() == [-1, -(2**63)]
    assert x.bfloat16().tolist() == [2.0**64, 2.0**63]
    assert (x * x).tolist() == [1, 0]
    y = tensorbus.from_numpy(np.array([7, 2**32 - 1], np.uint32))
    assert y.dtype is tensorbus.uint32 and y.numpy().dtype == np.uint32


PROMOTED = {
    ("uint16", "float32"): "float32", ("uint64", "bfloat16"): "bfloat16",
    ("complex32", "int64"): "complex32", ("complex32", "float16"): "complex32",
    ("complex32", "bfloat16"): "complex64", ("complex32", "float64"): "complex128",
    ("complex32", "complex64"): "complex64", ("uint8", "complex32"): "complex32",
}  # fmt: skip
REFUSED = {
    ("uint16", "int64"): ("uint16, uint32, uint64", "UInt16 and Long"),
    ("bool", "uint32"): ("uint16, uint32, uint64", "Bool and UInt32"),
    ("uint16", "uint32"): ("uint16, uint32, uint64", "UInt16 and UInt32"),
    ("complex64", "uint64"): ("uint16, uint32, uint64", "ComplexFloat and UInt64"),
    ("float8_e5m2", "float32"): ("Float8", "Float8_e5m2 and Float"),
    ("uint16", "float8_e4m3fn"): ("Float8", "UInt16 and Float8_e4m3fn"),
    ("float8_e4m3fn", "float8_e5m2"): ("Float8", "Float8_e4m3fn and Float8_e5m2"),
}


def test_promotion() -> None:
    for (a, b), want in PROMOTED.items():
        found = tensorbus.promote_types(getattr(tensorbus, a), getattr(tensorbus, b))
        assert found is getattr(tensorbus, want), (a, b)
    for (a, b), words in REFUSED.items():
        with pytest.raises(RuntimeError, match="Promotion for .* is not supported") as caught:
            tensorbus.promote_types(getattr(tensorbus, a), getattr(tensorbus, b))
        assert all(word in str(caught.value) for word in words), (a, b)
    x = tensorbus.ones(2, dtype=tensorbus.uint16)
    assert (x * 2).dtype is tensorbus.uint16 and (x * 1.5).tolist() == [1.5, 1.5]
    assert (x + tensorbus.ones(2)).dtype is tensorbus.float32


REFUSALS = [
    ("uint16", "x + x", "UInt16"), ("uint32", "-x", "UInt32"), ("uint64", "x < x", "UInt64"),
    ("uint16", "x.max()", "UInt16"), ("uint16", "x // x", "UInt16"), ("uint32", "x % 2", "UInt32"),
    ("float8_e4m3fn", "x + x", "Float8_e4m3fn"), ("float8_e5m2", "x.sum()", "Float8_e5m2"),
    ("float8_e5m2", "x.exp()", "Float8_e5m2"), ("float8_e4m3fn", "x.sort()", "Float8_e4m3fn"),
    ("complex32", "x / x", "ComplexHalf"), ("complex32", "x.sum()", "ComplexHalf"),
    ("complex32", "x.exp()", "ComplexHalf"), ("complex32", "x @ x", "ComplexHalf"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "program", "scalar"), REFUSALS)
def test_what_does_not_compute_says_so(name: str, program: str, scalar: str) -> None:
    x = tensorbus.tensor([1, 2, 3]).to(getattr(tensorbus, name))
    with pytest.raises(NotImplementedError, match=f"not implemented for '{scalar}'"):
        eval(program, {"x": x})


RUNS = {
    "x == x.flip(0)": [False, True, False], "torch.cat([x, x[:1]])": [1, 2, 3, 1],
    "x[torch.tensor([2, 0])]": [3, 1], "x[x != x[0]]": [2, 3], "x.roll(1)": [3, 1, 2],
    "torch.where(torch.tensor([True, False, True]), x, x[1])": [1, 2, 3],
    "x.clone().fill_(2)": [2, 2, 2], "x * x[:1]": [1, 2, 3], "torch.zeros_like(x)": [0, 0, 0],
    "x.bool()": [True, True, True], "torch.full((2,), 3, dtype=x.dtype)": [3, 3],
    "x.expand(2, 3).contiguous()[1]": [1, 2, 3], "x.isnan()": [False, False, False],
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_what_moves_and_compares_runs(name: str) -> None:
    x = tensorbus.tensor([1, 2, 3]).to(getattr(tensorbus, name))
    for program, want in RUNS.items():
        assert eval(program, {"torch": tensorbus, "x": x}).tolist() == want, program


def test_half_complex_numbers() -> None:
    x = tensorbus.tensor([1 + 2j, 70000 + 0.1j]).chalf()
    assert x.dtype is tensorbus.complex32 is tensorbus.chalf
    half = float(np.float16(0.1))
    assert x.tolist() == [1 + 2j, complex(math.inf, half)]
    assert x.conj()[0].item() == 1 - 2j and x.abs()[0].dtype is tensorbus.float16
    assert x.real.dtype is tensorbus.float16 and x.imag.tolist() == [2.0, half]
    assert (x[0] * x[0] - x[0]).item() == (1 + 2j) ** 2 - (1 + 2j)
    parts = tensorbus.ones(2, dtype=tensorbus.float16)
    assert tensorbus.complex(parts, parts).dtype is tensorbus.complex32


LIMITS = {
    "float8_e4m3fn": (448.0, 0.125, 2.0**-6), "float8_e5m2": (57344.0, 0.25, 2.0**-14),
    "float8_e4m3fnuz": (240.0, 0.125, 2.0**-7), "float8_e5m2fnuz": (57344.0, 0.25, 2.0**-15),
    "complex32": (65504.0, 2.0**-10, 2.0**-14),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name: str) -> None:
    found = tensorbus.finfo(getattr(tensorbus, name))
    assert (found.max, found.eps, found.tiny) == LIMITS[name] and found.min == -found.max


@pytest.mark.parametrize("name", NAMES)
def test_they_print_and_travel(name: str) -> None:
    d = getattr(tensorbus, name)
    x = tensorbus.tensor([1, 2, 3]).to(d)
    dot = {"u": "", "f": ".", "c": ".+0.j"}[name[0]]
    assert repr(x) == f"tensor([1{dot}, 2{dot}, 3{dot}], dtype=torch.{name})"
    file = io.BytesIO()
    tensorbus.save({"all": x, "part": x[1:]}, file)
    file.seek(0)
    loaded = tensorbus.load(file)
    for got in (loaded["all"], pickle.loads(pickle.dumps(x)), copy.deepcopy(x),
                tensorbus.from_dlpack(x)):  # fmt: skip
        assert got.dtype is d and got.tolist() == [1, 2, 3]
    assert loaded["part"].tolist() == [2, 3]
    assert tensorbus.empty(2, 3, dtype=d, device="meta").t().shape == (3, 2)
    if name not in UNSIGNED:
        with pytest.raises(TypeError, match="Got unsupported ScalarType"):
            x.numpy()


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_files_cross_to_pytorch_and_back(live_torch: Any) -> None:
    for name in NAMES:
        for writer, reader in ((tensorbus, live_torch), (live_torch, tensorbus)):
            file = io.BytesIO()
            writer.save(writer.tensor([1, 2, 3]).to(getattr(writer, name)), file)
            file.seek(0)
            got = reader.load(file)
            assert got.dtype is getattr(reader, name) and got.tolist() == [1, 2, 3]


def test_they_are_apart_from_the_dtypes_that_compute() -> None:
    assert {d.name for d in dtypes.STORED} == set(NAMES)
    assert not set(dtypes.STORED) & set(dtypes.ALL)
