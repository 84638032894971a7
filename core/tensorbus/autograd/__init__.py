"""Gradients: ``backward``, ``grad``, grad modes, ``Function``, checks."""

from tensorbus.autograd.api import backward, grad
from tensorbus.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)

__all__ = [
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
