"""Every rule gives the same whatever memory the gradient that it is given lies in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.autograd.test_rules import CASES, SAMPLES, _arranged

import tensorbus as tb


def spread(t: Any) -> Any:
    """A tensor's values, every other element of memory in which dimensions are reversed."""
    values = t.detach().numpy()
    order = tuple(reversed(range(values.ndim)))
    wide = np.full([2 * n + 1 for n in values.shape[::-1]], 7.0, values.dtype)
    at = (slice(1, None, 2),) * values.ndim
    wide[at] = values.transpose(order)
    return tb.from_numpy(wide)[at].permute(order)


def moved(t: Any) -> Any:
    """A tensor's values, row-major behind others in memory."""
    values = t.detach().numpy()
    return tb.from_numpy(np.stack([values + 1, values]))[1]


def drawn(rng: np.random.Generator, like: Any) -> Any:
    values = rng.standard_normal(tuple(like.shape))
    if like.is_complex():
        values = values + 1j * rng.standard_normal(values.shape)
    return tb.tensor(values, dtype=like.dtype)


def equal(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            tb.testing.assert_close(one, other, rtol=1e-11, atol=1e-11, equal_nan=True)


@pytest.mark.parametrize("laid", [spread, pytest.param(moved, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "n"), CASES, ids=[f"{name}-{n}" for name, n in CASES])
def test_rule(name: str, n: int, laid: Any) -> None:
    rng = np.random.default_rng(19)
    leaves, _, function = _arranged(SAMPLES[name][n])
    made = function(name)(*leaves)
    outs = [t for t in (made if isinstance(made, (tuple, list)) else [made]) if t.requires_grad]
    seeds = [drawn(rng, t).requires_grad_() for t in outs]
    others = [laid(s).requires_grad_() for s in seeds]
    first, again = (
        tb.autograd.grad(outs, leaves, s, create_graph=True, allow_unused=True)
        for s in (seeds, others)
    )
    equal(again, first)
    wanted = [i for i, g in enumerate(first) if g is not None and g.requires_grad]
    if wanted:
        weights = [drawn(rng, first[i]) for i in wanted]
        second, late = (
            tb.autograd.grad([g[i] for i in wanted], [*leaves, *s], w, True, allow_unused=True)
            for g, s, w in ((first, seeds, weights), (again, others, map(laid, weights)))
        )
        equal(late, second)
