"""Parameters as one flat vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import tensorbus
from tensorbus._tensor.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Join all parameters into one vector, in order."""
    parameters = list(parameters)
    _check_one_device(parameters)
    return tensorbus.cat([param.reshape(-1) for param in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give each parameter its part of a vector that ``parameters_to_vector`` could have made."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parameters = list(parameters)
    _check_one_device(parameters)
    start = 0
    for param in parameters:
        end = start + param.numel()
        param.data = vec[start:end].view_as(param).data
        start = end


def _check_one_device(parameters: list[Tensor]) -> None:
    if len({str(param.device) for param in parameters}) > 1:
        raise TypeError(
            "Found two parameters on different devices, this is currently not supported."
        )
