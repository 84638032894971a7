"""Strides of results and of views beside PyTorch's, for layouts of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorbus as tb
from tensorbus.rows.layouts import pointwise_strides, view_strides

torch = pytest.importorskip("torch", reason="PyTorch says which strides are expected")


@st.composite
def layouts(draw: Any, shape: tuple[int, ...] | None = None) -> tuple[tuple[int, ...], Any]:
    """A shape, and how to arrange a tensor of it: order of dimensions, steps, expansion."""
    if shape is None:
        shape = tuple(draw(st.lists(st.integers(1, 4), min_size=0, max_size=4)))
    order = draw(st.permutations(range(len(shape))))
    gaps = tuple(draw(st.integers(1, 2)) for _ in shape)
    expanded = tuple(draw(st.integers(0, 5)) == 0 for _ in shape)
    return shape, (order, gaps, expanded)


def arranged(t: Any, shape: tuple[int, ...], how: Any) -> Any:
    order, gaps, expanded = how
    stored = [1 if expanded[d] else shape[d] * gaps[d] for d in order]
    x = t.zeros(stored).permute([list(order).index(d) for d in range(len(shape))])
    for d, step in enumerate(gaps):
        if not expanded[d] and step > 1:
            x = x[(slice(None),) * d + (slice(None, None, step),)]
    return x.expand(shape)


def steps(t: Any) -> list[int]:
    """The strides of dimensions with more than one place: those of others mean nothing."""
    return [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1]


@settings(max_examples=300, deadline=None)
@given(layouts())
def test_views_have_pytorchs_strides(made: Any) -> None:
    shape, how = made
    ours, theirs = arranged(tb, shape, how), arranged(torch, shape, how)
    assert steps(ours) == steps(theirs)
    assert ours.is_contiguous() == theirs.is_contiguous()
    for d in range(len(shape) + 1):
        assert steps(ours.unsqueeze(d)) == steps(theirs.unsqueeze(d))


@settings(max_examples=300, deadline=None)
@given(layouts())
def test_unary_results_keep_the_order_of_dimensions(made: Any) -> None:
    shape, how = made
    ours, theirs = arranged(tb, shape, how), arranged(torch, shape, how)
    assert steps(ours.exp()) == steps(theirs.exp())
    assert steps(ours * 2.0) == steps(theirs * 2.0)
    assert steps(ours.clone()) == steps(theirs.clone())


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_binary_results_follow_the_operand_that_tells(data: Any) -> None:
    shape, first = data.draw(layouts())
    _, second = data.draw(layouts(shape))
    mine = arranged(tb, shape, first) + arranged(tb, shape, second)
    theirs = arranged(torch, shape, first) + arranged(torch, shape, second)
    assert steps(mine) == steps(theirs)


def test_equal_strides_are_told_apart_by_extents() -> None:
    # Dimensions of extent 1 may share a stride with another: the larger one goes outside.
    for strides in [((1, 1), (3, 3)), ((2, 2, 1), (6, 2, 2)), ((4, 4, 1, 1), (1, 4, 1, 4))]:
        shapes = {2: (3, 1), 3: (1, 3, 2), 4: (1, 2, 4, 1)}
        shape = shapes[len(strides[0])]
        a, b = (torch.zeros(64).as_strided(shape, s) for s in strides)
        got = pointwise_strides(shape, (shape, strides[0]), (shape, strides[1]))
        expected = (a + b).stride()
        assert [s for s, n in zip(got, shape, strict=True) if n > 1] == [
            s for s, n in zip(expected, shape, strict=True) if n > 1
        ]


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_a_view_exists_where_pytorch_has_one(data: Any) -> None:
    shape, how = data.draw(layouts())
    x = arranged(torch, shape, how)
    n = int(np.prod(shape))
    new, left = [], n
    while left > 1 or data.draw(st.booleans()):
        extent = data.draw(st.sampled_from([d for d in range(1, left + 1) if left % d == 0]))
        new.append(extent)
        left //= extent
        if len(new) > 6:
            new.append(left)
            break
    found = view_strides(shape, x.stride(), tuple(new))
    try:
        expected = x.view(new).stride()
    except RuntimeError:
        assert found is None
    else:
        assert found is not None
        relevant = [d for d, extent in enumerate(new) if extent > 1]
        assert [found[d] for d in relevant] == [expected[d] for d in relevant]
