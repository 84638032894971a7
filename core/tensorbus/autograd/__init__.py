"""Gradients: ``backward``, ``grad``, grad modes, ``Function``, checks."""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import listing as _listing
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.autograd.grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from tensorbus.autograd.variable import Variable

if TYPE_CHECKING:
    from tensorbus.autograd.anomaly_mode import detect_anomaly as detect_anomaly
    from tensorbus.autograd.anomaly_mode import set_detect_anomaly as set_detect_anomaly
    from tensorbus.autograd.api import backward as backward
    from tensorbus.autograd.api import grad as grad
    from tensorbus.autograd.checks import GradcheckError as GradcheckError
    from tensorbus.autograd.checks import gradcheck as gradcheck
    from tensorbus.autograd.checks import gradgradcheck as gradgradcheck
    from tensorbus.autograd.function import Function as Function
    from tensorbus.autograd.function import FunctionCtx as FunctionCtx
    from tensorbus.autograd.function import once_differentiable as once_differentiable

# The engine is loaded when a gradient is first wanted.
_LATER = {
    "backward": "api",
    "detect_anomaly": "anomaly_mode",
    "set_detect_anomaly": "anomaly_mode",
    "grad": "api",
    "Function": "function",
    "FunctionCtx": "function",
    "once_differentiable": "function",
    "GradcheckError": "checks",
    "gradcheck": "checks",
    "gradgradcheck": "checks",
}


__getattr__ = _attributes(__name__, _LATER)
__dir__ = _listing(__name__, _LATER)


__all__ = [
    "Variable",
    "backward",
    "enable_grad",
    "enforce_grad_layout_policy",
    "grad",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

_show_pages(__name__, [(n, globals().get(n)) for n in __all__])
