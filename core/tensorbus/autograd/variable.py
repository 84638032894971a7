"""``Variable``: what recorded operations before tensors did so themselves."""

from __future__ import annotations

from typing import Any

from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor

_NO_EFFECT = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."


class VariableMeta(type):
    """Lets every tensor be an instance of ``Variable``, and ``Variable(...)`` give a tensor."""

    def __call__(
        cls, data: Any = None, requires_grad: bool = False, volatile: bool = False
    ) -> Tensor:
        if volatile:
            warn_user(_NO_EFFECT)
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile and requires_grad:
            raise ValueError("Variable can't be volatile and require_grad at the same time!")
        made: Tensor = Tensor() if data is None else data.detach()
        return made.requires_grad_() if requires_grad else made

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """``Variable(x, requires_grad=True)``: a tensor over *x*'s memory, without its history.

    Programs need it no more: tensors themselves record. *volatile* has no effect but a warning.

    >>> import tensorbus as torch
    >>> x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    >>> x, isinstance(x, torch.autograd.Variable)
    (tensor([1., 1.], requires_grad=True), True)
    """


def volatile(self: Tensor) -> bool:
    """False, with a warning: ``torch.no_grad()`` says it of a block now."""
    warn_user("volatile was removed (Variable.volatile is always False)")
    return False


def set_volatile(self: Tensor, value: Any) -> None:
    """Warn that nothing comes of it."""
    warn_user(_NO_EFFECT)
