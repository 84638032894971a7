"""What functions without a meaning for complex numbers say of them."""

from __future__ import annotations

from tensorbus._tensor import Tensor
from tensorbus.ops.arguments import not_implemented


def refuse_complex(kernel: str, input: Tensor) -> None:
    """NotImplementedError, under PyTorch's name of the kernel, for a complex tensor."""
    if input._k.dtype.is_complex:
        raise not_implemented(kernel, input)
