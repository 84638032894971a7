"""``torch.distributed.tensor``: its classes, for ``isinstance``; no tensor is spread out yet.

>>> import tensorbus
>>> from tensorbus.distributed.tensor import DTensor, Shard
>>> isinstance(tensorbus.ones(2), DTensor), Shard(0)
(False, Shard(dim=0))
"""

from __future__ import annotations

import dataclasses
from typing import Any, NoReturn

__all__ = [
    "DTensor",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
]


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.distributed.tensor.{name} is not supported yet: spread work over ranks with "
        "torch.nn.parallel.DistributedDataParallel or the collectives of torch.distributed"
    )


class Placement:
    """How a tensor lies on the ranks along one dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each rank has a part, of this dimension where one is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each rank has the whole."""
        return isinstance(self, Replicate)

    def is_partial(self) -> bool:
        """Whether what the ranks have is still to be reduced."""
        return isinstance(self, Partial)


@dataclasses.dataclass(frozen=True)
class Shard(Placement):
    """Each rank has a part of a dimension."""

    dim: int


@dataclasses.dataclass(frozen=True)
class Replicate(Placement):
    """Each rank has the whole."""


@dataclasses.dataclass(frozen=True)
class Partial(Placement):
    """What the ranks have is still to be reduced."""

    reduce_op: str = "sum"


class DTensor:
    """The class of tensors that are spread over ranks, of which there are none yet."""

    def __init__(self, *args: Any, **kwargs: Any):
        _refuse("DTensor")

    @staticmethod
    def from_local(*args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError."""
        _refuse("DTensor.from_local")


def distribute_tensor(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError."""
    _refuse("distribute_tensor")


def distribute_module(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError."""
    _refuse("distribute_module")
