"""Saved tensors under hooks: nodes that hold what a user's function packed, and unpack it to run.

A node keeps its tensors in slots (``t_NAME`` an operand or a tuple of them, ``v_NAME`` its version;
``r_out`` the array of the result, ``c_out`` and ``v_out`` its version; names of several results
stand instead of ``out``). ``packing`` makes the class of nodes
whose slots pack what is put into them, so that neither the generated functions nor the rules know
of hooks.
"""

from __future__ import annotations

import functools
from threading import get_ident
from typing import Any

from tensorbus._base.errors import device_error
from tensorbus._base.modes import PackHooks, this_thread
from tensorbus._base.size import Size
from tensorbus._dispatch.kinds import Kind
from tensorbus._tensor.tensor import Tensor, version_of, wrap_like
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.autograd.node import FREED, Node, Untracked
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.history import edge_of
from tensorbus.rows.layouts import is_dense


class Packed:
    """What a hook made of a saved tensor, and the tensor's kind, size and edge."""

    __slots__ = ("edge", "kind", "opened", "size", "unpack", "value")
    kind: Kind
    size: Size
    opened: dict[int, Tensor]
    """The unpacked tensor while the node runs, which may read it more than once; by thread."""

    def __init__(self, t: Tensor, hooks: PackHooks, edge: Any):
        pack, self.unpack = hooks
        self.kind, self.size, self.edge, self.opened = t._k, t._s, edge, {}
        before = version_of(t)
        with no_grad():
            self.value = pack(t)
        if version_of(t) != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook cannot be modified by in-place operations as this can lead to "
                "unexpected side-effects. Clone the tensor before changing it."
            )

    def open(self, edge: Any) -> Tensor:
        """The tensor that the hook unpacks, with the history that was saved."""
        t = self.unpack(self.value)
        if not isinstance(t, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {type(t).__name__}"
            )
        if t._k is self.kind and t._s == self.size and edge_of(t) is edge:
            return t
        with no_grad():
            return self._fitted(t, edge)

    def _fitted(self, t: Tensor, edge: Any) -> Tensor:
        if t._k.device is not self.kind.device:
            raise device_error(t._k.device, self.kind.device)
        t = to_kind(t, self.kind)
        if t._s != self.size:
            t = t.expand(tuple(self.size))
        made = without_history(t)
        made._e = edge
        return made


def without_history(t: Tensor) -> Tensor:
    """A tensor of the same memory and version that holds neither *t* nor what made it."""
    if not is_dense(tuple(t._s), tuple(t._k.strides(t._a))):
        with no_grad():
            t = t.clone()
    if t._c is None:
        t._c = [0]
    made = wrap_like(t._a, t._k, None)
    made._c = t._c
    return made


def pack_result(array: Any, kind: Kind, hooks: PackHooks) -> Packed:
    """A packed result: its history is the node itself, which the hook can't see yet."""
    return Packed(wrap_like(array, kind, Untracked(kind)), hooks, None)


class _Unchecked:
    """The version of what hooks keep: nobody knows whether it was written to since."""

    def __ne__(self, _: object) -> bool:
        return False


_UNCHECKED: Any = _Unchecked()


class _OperandSlot:
    """A slot for an operand, or for a tuple of them."""

    def __init__(self, slot: Any):
        self.kept = slot

    def __set__(self, node: Node, value: Any) -> None:
        if this_thread.hooks:
            value = tuple(map(_packed, value)) if type(value) is tuple else _packed(value)
        self.kept.__set__(node, value)

    def __get__(self, node: Node, owner: type) -> Any:
        kept = self.kept.__get__(node)
        return tuple(map(_opened, kept)) if type(kept) is tuple else _opened(kept)


def _packed(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    return Packed(value, this_thread.hooks[-1], edge_of(value))


def _opened(kept: Any) -> Any:
    return kept.opened[get_ident()] if type(kept) is Packed else kept


class _ResultSlot:
    """The slot for the array of a result."""

    def __init__(self, slot: Any, position: int):
        self.kept = slot
        self.position = position

    def __set__(self, node: Node, value: Any) -> None:
        if this_thread.hooks and value is not None and type(value) is not Packed:
            kind = node.result_kinds()[self.position]
            value = pack_result(value, kind, this_thread.hooks[-1])
        self.kept.__set__(node, value)

    def __get__(self, node: Node, owner: type) -> Any:
        kept = self.kept.__get__(node)
        return kept.opened[get_ident()]._a if type(kept) is Packed else kept


class _CellSlot:
    """The slot for the result's version cell: what was packed has one of its own."""

    def __init__(self, slot: Any, kept: Any):
        self.slot, self.kept = slot, kept

    def __set__(self, node: Node, value: Any) -> None:
        self.slot.__set__(node, value)

    def __get__(self, node: Node, owner: type) -> Any:
        cell = self.slot.__get__(node)
        return [0] if cell is not FREED and type(self.kept.__get__(node)) is Packed else cell


class _VersionSlot:
    """The slot for a version, which tells nothing of what was packed."""

    def __init__(self, slot: Any, kept: Any):
        self.slot, self.kept = slot, kept

    def __set__(self, node: Node, value: Any) -> None:
        self.slot.__set__(node, value)

    def __get__(self, node: Node, owner: type) -> Any:
        kept, version = self.kept.__get__(node), self.slot.__get__(node)
        if type(kept) is tuple:
            pairs = zip(kept, version, strict=True)
            return [_UNCHECKED if type(x) is Packed else v for x, v in pairs]
        return _UNCHECKED if type(kept) is Packed else version


@functools.cache
def packing(cls: Any) -> Any:
    """The class of nodes like those of *cls* that pack what they keep; *cls* if they keep none."""
    names: dict[str, Any] = {}
    for name in saved_slots(cls):
        slot = slot_of(cls, name)
        own = name[2:]
        if name.startswith("r_"):
            names[name] = _ResultSlot(slot, cls.results.index(own))
            names["c_" + own] = _CellSlot(slot_of(cls, "c_" + own), slot)
        else:
            names[name] = _OperandSlot(slot)
        names["v_" + own] = _VersionSlot(slot_of(cls, "v_" + own), slot)
    if not names:
        return cls

    def run(self: Node, g: Any) -> Any:
        return _run_opened(self, cls.run, g)

    def run_t(self: Node, g: Any) -> Any:
        return _run_opened(self, cls.run_t, g)

    return type(
        cls.__name__,
        (cls,),
        {"__slots__": (), "packs": True, "run": run, "run_t": run_t, **names},
    )


def _run_opened(node: Node, run: Any, g: Any) -> Any:
    """Run a node, with what hooks packed unpacked once.

    Not when a slot is read: an AttributeError of the hook's would look like a missing attribute.
    """
    cls: Any = type(node)
    slots = (kept_in(node, name) for name in saved_slots(cls))
    each = (x for kept in slots for x in (kept if type(kept) is tuple else (kept,)))
    packed = [x for x in each if type(x) is Packed]
    me = get_ident()
    try:
        for x in packed:
            x.opened[me] = x.open(x.edge)
        return run(node, g)
    finally:
        for x in packed:
            x.opened.pop(me, None)


@functools.cache
def saved_slots(cls: type) -> tuple[str, ...]:
    """The slots in which a node of a class keeps tensors."""
    slots = [name for c in cls.__mro__ for name in getattr(c, "__slots__", ())]
    return tuple(name for name in slots if name.startswith(("t_", "r_")))


def slot_of(cls: type, name: str) -> Any:
    """What stores a slot's value: the descriptor below those that pack."""
    return next(vars(c)[name] for c in reversed(cls.__mro__) if name in vars(c))


def kept_in(node: Node, name: str) -> Any:
    """What a slot holds: a tensor, an array of a result, or Packed; None where nothing was kept.

    Nothing is unpacked.
    """
    try:
        return slot_of(type(node), name).__get__(node)
    except AttributeError:
        return None
