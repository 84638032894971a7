"""``torch.ops``: what ``__torch_dispatch__`` sees as the function, one object for each row.

``torch.ops.aten.exp.default`` is the op ``default`` of a packet of overloads. A row has one op,
whatever overload is asked for: rows know no overloads. Libraries of the program put packets of
their own beside (``tensorbus.library``).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.rows.registry import ROWS, Row

_ATEN_NAMES = {
    "cat": "_cat_of_two",
    "concatenate": "cat",
    "leading": "slice_index",
    "strided": "as_strided",
    "to": "_to_copy",
    "take": "index_select",
    "draw": "random_",
}
"""The names of ops that are called otherwise than their rows."""
_ROW_NAMES = {name: row for row, name in _ATEN_NAMES.items()}
_OUTSIDE_ROWS = {"_to_copy": "CONVERSION", "copy_": "WRITE", "detach": "DETACHMENT"}
"""Where ``row_handlers`` has what is done to tensors without a row of the registry."""
_METHODS_ALONE = frozenset("apply_ map_ map2_ share_memory_".split())
"""Methods in place that are no ops in PyTorch either."""


class OpOverload:
    """One op, which ``__torch_dispatch__`` gets as its function: call it to run the op.

    >>> import tensorbus as torch
    >>> torch.ops.aten.exp.default
    <OpOverload(op='aten.exp', overload='default')>
    """

    def __init__(self, packet: OpOverloadPacket, overload: str, run: Callable[..., Any]):
        self.overloadpacket = packet
        self.namespace = packet.namespace
        self._overloadname = overload
        self._run = run
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__qualname__ = self.__name__
        self.__module__ = f"torch._ops.{packet.namespace}"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        packet = self.overloadpacket
        return f"<OpOverload(op='{packet}', overload='{self._overloadname}')>"

    def __reduce__(self) -> Any:
        return _find, (self.namespace, self.overloadpacket.__name__, self._overloadname)

    def seen(self, arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a row as ``__torch_dispatch__`` gets them, by position and by name."""
        return arguments, {}

    def rule_for(self, cls: type) -> Callable[..., Any] | None:
        """What answers instead of a class's ``__torch_dispatch__`` (``torch.library``)."""
        return None

    def name(self) -> str:
        """``namespace::op``, with the overload behind a point where it has a name."""
        whole = self.overloadpacket._qualified_op_name
        return whole if self._overloadname == "default" else f"{whole}.{self._overloadname}"


class OpOverloadPacket:
    """The overloads of an op; calling it runs the op."""

    def __init__(self, namespace: str, name: str, run: Callable[..., Any], overload: str):
        self.namespace = namespace
        self.__name__ = name
        self._qualified_op_name = f"{namespace}::{name}"
        self._op = OpOverload(self, overload, run)

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._op

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return [self._op._overloadname]

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class OpNamespace:
    """The ops of one namespace, as attributes."""

    def __init__(self, name: str):
        self.name = name
        self.packets: dict[str, OpOverloadPacket] = {}

    def __getattr__(self, op: str) -> OpOverloadPacket:
        if op.startswith("__"):
            raise AttributeError(op)
        found = self.packets.get(op)
        if found is None and self.name == "aten":
            found = _aten(op)
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op}'")
        self.packets[op] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.packets)

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.name}'>"


NAMESPACES: dict[str, OpNamespace] = {}


def namespace(name: str) -> OpNamespace:
    """The namespace of a name, made when it is first asked for."""
    if name not in NAMESPACES:
        NAMESPACES[name] = OpNamespace(name)
    return NAMESPACES[name]


def _find(space: str, name: str, overload: str) -> OpOverload:
    found: OpOverload = getattr(getattr(namespace(space), name), overload)
    return found


def find_packet(space: str, name: str) -> OpOverloadPacket | None:
    """The op of a name, where there is one."""
    return getattr(namespace(space), name, None)


# -- the rows' ops -----------------------------------------------------------------------------
_OPS: dict[Row, OpOverload] = {}


def adopt(row: Row, op: OpOverload) -> None:
    """Let *op* be what ``__torch_dispatch__`` sees of a row that a program's library made."""
    _OPS[row] = op


def forget(row: Row) -> None:
    """Undo ``adopt``."""
    _OPS.pop(row, None)


def op_of(row: Row) -> OpOverload:
    """The op of a row, or of what is done to tensors without one (``row_handlers.py``)."""
    found = _OPS.get(row)
    if found is None:
        name = _ATEN_NAMES.get(row.name, row.name)
        space = namespace("aten")
        if ROWS.get(row.name) is row:
            packet = getattr(space, name)
        else:
            packet = space.packets[name] = OpOverloadPacket(
                "aten", name, _outside_rows(row), "default"
            )
        found = _OPS[row] = packet._op
    return found


def _aten(op: str) -> OpOverloadPacket | None:
    if op in _OUTSIDE_ROWS:
        handlers = importlib.import_module("tensorbus.op_engine.row_handlers")
        return op_of(getattr(handlers, _OUTSIDE_ROWS[op])).overloadpacket
    row = ROWS.get(_ROW_NAMES.get(op, op))
    public = FUNCTIONS.get(op)
    if row is None:
        public = public or _SPELLED_OUT.get(op) or _in_place(op)
        return public and OpOverloadPacket("aten", op, public, "default")
    return OpOverloadPacket(
        "aten", op, _of_row(row, public), "Tensor" if row.form == "binary" else "default"
    )


def _in_place(op: str) -> Callable[..., Any] | None:
    """The method of a name that ends in an underscore."""
    if not op.endswith("_") or op.startswith("_") or op in _METHODS_ALONE:
        return None
    return getattr(Tensor, op, None)


def _refusing(op: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"torch.ops.aten.{op} can be seen, but not called")

    return refuse


def _index(x: Tensor, indices: Any) -> Tensor:
    return x[tuple(slice(None) if i is None else i for i in indices)]


_SPELLED_OUT: dict[str, Callable[..., Any]] = {
    "_pin_memory": lambda x, device=None: x.pin_memory(),
    "index": _index,
    **{
        op: _refusing(op)
        for op in "_segment_reduce _sparse_addmm _sparse_mm_reduce_impl _unsafe_view "
        "convolution_backward".split()
    },
}
"""Ops that are written otherwise as public functions, or can only be named."""


def _of_row(row: Row, public: Callable[..., Any] | None) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        if public is not None and (kwargs or len(args) != len(row.arguments)):
            return public(*args, **kwargs)
        if public is not None and row.form == "binary" and not isinstance(args[0], Tensor):
            return public(*args)
        return core(row.name)(*_prepared(row, args), **kwargs)

    return run


def _prepared(row: Row, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments as rows take them: sizes are tuples, dimensions are not negative."""
    made = list(args)
    first = args[0][0] if row.sequences and isinstance(args[0], (tuple, list)) else args[0]
    rank = len(first._s) if isinstance(first, Tensor) else 0
    for i, (name, value) in enumerate(zip(row.arguments, args, strict=False)):
        if isinstance(value, list) and name not in row.sequences:
            value = tuple(value)
        if name.startswith("dim") and rank:
            if isinstance(value, int) and value < 0:
                value = wrap_dim(value, rank)
            elif isinstance(value, tuple):
                value = tuple(wrap_dim(d, rank) for d in value)
        made[i] = value
    return tuple(made)


def _outside_rows(row: Row) -> Callable[..., Any]:
    if row.name == "to":
        return lambda x, kind, format=None: to_kind(x, kind, copy=True, format=format)
    if row.name == "detach":
        return lambda x: Tensor.detach(x)
    if row.name == "copy_":
        return lambda x, y: x.copy_(y) if isinstance(y, Tensor) else x.fill_(y)
    return _refusing(row.name)
