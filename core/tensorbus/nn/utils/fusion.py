"""Layers and the batch norms behind them as one layer, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

import tensorbus
from tensorbus._base.page import show_pages as _show_pages
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """One convolution that does what a convolution and a batch norm in evaluation mode do.

    *transpose* says that the convolution is a transposed one. AssertionError where one of them is
    in training mode, or where the batch norm keeps no statistics.

    >>> import tensorbus as torch
    >>> conv, bn = torch.nn.Conv2d(3, 4, 2).eval(), torch.nn.BatchNorm2d(4).eval()
    >>> fused = torch.nn.utils.fuse_conv_bn_eval(conv, bn)
    >>> x = torch.ones(1, 3, 5, 5)
    >>> torch.allclose(fused(x), bn(conv(x)), atol=1e-6)
    True

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.fuse_conv_bn_eval.html
    """
    return _fused(conv, bn, fuse_conv_bn_weights, transpose)


def _fused(layer: Any, bn: Any, weights: Any, *options: Any) -> Any:
    _check_statistics(layer, bn)
    fused: Any = copy.deepcopy(layer)
    fused.weight, fused.bias = weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
        *options,
    )  # fmt: skip
    return fused


def _check_statistics(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a convolution with a batch norm behind it.

    The arguments are weight and bias of the convolution, and running mean, running variance, eps,
    weight and bias of the batch norm. A missing bias is zero, a missing weight of the norm one.

    >>> import tensorbus as torch
    >>> w, one = torch.ones(2, 1, 1), torch.ones(2)
    >>> fuse = torch.nn.utils.fuse_conv_bn_weights
    >>> weight, bias = fuse(w, None, one, one, 0.0, one * 3, one)
    >>> weight.tolist(), bias.tolist()
    ([[[3.0]], [[3.0]]], [-2.0, -2.0])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.fuse_conv_bn_weights.html
    """
    shape = [1, -1] if transpose else [-1, 1]
    shape += [1] * (conv_w.dim() - 2)
    return _fused_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def _fused_weights(
    weight: Tensor, bias: Tensor | None, mean: Tensor, variance: Tensor, eps: float,
    scale: Tensor | None, shift: Tensor | None, shape: list[int],
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """*shape* lays the scale of each output along the weight."""
    wanted = weight.dtype if bias is None else bias.dtype
    if bias is None:
        bias = tensorbus.zeros_like(mean)
    factor = tensorbus.rsqrt(variance + eps)
    if scale is not None:
        factor = scale * factor
    fused = (weight * factor.reshape(shape)).to(dtype=weight.dtype)
    shifted = (bias - mean) * factor
    if shift is not None:
        shifted = shifted + shift
    return (
        Parameter(fused, weight.requires_grad),
        Parameter(shifted.to(dtype=wanted), bias.requires_grad),
    )


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """One linear layer that does what a linear layer and a batch norm in evaluation mode do.

    AssertionError where one of them is in training mode, where the batch norm keeps no statistics,
    and where it has neither as many features as the layer has outputs, nor one.

    >>> import tensorbus as torch
    >>> linear, bn = torch.nn.Linear(3, 4).eval(), torch.nn.BatchNorm1d(4).eval()
    >>> fused = torch.nn.utils.fuse_linear_bn_eval(linear, bn)
    >>> x = torch.ones(2, 3)
    >>> torch.allclose(fused(x), bn(linear(x)), atol=1e-6)
    True

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.fuse_linear_bn_eval.html
    """
    if not (linear.training or bn.training) and bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fused(linear, bn, fuse_linear_bn_weights)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a linear layer with a batch norm behind it.

    The arguments are as those of ``fuse_conv_bn_weights``.

    >>> import tensorbus as torch
    >>> w, one = torch.ones(2, 1), torch.ones(2)
    >>> weight, bias = torch.nn.utils.fuse_linear_bn_weights(w, one, one, one, 0.0, one * 3, one)
    >>> weight.tolist(), bias.tolist()
    ([[3.0], [3.0]], [1.0, 1.0])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.fuse_linear_bn_weights.html
    """
    return _fused_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


_show_pages(__name__, [(name, globals()[name]) for name in __all__])
