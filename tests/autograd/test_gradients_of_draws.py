"""Draws have gradients of zero for their parameters, as in PyTorch."""

from __future__ import annotations

import pytest

import tensorbus as torch


@pytest.mark.parametrize(
    ("mean", "std", "node"), [(True, False, 1), (False, True, 2), (True, True, 3)]
)
def test_normal(mean: bool, std: bool, node: int, device: str) -> None:
    def leaf(value: float, *shape: int) -> torch.Tensor:
        return torch.full(shape, value, device=device, requires_grad=True)

    given = (leaf(5.0, 2, 3) if mean else 5.0, leaf(2.0, 3) if std else 2.0)
    torch.manual_seed(4)
    drawn = torch.normal(*given)
    assert type(drawn.grad_fn).__name__ == f"NormalBackward{node}"
    torch.manual_seed(4)
    shape = tuple(drawn.shape)
    assert (drawn.detach() == torch.randn(shape, device=device) * 2 + 5).all()
    drawn.sum().backward()
    for x in given:
        if isinstance(x, torch.Tensor):
            assert x.grad is not None and x.grad.shape == x.shape and not x.grad.any()
    with pytest.raises(RuntimeError, match=r"normal\(\): functions with out=.* don't support"):
        torch.normal(*given, out=torch.empty(shape, device=device))
    with torch.no_grad():
        assert not torch.normal(*given, out=torch.empty(shape, device=device)).requires_grad


def test_parameters_that_are_not_finite() -> None:
    mean = torch.tensor([float("nan"), float("inf")], requires_grad=True)
    torch.normal(mean, torch.ones(2)).sum().backward()
    assert mean.grad is not None and mean.grad.tolist() == [0, 0]


def test_what_autograd_does_not_know_goes_into_out() -> None:
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    out = torch.empty(2), torch.empty(3)
    found = torch.histogram(x, 2, out=out)
    assert found.hist is out[0] and [t.tolist() for t in out] == [[2, 1], [1, 2.5, 4]]
    for t in out:
        assert t.requires_grad
        with pytest.raises(RuntimeError, match="derivative for aten::histogram is not implemented"):
            t.sum().backward()
