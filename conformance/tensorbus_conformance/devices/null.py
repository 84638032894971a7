"""The device ``null``: shapes and dtypes, no data and no computing, as ``meta``, but to run on.

A program runs on it with its real sizes, in no memory and hardly any time: all values read as 0.
That shows errors of shape, dtype and device, what the frontend itself costs, and, by
``tensorbus.accelerator.memory_allocated("null")``, how much memory the tensors would take.
"""

from __future__ import annotations

import numpy as np

from tensorbus.plugin import (
    BackendSpec,
    ShapeArray,
    ShapeBackend,
    ShapeStorage,
    Traits,
    hookimpl,
)
from tensorbus.plugin import dtype as DType
from tensorbus_conformance import formats


class Counted(ShapeStorage):
    """So many bytes that nobody holds; they count as allocated while it lives."""

    __slots__ = ("counter",)

    def __init__(self, nbytes: int, counter: list[int]):
        super().__init__(nbytes)
        self.counter = counter
        counter[0] += nbytes

    def __del__(self) -> None:
        self.counter[0] -= self.nbytes


class NullBackend(ShapeBackend):
    """A device that keeps shapes and forgets values."""

    name = "null"
    traits = Traits(broadcasts=True, takes_empty=True, survives_fork=True)
    most_bytes = 1 << 56  # no machine can address so much

    def __init__(self) -> None:
        self._allocated = [0]

    def storage(self, nbytes: int) -> ShapeStorage:
        return Counted(nbytes, self._allocated)

    def memory_allocated(self, index: int) -> int:
        return self._allocated[0]

    def to_host(self, array: ShapeArray, dtype: DType) -> np.ndarray:
        return np.zeros(array.shape, formats.host_dtype(dtype))

    def data_ptr(self, array: ShapeArray) -> int:
        return id(array.storage) + array.offset


@hookimpl
def tensorbus_backend() -> BackendSpec:
    """The backend of device type ``null``."""
    return BackendSpec(name="null", load=NullBackend, api=2)
