"""Dtypes for storage where kernels are generated: conversions are the CPU's, bit by bit."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pytest

import tensorbus as torch

UNSIGNED = ("uint16", "uint32", "uint64")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
NAMES = (*UNSIGNED, *FLOAT8)
BITS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


def bits(x: torch.Tensor) -> Any:
    """The bits of each element; of NaN those of one NaN."""
    x = x.cpu()
    if x.is_floating_point():
        nan = x.double().isnan()
        return x.view(getattr(torch, BITS[x.dtype.itemsize])).masked_fill(nan, 127).tolist()
    return x.tolist()


def sources() -> dict[str, torch.Tensor]:
    """Numbers whose conversions are exact, ties, just beside ties, too large and too small."""
    rng = np.random.default_rng(5)
    wide = np.concatenate(
        [
            [
                0.0,
                -0.0,
                1e-45,
                1e9,
                -1e9,
                65504,
                447.9,
                448,
                464,
                465,
                240,
                248,
                57344,
                61439,
                61440,
            ],
            np.ldexp(rng.uniform(-2, 2, 400), rng.integers(-20, 18, 400)),
            *[
                np.ldexp(np.arange(64.0) / 32 + beside, e)
                for e in (-18, -8, 0, 7)
                for beside in (0, 1e-12, -1e-12)
            ],
        ]
    )
    whole = np.concatenate([np.arange(-40, 600), [2**16 + 1, 2**40 + 1, 2**62, -(2**62)]])
    made = {"float64": torch.tensor(wide), "float32": torch.tensor(wide).float()}
    made["float16"], made["bfloat16"] = made["float32"].half(), made["float32"].bfloat16()
    made["int64"], made["uint8"] = torch.tensor(whole), torch.arange(256).to(torch.uint8)
    made["bool"] = torch.tensor([True, False])
    special = torch.tensor([math.inf, -math.inf, math.nan])
    made["not finite"] = special
    return made


@pytest.mark.parametrize("name", NAMES)
def test_conversions_are_the_cpus(name: str, device: str) -> None:
    d = getattr(torch, name)
    for source, x in sources().items():
        if name in UNSIGNED and source == "not finite":
            continue
        there = x.to(device).to(d)
        assert there.device.type == device and there.dtype is d
        assert bits(there) == bits(x.to(d)), source
        again = torch.empty(x.shape, dtype=d, device=device).copy_(x.to(device))
        assert bits(again) == bits(there)


@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_becomes_its_number(name: str, device: str) -> None:
    d = getattr(torch, name)
    if name in FLOAT8:
        x = torch.arange(256, dtype=torch.uint8).view(d)
    else:
        most = torch.iinfo(d).max
        x = torch.tensor([0, 1, 2**15, most // 2 + 1, most - most // 2**24, most], dtype=d)
    for target in ("float64", "float32", "float16", "bfloat16", "int64", "bool", *NAMES):
        if name in FLOAT8 and target in ("int64", *UNSIGNED):
            continue  # of NaN
        t = getattr(torch, target)
        assert bits(x.to(device).to(t)) == bits(x.to(t)), target


@pytest.mark.parametrize("name", NAMES)
def test_what_moves_elements(name: str, device: str) -> None:
    d = getattr(torch, name)
    x = torch.tensor([[1, 2, 3], [4, 5, 6]], device=device).to(d)
    assert x.T.contiguous().tolist() == [[1, 4], [2, 5], [3, 6]] and x[1, 1:].tolist() == [5, 6]
    i = torch.tensor([1, 0], device=device)
    assert x[i].tolist() == [[4, 5, 6], [1, 2, 3]] and x.gather(0, i[None]).tolist() == [[4, 2]]
    y = x.clone()
    y[0] = 6
    y[i[:1], 2] = x[0, 1]
    assert y.tolist() == [[6, 6, 6], [4, 5, 2]] and x.fill_(2).tolist() == [[2] * 3] * 2
    assert torch.cat([y, x]).shape == (4, 3) and (y == y).all() and (y != x).sum().item() == 5
    assert torch.where(y == 6, x, y).tolist() == [[2, 2, 2], [4, 5, 2]]
    assert torch.arange(1, 6, 2, dtype=d, device=device).tolist() == [1, 3, 5]
    assert torch.full((2,), 3, dtype=d, device=device).tolist() == [3, 3]
    assert f"dtype=torch.{name}" in repr(y) and ("device=" in repr(y)) == (device != "cpu")
    file = io.BytesIO()
    torch.save(y, file)
    file.seek(0)
    again = torch.load(file)
    assert again.dtype is d and again.device.type == device and again.tolist() == y.tolist()
    added = y.clone().index_add_(0, i, x)
    assert added.tolist() == [[y.double()[r, c].item() + 2 for c in range(3)] for r in range(2)]
    with pytest.raises(NotImplementedError, match='"add" not implemented'):
        y + y


ON_THE_DEVICE = {
    "x * y": lambda x, y: x * y,
    "x & 3": lambda x, y: x & np.asarray(3, x.dtype),
    "x | y": lambda x, y: x | y,
    "x ^ y": lambda x, y: x ^ y,
    "x.sum(1)": lambda x, y: x.astype(np.int64).sum(1),
    "x.sum(dtype=x.dtype)": lambda x, y: x.sum(dtype=x.dtype),
    "x.prod(1, dtype=x.dtype)": lambda x, y: x.prod(1, dtype=x.dtype),
    "x.cumsum(0, dtype=x.dtype)": lambda x, y: x.cumsum(0, dtype=x.dtype),
    "x.argsort(1, stable=True)": lambda x, y: x.argsort(1, kind="stable"),
    "x.sort(0)[0]": lambda x, y: np.sort(x, 0),
    "x.floor()": lambda x, y: x,
    "x.clone().round_()": lambda x, y: x,
    "torch.trunc(x)": lambda x, y: x,
}


@pytest.mark.parametrize("program", ON_THE_DEVICE)
@pytest.mark.parametrize("name", UNSIGNED)
def test_what_pytorch_computes_of_unsigned_numbers_runs_there(
    name: str, program: str, device: str
) -> None:
    most = np.iinfo(name).max
    x = np.array([[3, most, 0, most - 1], [7, most // 2 + 1, 2**15, most // 2]], name)
    y = np.array([5, most, 2, most // 3], name)
    before = torch.get_fallback()
    torch.set_fallback("error")
    try:
        there = [torch.tensor(v).to(device) for v in (x, y)]
        found = eval(program, {"torch": torch, "x": there[0], "y": there[1]})
    finally:
        torch.set_fallback(before)
    want = ON_THE_DEVICE[program](x, y)
    assert found.device.type == device and found.tolist() == want.tolist()
    assert found.cpu().numpy().dtype == want.dtype


@pytest.mark.parametrize("name", UNSIGNED)
def test_many_unsigned_numbers_are_sorted_and_added_up(name: str, device: str) -> None:
    values = np.random.default_rng(3).integers(0, np.iinfo(name).max, 5000, name, endpoint=True)
    x = torch.tensor(values).to(device)
    assert x.argsort(stable=True).tolist() == values.argsort(kind="stable").tolist()
    assert x.sum().item() == values.astype(np.int64).sum()
