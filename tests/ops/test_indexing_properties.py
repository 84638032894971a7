"""Random indices, get and set, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tensorbus

# The same cases each time, however slowly a busy machine draws them.
REPEATED = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def as_ours(part: Any) -> Any:
    return tensorbus.tensor(part.tolist(), dtype=_dtype(part)) if _is_array(part) else part


def _is_array(part: Any) -> bool:
    return isinstance(part, np.ndarray)


def _dtype(part: np.ndarray) -> Any:
    return tensorbus.bool if part.dtype == bool else tensorbus.int64


@st.composite
def cases(draw: Any) -> tuple[np.ndarray, tuple[Any, ...]]:
    """An array (dimensions in any order) and an index for it that both libraries take."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    x = np.arange(np.prod(shape)).reshape(shape)
    x = x.transpose(draw(st.permutations(range(len(shape)))))
    index: list[Any] = []
    common = draw(hnp.array_shapes(min_dims=1, max_dims=2, max_side=3))
    dim = 0
    while dim < x.ndim and draw(st.booleans() if dim else st.just(True)):
        n = x.shape[dim]
        kind = draw(st.sampled_from(["int", "slice", "none", "tensor", "mask", "wide mask"]))
        if kind == "int":
            index.append(draw(st.integers(-n, n - 1)))
        elif kind == "slice":
            bound = st.none() | st.integers(-n - 1, n + 1)
            index.append(slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3))))
        elif kind == "none":
            index.append(None)
            continue
        elif kind == "tensor":
            own = draw(st.sampled_from([common, common[-1:], (1,)]))
            index.append(draw(hnp.arrays(np.int64, own, elements=st.integers(-n, n - 1))))
        elif any(_is_array(part) for part in index):
            continue  # no mask beside index arrays; the dimension is still to come
        else:
            rank = 1 if kind == "mask" else min(2, x.ndim - dim)
            index.append(draw(hnp.arrays(bool, x.shape[dim : dim + rank])))
            dim += rank - 1
            if dim + 1 < x.ndim and draw(st.booleans()):
                index.append(Ellipsis)
            break
        dim += 1
    # NumPy counts an int among index arrays as one more of them; PyTorch takes it first.
    if any(_is_array(part) for part in index):
        index = [part if not isinstance(part, int) else slice(part, None) for part in index]
    return x, tuple(index)


@given(cases())
@settings(REPEATED, max_examples=300)
def test_get_as_numpy(case: tuple[np.ndarray, tuple[Any, ...]]) -> None:
    x, index = case
    ours = tensorbus.from_numpy(x)[tuple(map(as_ours, index))]
    np.testing.assert_array_equal(ours.numpy(), x[index])


@given(cases(), st.booleans())
@settings(REPEATED, max_examples=300)
def test_set_as_numpy(case: tuple[np.ndarray, tuple[Any, ...]], scalar: bool) -> None:
    x, index = case
    expected = x.copy(order="K")
    wanted = x[index].shape
    # The same value for equal indices, so that duplicates do not matter.
    value = np.array(-5) if scalar else -x[index] - 100
    expected[index] = value
    ours = tensorbus.from_numpy(x.copy(order="K"))
    assert ours.stride() == tuple(s // x.itemsize for s in x.copy(order="K").strides)
    given_value = -5 if scalar else tensorbus.from_numpy(np.ascontiguousarray(value))
    ours[tuple(map(as_ours, index))] = given_value
    np.testing.assert_array_equal(ours.numpy(), expected)
    assert wanted == ours[tuple(map(as_ours, index))].shape


@given(cases())
@settings(REPEATED, max_examples=100)
def test_gradient_counts_how_often_a_place_is_read(
    case: tuple[np.ndarray, tuple[Any, ...]],
) -> None:
    x, index = case
    ours = tensorbus.from_numpy(x.astype(np.float64)).requires_grad_()
    ours[tuple(map(as_ours, index))].sum().backward()
    counts = np.zeros(x.size)
    np.add.at(counts, x[index].ravel(), 1)
    np.testing.assert_array_equal(ours.grad.numpy(), counts[x])
