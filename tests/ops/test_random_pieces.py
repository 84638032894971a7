"""Long draws: the stream of one long draw, in memory that does not grow with the tensor."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

import tensorbus as tb
from tensorbus.ops.random import pieces

N = 2**21
MOST = 4 * 2**20
"""Bytes of temporaries that are fine; an array of N float32 numbers has twice as many."""


def words(seed: int, n: int) -> np.ndarray:
    """The stream's definition: Philox4x64-10 with key (seed, 0)."""
    # NumPy advances the counter before the first block.
    return np.random.Philox(key=[seed, 0], counter=[2**64 - 1] * 4).random_raw(n)


def uniforms(seed: int, n: int, dtype: Any) -> np.ndarray:
    if dtype is tb.float64:
        return (words(seed, n) >> np.uint64(11)) * 2.0**-53
    halves = words(seed, -(-n // 2)).view(np.uint32)[:n]
    return (halves & 0xFFFFFF) * 2.0**-24


def normals(seed: int, n: int, dtype: Any) -> np.ndarray:
    half = -(-n // 2)
    u = uniforms(seed, 2 * half, dtype)
    radius, angle = np.sqrt(-2 * np.log1p(-u[:half])), 2 * math.pi * u[half:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:n]


def peak(run: Any) -> int:
    """The most bytes that were allocated at once while something ran."""
    run()  # what is made at the first use
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


FILLS = {
    "uniform_": lambda x: x.uniform_(),
    "uniform_ of a range": lambda x: x.uniform_(-2, 3),
    "normal_": lambda x: x.normal_(1, 2),
    "exponential_": lambda x: x.exponential_(),
    "bernoulli_": lambda x: x.bernoulli_(0.3),
    "random_": lambda x: x.random_(0, 9),
}


@pytest.mark.parametrize("layout", ["row-major", "transposed"])
@pytest.mark.parametrize("name", FILLS)
def test_a_fill_needs_no_second_array(name: str, layout: str) -> None:
    x = tb.empty(2**11, 2**10)
    x = x if layout == "row-major" else x.t()
    assert peak(lambda: FILLS[name](x)) < MOST


@pytest.mark.parametrize("draw", [tb.rand, tb.randn, lambda n: tb.randint(9, (n,))])
def test_a_new_tensor_needs_no_second_array(draw: Any) -> None:
    assert peak(lambda: draw(N)) < draw(2).element_size() * N + MOST


def test_probabilities_beside_a_fill_are_not_copied() -> None:
    p = tb.full((N,), 0.25)
    # Two masks of bytes say whether all are probabilities.
    assert peak(lambda: tb.empty(N).bernoulli_(p)) < 4 * N + 3 * N + MOST


@pytest.mark.parametrize("dtype", [tb.float32, tb.float64])
@pytest.mark.parametrize("n", [2**16, 2**16 + 1, 3 * 2**16 - 5, 2**18 + 11])
def test_a_long_draw_is_the_stream(n: int, dtype: Any) -> None:
    def filled(draw: str) -> np.ndarray:
        tb.manual_seed(4)
        return getattr(tb.empty(n, dtype=dtype), draw)().numpy()

    np.testing.assert_array_equal(filled("uniform_"), uniforms(4, n, dtype))
    np.testing.assert_allclose(filled("normal_"), normals(4, n, dtype), rtol=1e-5, atol=2e-6)
    np.testing.assert_array_equal(filled("bernoulli_"), uniforms(4, n, dtype) < 0.5)
    tb.manual_seed(4)
    np.testing.assert_array_equal(tb.rand(n, dtype=dtype).numpy(), uniforms(4, n, dtype))
    tb.manual_seed(4)
    found = tb.randint(0, 1000, (n,)).numpy()
    np.testing.assert_array_equal(found, (words(4, n) & np.uint64(2**63 - 1)) % np.uint64(1000))


VIEWS = {
    "row-major": lambda d: tb.empty(5, 7, 6, device=d),
    "transposed": lambda d: tb.empty(7, 6, 5, device=d).permute(2, 0, 1),
    "steps": lambda d: tb.empty(9, 14, 13, device=d)[::2, ::2, 1::2],
    "part": lambda d: tb.empty(6, 9, 8, device=d)[1:, 2:, :6],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", FILLS)
def test_pieces_are_parts_of_the_draw(
    name: str, view: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tb.manual_seed(8)
    whole = FILLS[name](VIEWS["row-major"](device)).cpu()
    after = tb.rand(2)
    monkeypatch.setattr(pieces, "piece_size", lambda F: 16)
    tb.manual_seed(8)
    found = FILLS[name](VIEWS[view](device)).cpu()
    np.testing.assert_allclose(found.numpy(), whole.numpy(), rtol=1e-6, atol=1e-6)
    assert (after == tb.rand(2)).all()


@pytest.mark.parametrize("name", FILLS)
def test_a_fill_is_recorded(name: str) -> None:
    w = tb.ones(4, requires_grad=True)
    x = w * 2
    FILLS[name](x)
    x.sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [0.0] * 4
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        FILLS[name](w)


def test_what_a_failing_fill_leaves_is_refused_by_backward(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pieces, "piece_size", lambda F: 16)
    w = tb.ones(64, requires_grad=True)
    x = w * 2
    p = tb.full((64,), 0.5)
    drawn: list[Any] = []
    write = pieces.write

    def fails(*args: Any) -> None:
        drawn.append(args)
        if len(drawn) == 3:
            raise MemoryError
        write(*args)

    monkeypatch.setattr("tensorbus.ops.random.in_place.write", fails)
    with pytest.raises((MemoryError, RuntimeError)):
        x.bernoulli_(p)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        x.sum().backward()
