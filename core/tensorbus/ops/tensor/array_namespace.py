"""What the Python array API standard asks of an array besides what tensors have."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.public import public
from tensorbus.ops.tensor.conversion import to


def _array_namespace(self: Tensor, *, api_version: str | None = None) -> ModuleType:
    """The module with the functions of the Python array API standard, ``tensorbus.array_api``.

    ValueError for a version of the standard that it does not have.

    >>> import tensorbus
    >>> xp = tensorbus.ones(2).__array_namespace__()
    >>> xp.concat([xp.asarray([1]), xp.zeros(1)])
    tensor([1., 0.])
    """
    namespace = importlib.import_module("tensorbus.array_api")
    if api_version is not None and api_version not in namespace.VERSIONS:
        raise ValueError(
            f"the array API standard {api_version!r} is not supported; there are "
            f"{', '.join(namespace.VERSIONS)}"
        )
    return namespace


METHODS["__array_namespace__"] = _array_namespace


@public(function=False)
def to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor on another device, by the array API standard's name for ``to``.

    >>> import tensorbus
    >>> tensorbus.ones(2).to_device("cpu")
    tensor([1., 1.])
    """
    if stream is not None:
        raise ValueError("to_device(): no device here has streams, so stream must be None")
    return to(self, device)
