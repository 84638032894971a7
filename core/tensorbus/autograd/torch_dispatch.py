"""``__torch_dispatch__``: classes and modes that see each op below autograd, row by row.

Both are handlers of rows (``op_engine/row_handlers.py``). While there are tensors of classes that
have the method, one handler lies below those of all threads. What a class returns is recorded: the
node is that of an ``autograd.Function`` whose backward runs the row's rules over tensors, so that
the class sees the ops of the backward pass too.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Generator
from typing import Any

from tensorbus._base import registered
from tensorbus._base.leaving import block
from tensorbus._base.modes import RARE, watch_classes
from tensorbus._base.public_place import show_in
from tensorbus._tensor.tensor import Tensor, bump, dispatches
from tensorbus.autograd.function import Function
from tensorbus.autograd.grad_mode import is_grad_enabled, no_grad
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.op_objects import op_of
from tensorbus.op_engine.override import DisableTorchFunctionSubclass
from tensorbus.op_engine.row_handlers import HandlesRows, Proceed
from tensorbus.rows.registry import ROWS, Row, rule_arguments


class TorchDispatchMode(HandlesRows):
    """A context that sees each op of this thread on tensors, those of backward passes too.

    A subclass defines ``__torch_dispatch__(self, func, types, args=(), kwargs=None)`` and returns
    the result, for example ``func(*args, **kwargs)``; *func* is an op such as
    ``torch.ops.aten.exp.default``. The mode is off while it runs.

    >>> import tensorbus as torch
    >>> from tensorbus.utils._python_dispatch import TorchDispatchMode
    >>> class Log(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     x = torch.ones(2).exp() * 2
    aten.exp.default
    aten.mul.Tensor
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def _handle(self, row: Row, arguments: tuple[Any, ...], proceed: Proceed) -> Any:
        types = tuple(dict.fromkeys(type(t) for t in _dispatching(arguments)))
        op = op_of(row)
        args, kwargs = op.seen(arguments)
        rule = op.rule_for(type(self))
        if rule is not None:
            return rule(self, op, types, args, kwargs)
        return self.__torch_dispatch__(op, types, args, kwargs)

    _handle.follows_gradients = True  # type: ignore[attr-defined]
    _handle.sees_operators = "off while it runs"  # type: ignore[attr-defined]


class _Local(threading.local):
    off = False
    """Whether no class is asked in this thread."""


_local = _Local()


@registered.undispatched.provide
def undispatched(func: Any, args: Any, kwargs: Any) -> Any:
    """Run an op as on plain tensors."""
    with _asking_none(), DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


@block
def _asking_none() -> Generator[None, None, None]:
    before = _local.off
    try:
        _local.off = True
        yield
    finally:
        _local.off = before


# -- classes -----------------------------------------------------------------------------------
def _tensors(arguments: tuple[Any, ...]) -> list[Tensor]:
    each = (x if isinstance(x, (list, tuple)) else (x,) for x in arguments)
    return [t for several in each for t in several if isinstance(t, Tensor)]


def _dispatching(arguments: tuple[Any, ...]) -> list[Any]:
    """The tensors whose classes have ``__torch_dispatch__``."""
    return [t for t in _tensors(arguments) if dispatches(type(t))]


def _by_classes(row: Row, arguments: tuple[Any, ...], run: Proceed) -> Any:
    """The handler that asks the classes of the operands, below all others."""
    asked = [] if _local.off else _dispatching(arguments)
    if not asked:
        if not _LIVING:
            watch_classes(None)
        return run(row, arguments)
    tensors = _tensors(arguments)
    recording = is_grad_enabled() and any(t.requires_grad for t in tensors)
    if not recording or row.name == "detach":
        made = _ask(row, asked, arguments)
        if row.writes:
            bump(arguments[0])
        return arguments[0] if row.writes else made
    if row.writes:
        raise NotImplementedError(
            f"{row.name}: writes into tensors of {type(asked[0]).__name__} are not recorded: make "
            "them under torch.no_grad(), or out of place"
        )
    if row.rules:
        return _recorded_as(row).apply(row, asked, arguments, *tensors)
    if row.composite is not None and row.result == "same":
        return row.composite(_space(tensors[0]), *arguments)
    return _ask(row, asked, arguments)


_LIVING: set[weakref.ref[Tensor]] = set()
"""The tensors of such classes."""


@registered.adopt_dispatching.provide
def adopt(t: Tensor) -> None:
    """A tensor whose class has ``__torch_dispatch__`` was made: while it lives, ops look for it."""
    _LIVING.add(weakref.ref(t, _LIVING.discard))
    if RARE.classes is None:
        watch_classes(_by_classes)


def _ask(row: Row, asked: list[Any], arguments: tuple[Any, ...]) -> Any:
    types = tuple(dict.fromkeys(type(t) for t in asked))
    ordered = sorted(types, key=lambda c: -len(c.__mro__))
    op = op_of(row)
    args, kwargs = op.seen(arguments)
    with no_grad():
        for cls in ordered:
            rule = op.rule_for(cls)
            made = (
                cls.__torch_dispatch__(op, types, args, kwargs)
                if rule is None
                else rule(cls, op, types, args, kwargs)
            )
            if made is not NotImplemented:
                return made
    names = ", ".join(c.__name__ for c in ordered)
    raise TypeError(
        f"Multiple dispatch failed for '{op}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented: {names}"
    )


@registered.ones_like.provide
def ones_like(t: Tensor) -> Any:
    """Ones for the gradient of a result, as a tensor of its class where that has one."""
    if not dispatches(type(t)):
        return None
    with no_grad():
        return core("add")(core("mul")(t, 0), 1)


# -- recording ---------------------------------------------------------------------------------
def _space(t: Any) -> Any:
    """The namespace of ops on tensors for the kind that a tensor claims to have."""
    return t.__dict__.get("_claimed", t._k).T


class _Recorded(Function):
    """An op on tensors of classes with ``__torch_dispatch__``, with the row's rules."""

    @staticmethod
    def forward(ctx: Any, row: Row, asked: Any, arguments: Any, *tensors: Any) -> Any:
        made = _ask(row, asked, arguments)
        ctx.row, ctx.arguments = row, arguments
        ctx.versions = [t._version for t in tensors]
        ctx.made = _apart(made)
        return made

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        row, arguments = ctx.row, ctx.arguments
        tensors = _tensors(arguments)
        if ctx.versions != [t._version for t in tensors]:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: an operand of {row.node_name}"
            )
        made = core(row.name)(*arguments) if is_grad_enabled() else ctx.made
        found = _gradients(row, arguments, made, grads, ctx.needs_input_grad[3:])
        return (None, None, None, *found)


def _apart(made: Any) -> Any:
    """The results without history, so that a node does not hold itself."""
    if isinstance(made, tuple):
        return tuple(_apart(t) for t in made)
    return made.detach() if isinstance(made, Tensor) else made


def _recorded_as(row: Row) -> Any:
    return type(row.node_name.removesuffix("Backward0"), (_Recorded,), {})


def _gradients(row: Row, arguments: Any, made: Any, grads: Any, wanted: Any) -> list[Any]:
    """A gradient for each of the tensors among the arguments, by the rules of the row."""
    known: dict[str, Any] = dict(zip(row.arguments, arguments, strict=True))
    results = made if isinstance(made, tuple) else (made,)
    known.update(zip(row.outputs or ("out",), results, strict=True))
    g = tuple(grads) if row.outputs else grads[0]
    found: list[Any] = []
    flags = iter(wanted)
    for name in row.tensors:
        value: Any = known[name]
        if value is None or not isinstance(value, (Tensor, list, tuple)):
            continue
        own = [next(flags) for _ in (value if name in row.sequences else [value])]
        rule = row.rules.get(name)
        if rule is None or not any(own):
            found += [None] * len(own)
            continue
        first: Any = value[0] if name in row.sequences else value
        if row.shared is not None and "shared" not in known:
            known["shared"] = _by_rule(row, row.shared, _space(first), g, known, own)
        made_g = _by_rule(row, rule, _space(first), g, known, own)
        if name in row.sequences:
            found += [x if w else None for x, w in zip(made_g, own, strict=True)]
            continue
        if row.form == "binary" and made_g is not None and made_g._s != first._s:
            made_g = _space(first).sum_to(made_g, tuple(first._s))
        found.append(_of_class(value, made_g))
    return found


def _of_class(value: Any, g: Any) -> Any:
    """A gradient without history, such as zeros, as a tensor of the operand's class."""
    if g is None or g.requires_grad or dispatches(type(g)):
        return g
    return _ask(ROWS["clone"], [value], (g,)) if dispatches(type(value)) else g


def _by_rule(row: Row, rule: Any, F: Any, g: Any, known: dict[str, Any], own: list[bool]) -> Any:
    values = []
    for name in rule_arguments(rule):
        owner, _, fact = name.rpartition("_")
        if name in known:
            values.append(known[name])
        elif fact == "shape":
            given = known[owner]
            each = [tuple(t._s) for t in (given if owner in row.sequences else [given])]
            values.append(each if owner in row.sequences else each[0])
        elif fact == "number":
            values.append(None if isinstance(known[owner], Tensor) else known[owner])
        else:
            values.append(own)
    turned = row.holomorphic and F.is_complex
    made = rule(F, F.conj(g) if turned else g, *values)
    return F.conj(made) if turned else made


show_in("tensorbus.utils._python_dispatch", [("TorchDispatchMode", TorchDispatchMode)])
