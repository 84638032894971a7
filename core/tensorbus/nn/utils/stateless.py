"""``functional_call`` under the name that it had before ``torch.func``."""

from __future__ import annotations

from typing import Any

from tensorbus import func
from tensorbus._base.page import show_pages as _show_pages
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The older place of ``torch.func.functional_call``; warns.

    >>> import tensorbus as torch
    >>> from tensorbus.nn.utils.stateless import functional_call
    >>> weights = {"weight": torch.tensor([[2.0]]), "bias": torch.tensor([0.5])}
    >>> functional_call(torch.nn.Linear(1, 1), weights, torch.tensor([3.0]))
    tensor([6.5000])

    Source: https://pytorch.org/docs/stable/generated/torch.func.functional_call.html
    """
    warn_user(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
    )
    return func.functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


_show_pages(__name__, [("functional_call", functional_call)])
