"""Bags of many rows, which the cpu joins by kernels of its own, with SciPy and without."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tensorbus
import tensorbus_cpu_numpy.bags as kernels
import tensorbus_cpu_numpy.sparse as scipy_loops
from tensorbus.nn import functional as F

ROWS, WIDTH = 150, 24
RNG = np.random.default_rng(3)
LENGTHS = RNG.permutation([0, 0, 1, 300, *RNG.integers(1, 40, 96)])
BOUNDS = np.concatenate(([0], np.cumsum(LENGTHS)))
INDICES = RNG.integers(0, ROWS, BOUNDS[-1] + 5)
"""The last five are in no bag."""
PADDING = 7


@pytest.fixture(params=["with SciPy", "tables beyond the cache", "without SciPy"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without SciPy":
        monkeypatch.setattr(scipy_loops, "loops", lambda: None)
        return
    pytest.importorskip("scipy")
    if request.param == "tables beyond the cache":
        monkeypatch.setattr(kernels, "_LARGE", 0)


def drawn(*shape: int) -> Any:
    return tensorbus.tensor(RNG.standard_normal(shape), dtype=tensorbus.float32).requires_grad_()


def expected(
    table: np.ndarray, factors: np.ndarray, g: np.ndarray, mode: str, padding: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bags, and the gradients of table and factors, element by element."""
    made = np.zeros((len(LENGTHS), WIDTH))
    of_table, of_factors = np.zeros(table.shape), np.zeros(len(INDICES))
    for bag, (start, stop) in enumerate(itertools.pairwise(BOUNDS)):
        kept = [k for k in range(start, stop) if INDICES[k] != padding]
        if not kept:
            continue
        rows = table[INDICES[kept]] * factors[kept, None]
        made[bag] = getattr(rows, mode)(0)
        for n, k in enumerate(kept):
            share = {"sum": 1, "mean": 1 / len(kept), "max": rows.argmax(0) == n}[mode]
            of_table[INDICES[k]] += g[bag] * share * factors[k]
            of_factors[k] = g[bag] @ table[INDICES[k]]
    return made, of_table, of_factors


@pytest.mark.parametrize("padding", [None, PADDING])
@pytest.mark.parametrize("mode", ["sum", "mean", "max", "factors", "sparse"])
def test_bags_and_their_gradients(loops: None, mode: str, padding: int | None) -> None:
    table, g = drawn(ROWS, WIDTH), drawn(len(LENGTHS), WIDTH).detach()
    factors = drawn(len(INDICES)) if mode in ("factors", "sparse") else None
    how = mode if mode in ("mean", "max") else "sum"
    made = F.embedding_bag(
        tensorbus.from_numpy(INDICES), table, tensorbus.from_numpy(BOUNDS), mode=how,
        per_sample_weights=factors, sparse=mode == "sparse", padding_idx=padding,
        include_last_offset=True,
    )  # fmt: skip
    made.backward(g)
    ones = np.ones(len(INDICES))
    wide = [x.detach().double().numpy() for x in (table, g)]
    own = ones if factors is None else factors.detach().double().numpy()
    want = expected(wide[0], own, wide[1], how, padding)
    found = [made, table.grad.to_dense(), *(() if factors is None else (factors.grad,))]
    for got, values in zip(found, want, strict=False):
        np.testing.assert_allclose(got.detach().numpy(), values, rtol=2e-5, atol=2e-5)


def test_the_first_of_equal_rows_is_the_maximum(loops: None) -> None:
    bags, each, width = 40, 300, 16
    table = tensorbus.zeros(2 * bags, width, requires_grad=True)
    indices = tensorbus.arange(bags * each).reshape(bags, each) % (2 * bags)
    first = indices[:, 0].clone()
    indices[:, 1:] = (first[:, None] + 1 + indices[:, 1:]) % (2 * bags)
    F.embedding_bag(indices, table, mode="max").backward(tensorbus.ones(bags, width))
    want = np.zeros((2 * bags, width))
    np.add.at(want, first.numpy(), 1)
    np.testing.assert_array_equal(table.grad.numpy(), want)


def test_not_a_number_is_the_maximum_of_its_bag(loops: None) -> None:
    table = drawn(ROWS, WIDTH).detach()
    table[11, 3] = float("nan")
    made = F.embedding_bag(
        tensorbus.from_numpy(INDICES), table, tensorbus.from_numpy(BOUNDS), mode="max",
        include_last_offset=True,
    )  # fmt: skip
    has = [11 in INDICES[start:stop] for start, stop in itertools.pairwise(BOUNDS)]
    np.testing.assert_array_equal(made.isnan()[:, 3].numpy(), has)
    assert any(has) and not all(has)


def test_a_bad_index_among_many_is_named(loops: None) -> None:
    indices = INDICES.copy()
    indices[100] = ROWS
    with pytest.raises(RuntimeError, match=f"found idx to be {ROWS}"):
        F.embedding_bag(
            tensorbus.from_numpy(indices), drawn(ROWS, WIDTH), tensorbus.from_numpy(BOUNDS),
            include_last_offset=True,
        )  # fmt: skip


def test_bags_of_equal_sizes_have_the_same_products(loops: None) -> None:
    bags, each = 70, 30
    indices = RNG.integers(0, ROWS, (bags, each))
    table, g, factors = drawn(ROWS, WIDTH), drawn(bags, WIDTH).detach(), drawn(bags, each)
    made = F.embedding_bag(
        tensorbus.from_numpy(indices), table, mode="sum", per_sample_weights=factors
    )
    made.backward(g)
    rows = table.detach().double().numpy()[indices]
    want = np.einsum("bkd,bd->bk", rows, g.double().numpy())
    np.testing.assert_allclose(factors.grad.numpy(), want, rtol=2e-5, atol=2e-5)
