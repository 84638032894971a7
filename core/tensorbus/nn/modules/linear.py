"""Linear layers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import tensorbus
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import names_of as _names_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn import init
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parameter import Parameter


class Identity(Module):
    """Returns its input; takes any arguments, so that it can stand in for any layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """Applies y = x A^T + b.

    Args:
        in_features: size of each input sample.
        out_features: size of each output sample.
        bias: whether to learn b.

    Shapes: (*, in_features) to (*, out_features). ``weight`` is A, (out_features, in_features),
    drawn uniformly from ±1/sqrt(in_features), as *bias* is.

    Example:
        >>> nn.Linear(20, 30)(tensorbus.ones(128, 20)).shape
        torch.Size([128, 30])
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(
            tensorbus.empty((out_features, in_features), device=device, dtype=dtype)
        )
        if bias:
            self.bias = Parameter(tensorbus.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    """Applies y = x1^T A x2 + b.

    Shapes: (*, in1_features) and (*, in2_features) to (*, out_features). ``weight`` is A,
    (out_features, in1_features, in2_features).
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(tensorbus.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tensorbus.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


if not TYPE_CHECKING:  # what PyTorch keeps in this module
    __getattr__ = _attributes(
        __name__,
        others=_names_of("tensorbus.nn.modules.lazy_layers", "tensorbus.nn.modules.attention"),
    )
