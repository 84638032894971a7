"""A namespace ``F`` whose arrays have no values and whose ops become nodes of a graph."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorbus._base.dtypes import dtype
from tensorbus._base.size import contiguous_strides
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind
from tensorbus._dispatch.lazy_kinds import LazyKind
from tensorbus._dispatch.resolve import composition
from tensorbus.plugin.backend import Backend, Capabilities, DType, Traits
from tensorbus.plugin.graph import Block, Node, TensorType, Value
from tensorbus.plugin.primitives import PRIMITIVES
from tensorbus.rows import raw_views
from tensorbus.rows.registry import Row

Shape = tuple[int, ...]

UNRECORDED = frozenset(["put", "scatter", "arange", "random_bits"])
"""Primitives that no graph has yet: they write, or make arrays of nothing."""

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip

MOST_NODES = 1024
"""How long a graph of one op may be: an algorithm of blocks or rounds is no kernel."""


class Unrecordable(Exception):
    """The composition does what no graph says: it reads values, or writes to part of an array."""


class Recorded:
    """An array of a graph that is being recorded: its shape, and the value that it has by now.

    *value* is a Python number where all elements are that number, None where they have no values
    yet.
    """

    __slots__ = ("dtype", "shape", "strides", "value", "viewed")

    def __init__(self, shape: Shape, dtype: dtype, value: Any, strides: Shape | None = None):
        self.shape, self.dtype, self.value = shape, dtype, value
        self.strides = contiguous_strides(shape) if strides is None else strides
        self.viewed = False
        """Whether another array shares its elements: then it is not written to."""


class _Recorder(threading.local):
    nodes: list[Node] | None = None


_recorder = _Recorder()


def record(run: Callable[[], Any], inputs: Sequence[Value]) -> Block:
    """The graph of what *run* does with arrays that stand for *inputs*; ``Unrecordable``.

    *run* returns its result, or a tuple of several.
    """
    outer = _recorder.nodes
    try:
        _recorder.nodes = []
        found = run()
        results = found if isinstance(found, (tuple, list)) else (found,)
        outputs = tuple(_value_of(x) for x in results)
        if not all(isinstance(value, Value) for value in outputs):
            raise Unrecordable("a result that is a number")
        return Block(tuple(inputs), tuple(_recorder.nodes), outputs)
    finally:
        _recorder.nodes = outer


def array_of(value: Value) -> Recorded:
    """The array that stands for an input of a graph."""
    shape = value.type.shape if isinstance(value.type, TensorType) else ()
    return Recorded(tuple(int(n) for n in shape), value.type.dtype, value)


def _node(
    op: str, args: tuple[Any, ...], shape: Shape, d: dtype, body: Block | None = None
) -> Recorded:
    if _recorder.nodes is None:
        raise Unrecordable("nothing is recorded")
    if len(_recorder.nodes) >= MOST_NODES:
        raise Unrecordable(f"more than {MOST_NODES} ops")
    output = Value(TensorType(d, shape))
    given = tuple(_argument(x) for x in args)
    _recorder.nodes.append(Node(op, given, (output,), body=body))
    return Recorded(shape, d, output)


def _refuse(*args: Any, **out: Any) -> Any:
    raise Unrecordable("an op that no graph has")


def _body(compose: Callable[..., Any], args: tuple[Any, ...]) -> Block:
    """What the op does with arrays like these, as a block with an input for each value."""
    inputs = []
    given = []
    for x in args:
        if isinstance(x, Recorded) and isinstance(x.value, Value):
            inputs.append(Value(x.value.type))
            x = array_of(inputs[-1])
        given.append(x)
    return record(lambda: compose(*given), inputs)


def _argument(x: Any) -> Any:
    if isinstance(x, Recorded):
        return _value_of(x)
    if isinstance(x, (tuple, list)):
        return tuple(_argument(each) for each in x)
    if isinstance(x, np.generic):
        return x.item()
    if x is None or isinstance(x, (bool, int, float, complex, str, Value, dtype)):
        return x
    raise Unrecordable(f"an argument of type {type(x).__name__}")


def _value_of(x: Any) -> Any:
    if not isinstance(x, Recorded) or x.value is None:
        raise Unrecordable("an array without values")
    return x.value


def _number(x: Any) -> Any:
    return _value_of(x) if isinstance(x, Recorded) else x


def _write(out: Recorded, source: Any, source_dtype: dtype | None) -> Recorded:
    """Give *out* the values of an array, or a number."""
    if out.viewed:
        raise Unrecordable("a write to an array that has views")
    if source_dtype is None:
        out.value = source
        return out
    value = _value_of(source)
    if not isinstance(value, Value):
        out.value = value
        return out
    if source_dtype is not out.dtype:
        source = _node("cast", (source, out.dtype), source.shape, out.dtype)
    if source.shape != out.shape:
        source = _node("expand", (source, out.shape), out.shape, out.dtype)
    out.value = source.value
    return out


class RecordingDevice(Device):
    """Where arrays are recorded for a device whose kernels the graph is meant for."""

    __slots__ = ("backend", "kinds", "target")
    target: Device
    backend: RecordingBackend
    kinds: dict[dtype, RecordingKind]

    def kind(self, dtype: dtype) -> RecordingKind:
        """The kind of a dtype here."""
        found = self.kinds.get(dtype)
        if found is None:
            found = self.kinds.setdefault(dtype, RecordingKind(self, dtype))
        return found


def recording_device(target: Kind) -> RecordingDevice:
    """A device that records the ops of one of *target*'s."""
    made: RecordingDevice = object.__new__(RecordingDevice)
    made.type, made.index, made.target, made.kinds = (
        target.device.type, target.device.index, target.device, {},
    )  # fmt: skip
    made.backend = RecordingBackend(target.backend)
    return made


class RecordingKind(LazyKind):
    """The namespace of one dtype: what is called in it becomes a node, or is composed."""

    backend: RecordingBackend

    def __init__(self, device: RecordingDevice, dtype: dtype):
        super().__init__(device, dtype, device.backend)

    def rule_for(self, row: Row) -> Callable[..., Any] | None:
        """What makes a node for a row; None where it is composed."""
        if row.form == "view":
            return self._view(row) if row.name in raw_views.DEFAULTS else None
        if row.name in UNRECORDED or (row.composite is None and row.name not in PRIMITIVES):
            return _refuse
        if row.shape is None or row.outputs:
            return None
        if row.name in PRIMITIVES:
            return self._recorded(row, None)
        known = self.backend.target.kernel(row.name, self.dtype, self.index)
        if known is None or row.form not in ("unary", "binary"):
            return None
        return self._recorded(row, composition(self, row))

    def _recorded(self, row: Row, compose: Callable[..., Any] | None) -> Callable[..., Recorded]:
        target, shape_of = row.result_kind(self).dtype, row.shape
        assert shape_of is not None

        compare = _COMPARISONS.get(row.name)

        def entry(*args: Any, out: Recorded | None = None) -> Recorded:
            given = (*args, target) if row.takes_dtype else args
            if compare is not None and not any(isinstance(_number(x), Value) for x in args):
                # A node of numbers alone would not say in which dtype they are compared.
                made = Recorded(shape_of(*args), target, compare(*map(_number, args)))
                return made if out is None else _write(out, made, target)
            body = None if compose is None else _body(compose, args)
            made = _node(row.name, given, shape_of(*args), target, body)
            return made if out is None else _write(out, made, target)

        return entry

    def _view(self, row: Row) -> Callable[..., Recorded]:
        view = raw_views.DEFAULTS[row.name]

        def entry(x: Recorded, *args: Any) -> Recorded:
            seen = view(_LAYOUTS, x, *args)
            x.viewed = True
            if isinstance(x.value, Value):
                made = _node(row.name, (x, *args), seen.shape, x.dtype)
                made.strides = seen.strides
            else:
                made = Recorded(seen.shape, x.dtype, x.value, seen.strides)
            made.viewed = True
            return made

        return entry

    def full(self, shape: Shape, value: Any) -> Recorded:
        return Recorded(tuple(shape), self.dtype, value)

    def copy_(self, dst: Recorded, src: Any) -> Recorded:
        return _write(dst, src, self.dtype if isinstance(src, Recorded) else None)


class _Layouts:
    """What ``raw_views`` needs of a kind to find the shape and strides of a view."""

    @staticmethod
    def layout(x: Recorded) -> tuple[Any, int, Shape]:
        return None, 0, x.strides

    @staticmethod
    def as_strided(x: Recorded, shape: Shape, strides: Shape, offset: int) -> Recorded:
        return Recorded(tuple(shape), x.dtype, None, tuple(strides))


_LAYOUTS = _Layouts()


class RecordingBackend(Backend):
    """The runtime of arrays without values: what would read or move memory refuses."""

    traits = Traits(
        broadcasts=True, takes_empty=True, host_sync=False, python_scalars=True, survives_fork=True
    )

    def __init__(self, target: Backend):
        self.target = target
        self.name = f"graph for {target.name}"  # type: ignore[misc]

    def device_count(self) -> int:
        return self.target.device_count()

    def capabilities(self, index: int) -> Capabilities:
        return self.target.capabilities(index)

    def empty(self, shape: Sequence[int], dtype: DType, index: int) -> Recorded:
        return Recorded(tuple(shape), dtype, None)

    def copy_(self, dst: Recorded, dst_dtype: DType, src: Any, src_dtype: DType | None) -> None:
        _write(dst, src, src_dtype)

    def from_host(self, array: np.ndarray, dtype: DType, index: int) -> Recorded:
        raise Unrecordable("an array of the host's")

    def to_host(self, array: Recorded, dtype: DType) -> np.ndarray:
        raise Unrecordable("a value that is read")

    def as_strided(self, *args: Any) -> Recorded:
        raise Unrecordable("a view by strides")

    def layout(self, array: Recorded, dtype: DType) -> tuple[Any, int, Shape]:
        return id(array), 0, array.strides

    def is_contiguous(self, array: Recorded, dtype: DType) -> bool:
        return array.strides == contiguous_strides(array.shape)

    def scalar(self, value: Any, dtype: DType) -> Any:
        return value

    def kernel(self, op: str, dtype: DType, index: int) -> None:
        return None  # ``RecordingKind.rule_for`` knows the row, which says more
