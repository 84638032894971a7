"""The contract of a communication plugin: seven calls that move contiguous arrays between ranks.

The frontend owns everything that users see: argument checks, packing of strided tensors, staging
through the host, order, ``async_op``, versions, and every operation that can be composed from the
seven. A comm owns connections and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from tensorbus._base.dtypes import dtype
from tensorbus._base.float_warnings import quietly
from tensorbus.plugin.backend import Array

HOST = "host"
"""The key of ``Comm.capabilities`` for NumPy arrays in the process's own memory."""

REDUCE_OPS = ("sum", "product", "min", "max", "band", "bor", "bxor")
"""The names under which reductions reach a comm; averages are sums that the frontend divides."""

COMM_REQUIRED = ("send", "recv", "broadcast", "all_reduce", "all_gather", "reduce_scatter",
                 "barrier")  # fmt: skip
COMM_OPTIONAL = ("reduce", "gather", "scatter", "all_to_all")
"""What the frontend composes from the required calls unless a comm overrides it."""


class CommError(RuntimeError):
    """Communication failed. *ranks* are the global ranks at fault, where they are known."""

    def __init__(self, text: str, ranks: Sequence[int] = ()):
        super().__init__(text)
        self.ranks = tuple(ranks)


class PeerLost(CommError):
    """A rank died, left or was cut off."""


class CommTimeout(CommError):
    """A call did not finish in time; *ranks* are those that were waited for."""


class CommStore(Protocol):
    """What a comm sees of the rendezvous store: keys of its own group, shared by its ranks."""

    def set(self, key: str, value: str | bytes) -> None:
        """Write a key."""

    def get(self, key: str) -> bytes:
        """The value of a key; waits until somebody sets it, at most the store's time-out."""

    def add(self, key: str, amount: int) -> int:
        """Add to the number under a key (0 at first) and return the sum."""

    def wait(self, keys: list[str], timeout: float | None = None) -> None:
        """Wait until all keys are set."""

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are set."""

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Write *desired* where the key has *expected* (empty: is not set); the value after it."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What a launcher that is not ours passed to this process, such as mpirun."""

    rank: int
    size: int
    local_rank: int = 0
    """The process's number on its machine."""
    local_size: int = 0
    """How many ranks this machine has, where the launcher says."""


@dataclass(frozen=True, slots=True)
class CommContext:
    """What a comm is made from: one group of ranks, seen from one of them."""

    name: str
    """The group's name, the same on all its ranks and different from every other group's."""
    rank: int
    """This process's rank within the group."""
    ranks: tuple[int, ...]
    """The global rank of each member, by rank within the group: for error messages."""
    timeout: float
    """Seconds that making the connections may take."""
    store: CommStore | None = None
    """Where ranks find each other; None for a comm whose spec says ``needs_store=False``."""
    secret: bytes = b""
    """The job's secret: prove it to every peer, and let every peer prove it."""
    parent: Comm | None = None
    """For a group made of another's ranks: that group's comm."""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many ranks the group has."""
        return len(self.ranks)

    def peer(self, rank: int) -> str:
        """How messages name a member: by its global rank."""
        own = self.ranks[rank]
        return f"rank {own}" if own == rank else f"rank {own} (rank {rank} of its group)"


class Comm:
    """The connections of one group of ranks. Subclass it and write the seven required calls.

    - An *array* is contiguous. Where the device's memory can't be taken it is a one-dimensional
      NumPy array over host memory, bfloat16 as its bits in uint16; *dtype* is always the
      tensor's. It may have no elements.
    - A *rank* is one within the group. Every rank is below ``context.size``.
    - A call blocks until its arrays may be used again and raises ``CommTimeout`` after *timeout*
      seconds, ``PeerLost`` where a rank is gone, each with the global ranks at fault.
    - Collectives come one at a time, in one order on all ranks. ``send`` and ``recv`` may come from
      other threads at the same time, also while a collective runs.
    - Results of a reduction are the same bits on every rank.
    """

    name: ClassVar[str]

    def __init__(self, context: CommContext):
        self.context = context

    def capabilities(self) -> Mapping[str, frozenset[dtype]]:
        """The dtypes taken, by device type; ``"host"`` stands for NumPy arrays.

        Tensors of other devices come as host arrays, where ``"host"`` is listed.
        """
        raise NotImplementedError

    # -- required ----------------------------------------------------------------------------
    def send(self, array: Array, dtype: dtype, dst: int, tag: int, timeout: float) -> None:
        """Send to *dst*. Messages of one tag between two ranks arrive in the order of sending.

        Two ranks that send to each other first and receive then must not block each other.
        """
        raise NotImplementedError

    def recv(self, array: Array, dtype: dtype, src: int | None, tag: int, timeout: float) -> int:
        """Fill the array with the next message from *src* (None: from any) with that tag.

        Returns the sender's rank; ``CommError`` where the message has another size. After a
        time-out the message may still be received by a later call.
        """
        raise NotImplementedError

    def broadcast(self, array: Array, dtype: dtype, src: int, timeout: float) -> None:
        """Give all ranks the array of *src*, in place."""
        raise NotImplementedError

    def all_reduce(self, array: Array, dtype: dtype, op: str, timeout: float) -> None:
        """Combine the arrays of all ranks element by element, in place; *op* of ``REDUCE_OPS``."""
        raise NotImplementedError

    def all_gather(self, out: Array, array: Array, dtype: dtype, timeout: float) -> None:
        """Concatenate the equally long arrays of all ranks, by rank, into *out*."""
        raise NotImplementedError

    def reduce_scatter(
        self, out: Array, array: Array, dtype: dtype, op: str, timeout: float
    ) -> None:
        """Combine all ranks' arrays and write this rank's part of the result into *out*.

        *array* is ``context.size`` times as long as *out* and stays as it was.
        """
        raise NotImplementedError

    def barrier(self, timeout: float) -> None:
        """Return when all ranks have called."""
        raise NotImplementedError

    # -- optional ----------------------------------------------------------------------------
    def reduce(self, array: Array, dtype: dtype, op: str, dst: int, timeout: float) -> None:
        """Combine as ``all_reduce``; only *dst* keeps the result, other arrays may hold anything
        after it."""
        raise NotImplementedError

    def gather(
        self, out: Array | None, array: Array, dtype: dtype, dst: int, timeout: float
    ) -> None:
        """Concatenate as ``all_gather``, into *out* of *dst*; None elsewhere."""
        raise NotImplementedError

    def scatter(
        self, out: Array, array: Array | None, dtype: dtype, src: int, timeout: float
    ) -> None:
        """Give each rank its part of *src*'s array; None elsewhere."""
        raise NotImplementedError

    def all_to_all(
        self,
        out: Array,
        array: Array,
        dtype: dtype,
        out_counts: Sequence[int],
        counts: Sequence[int],
        timeout: float,
    ) -> None:
        """Send ``counts[i]`` elements of the array to rank *i* and get ``out_counts[i]`` from it,
        both one after the other by rank."""
        raise NotImplementedError

    def overrides(self, call: str) -> bool:
        """Whether this comm has the optional call of that name."""
        return getattr(type(self), call) is not getattr(Comm, call)

    # -- life cycle --------------------------------------------------------------------------
    def prepare(self, timeout: float) -> None:
        """All ranks of the group are making their comm: take from the store what later calls need.

        The process that serves the store may end before this one. Called once, before the first
        call, where the frontend knows that all ranks come.
        """

    def peer_died(self, rank: int) -> bool:
        """That rank's process ended, without a word: what it sent before may still come.

        It may have ended well, after its last call. True where this comm delivers what has come,
        goes on among the other ranks, and raises ``PeerLost`` in a call that needs more of that
        one. False, the default, has the frontend call ``abort``. Called from any thread.
        """
        return False

    def peer_left(self, rank: int) -> None:
        """That rank has left the group in order: what it sent before may still come, nothing more.

        Called from any thread. A comm whose receives would wait for it can end them with
        ``PeerLost``.
        """

    def abort(self, error: CommError) -> None:
        """Make every running and later call raise *error* soon. Called from any thread, once."""

    def close(self) -> None:
        """Leave the group and free its connections, threads and files; called twice is fine."""


_UFUNCS: dict[str, Any] = {
    "sum": np.add, "product": np.multiply, "min": np.minimum, "max": np.maximum,
    "band": np.bitwise_and, "bor": np.bitwise_or, "bxor": np.bitwise_xor,
}  # fmt: skip


def reduce_into(op: str, dtype: dtype, out: np.ndarray, other: np.ndarray) -> None:
    """``out = out OP other`` on host arrays as comms get them, bfloat16 bits included.

    Integers wrap; truth values add as "or" and multiply as "and"; NaN wins minima and maxima.
    """
    ufunc = _UFUNCS[op]
    if dtype.name == "bfloat16":
        out[...] = quietly(_bits_combined, ufunc, out, other)
    elif dtype.is_floating_point or dtype.is_complex:
        quietly(ufunc, out, other, out=out)
    else:
        ufunc(out, other, out=out)


def _bits_combined(ufunc: Any, bits: np.ndarray, others: np.ndarray) -> np.ndarray:
    return _to_bits(ufunc(_from_bits(bits), _from_bits(others)))


def _from_bits(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _to_bits(values: np.ndarray) -> np.ndarray:
    """float32 to bfloat16 bits, to nearest even; NaN stays NaN."""
    bits = values.view(np.uint32)
    rounded = ((bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)
