"""One rank as its cases see it: the comm, arrays for it, and a line to the parent."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import tensorbus
import tensorbus.distributed as dist
from tensorbus import discovery
from tensorbus.plugin import HOST, Comm, CommContext, CommError, dtype
from tensorbus_conformance import compare, formats
from tensorbus_conformance.comms.setting import Setting
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Unsupported

MEETING = 150.0
"""Seconds for all ranks to come: a busy machine starts them slowly."""


class Abandoned(Exception):
    """Another rank has failed in this case."""


class Rank:
    """What a case works with on one rank."""

    def __init__(self, setting: Setting, number: int, line: Connection):
        self.setting, self.rank, self.size = setting, number, setting.size
        self.name, self.timeout = setting.name, setting.timeout
        self._line = line
        self.reported: dict[str, Any] = {}
        self.wrong: list[str] = []
        self._store: dist.Store | None = None
        self._made: list[Comm] = []
        self._comm: Comm | None = None
        self._meetings = 0
        self.case = ""

    def begin(self, id: str) -> None:
        """Forget the last case."""
        self.case, self.reported, self.wrong, self._comm = id, {}, [], None

    # -- the job -----------------------------------------------------------------------------
    def join(self, timeout: float = MEETING) -> None:
        """Join a job of all ranks, the next one each time."""
        self._meetings += 1
        self._comm = None
        method = None
        if not self.setting.launched:
            path = Path(self.setting.folder) / f"{self.setting.label}-{self._meetings}"
            method = path.as_uri()
        rank = -1 if self.setting.launched else self.rank
        size = -1 if self.setting.launched else self.size
        dist.init_process_group(self.name, method, timeout=timeout, rank=rank, world_size=size)
        self.joined()

    def joined(self) -> None:
        """From here on calls have the time-out of the run: meeting may take longer."""
        self.world.timeout = self.timeout

    @property
    def world(self) -> Any:
        """The group of all ranks."""
        return dist.group.WORLD

    @property
    def comm(self) -> Comm:
        """The comm of the group of all ranks."""
        if self._comm is None:
            # Kept: where ranks are threads, another thread of a rank has no group of its own.
            self._comm = self.world.comm(self.name)
        return self._comm

    @property
    def store(self) -> dist.Store:
        """A store that the parent serves: there however the comm is."""
        if self._store is None:
            host, port, secret = self.setting.store
            self._store = dist.TCPStore(host, port, timeout=MEETING, secret=secret)
        return self._store

    def open(
        self, label: str, ranks: Sequence[int] | None = None, timeout: float | None = None
    ) -> Comm:
        """A comm of its own, made from a context: of all ranks, or of *ranks* in their order."""
        members = tuple(range(self.size)) if ranks is None else tuple(ranks)
        name = f"{self.setting.label}/{self.case}/{label}"
        context = CommContext(
            name=name,
            rank=members.index(self.rank),
            ranks=members,
            timeout=timeout or self.timeout,
            store=dist.PrefixStore(name, self.store),
            secret=self.setting.store[2],
            parent=self.comm if dist.is_initialized() else None,
        )
        made = discovery.comm(self.name)(context)
        self._made.append(made)
        return made

    def close_opened(self) -> None:
        """Close what ``open`` made."""
        while self._made:
            self._made.pop().close()

    # -- arrays for comms --------------------------------------------------------------------
    @property
    def device(self) -> str:
        """The device whose tensors the frontend moves: the host's, unless the comm lacks it."""
        takes = self.comm.capabilities()
        if HOST in takes:
            return "cpu"
        kind = sorted(takes)[0]
        return f"{kind}:{self.rank % max(discovery.backend(kind).device_count(), 1)}"

    def claims(self) -> frozenset[dtype]:
        """The dtypes that the comm takes from the memory that cases use."""
        takes = self.comm.capabilities()
        found: frozenset[dtype] = takes[HOST] if HOST in takes else takes[sorted(takes)[0]]
        return found

    def array(self, host: np.ndarray, dtype: dtype) -> Any:
        """A copy of host values as the comm takes arrays."""
        kind, _, index = self.device.partition(":")
        if kind == "cpu":
            return host.reshape(-1).copy()
        return discovery.backend(kind).from_host(host.reshape(-1).copy(), dtype, int(index))

    def encoded(self, values: np.ndarray, dtype: dtype) -> Any:
        """As ``array``, from values: bfloat16 has them in float32."""
        return self.array(formats.encode(values, dtype), dtype)

    def blank(self, n: int, dtype: dtype) -> Any:
        """An array to be written, with bytes that mean nothing."""
        host = formats.host_dtype(dtype)
        if dtype is formats.BOOL:
            return self.array(np.ones(n, bool), dtype)
        return self.array(np.frombuffer(b"\xa5" * (n * host.itemsize), host), dtype)

    def fill(self, array: Any, dtype: dtype, value: float) -> None:
        """Write one value into all of an array."""
        kind = self.device.partition(":")[0]
        if kind == "cpu":
            array[...] = value
        else:
            discovery.backend(kind).copy_(array, dtype, value, None)

    def needs_host_memory(self, what: str) -> None:
        """``Unsupported`` where the comm takes the memory of devices alone."""
        if HOST not in self.comm.capabilities():
            raise Unsupported(f"the comm takes no host memory, which {what} go through")

    def host(self, array: Any, dtype: dtype) -> np.ndarray:
        """What an array holds, as it crosses."""
        kind = self.device.partition(":")[0]
        if kind == "cpu":
            return np.asarray(array)
        return np.asarray(discovery.backend(kind).to_host(array, dtype)).reshape(-1)

    def tensor(self, values: Any, dtype: str = "float32") -> Any:
        """A tensor on the device under test."""
        return tensorbus.tensor(np.asarray(values, dtype).tolist(), dtype=getattr(tensorbus, dtype),
                                device=self.device)  # fmt: skip

    # -- judging -----------------------------------------------------------------------------
    def expect(self, good: bool, text: str) -> None:
        """Note what is wrong; the case goes on, so that the ranks stay in step."""
        if not good:
            self.wrong.append(text)

    def expect_values(self, got: Any, want: np.ndarray, dtype: dtype, what: str = "") -> None:
        """The array has these values."""
        values = formats.decode(self.host(got, dtype), dtype)
        self._compare(lambda: compare.equal(values, want, dtype, zeros=False), what)

    def expect_bits(self, got: Any, want: np.ndarray, dtype: dtype, what: str = "") -> None:
        """The array has these very bits."""
        mine, theirs = self.host(got, dtype), np.ascontiguousarray(want)
        if mine.tobytes() == theirs.tobytes():
            return
        step = theirs.dtype.itemsize
        left = np.frombuffer(mine.tobytes(), np.uint8).reshape(-1, step)
        right = np.frombuffer(theirs.tobytes(), np.uint8).reshape(-1, step)
        bad = np.flatnonzero((left != right).any(axis=1))
        first = int(bad[0])
        self.wrong.append(
            f"{what}: {len(bad):,} of {len(left):,} elements have other bits; the first at "
            f"{first}: got {left[first].tobytes().hex()}, expected {right[first].tobytes().hex()}"
        )

    def expect_tensor(self, got: Any, want: Any, what: str = "") -> None:
        """The tensor has these values and this shape."""
        values = got.detach().cpu().numpy()
        want = np.asarray(want).astype(values.dtype)
        if values.shape != want.shape:
            self.wrong.append(f"{what}: shape {values.shape}, expected {want.shape}")
        elif not np.array_equal(values, want, equal_nan=values.dtype.kind in "fc"):
            self.wrong.append(f"{what}: got {_shown(values)}, expected {_shown(want)}")

    def expect_error(
        self, types: type[BaseException] | tuple[type[BaseException], ...],
        call: Callable[[], Any], what: str,
    ) -> BaseException | None:  # fmt: skip
        """The call raises one of these; what it raised."""
        try:
            call()
        except types as e:
            return e
        except Exception as e:
            self.wrong.append(f"{what} raised {type(e).__name__}: {e}")
            return None
        self.wrong.append(f"{what} raised nothing")
        return None

    def _compare(self, check: Callable[[], None], what: str) -> None:
        try:
            check()
        except Mismatch as e:
            self.wrong.append(f"{what}: {e}" if what else str(e))

    def same(self, array: Any, dtype: dtype) -> None:
        """The array must have the same bits on all ranks: the parent compares."""
        digest = hashlib.sha256(self.host(array, dtype).tobytes()).hexdigest()
        self.reported["bits"] = self.reported.get("bits", "") + digest[:16]

    # -- with the parent's help --------------------------------------------------------------
    def sync(self, point: str = "sync") -> None:
        """Wait until all ranks are at this point, without the comm."""
        self._line.send(("sync", point))
        if self._line.recv() != "go":
            raise Abandoned

    def ended(self, rank: int) -> bool:
        """Whether this rank's comms have been told that another one has died or left."""
        monitor = self.world._world.monitor
        return monitor is not None and monitor.has_told(rank)

    def survive(self, call: Callable[[], Any], limit: float = 8.0) -> None:
        """Repeat a call, in which a fault will happen, until it raises; report what and when.

        No call may begin later than *limit* seconds after the first: the fault is known by then.
        """
        begun = time.monotonic()
        while time.monotonic() < begun + limit and self.attempt(call):
            pass

    def attempt(self, call: Callable[[], Any]) -> bool:
        """Whether a call ends well; else report what it raised and when."""
        begun = time.monotonic()
        try:
            call()
        except (dist.DistError, CommError) as e:
            self.reported["raised"] = {
                "type": type(e).__name__,
                "text": str(e),
                "ranks": list(e.ranks),
                "seconds": time.monotonic() - begun,
            }
        return "raised" not in self.reported


@contextlib.contextmanager
def beside(call: Callable[[], Any]) -> Iterator[list[BaseException]]:
    """Run a call in another thread for the length of the block; what it raised."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as e:
            errors.append(e)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield errors
    thread.join(10.0)
    if thread.is_alive():
        raise Mismatch("a call in another thread did not come back within 10 seconds")


def held() -> tuple[int, int]:
    """How many threads and open files this process has; -1 for what the system does not say."""
    try:
        files = len(os.listdir("/proc/self/fd"))
    except OSError:
        files = -1
    return threading.active_count(), files


def _shown(values: np.ndarray) -> str:
    flat = values.reshape(-1)
    text = ", ".join(str(v) for v in flat[:8].tolist())
    return f"[{text}{', ...' if flat.size > 8 else ''}]"
