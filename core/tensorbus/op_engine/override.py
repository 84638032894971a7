"""Subclasses of Tensor: their operations go through ``__torch_function__``.

A class that derives from Tensor gets ``Overriding`` as its base instead, whose methods, operators
and properties ask ``__torch_function__`` first. Published functions ask where they see such a
tensor. So plain tensors pay nothing in methods and operators, and one test of a flag in functions.
The tensors themselves have ordinary kinds: inside an operation they compute like any other.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Generator, Iterator
from types import FunctionType
from typing import Any

from tensorbus._base import registered
from tensorbus._base.errors import DuckError
from tensorbus._base.leaving import Leaving, block
from tensorbus._base.modes import OVERRIDES
from tensorbus._base.size import Size
from tensorbus._device.device import device as Device
from tensorbus._tensor.tensor import PERMUTED, Tensor, attributes_of, dispatches, new
from tensorbus.op_engine.argument_checks import Late, checked
from tensorbus.op_engine.asked_again import given
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.signatures import public_signature, show_signature


class _Local(threading.local):
    off = False
    skip = False
    """Whether the next function to ask does not."""
    modes: tuple[Any, ...] = ()
    """The modes that functions ask, the innermost last (``function_modes.py``)."""
    in_mode = False
    """Whether a mode runs that was asked."""


_local = _Local()


class DisableTorchFunctionSubclass(Leaving):
    """A context in which tensors of subclasses compute like plain ones; results are plain."""

    def within(self, outer: Callable[[], None]) -> Generator[None, None, None]:
        before = _local.off
        try:
            _local.off = True
            yield
        finally:
            self.close = outer
            _local.off = before


def disabled_torch_function(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """As a class's ``__torch_function__``: the class does not override, its results are plain."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


# -- asking the classes ----------------------------------------------------------------------
def overrides(cls: type) -> bool:
    """Whether operations on instances of a class go through its ``__torch_function__``."""
    own = getattr(cls, "__torch_function__", disabled_torch_function)
    return own is not disabled_torch_function and (
        issubclass(cls, Overriding) or not issubclass(cls, Tensor)
    )


def is_duck(value: Any) -> bool:
    """Whether a value that is no tensor says itself what functions make of it.

    An array of another library, as a tensor of PyTorch, answers for that library's functions.
    """
    cls = type(value)
    return (
        hasattr(cls, "__torch_function__")
        and not isinstance(value, (Tensor, type))
        and not hasattr(cls, "__dlpack__")
    )


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, Tensor) or is_duck(value):
        yield value
    elif isinstance(value, (tuple, list)) and not isinstance(value, Size):
        for item in value:
            if isinstance(item, (Tensor, tuple, list)) or is_duck(item):
                yield from _tensors(item)


def overriding(args: Any, kwargs: Any = None) -> list[Any]:
    """Who is asked: this thread's innermost mode, then the objects among the arguments that
    override, one of each class, those of subclasses first, else from left to right.

    Where nobody is and there are tensors of a batch and others, it is what brings them together.
    """
    skip, _local.skip = _local.skip, False
    found = [] if skip else list(_local.modes[-1:])
    silent = skip or _local.off
    first = len(found)
    known: list[type] = []
    devices = set()
    for value in (*args, *kwargs.values()) if kwargs else args:
        for t in _tensors(value):
            cls = type(t)
            if cls is not Tensor and not silent and cls not in known and overrides(cls):
                index = next((i for i, c in enumerate(known) if issubclass(cls, c)), len(known))
                known.insert(index, cls)
                found.insert(first + index, t)
            if isinstance(t, Tensor):
                devices.add(t._k.device)
    return found or _lifting(devices)


def _lifting(devices: set[Any]) -> list[Any]:
    """What brings tensors of a batch and others together, where there are both."""
    if len(devices) < 2 or all(type(d) is Device for d in devices):
        return []
    from tensorbus.op_engine.batches import LIFTING  # here: most programs have no batches

    return [LIFTING]


def of_several_batches(args: Any, kwargs: Any = None) -> list[Any]:
    """As ``overriding``, of the tensors of batches alone."""
    values = (*args, *kwargs.values()) if kwargs else args
    return _lifting(
        {t._k.device for value in values for t in _tensors(value) if isinstance(t, Tensor)}
    )


def ask(func: Any, asked: list[Any], args: Any, kwargs: Any) -> Any:
    """What the first of *asked* says that does not decline; NotImplemented where all do.

    A mode is off while it runs.
    """
    modes = _local.modes
    first = 1 if modes and asked[0] is modes[-1] else 0
    types = tuple(type(t) for t in asked[first:])
    if first:
        with mode_taken_off():
            result = modes[-1].__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for t in asked[first:]:
        result = t.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


@block
def mode_taken_off() -> Generator[Any, None, None]:
    """A block in which this thread's innermost mode is not asked; it gives that mode."""
    before, in_mode = _local.modes, _local.in_mode
    try:
        _local.modes, _local.in_mode = before[:-1], True
        yield before[-1]
    finally:
        _local.modes, _local.in_mode = before, in_mode


def dispatch(func: Any, asked: list[Any], args: Any, kwargs: Any) -> Any:
    """``ask``; TypeError where all decline."""
    result = ask(func, asked, args, kwargs)
    if result is NotImplemented:
        name = getattr(func, "__name__", func)
        classes = [type(t) for t in asked]
        declined = ", ".join(f"{c.__module__}.{c.__qualname__}" for c in classes)
        raise TypeError(
            f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned "
            f"NotImplemented: {declined}. Handle '{name}' there, or convert the operands with "
            ".as_subclass(Tensor)"
        )
    return result


@registered.duck_answer.provide
def duck_answer(func: Any, value: Any, args: Any) -> Any:
    """What a value says of a call that it can answer; NotImplemented of any other value."""
    return dispatch(func, [value], args, {}) if is_duck(value) else NotImplemented


def overridable(
    f: Callable[..., Any], late: Late, seen: Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    """The function as users see it: overriding classes among its arguments are asked first.

    *late* is the function with a check of its arguments, *seen* gives what classes see of them.
    """

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        if OVERRIDES.on and (asked := overriding(args, kwargs)):
            return dispatch(call, asked, seen(args) if seen else args, kwargs)
        try:
            return late.call(*args, **kwargs)
        except DuckError:
            return call(*args, **kwargs)

    return call


def takes_tensors(f: Callable[..., Any], others: bool = False) -> bool:
    """Whether the annotation of a parameter, or of one after the first, admits a tensor."""
    annotations = [str(a) for name, a in f.__annotations__.items() if name != "return"]
    if others:
        return any("Tensor" in a for a in annotations[1:])
    return f.__name__ != "is_tensor" and any("Tensor" in a or "Any" in a for a in annotations)


def publish(namespace: dict[str, Any]) -> None:
    """Make the functions of a module's namespace that take tensors overridable, and checked."""
    for name, f in list(namespace.items()):
        if isinstance(f, FunctionType) and not name.startswith("_") and takes_tensors(f):
            namespace[name] = overridable(f, checked(f, f.__name__))
            if any(parameter[0] == "_" for parameter in f.__annotations__):
                show_signature(namespace[name], public_signature)


@registered.default_torch_function.provide
def default_torch_function(cls: type, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Run the function as on plain tensors and make its results instances of the class."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    if getattr(func, "__self__", None) in _unwrapped():
        return result
    return _convert(result, cls, args)


@functools.cache
def _unwrapped() -> tuple[Any, ...]:
    """The properties whose tensors exist already and keep their class."""
    return Tensor.grad, Tensor._base


def _convert(result: Any, cls: type, args: Any) -> Any:
    if isinstance(result, Tensor):
        if isinstance(result, cls):
            return result
        own = type(result) is Tensor and not dispatches(cls)
        if own and all(result is not t for t in _tensors(args)):
            try:
                result.__class__ = cls  # nobody else has seen it yet
                return result
            except TypeError:
                pass  # the class has slots of its own
        return as_subclass(result, cls)
    if isinstance(result, (tuple, list)) and any(isinstance(r, Tensor) for r in result):
        converted = [_convert(r, cls, args) for r in result]
        make = getattr(type(result), "_make", type(result))  # named tuples
        return make(converted)
    return result


def as_subclass(x: Tensor, cls: type) -> Any:
    """The same storage and history as an object of a subclass of Tensor, or of Tensor itself."""
    if x._c is None:
        x._c = [0]
    t: Any = new(cls)
    if x._e is None:
        source = x
    else:  # a leaf's edge is the leaf's own
        source = core("view")(x, tuple(x._s)) if x._b is None else core("clone")(x)
    for slot in ("_a", "_k", "_s", "_c", "_e", "_b"):
        setattr(t, slot, getattr(source, slot))
    if t._b is not None and t._b is not PERMUTED:
        t._r = source._r
        t._v = getattr(source, "_v", 0)
    if dispatches(cls):
        registered.adopt_dispatching(t)
    return t


def plain(x: Tensor) -> Tensor:
    """A tensor of a subclass as an operand of class Tensor, with the same history and versions."""
    edge = edge_of(x)
    if x._c is None:
        x._c = [0]
    t = new(Tensor)
    t._a, t._k, t._s, t._c, t._e = x._a, x._k, x._s, x._c, edge
    t._b = None if x._b is None or x._k.is_contiguous(x._a) else PERMUTED
    return t


# -- the class between Tensor and its subclasses ---------------------------------------------
OBJECT_PROTOCOL = {
    "__hash__", "__reduce_ex__", "__iter__", "__array_priority__", "as_subclass", "_is_view",
    "_make_subclass", "_make_wrapper_subclass",
}  # fmt: skip

_CALLED = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__isub__": "sub_",
    "__mul__": "mul", "__rmul__": "mul", "__imul__": "mul_", "__truediv__": "div",
    "__itruediv__": "div_", "__mod__": "remainder", "__imod__": "remainder_", "__pow__": "pow",
    "__ipow__": "pow_", "__ifloordiv__": "floor_divide_", "__matmul__": "matmul", "__lt__": "lt",
    "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__ne__": "ne", "__neg__": "neg",
}  # fmt: skip
"""The methods that operators stand for, as ``__torch_function__`` sees them."""


class Overriding(Tensor, between=True):
    """The base of user subclasses: every method asks ``__torch_function__`` first."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.unbind(0) if self.dim() else super().__iter__())

    def __reduce_ex__(self, protocol: Any) -> Any:
        make, args = super().__reduce_ex__(protocol)[:2]
        return _rebuild, (type(self), make, args), attributes_of(self) or None


def _rebuild(cls: type, make: Callable[..., Tensor], args: Any) -> Any:
    return _convert(make(*args), cls, ())


_DEFAULT = Tensor.__torch_function__.__func__  # type: ignore[attr-defined]


@registered.adopt_subclass.provide
def adopt(cls: type) -> None:
    """Put ``Overriding`` between Tensor and a new subclass that overrides.

    One that has ``__torch_dispatch__`` does not, unless it says so: ops ask it.
    """
    given: Any = cls
    if dispatches(cls) and getattr(given.__torch_function__, "__func__", None) is _DEFAULT:
        given.__torch_function__ = disabled_torch_function
    if given.__torch_function__ is disabled_torch_function or issubclass(cls, Overriding):
        return
    if "add" not in vars(Overriding):
        _install()
    OVERRIDES.meet()
    bases = tuple(Overriding if b is Tensor else b for b in cls.__bases__)
    cls.__bases__ = bases if Overriding in bases else (*bases, Overriding)


def _install() -> None:
    for name in METHODS:
        if name not in OBJECT_PROTOCOL:
            setattr(Overriding, name, asking(name))


def asking(name: str) -> Any:
    """A method or property of Tensor as one that asks who overrides it."""
    return _property(name) if isinstance(METHODS[name], property) else _method(name)


def _method(name: str) -> Callable[..., Any]:
    called = _CALLED.get(name, name)
    operator = name.startswith("__") and name.endswith("__")
    reflected = "__" + name[3:] if name.startswith("__r") and name not in ("__repr__",) else ""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        asked = overriding((self, *args), kwargs)
        if not asked:
            return given(name)(self, *args, **kwargs)
        inner = _method if len(_local.modes) > 1 else None
        if reflected and isinstance(args[0], Tensor):
            func, operands = given(_CALLED.get(reflected, reflected), inner), (args[0], self)
        else:
            func, operands = given(called, inner), (self, *args)
        return (ask if operator else dispatch)(func, asked, operands, kwargs)

    method.__name__ = method.__qualname__ = name
    return method


def _property(name: str) -> property:
    def get(self: Any) -> Any:
        whole = getattr(Tensor, name)
        asked = overriding((self,))
        return dispatch(whole.__get__, asked, (self,), {}) if asked else whole.__get__(self)

    def set_(self: Any, value: Any) -> None:
        whole = getattr(Tensor, name)
        asked = overriding((self, value))
        if asked:
            dispatch(whole.__set__, asked, (self, value), {})
        else:
            whole.__set__(self, value)

    def delete(self: Any) -> None:
        getattr(Tensor, name).__delete__(self)

    return property(get, set_, delete)
