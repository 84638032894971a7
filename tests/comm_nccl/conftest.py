"""A stand-in for CuPy and NCCL: NumPy arrays as GPU memory, threads as ranks.

It moves bytes by the addresses, counts and number types it is given, on streams that run beside
the program, and refuses what NCCL refuses. It says nothing about a GPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.machinery
import itertools
import queue
import sys
import threading
import types
from functools import reduce
from typing import ClassVar

import numpy as np
import pytest

from tensorbus.distributed.store import HashStore, PrefixStore
from tensorbus.plugin import CommContext

NUMBERS = {0: "int8", 1: "uint8", 2: "int32", 3: "uint32", 4: "int64", 5: "uint64",
           6: "float16", 7: "float32", 8: "float64"}  # fmt: skip
FOLDS = {0: np.add, 1: np.multiply, 2: np.maximum, 3: np.minimum}
_now = threading.local()


class NcclError(RuntimeError):
    """What CuPy raises for a status."""


class Over(Exception):
    """The communicator was aborted: its stream goes no further."""


class Device:
    """``cupy.cuda.Device``."""

    def __init__(self, id=None):
        self.id = getattr(_now, "device", 0) if id is None else id

    def __enter__(self):
        self._before = getattr(_now, "device", 0)
        _now.device = self.id
        return self

    def __exit__(self, *_):
        _now.device = self._before


class Array(np.ndarray):
    """``cupy.ndarray``, as far as the comm uses it."""

    def __array_finalize__(self, other):
        self.number = getattr(other, "number", getattr(_now, "device", 0))

    @property
    def device(self):
        return Device(self.number)

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.ctypes.data)


def array(values, dtype=None):
    """Values in the memory of the current device."""
    found = np.array(values, dtype).view(Array)
    found.number = getattr(_now, "device", 0)
    return found


def empty(shape, dtype):
    found = np.full(shape, 93, dtype).view(Array)
    found.number = getattr(_now, "device", 0)
    return found


class Event:
    """``cupy.cuda.Event``."""

    def __init__(self):
        self.reached = threading.Event()

    @property
    def done(self):
        return self.reached.is_set()


class Stream:
    """``cupy.cuda.Stream``: does one thing after the other in a thread of its own."""

    made: ClassVar[dict[int, Stream]] = {}
    _count = itertools.count(1000)

    def __init__(self, non_blocking=False):
        assert non_blocking, "work on the default stream would wait for all other work"
        self.ptr, self.jobs, self.log = next(self._count), queue.Queue(), []
        Stream.made[self.ptr] = self
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self):
        with contextlib.suppress(Over):
            while (job := self.jobs.get()) is not None:
                job()

    def wait_event(self, event):
        self.log.append("wait")
        self.jobs.put(event.reached.wait)

    def record(self):
        event = Event()
        self.jobs.put(event.reached.set)
        return event


class Default:
    """The stream of what the program computes; ``hold`` is work on it that is not done yet."""

    hold: Event | None = None

    def record(self):
        if self.hold is not None:
            return self.hold
        event = Event()
        event.reached.set()
        return event


class Hub:
    """What the ranks of one communicator share."""

    def __init__(self, size):
        self.size, self.changed = size, threading.Condition()
        self.devices, self.rounds, self.boxes = {}, {}, {}
        self.over = self.trouble = None
        self.connects = False  # a call blocks, as the first one does until all ranks have come

    def wait(self, ready):
        with self.changed:
            while not ready():
                if self.over:
                    raise Over
                self.changed.wait(5)


HUBS: dict[bytes, Hub] = {}
_groups = threading.local()
_lock = threading.Lock()


def memory(address, nbytes):
    assert address > 4096, "no address"
    return np.ctypeslib.as_array((ctypes.c_ubyte * nbytes).from_address(address))


class Communicator:
    """``NcclCommunicator``."""

    ended: ClassVar[list[str]] = []

    def __init__(self, ndev, commId, rank):
        assert type(ndev) is int and type(commId) is bytes and len(commId) == 128
        with _lock:
            self._hub = HUBS.setdefault(commId, Hub(ndev))
        hub, self._rank, self._round = self._hub, rank, 0
        with hub.changed:
            assert rank not in hub.devices and 0 <= rank < hub.size == ndev
            hub.devices[rank] = Device().id
            hub.changed.notify_all()
        hub.wait(lambda: len(hub.devices) == hub.size)
        if len(set(hub.devices.values())) < hub.size:
            raise NcclError("NCCL_ERROR_INVALID_USAGE: invalid usage")

    def _put(self, stream, job):
        if self._hub is None or self._hub.trouble == "at once":
            raise NcclError("NCCL_ERROR_INVALID_ARGUMENT: invalid argument")
        assert Device().id == self._hub.devices[self._rank], "another device is current"
        if self._hub.connects:
            with contextlib.suppress(Over):
                self._hub.wait(lambda: False)
            raise NcclError("NCCL_ERROR_INTERNAL_ERROR: aborted")
        assert Stream.made[stream].log[-1] == "wait", "it would not wait for the data"
        group = getattr(_groups, "open", None)
        if group is None:
            Stream.made[stream].jobs.put(lambda: [step() for step in job])
        else:
            group.append((stream, job))

    def _all(self, stream, what, mine, use):
        """Give *mine* to all ranks, and ``use(parts)`` when all have come with the same *what*."""
        self._round += 1
        hub, number = self._hub, self._round

        def give():
            with hub.changed:
                parts = hub.rounds.setdefault(number, {})
                parts[self._rank] = (what, mine())
                hub.changed.notify_all()

        def take():
            parts = hub.rounds[number]
            hub.wait(lambda: len(parts) == hub.size)
            if len({w for w, _ in parts.values()}) > 1:
                hub.trouble = f"ranks differ: {parts}"
            use([parts[r][1] for r in range(hub.size)])

        self._put(stream, [give, take])

    def _read(self, address, nbytes):
        return lambda: memory(address, nbytes).copy()

    def _write(self, address, part):
        memory(address, part.nbytes)[...] = part.view(np.uint8)

    def _fold(self, parts, kind, op):
        name = NUMBERS[kind]
        assert not (op in (2, 3) and name.startswith("float")), "NCCL would lose NaN"
        return reduce(FOLDS[op], [p.view(name) for p in parts])

    def broadcast(self, source, target, count, kind, root, stream):
        nbytes = count * np.dtype(NUMBERS[kind]).itemsize
        self._all(stream, ("broadcast", nbytes, root), self._read(source, nbytes),
                  lambda parts: self._write(target, parts[root]))  # fmt: skip

    def allReduce(self, source, target, count, kind, op, stream):
        nbytes = count * np.dtype(NUMBERS[kind]).itemsize
        self._all(stream, ("allReduce", count, kind, op), self._read(source, nbytes),
                  lambda parts: self._write(target, self._fold(parts, kind, op)))  # fmt: skip

    def reduce(self, source, target, count, kind, op, root, stream):
        nbytes = count * np.dtype(NUMBERS[kind]).itemsize

        def use(parts):
            if self._rank == root:
                self._write(target, self._fold(parts, kind, op))

        self._all(stream, ("reduce", count, kind, op, root), self._read(source, nbytes), use)

    def reduceScatter(self, source, target, count, kind, op, stream):
        nbytes, n = count * np.dtype(NUMBERS[kind]).itemsize, self._hub.size

        def use(parts):
            self._write(target, self._fold(parts, kind, op).reshape(n, count)[self._rank])

        self._all(stream, ("scatter", count, kind, op), self._read(source, nbytes * n), use)

    def allGather(self, source, target, count, kind, stream):
        nbytes = count * np.dtype(NUMBERS[kind]).itemsize
        self._all(stream, ("gather", nbytes), self._read(source, nbytes),
                  lambda parts: self._write(target, np.concatenate(parts)))  # fmt: skip

    def send(self, source, count, kind, peer, stream):
        assert NUMBERS[kind] == "uint8" and count > 0
        hub, key, taken = self._hub, (self._rank, peer), threading.Event()

        def give():
            with hub.changed:
                box = hub.boxes.setdefault(key, [])
                box.append((memory(source, count).copy(), taken))
                hub.changed.notify_all()

        self._put(stream, [give, lambda: hub.wait(taken.is_set)])

    def recv(self, target, count, kind, peer, stream):
        assert NUMBERS[kind] == "uint8" and count > 0
        hub, key = self._hub, (peer, self._rank)

        def take():
            hub.wait(lambda: hub.boxes.get(key))
            with hub.changed:
                data, taken = hub.boxes[key].pop(0)
                taken.set()
                hub.changed.notify_all()
            if data.size != count:
                hub.trouble = "a message was cut off"
            self._write(target, data)

        self._put(stream, [take])

    def check_async_error(self):
        if self._hub.trouble:
            raise KeyError(7) if self._hub.trouble == "nameless" else NcclError(self._hub.trouble)

    def abort(self):
        self._end("abort")

    def destroy(self):
        self._end("destroy")

    def _end(self, how):
        Communicator.ended.append(how)
        hub, self._hub = self._hub, None
        if hub is not None and how == "abort":
            with hub.changed:
                hub.over = True
                hub.changed.notify_all()


def group_start():
    _groups.open = []


def group_end():
    jobs, _groups.open = _groups.open, None
    # What a group asks for goes on together: give all, take all, then wait until all is taken.
    sends, receives = ([j for j in jobs if len(j[1]) == n] for n in (2, 1))
    steps = [job[0] for _, job in sends + receives] + [job[1] for _, job in sends]
    for stream in {stream for stream, _ in jobs}:
        Stream.made[stream].jobs.put(lambda: [step() for step in steps])


def make_library():
    """Modules with the names of CuPy's that the comm uses."""
    names = itertools.count(1)
    cupy, cuda, nccl = (types.ModuleType(n) for n in ("cupy", "cupy.cuda", "cupy.cuda.nccl"))
    for module in (cupy, cuda, nccl):
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
    default = Default()
    cupy.__version__, cupy.cuda, cuda.nccl, cupy.empty = "14.2.0", cuda, nccl, empty
    cuda.Device, cuda.Stream, cuda.get_current_stream = Device, Stream, lambda: default
    cuda.runtime = types.SimpleNamespace(getDeviceCount=lambda: 4)
    nccl.available, nccl.NcclCommunicator = True, Communicator
    nccl.get_unique_id = lambda: next(names).to_bytes(128, "little")
    nccl.groupStart, nccl.groupEnd = group_start, group_end
    nccl.NCCL_SUM, nccl.NCCL_PROD, nccl.NCCL_MAX, nccl.NCCL_MIN = range(4)
    for code, name in NUMBERS.items():
        setattr(nccl, f"NCCL_{name.upper()}", code)
    cupy.default = default
    return {"cupy": cupy, "cupy.cuda": cuda, "cupy.cuda.nccl": nccl}


@pytest.fixture
def library(monkeypatch):
    """The stand-in in the address of CuPy, and the comm's modules made over it."""

    def forget():
        for name in [n for n in sys.modules if n.startswith("tensorbus_comm_nccl.")]:
            del sys.modules[name]

    forget()
    HUBS.clear()
    Communicator.ended.clear()
    modules = make_library()
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    yield types.SimpleNamespace(
        cupy=modules["cupy"], hubs=HUBS, ended=Communicator.ended, array=array, empty=empty,
        default=modules["cupy"].default, Event=Event,
    )  # fmt: skip
    while Stream.made:
        Stream.made.popitem()[1].jobs.put(None)
    forget()


@pytest.fixture
def ranks(library):
    """``ranks(fn, n)``: ``fn(comm, rank)`` in n threads, each with a GPU; what they return.

    With ``errors=True`` errors are among what is returned.
    """
    count = itertools.count()

    def run(fn, n=2, errors=False, timeout=60.0, present=None, devices=None):
        from tensorbus_comm_nccl.comm import NcclComm

        store, job = HashStore(60.0), next(count)
        results = [None] * n

        def rank(number):
            context = CommContext(
                "0", number, tuple(10 + k for k in range(n)), timeout,
                PrefixStore(f"job{job}", store),
            )  # fmt: skip
            comm = NcclComm(context)
            try:
                with Device((devices or range(n))[number]):
                    results[number] = fn(comm, number)
            except BaseException as e:
                results[number] = e
            comm.close()

        threads = [threading.Thread(target=rank, args=(k,)) for k in present or range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive(), "a rank hangs"
        store.close()
        for result in results:
            if isinstance(result, BaseException) and not errors:
                raise result
        assert errors or not any(hub.trouble for hub in HUBS.values())
        return results

    return run
