"""Row-major strides, which frontend and base classes share."""

from __future__ import annotations

import numpy as np
import pytest

from tensorbus._base.size import contiguous_strides, is_row_major


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 4), (5, 4, 3, 2)])
def test_the_strides_are_numpys(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, np.int8)
    assert contiguous_strides(shape) == array.strides
    assert is_row_major(shape, array.strides)


def test_a_dimension_of_no_elements_counts_as_one() -> None:
    assert contiguous_strides((2, 0, 3)) == (3, 3, 1)


@pytest.mark.parametrize(
    ("shape", "strides", "row_major"),
    [
        ((4, 1, 3), (3, 77, 1), True),  # of one element, the stride says nothing
        ((0, 2), (9, 9), True),  # nor of none
        ((3, 0), (9, 9), True),
        ((0, 3), (7, 5), True),
        ((3,), (-1,), False),
        ((3,), (0,), False),
        ((3,), (2,), False),
        ((2, 2), (1, 2), False),
        ((2, 2), (3, 1), False),
    ],
)
def test_where_elements_are_one_run(shape, strides, row_major) -> None:
    assert is_row_major(shape, strides) is row_major
