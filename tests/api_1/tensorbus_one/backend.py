"""The device: buffers, transfers, the compiler and the launch. tensorbus writes the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tensorbus.plugin import VIEWS, Capabilities, Kernel, dtype
from tensorbus.plugin.kernel_language import Dialect

from tensorbus_one import driver
from tensorbus_one.dialect import PRELUDE
from tensorbus_one.host_copies import HostCopies

GENERATED: frozenset[str] | None = None
"""The ops whose generated kernels are used, or None for all; others run on the CPU."""


class OneBackend(HostCopies):
    """Buffers of the driver, and kernels in its language."""

    name = "one"

    @property
    def compiles(self) -> bool:
        """Whether kernels can be compiled; until then copies go by way of the host."""
        return driver.COMPILER is not None and GENERATED != frozenset()

    def device_count(self) -> int:
        """How many devices of this type can be used."""
        return 1

    def capabilities(self, index: int) -> Capabilities:
        """What ``tensorbus devices`` prints."""
        details = {"compiler": driver.COMPILER or "none"}
        name = "host memory, in place of a device"
        return Capabilities(name, self.supported(index), details=details)

    def dialect(self, index: int) -> Dialect:
        """The kernel language; a dtype that it says no to is not claimed."""
        return Dialect(PRELUDE, group=8, float16=False, atomics64=True)

    def alloc(self, index: int, nbytes: int) -> Any:
        """A new buffer, freed with the object."""
        return driver.alloc(nbytes)

    def upload(self, index: int, buffer: Any, values: np.ndarray) -> None:
        """Copy a C-contiguous host array to the start of a buffer."""
        driver.write(buffer, values)

    def download(self, index: int, buffer: Any, start: int, values: np.ndarray) -> None:
        """Fill a C-contiguous host array with the bytes from *start* on; waits for them."""
        driver.read(buffer, start, values)

    def compile(
        self, index: int, source: str, name: str, types: Sequence[str | None]
    ) -> Callable[..., None]:
        """A function ``launch(size, *arguments)`` that queues the kernel *name* of *source*."""
        return driver.build(source, name, types)

    def finish(self, index: int) -> None:
        """Wait for all that was launched; the stand-in's kernels have run when they return."""

    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        """The callable for an op, or None; asked once for each op, dtype and device."""
        wanted = self.compiles and (GENERATED is None or op in GENERATED)
        return super().kernel(op, dtype, index) if wanted or op in VIEWS else None
