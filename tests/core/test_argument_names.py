"""Arguments under the names that PyTorch's overloads have, and at the positions they share."""

from __future__ import annotations

from typing import Any

import pytest

import tensorbus as torch

X = torch.tensor([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]])
COUNTS = torch.tensor([2, 1])

SAME = [
    ("torch.tensor_split(X, sections=2)", "torch.tensor_split(X, 2)"),
    ("X.tensor_split(indices=[1], dim=1)", "X.tensor_split([1], 1)"),
    (
        "X.tensor_split(tensor_indices_or_sections=torch.tensor(2))",
        "X.tensor_split(torch.tensor(2))",
    ),
    ("X.hsplit(sections=3)", "X.hsplit(3)"),
    ("torch.vsplit(X, indices=[1])", "torch.vsplit(X, [1])"),
    ("torch.isin(element=2.0, test_elements=X)", "torch.isin(2.0, X)"),
    ("torch.isin(elements=X, test_element=2.0)", "torch.isin(X, 2.0)"),
    ("torch.bucketize(self=2.5, boundaries=X[0])", "torch.bucketize(2.5, X[0])"),
    ("torch.pow(self=2.0, exponent=X)", "2.0**X"),
    ("torch.where(condition=X > 2, self=1.0, other=X)", "torch.where(X > 2, 1.0, X)"),
    ("X.clone().copy_(other=X + 1)", "X + 1"),
    ("X.clone().copy_(src=X + 1)", "X + 1"),
    ("torch.linalg.vector_norm(input=X)", "torch.linalg.vector_norm(X)"),
    (
        "torch.nn.functional.one_hot(input=COUNTS, num_classes=3)",
        "torch.nn.functional.one_hot(COUNTS, 3)",
    ),
    # A position that two overloads share.
    ("torch.max(X, dim=torch.tensor(1))", "torch.max(X, 1)"),
    ("X.min(torch.tensor(0), True)", "X.min(0, keepdim=True)"),
    ("torch.max(X, torch.tensor(3.0))", "torch.maximum(X, torch.tensor(3.0))"),
    ("torch.max(X, other=-X)", "X.maximum(-X)"),
    ("X.max(axis=1, keepdims=True)", "X.max(1, True)"),
    ("X.var(False)", "X.var(correction=0)"),
    ("X.std(True)", "X.std(correction=1)"),
    ("torch.var_mean(X, False)", "torch.var_mean(X, correction=0)"),
]


def values(made: Any) -> Any:
    """Lists of the numbers in a result."""
    return [values(part) for part in made] if isinstance(made, tuple) else made.tolist()


@pytest.mark.parametrize(("program", "plain"), SAME)
def test_it_means_the_same(program: str, plain: str) -> None:
    assert values(eval(program)) == values(eval(plain))


def test_the_position_decides_what_a_tensor_is() -> None:
    by_name = torch.max(X, dim=torch.tensor(1))
    assert by_name.values.tolist() == [5.0, 6.0]
    assert by_name.indices.tolist() == [1, 2]
    assert torch.max(X, torch.tensor(3)).tolist() == [[3.0, 5.0, 3.0], [4.0, 3.0, 6.0]]
