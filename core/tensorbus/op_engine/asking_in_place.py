"""Methods in place of plain tensors whose other operand overrides."""

from __future__ import annotations

from typing import Any

from tensorbus._base.modes import OVERRIDES
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.override import dispatch, overrides, overriding


def asked_in_place(name: str, args: Any, kwargs: Any = None) -> Any:
    """What overriding operands of a method in place say; NotImplemented where there are none."""
    if not OVERRIDES.on or not any(overrides(type(x)) for x in args):
        return NotImplemented
    asked = overriding(args, kwargs)
    return dispatch(getattr(Tensor, name), asked, args, kwargs or {}) if asked else NotImplemented
