"""The array API standard on arrays that hypothesis makes, beside array-api-strict."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import array_api_cases as cases
import array_api_matrices as others
import numpy as np
import pytest
from array_api_comparison import failures
from array_api_differences import DIFFERENCES
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tensorbus

FAMILIES = {
    "matrices": others.MATRICES, "signals": others.SIGNALS, "new arrays": others.MADE,
    "pairs of dtypes": others.PAIRS,
    **{f"element-wise of {k}": found for k, found in cases.ELEMENTWISE.items()},
    **{f"reductions of {k}": found for k, found in cases.REDUCED.items()},
    **{f"moving of {k}": found for k, found in cases.MOVED.items()},
}  # fmt: skip
QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None,
                 phases=(Phase.generate, Phase.shrink))  # fmt: skip


@pytest.fixture(autouse=True)
def defaults() -> Iterator[None]:
    """The reference's default dtype, and silence about NaN and infinity."""
    before = tensorbus.get_default_dtype()
    tensorbus.set_default_dtype(tensorbus.float64)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
    tensorbus.set_default_dtype(before)


def check(family: str, data: st.DataObject) -> None:
    names, programs = FAMILIES[family]
    drawn = data.draw(names)

    def given_to(xp: Any) -> dict[str, Any]:
        return {n: xp.asarray(v) if isinstance(v, np.ndarray) else v for n, v in drawn.items()}

    found = failures(programs, given_to, unspecified=True)
    assert [f for f in found if not any(d.covers(f, drawn) for d in DIFFERENCES)] == []


@pytest.mark.parametrize("family", FAMILIES)
@given(st.data())
@settings(QUIET, derandomize=True, max_examples=4)
def test_programs(family: str, data: st.DataObject) -> None:
    check(family, data)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@given(st.data())
@settings(QUIET, max_examples=150, print_blob=True)
def test_more_programs(family: str, data: st.DataObject) -> None:
    check(family, data)


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda d: d.what)
def test_each_difference_is_still_one(difference: Any) -> None:
    """An entry whose example agrees with array-api-strict has outlived its reason."""
    found = failures([difference.example], lambda xp: {})
    assert len(found) == 1 and difference.covers(found[0], {"x": np.zeros(0, "uint8")})
