"""The largest and least elements on ``cpu``, found without sorting the others."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus as torch
from tensorbus_cpu_numpy import top
from tensorbus_cpu_numpy.ordering import sorted_order

N = 1500  # three rows are more than what is simply sorted


def _row(kind, dtype):
    rng = np.random.default_rng(len(kind))
    x = (rng.standard_normal(N) * 40).astype(dtype)
    if kind == "ties":
        x = (x / 16).round()
    elif kind == "nan":
        x[rng.integers(0, N, 5)] = np.nan
    elif kind == "mostly nan":
        x[rng.random(N) < 0.99] = np.nan
    elif kind == "infinite":
        x[rng.integers(0, N, 20)] = np.inf
        x[rng.integers(0, N, 20)] = -np.inf
    elif kind == "zeros":
        x[rng.random(N) < 0.9] = 0
        x[::3] *= -1  # of either sign
    return x.astype(dtype)


def _order(row, largest):
    """Python's own stable sort, NaN as the largest."""
    sign = -1 if largest else 1

    def key(i):
        value = row[i].item()
        return (not largest, 0) if value != value else (largest, sign * value)

    return sorted(range(len(row)), key=key)


KINDS = ["plain", "ties", "nan", "mostly nan", "infinite", "zeros"]
CASES = [(kind, dtype) for kind in KINDS for dtype in (np.float32, np.float64)]
CASES += [("ties", d) for d in (np.int8, np.int16, np.int32, np.int64)]
CASES += [("plain", np.int32), ("nan", np.float16)]


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(("kind", "dtype"), CASES)
def test_the_first_of_the_stable_order(kind, dtype, largest):
    row = _row(kind, dtype)
    others = _row("plain", dtype), row[::-1]
    x = np.stack([row, *others])
    for k in (1, 8, 200, N - 1):
        expected = [_order(line, largest)[:k] for line in x]
        assert top.top_indices(x, 1, k, largest).tolist() == expected
        found = top.top_indices(x.T, 0, k, largest)
        assert found.flags.c_contiguous and found.T.tolist() == expected


@pytest.mark.parametrize(("kind", "dtype"), CASES)
def test_one_place_of_the_stable_order(kind, dtype):
    x = np.stack([_row(kind, dtype), _row("plain", dtype), _row(kind, dtype)[::-1]])
    orders = [_order(line, False) for line in x]
    for place in (0, 700, N - 1):
        expected = [[order[place]] for order in orders]
        assert top.kth_index(x, 1, place).tolist() == expected
        assert top.kth_index(x.T, 0, place).T.tolist() == expected


@pytest.mark.parametrize(("kind", "dtype"), CASES)
def test_the_descending_order_is_stable(kind, dtype):
    row = _row(kind, dtype)
    assert sorted_order(row[None], 1, True)[0].tolist() == _order(row, True)
    assert sorted_order(row[:9], 0, True).tolist() == _order(row[:9], True)


def test_strided_rows_and_all_elements():
    x = _row("plain", np.float32).reshape(2, 3, 250)
    wide = np.repeat(np.repeat(x, 2, 2), 2, 0)[::2, :, ::2]
    found = torch.from_numpy(wide.copy()).transpose(0, 2)[::1].topk(3, 1).indices
    expected = [[_order(x[a, :, c], True)[:3] for a in range(2)] for c in range(250)]
    assert found.transpose(1, 2).tolist() == expected
    numbers = torch.arange(6000.0)
    assert numbers.topk(0).values.shape == (0,)
    assert numbers.topk(2).indices.tolist() == [5999, 5998]
    assert numbers.flip(0).kthvalue(1).indices.item() == 5999
    assert numbers.median().item() == 2999.0


def test_what_has_no_elements():
    for shape, k, expected in (((0, 5), 2, (0, 2)), ((3, 5), 0, (3, 0)), ((0,), 0, (0,))):
        found = torch.zeros(shape).topk(k)
        assert found.values.shape == found.indices.shape == expected
        assert found.indices.dtype is torch.int64
    assert torch.zeros(0, 5).kthvalue(3).values.shape == (0,)
