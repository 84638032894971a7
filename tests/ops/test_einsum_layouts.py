"""Strides of what ``einsum`` gives: those of PyTorch 2.13, for programs call ``view`` on it."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus as torch


@pytest.mark.parametrize(
    ("equation", "shapes", "strides"),
    [
        ("ij,jk->ki", [(2, 3), (3, 4)], (2, 1)),
        ("abc,cd->dab", [(2, 3, 4), (4, 5)], (6, 3, 1)),
        ("ebcd,bnec->bnd", [(2, 3, 4, 5), (3, 6, 2, 4)], (30, 5, 1)),
        ("fde,becf->cbe", [(7, 5, 6), (3, 6, 4, 7)], (3, 1, 12)),
        ("d,e->ed", [(5,), (6,)], (5, 1)),
        ("ce,ca->ace", [(4, 6), (4, 2)], (6, 12, 1)),
        ("cda,dfba->abd", [(4, 5, 2), (5, 7, 3, 2)], (15, 5, 1)),
    ],
)
def test_results_of_einsum_lie_as_in_pytorch(
    equation: str, shapes: list[tuple[int, ...]], strides: tuple[int, ...]
) -> None:
    operands = [np.random.default_rng(3).normal(size=s) for s in shapes]
    found = torch.einsum(equation, *map(torch.tensor, operands))
    np.testing.assert_allclose(found.numpy(), np.einsum(equation, *operands), rtol=1e-12)
    assert found.stride() == strides
    if found.is_contiguous():
        assert found.view(-1).shape == (found.numel(),)
