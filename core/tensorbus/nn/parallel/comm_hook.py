"""What a communication hook of DistributedDataParallel is given."""

from __future__ import annotations

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.parallel.buckets import Bucket


class GradBucket:
    """A bucket whose gradients have all come, as a communication hook sees it.

    >>> import tensorbus as torch
    >>> torch.distributed.GradBucket.__name__
    'GradBucket'
    """

    def __init__(self, bucket: Bucket, flat: Tensor, last: bool):
        self._bucket, self._flat, self._last = bucket, flat, last

    def index(self) -> int:
        """The bucket's index in the order of reduction, from 0."""
        return self._bucket.index

    def buffer(self) -> Tensor:
        """The gradients as one flat tensor, not divided by anything."""
        return self._flat

    def set_buffer(self, buffer: Tensor) -> None:
        """Put another tensor of the same shape in its place."""
        self._flat = buffer

    def gradients(self) -> list[Tensor]:
        """The gradients, each in its parameter's shape, as views of ``buffer()``."""
        return self._bucket.views_of(self._flat)

    def parameters(self) -> list[Tensor]:
        """The parameters that the gradients belong to."""
        return list(self._bucket.params)

    def is_last(self) -> bool:
        """Whether this is the last bucket of the backward pass."""
        return self._last
