"""The contract of a hardware backend: the runtime, the primitive kernels, the traits.

A backend owns memory and kernels and nothing else. The frontend owns shapes, promotion,
broadcasting rules, checks, error texts, views, autograd and random streams, so that they are the
same on every device. ``primitives.py`` has the kernels it must offer (``docs/primitives.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tensorbus._base.dlpack import Exporter
from tensorbus._base.dtypes import dtype
from tensorbus._base.size import is_row_major

if TYPE_CHECKING:
    from tensorbus.plugin.graph import Graph
    from tensorbus.plugin.streams import Event, Stream

API = 2
"""The contract's version: a plugin names the one it was written for."""

DType = dtype
"""``dtype``, by a name that the method ``Backend.dtype`` does not hide from type checkers."""

Array = Any
"""What a backend computes on. The frontend reads ``.shape`` and nothing else."""

Kernel = Callable[..., Array]

VIEWS = ("permute", "view", "expand", "slice", "select", "unsqueeze", "leading", "transpose")
"""View kernels a backend may override; the default for each goes through ``as_strided``.

``permute(x, dims)``, ``view(x, shape)`` (only asked where no copy is needed),
``expand(x, shape)``, ``slice(x, dim, start, stop, step)`` (``step`` may be negative, then
``stop`` may be None), ``select(x, dim, i)``, ``unsqueeze(x, dim)``; all non-negative.
``leading(x, index)`` takes a Python slice of the first dimension, of positive step, which may
count from the end; ``transpose(x, dim0, dim1)`` takes such dimensions too, and raises
for others.
"""


MEMORY_STATS = (
    "allocated",
    "allocated_peak",
    "allocated_total",
    "reserved",
    "reserved_peak",
    "free",
)
"""What ``Backend.memory_stats`` may tell, in bytes, of a device's memory.

``allocated`` is what arrays of this process have now, ``allocated_total`` what they were given
since it began, freed or not; ``reserved`` is what the process holds of the device, with what it
keeps for later arrays. The peaks are the most of each, since it began or since
``reset_memory_peaks``.
``free`` is what the device has left, for all processes.
"""


@dataclass(frozen=True, slots=True)
class Traits:
    """What a backend's kernels can and cannot take; the frontend arranges the rest."""

    broadcasts: bool = False
    """Pointwise kernels and matmul accept operands of different shapes and broadcast them."""
    takes_empty: bool = False
    """Kernels accept arrays of zero elements (reductions without identity excepted)."""
    contiguous_inputs: bool = False
    """Kernels want row-major contiguous inputs."""
    negative_strides: bool = True
    """``as_strided`` accepts negative strides."""
    strided_out: bool = True
    """``out=`` may be a strided view."""
    host_sync: bool = True
    """Kernels have run when they return, so faults can be raised at once."""
    scalar_results: bool = False
    """A kernel may return a host scalar where a 0-d array is due."""
    python_scalars: bool = False
    """Kernels take Python numbers as they are, besides what ``scalar`` makes of them."""
    deterministic_scatter: bool = True
    """``put`` and ``scatter`` with duplicate indices give the same bits on every run; the frontend
    goes another way where it is False and the program asks for deterministic algorithms."""
    survives_fork: bool = False
    """A forked child may go on using the device; else every use there is an error."""
    has_values: bool = True
    """Whether arrays have values. Where they have none, shapes, dtypes and strides are all that
    there is: the frontend asks no kernel for more, and a program that reads a value has an error.
    Such a device has no index."""
    piece: int = 0
    """So many elements of a composed pointwise op are computed at once, where there are more: then
    what lies between its steps stays in the processor's caches. 0 for all at once."""
    max_rank: int = 64
    """The most dimensions that the operands of a primitive have, 3 or more: the frontend folds
    those of more. What is no kernel of a primitive takes up to 64 whatever this says."""

    def __post_init__(self) -> None:
        if self.max_rank < 3:
            raise ValueError(
                f"Traits(max_rank={self.max_rank}): kernels take at least 3 dimensions, to which "
                "tensorbus folds those of larger operands"
            )


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one device can do, as ``tensorbus devices`` prints it."""

    name: str
    dtypes: frozenset[dtype]
    memory_total: int | None = None
    """Bytes, where known."""
    details: dict[str, str] = field(default_factory=dict)
    accelerator: bool = False
    """Whether it computes beside the host's processor: what programs find that ask for any
    accelerator."""


class Imported(NamedTuple):
    """An array over memory that another library owns, which lives as long as the array."""

    array: Array
    dtype: dtype
    writable: bool
    """False where the exporter said that its memory is read-only."""


SINCE: dict[str, int] = dict.fromkeys(
    (
        "compile default_stream current_stream set_stream new_stream wrap_stream new_event "
        "open_event record_stream pinned_empty is_pinned from_pinned to_pinned dlpack_device "
        "to_dlpack from_dlpack export_storage import_storage memory_stats reset_memory_peaks "
        "compile_source"
    ).split(),
    2,
)
"""The version that each method of a backend came with, where it was not the first.

In a plugin of an earlier version such a name may mean something else, so it is not called there.
"""


class Backend:
    """A kind of device: its runtime, and the kernels it offers.

    Arrays are opaque to the frontend but for ``.shape``. Strides and offsets are counted in
    elements. Subclass ``ArrayLibraryBackend``, ``ImmutableArrayBackend`` or
    ``KernelLanguageBackend`` rather than this class unless the device is like none of them.
    """

    name: ClassVar[str]
    """The device type, as in ``device("name:0")``."""
    traits: ClassVar[Traits] = Traits()

    # -- devices -----------------------------------------------------------------------------
    def device_count(self) -> int:
        """How many devices of this type can be used."""
        raise NotImplementedError

    def capabilities(self, index: int) -> Capabilities:
        """What device *index* is and can do."""
        raise NotImplementedError

    def synchronize(self, index: int) -> None:
        """Wait for the device's work; raise the first pending ``IndexFault``."""

    # -- memory ------------------------------------------------------------------------------
    def empty(self, shape: Sequence[int], dtype: dtype, index: int) -> Array:
        """A new row-major array of any values."""
        raise NotImplementedError

    def from_host(self, array: np.ndarray, dtype: dtype, index: int) -> Array:
        """A new row-major array with a copy of a NumPy array of the same dtype.

        bfloat16 crosses as its bits, in a uint16 NumPy array.
        """
        raise NotImplementedError

    def to_host(self, array: Array, dtype: dtype) -> np.ndarray:
        """A NumPy array with a copy of the values; raises the first pending ``IndexFault``."""
        raise NotImplementedError

    def share_host(self, array: np.ndarray, dtype: dtype) -> Array | None:
        """The backend's array over a NumPy array's own memory, or None where it has no way."""
        return None

    def view_host(self, array: Array, dtype: dtype) -> np.ndarray | None:
        """A NumPy array over the array's own memory, or None where it has no way."""
        return None

    def copy_(self, dst: Array, dst_dtype: dtype, src: Array, src_dtype: dtype | None) -> None:
        """Write *src* into *dst*: any strides on both sides, any dtypes, any device index.

        *src* is expanded to *dst*'s shape by the frontend, or is a Python scalar (then
        *src_dtype* is None): a fill. int to int wraps; float to int truncates, and towards uint8,
        int8 and int16 goes through int64; anything to bool is ``!= 0`` (NaN is True); complex
        to real drops the imaginary part.
        """
        raise NotImplementedError

    def as_strided(
        self,
        array: Array,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        dtype: dtype,
        new_dtype: dtype,
    ) -> Array:
        """Another view of *array*'s storage; shape, strides and offset count *new_dtype*.

        *dtype* is what *array* holds now. The offset counts from the start of the storage, not
        from *array*'s own. The frontend checks the bounds.
        """
        raise NotImplementedError

    def layout(self, array: Array, dtype: dtype) -> tuple[Hashable, int, tuple[int, ...]]:
        """(storage key, offset, strides) of an array: equal keys mean the same storage."""
        raise NotImplementedError

    def strides(self, array: Array, dtype: dtype) -> tuple[int, ...]:
        """The strides alone, which are asked for most. Override where ``layout`` has more to do."""
        return self.layout(array, dtype)[2]

    def storage_size(self, array: Array, dtype: dtype) -> int:
        """Bytes of the whole storage that *array* is a view of."""
        raise NotImplementedError

    def data_ptr(self, array: Array) -> int:
        """The address of the array's first element (any stable number where there is none)."""
        return id(array)

    def is_contiguous(self, array: Array, dtype: dtype) -> bool:
        """Whether the array is row-major without gaps. Override where the library knows."""
        return is_row_major(array.shape, self.strides(array, dtype))

    def _contiguity(self, dtype: dtype) -> Callable[[Array], bool]:
        """``is_contiguous`` for one dtype, asked once: the frontend calls what it gives most."""
        return lambda array: self.is_contiguous(array, dtype)

    def as_array(self, result: Any, dtype: dtype, index: int) -> Array:
        """The 0-d array for a host scalar that a kernel returned (trait ``scalar_results``)."""
        return self.from_host(np.asarray(result), dtype, index)

    def owns_storage(self, array: Array) -> bool:
        """Whether no other array shares this one's storage, as far as the backend can tell."""
        return False

    # -- kernels -----------------------------------------------------------------------------
    def dtype(self, dtype: DType) -> Any:
        """What this backend's kernels take where the table says *dtype*."""
        return dtype

    def scalar(self, value: bool | int | float | complex, dtype: DType) -> Any:
        """What this backend's kernels take for a Python number of that dtype.

        The frontend keeps it and hands it to any number of kernels, so that nothing may write into
        it: where it is an array, close it to writes if the device can.
        """
        return value

    def kernel(self, op: str, dtype: DType, index: int) -> Kernel | None:
        """The callable for *op* on operands of *dtype* on device *index*, or None.

        Asked once for each op, dtype and device, when a program first needs it; what it returns
        is called directly from then on. *op* is a primitive, a name of ``VIEWS``, or any other op
        of the frontend that this backend has a faster kernel for.
        """
        raise NotImplementedError

    # -- optional ----------------------------------------------------------------------------
    def memory_allocated(self, index: int) -> int | None:
        """Bytes in use on the device by this process, where known."""
        return None

    def empty_cache(self) -> None:
        """Give cached memory back to the device."""

    def set_num_threads(self, n: int) -> None:
        """Use *n* host threads for kernels, where the backend has such a setting."""

    # -- optional, since version 2: the defaults say "not offered" -----------------------------
    def memory_stats(self, index: int) -> dict[str, int] | None:
        """Figures of the device's memory by the names of ``MEMORY_STATS``: those it knows."""
        return None

    def reset_memory_peaks(self, index: int) -> None:
        """Let the peaks of ``memory_stats`` begin again, at what is in use now."""

    def compile(self, graph: Graph, index: int) -> Kernel | None:
        """One kernel for a whole graph on device *index*, or None: not for this one.

        Called as ``kernel(*inputs, out=None)`` with the graph's inputs; returns its output, or a
        tuple of several. See "Graphs" in ``docs/contract.md``.
        """
        return None

    def compile_source(self, source: str, name: str, index: int) -> Callable[..., None] | None:
        """A user's kernel, as ``launch(threads, group, *arguments)``: see ``docs/contract.md``."""
        return None

    def default_stream(self, index: int) -> Stream | None:
        """The stream that a thread uses until it chooses another."""
        return None

    def current_stream(self, index: int) -> Stream | None:
        """The stream that the calling thread's kernels, copies and transfers go into."""
        return None

    def set_stream(self, stream: Stream) -> None:
        """Make a stream the current one of its device, for the calling thread alone."""

    def new_stream(self, index: int, priority: int = 0) -> Stream | None:
        """A further stream."""
        return None

    def wrap_stream(self, handle: int, index: int) -> Stream | None:
        """The stream of another library, by its native handle; it is not owned."""
        return None

    def new_event(
        self, index: int, timing: bool = False, interprocess: bool = False
    ) -> Event | None:
        """A new event."""
        return None

    def open_event(self, handle: bytes, index: int) -> Event | None:
        """The event of another process, by what its ``Event.handle`` returned."""
        return None

    def record_stream(self, array: Array, stream: Stream) -> None:
        """Do not use the array's memory again before what *stream* has now is done."""

    def pinned_empty(self, nbytes: int) -> np.ndarray | None:
        """A new uint8 array over page-locked host memory, which is freed with it."""
        return None

    def is_pinned(self, array: np.ndarray) -> bool:
        """Whether a host array lies in memory of ``pinned_empty``."""
        return False

    def from_pinned(self, array: np.ndarray, dtype: DType, index: int) -> Array | None:
        """As ``from_host``, but queued: the caller changes *array* only when the copy is done."""
        return None

    def to_pinned(self, array: Array, dtype: DType, out: np.ndarray) -> bool:
        """Queue a copy of the values into *out*, of their shape; False: not offered."""
        return False

    def dlpack_device(self, index: int) -> tuple[int, int] | None:
        """DLPack's type and number of device *index*."""
        return None

    def to_dlpack(
        self,
        array: Array,
        dtype: DType,
        stream: int | None,
        max_version: tuple[int, int] | None,
        copy: bool | None,
    ) -> Any:
        """A DLPack capsule over the array's memory; the arguments are those of ``__dlpack__``."""
        return None

    def from_dlpack(self, exporter: Exporter, index: int, copy: bool | None) -> Imported | None:
        """An array over the memory of an object with ``__dlpack__``, on the same device.

        ``exporter.found`` then has what the capsule says. *copy* False: a copy is an error.
        """
        return None

    def export_storage(self, array: Array, dtype: DType) -> bytes | None:
        """A handle of the array's storage, whose queued work is done, for other processes."""
        return None

    def import_storage(
        self, handle: bytes, nbytes: int, index: int, release: Callable[[], None]
    ) -> Array | None:
        """A flat uint8 array over another process's storage; freed, it calls *release*."""
        return None
