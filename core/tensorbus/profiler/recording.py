"""What happens in a thread while it is profiled, as it happens: records, one inside another."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from tensorbus._base.warning import is_ours
from tensorbus._dispatch.kinds import Kind
from tensorbus._dispatch.watched_entries import MOVES, unwatch, watch
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import is_leaf_edge
from tensorbus.autograd.watched_nodes import unwatch_nodes, watch_nodes
from tensorbus.op_engine.row_handlers import Proceed, add, remove
from tensorbus.profiler.flops import FLOPS
from tensorbus.rows.registry import ROWS, Row


class Record:
    """One interval in a thread: an op, a node of a backward pass, or a block with a label."""

    __slots__ = (
        "annotation", "args", "children", "device", "end", "flops", "launches", "memory", "name",
        "parent", "row", "sequence", "shapes", "stack", "start", "thread", "written",
    )  # fmt: skip

    def __init__(self, name: str, parent: Record | None, thread: int, annotation: bool):
        self.name = name
        self.parent = parent
        self.thread = thread
        self.annotation = annotation
        self.start = self.end = 0
        self.args: str | None = None
        self.row: str | None = None
        """The row whose kernel it still waits for: the entry of that name is part of it."""
        self.children: list[Record] = []
        self.device: Any = None
        self.launches = self.written = self.flops = 0
        self.memory: int | None = None
        """The bytes of new memory that its results hold; None for what has only parts."""
        self.sequence = -1
        self.shapes: list[Any] = []
        self.stack: list[str] = []


class Options:
    """What is recorded besides times."""

    __slots__ = ("flops", "memory", "modules", "shapes", "stack")

    def __init__(self, shapes: bool, memory: bool, stack: bool, flops: bool, modules: bool) -> None:
        self.shapes = shapes or flops
        self.memory = memory
        self.stack = stack
        self.flops = flops
        self.modules = modules


class Recorder:
    """The records of one thread, from its start to its end."""

    def __init__(self, options: Options):
        self.options = options
        self.records: list[Record] = []
        self.thread = threading.get_native_id()
        self.begun = perf_counter_ns()
        self.ended = 0
        self._open: list[Record] = []

    # -- intervals ---------------------------------------------------------------------------
    def begin(self, name: str, annotation: bool = False) -> Record:
        """Open a record inside those that are open."""
        parent = self._open[-1] if self._open else None
        record = Record(name, parent, self.thread, annotation)
        if self.options.stack:
            record.stack = _user_stack()
        if parent is not None:
            parent.children.append(record)
        self.records.append(record)
        self._open.append(record)
        record.start = perf_counter_ns()
        return record

    @property
    def depth(self) -> int:
        """How many records are open."""
        return len(self._open)

    def close(self, depth: int) -> None:
        """Close all records but the outermost *depth*, also those that an exception left open."""
        now = perf_counter_ns()
        for record in self._open[depth:]:
            record.end = now
        del self._open[depth:]

    def end(self, record: Record) -> None:
        """Close a record, and with it those inside."""
        if record in self._open:
            self.close(self._open.index(record))

    def finish(self) -> None:
        """Close everything."""
        self.close(0)
        self.ended = perf_counter_ns()

    def _drop(self, record: Record) -> None:
        """Close and forget an attempt that failed: it is made in another way, or is an error."""
        self.end(record)
        if not record.children and self.records and self.records[-1] is record:
            self.records.pop()
            if record.parent is not None:
                record.parent.children.remove(record)

    # -- what is called ----------------------------------------------------------------------
    def row(self, row: Row, arguments: tuple[Any, ...], proceed: Proceed) -> Any:
        """Call an op on tensors."""
        depth = self.depth
        try:
            record = self.begin(row.name if "::" in row.name else _aten(row.name))
            record.row = "write" if row.name == "copy_" else row.name
            if self.options.shapes:
                record.shapes = [_shape(x) for x in arguments]
            try:
                result = proceed(row, arguments)
            except Exception:
                self._drop(record)
                raise
        finally:
            try:
                self.close(depth)
            except BaseException:
                self.close(depth)
                raise
        made = [
            t for t in (result if isinstance(result, tuple) else (result,)) if isinstance(t, Tensor)
        ]
        if made and not is_leaf_edge(made[0]._e):
            record.sequence = -made[0]._e.operation().q
        if self.options.memory:
            new = [
                t
                for t in made
                if not isinstance(t._b, Tensor) and all(t is not x for x in arguments)
            ]
            record.memory = sum(_bytes(t._k, t._a) for t in new)
        return result

    def entry(self, kind: Kind, name: str, call: Callable[..., Any], args: Any, out: Any) -> Any:
        """Call an entry of a kind's table: a kernel, or a composition of others."""
        top = self._open[-1] if self._open else None
        own = top if top is not None and top.row == name else None
        depth = self.depth
        try:
            record = own or self.begin(_shown_name(kind, name))
            record.row = None
            inside = len(record.children)
            try:
                result = call(*args, **out)
            except Exception:
                if own is None:
                    self._drop(record)
                else:
                    record.row = name  # the op goes on another way
                raise
        finally:
            try:
                self.close(depth)
            except BaseException:
                self.close(depth)
                raise
        self._describe(record, kind, name, args, out, result, len(record.children) == inside)
        return result

    def _describe(
        self, record: Record, kind: Kind, name: str, args: Any, out: Any, result: Any, alone: bool
    ) -> None:
        row = ROWS.get(name)
        moves = row is None
        given = args[:1] if name == "write" else result
        results = given if isinstance(given, tuple) else (given,)
        kinds = (kind,) if moves or row is None else row.result_kinds(kind)
        if self.options.shapes and not record.shapes:
            record.shapes = [_shape(x) for x in args]
        if alone and kind.has_values and (moves or row is None or row.form != "view"):
            record.device = kind.device
            record.launches += 1
            record.written += sum(map(_bytes, kinds, results))
        if name in ("write", "to_host") or out:
            record.memory = 0
        elif self.options.memory:
            seen = [_key(kind, x) for x in args]
            record.memory = sum(
                _bytes(k, r)
                for k, r in zip(kinds, results, strict=False)
                if moves or _key(k, r) not in seen
            )
        if alone and self.options.flops and name in FLOPS:
            record.flops = FLOPS[name](*args)

    def node(self, name: str, sequence: int, run: Callable[[], Any]) -> Any:
        """Run a node of a backward pass; *sequence* is the number of the op that made it."""
        depth = self.depth
        try:
            for shown in (f"autograd::engine::evaluate_function: {name}", name):
                self.begin(shown).sequence = sequence
            return run()
        finally:
            try:
                self.close(depth)
            except BaseException:
                self.close(depth)
                raise


def _shown_name(kind: Kind, name: str) -> str:
    if name in MOVES:
        other = kind.device.type != "cpu"
        if name == "to_host":
            return "Memcpy DtoH" if other else "aten::copy_"
        return "Memcpy HtoD" if other and name == "from_host" else "aten::copy_"
    return _aten(name.removeprefix("fast_"))


def _aten(row: str) -> str:
    """The name of a row as PyTorch's profiles have it."""
    return "aten::cat" if row == "concatenate" else f"aten::{row}"


def _shape(x: Any) -> Any:
    if isinstance(x, list):
        return [_shape(each) for each in x]
    return list(getattr(x, "shape", ()))


def _bytes(kind: Kind, x: Any) -> int:
    return math.prod(getattr(x, "shape", ())) * kind.dtype.itemsize


def _key(kind: Kind, x: Any) -> Any:
    """What is equal for arrays that share memory."""
    if not hasattr(x, "shape"):
        return None
    try:
        return kind.layout(x)[0]
    except Exception:  # a number in a backend's own form, or an array of another dtype
        return id(x)


def _user_stack() -> list[str]:
    """The user's frames, the innermost first."""
    frame, lines = sys._getframe(1), []
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if name != "functools" and not is_ours(name):
            code = frame.f_code
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]
    return lines


# -- which thread is recorded ----------------------------------------------------------------
class _Here(threading.local):
    recorder: Recorder | None = None


_here = _Here()
_lock = threading.Lock()
_recorders: set[Recorder] = set()
"""Those of all threads that are recorded."""


def current() -> Recorder | None:
    """What records this thread."""
    return _here.recorder


def start(recorder: Recorder) -> None:
    """Let it record this thread; RuntimeError if that is recorded already."""
    if _here.recorder is not None:
        raise RuntimeError("Profiler is already enabled on this thread.")
    with _lock:
        _recorders.add(recorder)
        if len(_recorders) == 1:
            watch(_watched)
            watch_nodes(_watched_node)
    add(_handler)
    _here.recorder = recorder


def pause(recorder: Recorder) -> None:
    """Leave out what happens in this thread until ``resume``."""
    if _here.recorder is recorder:
        remove(_handler)
        _here.recorder = None


def resume(recorder: Recorder) -> None:
    """Go on after ``pause``; RuntimeError if another records this thread now."""
    if _here.recorder not in (recorder, None):
        raise RuntimeError("Profiler is already enabled on this thread.")
    if _here.recorder is None:
        add(_handler)
        _here.recorder = recorder


def stop(recorder: Recorder) -> None:
    """End what ``start`` began, in the same thread, however far that came."""
    recorder.finish()
    if _here.recorder in (recorder, None):
        remove(_handler)
        _here.recorder = None
    with _lock:
        _recorders.discard(recorder)
        if not _recorders:
            unwatch()
            unwatch_nodes()


def _watched(kind: Kind, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def watched(*args: Any, **out: Any) -> Any:
        recorder = _here.recorder
        if recorder is None:
            return call(*args, **out)
        return recorder.entry(kind, name.removeprefix("fast_"), call, args, out)

    return watched


def _handler(row: Row, arguments: tuple[Any, ...], proceed: Proceed) -> Any:
    recorder = _here.recorder
    if recorder is None:
        return proceed(row, arguments)
    return recorder.row(row, arguments, proceed)


_handler.sees_operators = "stays on"  # type: ignore[attr-defined]


def _watched_node(name: str, sequence: int, run: Callable[[], Any]) -> Any:
    recorder = _here.recorder
    return run() if recorder is None else recorder.node(name, sequence, run)
