"""What goes wrong between processes, by PyTorch's names."""

from __future__ import annotations

from collections.abc import Sequence


class DistError(RuntimeError):
    """Something went wrong between processes. *ranks* are the global ranks at fault, if known."""

    def __init__(self, text: str = "", ranks: Sequence[int] = ()):
        super().__init__(text)
        self.ranks = tuple(ranks)


class DistBackendError(DistError):
    """A comm failed: a rank died, hangs, was cut off, or calls something else."""


class DistNetworkError(DistError):
    """A connection could not be made, or broke."""


class DistStoreError(DistError):
    """The rendezvous store did not answer in time."""


class QueueEmptyError(DistStoreError):
    """A queue of the rendezvous store had nothing to give; stores here have no queues.

    >>> import tensorbus as torch
    >>> issubclass(torch.distributed.QueueEmptyError, torch.distributed.DistStoreError)
    True
    """
