"""Limiting the size of gradients."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable

import tensorbus
from tensorbus._tensor.tensor import Tensor


def _as_list(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [p.grad for p in _as_list(parameters) if p.grad is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all tensors together, as if they were one vector.

    Args:
        norm_type: the p of the norm; may be ``inf``.
        error_if_nonfinite: whether a norm of nan or inf is an error.
        foreach: accepted for compatibility; it changes nothing.

    Raises:
        RuntimeError: the norm is not finite and *error_if_nonfinite* is set.
    """
    all_tensors = _as_list(tensors)
    if not all_tensors:
        return tensorbus.tensor(0.0)
    norm_type = float(norm_type)
    device = all_tensors[0].device
    with tensorbus.no_grad():
        norms = [_norm(t, norm_type).to(device) for t in all_tensors]
        total = _norm(tensorbus.stack(norms), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from "
            "`parameters` is non-finite, so it cannot be clipped. To disable "
            "this error and scale the gradients by the non-finite norm anyway, "
            "set `error_if_nonfinite=False`"
        )
    return total


def _norm(tensor: Tensor, order: float) -> Tensor:
    if tensor.is_complex():
        tensor = tensor.abs()
    if order == math.inf:
        return tensor.abs().max()
    if order == 2.0:
        return (tensor * tensor).sum().sqrt()
    if order == 1.0:
        return tensor.abs().sum()
    if order == 0.0:
        return (tensor != 0).sum().to(tensor.dtype)
    return (tensor.abs() ** order).sum() ** (1.0 / order)


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale all gradients in place by min(1, max_norm / (total_norm + 1e-6))."""
    with tensorbus.no_grad():
        # Multiplying by 1 as well keeps the host from waiting for the norm.
        scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in _grads(parameters):
            grad.mul_(scale.to(grad.device))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients in place so that their norm, taken together, is at most *max_norm*.

    Args:
        parameters: one or several tensors whose ``.grad`` is scaled.
        max_norm: the largest norm allowed.
        norm_type: the p of the norm; may be ``inf``.
        error_if_nonfinite: whether a norm of nan or inf is an error.
        foreach: accepted for compatibility; it changes nothing.

    Returns:
        The norm before scaling, a 0-dim tensor.

    Example:
        >>> weight = nn.Parameter(tensorbus.tensor([3.0, 4.0]))
        >>> (weight * weight).sum().backward()
        >>> nn.utils.clip_grad_norm_(weight, 1.0)
        tensor(10.)
        >>> weight.grad
        tensor([0.6000, 0.8000])
    """
    parameters = _as_list(parameters)
    total = get_total_norm(_grads(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The older name of ``clip_grad_norm_``; warns."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor "
        "of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Limit each element of the gradients to [-clip_value, clip_value], in place."""
    limit = float(clip_value)
    with tensorbus.no_grad():
        for grad in _grads(parameters):
            grad.clamp_(min=-limit, max=limit)
