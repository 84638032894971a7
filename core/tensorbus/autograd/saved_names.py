"""What a node saved, under PyTorch's names: ``y.grad_fn._saved_self`` and ``_raw_saved_self``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorbus._base import registered
from tensorbus._base.errors import freed_error
from tensorbus._base.public_place import show_in
from tensorbus._tensor.tensor import Tensor, version_of
from tensorbus.autograd.node import FREED, Node, current, stale, stale_result
from tensorbus.autograd.packing import Packed, kept_in, pack_result, packing, slot_of
from tensorbus.op_engine.history import edge_of, edge_of_result, saved_result
from tensorbus.rows.registry import ROWS

_SAVED, _RAW = "_saved_", "_raw_saved_"


def _slots(cls: type) -> dict[str, str]:
    """The slots of a class of nodes by PyTorch's names.

    The first operand is ``self`` there, the second ``other``, the result ``result``; what else a
    rule reads has the name of the row's argument or of one of its results.
    """
    row = ROWS.get(getattr(cls, "op", ""))
    arguments = list(row.arguments) if row is not None else []
    binary = row is not None and row.form == "binary"
    names: dict[str, str] = {}
    for slot in [name for c in reversed(cls.__mro__) for name in getattr(c, "__slots__", ())]:
        kind, _, own = slot.partition("_")
        if kind == "r":
            names["result" if own == "out" else own] = slot
        elif kind in ("t", "p") and own in arguments:
            at = arguments.index(own)
            names["self" if not at else "other" if at == 1 and binary else own] = slot
    return names


def _is_one_tensor(cls: Any, slot: str) -> bool:
    """Whether a slot keeps a tensor: no parameter, nor a sequence of tensors."""
    row = ROWS.get(getattr(cls, "op", ""))
    return slot[0] != "p" and (row is None or slot[2:] not in row.sequences)


@registered.show_saved.provide
def show_saved(cls: Any) -> None:
    """Give a class of nodes the attributes that show what they saved."""
    for name, slot in _slots(cls).items():
        setattr(cls, _SAVED + name, property(functools.partial(_saved, slot=slot)))
        if _is_one_tensor(cls, slot):
            setattr(cls, _RAW + name, property(functools.partial(SavedTensor, slot=slot)))


def _saved(node: Node, slot: str) -> Any:
    cls: Any = type(node)
    if slot.startswith("p_"):
        return slot_of(cls, slot).__get__(node)
    if not _is_one_tensor(cls, slot):
        return _unpacked_sequence(node, slot)
    return SavedTensor(node, slot).unpack()


def _unpacked_sequence(node: Any, slot: str) -> tuple[Tensor, ...]:
    """The operands of a sequence; RuntimeError after they were freed."""
    kept = kept_in(node, slot)
    if kept is FREED:
        raise freed_error()
    opened = [x.open(x.edge) if type(x) is Packed else x for x in kept]
    return tuple(current(opened, getattr(node, "v_" + slot[2:])))


class SavedTensor:
    """A tensor that a node saved: ``y.grad_fn._raw_saved_self``.

    ``register_hooks`` sets hooks for it alone.
    """

    __slots__ = ("_node", "_slot")

    def __init__(self, node: Any, slot: str):
        self._node = node
        self._slot = slot

    def unpack(self) -> Tensor | None:
        """The tensor; RuntimeError after it was freed."""
        node = self._node
        kept = kept_in(node, self._slot)
        result, name = self._slot.startswith("r_"), self._slot[2:]
        if kept is FREED or (result and kept is None):
            raise freed_error()
        if type(kept) is Packed:
            return kept.open(edge_of_result(node, name) if result else kept.edge)
        if kept is None:
            return None
        then = slot_of(type(node), "v_" + name).__get__(node)
        if result:
            now = getattr(node, "c_" + name)[0]
            if now != then:
                raise stale_result(node, kept, now, then, node.results.index(name))
            return saved_result(node, name)
        if version_of(kept) != then:
            raise stale(kept, then)
        return kept

    @property
    def data(self) -> Any:
        """What is kept: the tensor, or what its hook packed."""
        kept = kept_in(self._node, self._slot)
        return kept.value if type(kept) is Packed else self.unpack()

    @property
    def unpack_hook(self) -> Callable[[Any], Tensor] | None:
        """The hook that unpacks it, or None."""
        kept = kept_in(self._node, self._slot)
        return kept.unpack if type(kept) is Packed else None

    def register_hooks(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        """Pack it now, and unpack it when the node runs.

        RuntimeError where it has hooks already, or was freed.
        """
        node, slot = self._node, self._slot
        kept = kept_in(node, slot)
        if kept is FREED or kept is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved "
                "intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the "
                "graph a second time or if you need to access saved variables after calling "
                "backward."
            )
        if type(kept) is Packed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
                "only one pair of hooks is allowed at a time."
            )
        hooks = (pack_hook, unpack_hook)
        if slot.startswith("r_"):
            kind = node.result_kinds()[node.results.index(slot[2:])]
            packed = pack_result(kept, kind, hooks)
        else:
            packed = Packed(kept, hooks, edge_of(kept))
        cls: Any = type(node)
        if not node.packs:
            node.__class__ = packing(cls)
        slot_of(cls, slot).__set__(node, packed)


show_in("tensorbus.autograd", [("SavedTensor", SavedTensor)])
