"""Modules without initialised parameters."""

from __future__ import annotations

import inspect
from typing import Any

from tensorbus._base.page import show_pages as _show_pages
from tensorbus.nn.modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Any:
    """Make a module whose parameters and buffers are not initialised: their values are undefined.

    The arguments are those of the class; *device* is where the tensors lie at the end. The module
    is made on the device ``meta`` first, which computes nothing.

    RuntimeError for what is no class of modules, and for one that takes no *device*.

    >>> from tensorbus import nn
    >>> nn.utils.skip_init(nn.Linear, 5, 2)
    Linear(in_features=5, out_features=2, bias=True)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.skip_init.html
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=device)


_show_pages(__name__, [("skip_init", skip_init)])
