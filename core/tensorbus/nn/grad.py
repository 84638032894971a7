"""``torch.nn.grad``: the gradients of convolutions, as functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorbus
from tensorbus._base.page import show_pages
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]

Step = int | Sequence[int]


def _gradient(
    call: Callable[[Tensor], Tensor], size: Sequence[int], like: Tensor, grad_output: Tensor
) -> Tensor:
    """The gradient of *call*, which is linear, for an operand of that size."""
    recording = tensorbus.is_grad_enabled()
    with tensorbus.enable_grad():
        operand = like.new_zeros(tuple(size)).requires_grad_()
        output = call(operand)
        (found,) = tensorbus.autograd.grad(
            output, operand, grad_output, create_graph=recording, allow_unused=False
        )
    made: Tensor = found
    return made


def _input(
    conv: Callable[..., Any], size: Sequence[int], weight: Tensor, grad: Tensor, *rest: Any
) -> Tensor:
    return _gradient(lambda x: conv(x, weight, None, *rest), size, weight, grad)


def _weight(
    conv: Callable[..., Any], input: Tensor, size: Sequence[int], grad: Tensor, *rest: Any
) -> Tensor:
    return _gradient(lambda w: conv(input, w, None, *rest), size, input, grad)


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Step = 1,
    padding: Step = 0,
    dilation: Step = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv1d`` for its input, which has *input_size*."""
    return _input(F.conv1d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Step = 1,
    padding: Step = 0,
    dilation: Step = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv1d`` for its weight, which has *weight_size*."""
    return _weight(F.conv1d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Step = 1,
    padding: Step = 0,
    dilation: Step = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv2d`` for its input, which has *input_size*.

    RuntimeError where *grad_output* has not the shape of the convolution's output.

    >>> weight, grad = tensorbus.ones(1, 1, 2, 2), tensorbus.ones(1, 1, 2, 2)
    >>> tensorbus.nn.grad.conv2d_input((1, 1, 3, 3), weight, grad)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    return _input(F.conv2d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Step = 1,
    padding: Step = 0,
    dilation: Step = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv2d`` for its weight, which has *weight_size*."""
    return _weight(F.conv2d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Step = 1,
    padding: Step = 0,
    dilation: Step = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv3d`` for its input, which has *input_size*."""
    return _input(F.conv3d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Step = 1,
    padding: Step = 0,
    dilation: Step = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv3d`` for its weight, which has *weight_size*."""
    return _weight(F.conv3d, input, weight_size, grad_output, stride, padding, dilation, groups)


show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])
