"""Constructors of the older style: ``Tensor(2, 3)``, ``Tensor([1, 2])``, ``x.new(3)``."""

from __future__ import annotations

from typing import Any

from tensorbus._base import registered
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.size import Size
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_int
from tensorbus.op_engine.options import Options, as_leaf, checked_device
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.factories import empty
from tensorbus.ops.creation.from_data import tensor
from tensorbus.storage import TypedStorage, UntypedStorage, tensor_from_storage

_NAMES = ("data", "size", "other", "storage")
"""What the one argument may be called by."""


def construct(kind: Kind, args: tuple[Any, ...], named: dict[str, Any], name: str) -> Tensor:
    """A tensor of a kind: uninitialised of a shape given as ints or a Size, or of values.

    A tensor or a storage shares its memory. One argument may be *named*, and ``requires_grad``
    besides. TypeError for others.
    """
    wants = named.pop("requires_grad", False)
    if named:
        (key, value), *more = named.items()
        if args or more or key not in _NAMES:
            shown = [type(x).__name__ for x in args]
            shown += [f"{n}={type(x).__name__}" for n, x in named.items()]
            raise TypeError(
                "new() received an invalid combination of arguments - got "
                f"({', '.join(shown)}), but expected sizes, or one of data, size, other and "
                "storage; and the keywords device and requires_grad"
            )
        args = (Size(value),) if key == "size" else (value,)
    made = _construct(kind, args, name)
    return as_leaf(made, wants)


def _construct(kind: Kind, args: tuple[Any, ...], name: str) -> Tensor:
    d, where = kind.dtype, kind.device
    if len(args) == 1:
        data = args[0]
        if isinstance(data, Tensor):
            if data._k is not kind:
                raise TypeError(
                    f"{name} expects a tensor of {d} on {where}, but got one of {data._k.dtype} on "
                    f"{data._k.device}. Convert it with .to() first."
                )
            return data.detach()
        if isinstance(data, Size):
            return empty(*data, dtype=d, device=where) if data else empty((), dtype=d, device=where)
        if isinstance(data, (TypedStorage, UntypedStorage)):
            return _over(data, kind)
        if as_int(data) is None:
            if not hasattr(data, "__len__") or isinstance(data, (str, bytes)):
                raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
            return tensor(data, dtype=d, device=where)
    return empty(*(args or (0,)), dtype=d, device=where)


def _over(storage: TypedStorage | UntypedStorage, kind: Kind) -> Tensor:
    """A vector over a storage, which must be of the same dtype where it has one."""
    if isinstance(storage, TypedStorage) and storage.dtype is not kind.dtype:
        raise RuntimeError(
            f"Expected a Storage of type {scalar_name(kind.dtype)} or an UntypedStorage, but got "
            f"type {scalar_name(storage.dtype)} for argument 1 'storage'"
        )
    n = storage.nbytes() // kind.dtype.itemsize
    return tensor_from_storage(storage.untyped(), kind.dtype, 0, (n,), (1,))


@registered.construct_tensor.provide
def legacy_tensor(cls: type, *args: Any, device: Any = None, **named: Any) -> Tensor:
    """``Tensor(2, 3)``: uninitialised of that shape; ``Tensor([1, 2])``: of those values.

    The keywords ``data``, ``size`` and ``other`` name the one argument; ``requires_grad=True`` lets
    operations on the tensor be recorded.
    """
    if len(args) == 1 and not named and isinstance(args[0], Tensor) and cls is not Tensor:
        return args[0].as_subclass(cls)
    kind = Options("Tensor", {"device": device}, ("device",)).kind()
    if len(args) == 1 and not named and isinstance(args[0], Tensor):
        t = args[0].detach()
    else:
        t = construct(kind, args, named, "Tensor()")
    return t if cls is Tensor else t.as_subclass(cls)


@public(function=False)
def new(self: Tensor, *args: Any, device: Any = None, **named: Any) -> Tensor:
    """A tensor of this one's dtype: uninitialised of a shape given as ints, or of values."""
    where = checked_device("new", device) or self._k.device
    return construct(kind_of(where, self._k.dtype), args, named, "new()")
