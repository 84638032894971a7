"""Samples of distributions that gradients go through."""

from __future__ import annotations

from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.names import FUNCTIONS


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """The softmax of *logits* and Gumbel noise, divided by the temperature *tau*.

    With *hard* it is one-hot, and has the gradient of what it would be without. *eps* changes
    nothing.

    >>> sample = tensorbus.nn.functional.gumbel_softmax(tensorbus.zeros(2, 3), hard=True)
    >>> sample.sum(1)
    tensor([1., 1.])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.gumbel_softmax.html
    """
    if eps != 1e-10:
        warn_user("`eps` parameter is deprecated and has no effect.")
    noise = -FUNCTIONS["empty"](logits.shape, **_like(logits)).exponential_().log()
    soft: Tensor = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = soft.argmax(dim, keepdim=True)
    one = FUNCTIONS["zeros"](logits.shape, **_like(logits)).scatter(dim, chosen, 1.0)
    return one - soft.detach() + soft


def _like(x: Tensor) -> dict[str, object]:
    return {"dtype": x.dtype, "device": x.device}
