"""Strides of results and of views beside PyTorch's, for layouts of every kind."""

from __future__ import annotations

import math
import random
from typing import Any

import tensorbus as tb
from tensorbus.rows.layouts import pointwise_strides, view_strides

# The layouts are drawn by Python's own generator: its numbers are the same everywhere, so that
# the recorded answers are to the same questions.
COUNT = 400

Layout = tuple[list[int], list[int], list[bool]]


def drawn_shape(draw: random.Random) -> list[int]:
    return [draw.randint(1, 4) for _ in range(draw.randint(0, 4))]


def drawn_layout(draw: random.Random, rank: int) -> Layout:
    """How to arrange a tensor: order of dimensions, steps, expansion."""
    order = draw.sample(range(rank), rank)
    return (
        order,
        [draw.randint(1, 2) for _ in range(rank)],
        [draw.random() < 1 / 6 for _ in range(rank)],
    )


def arranged(t: Any, shape: list[int], how: Layout) -> Any:
    order, gaps, expanded = how
    stored = [1 if expanded[d] else shape[d] * gaps[d] for d in order]
    x = t.zeros(stored).permute([order.index(d) for d in range(len(shape))])
    for d, step in enumerate(gaps):
        if not expanded[d] and step > 1:
            x = x[(slice(None),) * d + (slice(None, None, step),)]
    return x.expand(shape)


def steps(t: Any) -> list[int]:
    """The strides of dimensions with more than one index: those of others mean nothing."""
    return [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1]


def test_views_have_pytorchs_strides(oracle: Any) -> None:
    def program(t: Any) -> Any:
        draw, found = random.Random(1), []
        for _ in range(COUNT):
            shape = drawn_shape(draw)
            x = arranged(t, shape, drawn_layout(draw, len(shape)))
            views = [steps(x.unsqueeze(d)) for d in range(len(shape) + 1)]
            found.append((shape, steps(x), x.is_contiguous(), views))
        return found

    assert program(tb) == oracle(program)


def test_unary_results_keep_the_order_of_dimensions(oracle: Any) -> None:
    def program(t: Any) -> Any:
        draw, found = random.Random(2), []
        for _ in range(COUNT):
            shape = drawn_shape(draw)
            x = arranged(t, shape, drawn_layout(draw, len(shape)))
            found.append((shape, steps(x.exp()), steps(x * 2.0), steps(x.clone())))
        return found

    assert program(tb) == oracle(program)


def test_binary_results_follow_the_operand_that_tells(oracle: Any) -> None:
    def program(t: Any) -> Any:
        draw, found = random.Random(3), []
        for _ in range(COUNT):
            shape = drawn_shape(draw)
            x, y = (arranged(t, shape, drawn_layout(draw, len(shape))) for _ in range(2))
            found.append((shape, steps(x + y)))
        return found

    assert program(tb) == oracle(program)


def test_equal_strides_are_told_apart_by_sizes(oracle: Any) -> None:
    # Dimensions of size 1 may share a stride with another: the larger one goes outside.
    shapes = {2: (3, 1), 3: (1, 3, 2), 4: (1, 2, 4, 1)}
    pairs = [((1, 1), (3, 3)), ((2, 2, 1), (6, 2, 2)), ((4, 4, 1, 1), (1, 4, 1, 4))]

    def program(torch: Any) -> Any:
        base = torch.zeros(64)
        return [
            steps(base.as_strided(shapes[len(a)], a) + base.as_strided(shapes[len(b)], b))
            for a, b in pairs
        ]

    for (a, b), expected in zip(pairs, oracle(program), strict=True):
        shape = shapes[len(a)]
        found = pointwise_strides(shape, (shape, a), (shape, b))
        assert [s for s, n in zip(found, shape, strict=True) if n > 1] == expected


def drawn_view(draw: random.Random, elements: int) -> list[int]:
    """Sizes whose product is *elements*, with ones among them."""
    sizes: list[int] = []
    while elements > 1 or draw.random() < 0.5:
        size = draw.choice([d for d in range(1, elements + 1) if elements % d == 0])
        sizes.append(size)
        elements //= size
        if len(sizes) > 6:
            return [*sizes, elements]
    return sizes


def test_a_view_exists_where_pytorch_has_one(oracle: Any) -> None:
    draw, cases = random.Random(4), []
    for _ in range(COUNT * 2):
        shape = drawn_shape(draw)
        how = drawn_layout(draw, len(shape))
        cases.append((shape, how, drawn_view(draw, math.prod(shape))))

    def program(torch: Any) -> Any:
        found = []
        for shape, how, sizes in cases:
            x = arranged(torch, shape, how)
            try:
                view = steps(x.view(sizes))
            except RuntimeError:
                view = None
            found.append((tuple(x.stride()), view))
        return found

    answers = oracle(program)
    assert 50 < sum(view is None for _, view in answers) < COUNT * 2 - 50
    for (shape, how, sizes), (strides, expected) in zip(cases, answers, strict=True):
        found = view_strides(tuple(shape), strides, tuple(sizes))
        if expected is None:
            assert found is None, (shape, how, sizes)
        else:
            assert found is not None, (shape, how, sizes)
            assert [s for s, n in zip(found, sizes, strict=True) if n > 1] == expected


ONES = {
    "torch.ones(1, 3).T + torch.ones(1)": (1, 3),
    "torch.ones(3, 4).T[:, :1] + torch.ones(1)": (1, 4),
    "torch.ones(2, 3)[:, :1].T * torch.ones(5, 1, 1)": (2, 1, 1),
    "torch.ones(4, 1, 3).transpose(0, 1) - torch.ones(3)": (3, 3, 1),
    "torch.ones(3)[:, None] + torch.ones(1, 1, 1)": (3, 1, 1),
    "torch.ones(4, 2, 3)[:, :1] * torch.ones(3)": (3, 3, 1),
    "torch.ones(4)[:, None] * torch.ones(3)": (3, 1),
}
"""Views with dimensions of size 1 that broadcast, and the strides of the result in PyTorch."""


def test_broadcast_views_keep_the_strides_of_sizes_of_one() -> None:
    found = {p: eval(p, {"torch": tb}).stride() for p in ONES}
    assert found == ONES
