"""The class Tensor: its slots. Its methods come from the rows and families in ``ops``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorbus._base import registered
from tensorbus._base.modes import RARE, InferenceCell, fresh_cell, in_inference
from tensorbus._base.size import Size, size_of
from tensorbus._dispatch.kinds import Kind
from tensorbus.rows.layouts import contiguous_strides


class Tensor:
    """An array of numbers on a device, which may record how it was made.

    Made by ``tensorbus.tensor``, ``zeros``, ``randn`` and the other factories, and by every
    operation. ``Tensor(5, 7)`` is an uninitialised tensor of that shape.

    >>> import tensorbus
    >>> tensorbus.tensor([1.0, 2.0]) * 2
    tensor([2., 4.])
    """

    # _a array, _k kind, _s Size, _e edge: None, a leaf's AccumulateGrad, or the node that made it;
    # _c version cell shared by views, None until someone asks; _b base of a view, PERMUTED for
    # a dense tensor whose dimensions lie in another order, else None. Set only where needed:
    # _r how a view was made, _v version for which its edge holds, _g gradient.
    __slots__ = ("__dict__", "__weakref__", "_a", "_b", "_c", "_e", "_g", "_k", "_r", "_s", "_v")

    _a: Any
    _k: Kind
    _s: Size
    _e: Any
    _c: list[int] | InferenceCell | None
    _b: Any
    _r: Any
    _v: int
    _g: Tensor | None

    def __new__(cls, *args: Any, **kwargs: Any) -> Tensor:
        return registered.construct_tensor(cls, *args, **kwargs)

    def __init_subclass__(cls, between: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not between:
            registered.adopt_subclass(cls)

    @staticmethod
    def __torch_dispatch__(
        func: Any, types: tuple[type, ...], args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an op as on plain tensors: what ``super()`` is in a class that has its own.

        >>> import tensorbus as torch
        >>> class Noted(torch.Tensor):
        ...     @classmethod
        ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        ...         print(func)
        ...         return super().__torch_dispatch__(func, types, args, kwargs)
        >>> torch.ones(2).as_subclass(Noted) + 1
        aten.add.Tensor
        tensor([2., 2.])
        """
        return registered.undispatched(func, args, kwargs or {})

    @classmethod
    def __torch_function__(
        cls, func: Any, types: tuple[type, ...], args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run *func* for a subclass: its tensor results become instances of the subclass.

        Subclasses define their own to see every function, method and operator that is called with
        one of their instances; NotImplemented leaves the call to the other operands' classes.

        >>> import tensorbus as torch
        >>> class Meters(torch.Tensor): pass
        >>> type(torch.ones(2).as_subclass(Meters) + 1).__name__
        'Meters'
        """
        return registered.default_torch_function(cls, func, types, args, kwargs)


def dispatches(cls: type) -> bool:
    """Whether ops ask a class, which has a ``__torch_dispatch__`` of its own."""
    plain = Tensor.__torch_dispatch__
    return getattr(cls, "__torch_dispatch__", plain) is not plain


class _Permuted:
    """What ``_b`` says of a tensor that is dense and no view, but not row-major."""

    def __repr__(self) -> str:
        return "PERMUTED"


PERMUTED: Any = _Permuted()

new = object.__new__

make: Callable[[], Tensor] = functools.partial(object.__new__, Tensor)
"""A tensor whose slots are still empty: a tenth faster than ``new(Tensor)``."""


RETAINS, SWITCHED_OFF, GRAD_DTYPE = "_retains", "_switched_off", "_grad_dtype"
"""What the library itself keeps among a tensor's attributes: of its history and its gradient."""


def attributes_of(t: Tensor) -> dict[str, Any]:
    """The attributes that users have given a tensor, which go with its copies and pickles."""
    return {k: v for k, v in t.__dict__.items() if k not in (RETAINS, SWITCHED_OFF, GRAD_DTYPE)}


def from_array(array: Any, kind: Kind) -> Tensor:
    """A tensor without history for a fresh row-major array."""
    t = new(Tensor)
    t._a = array
    t._k = kind
    t._s = size_of(array.shape)
    t._e = None
    t._c = fresh_cell() if RARE.on else None
    t._b = None
    return t


def wrap_like(array: Any, kind: Kind, edge: Any) -> Tensor:
    """A tensor for a fresh array of any dense layout, with a given edge."""
    t = from_array(array, kind)
    t._e = edge
    t._b = order_mark(kind, array)
    return t


def shared(t: Tensor) -> Tensor:
    """Another tensor of the same array, with neither history nor version cell of its own yet."""
    made = new(Tensor)
    made._a, made._k, made._s, made._e = t._a, t._k, t._s, None
    made._b = None if t._b is None else PERMUTED
    return made


def same_memory(t: Tensor) -> Tensor:
    """Another tensor of the same array and versions, without history."""
    if t._c is None:
        t._c = [0]
    made = shared(t)
    made._c = t._c
    return made


def order_mark(kind: Kind, array: Any) -> Any:
    """What ``_b`` says of a tensor that is no view: PERMUTED where it is not row-major.

    Neither is one whose dimensions of size 1 have other strides: copies and conversions keep them.
    """
    if not kind.is_contiguous(array):
        return PERMUTED
    shape = tuple(array.shape)
    if 1 in shape and tuple(kind.strides(array)) != contiguous_strides(shape):
        return PERMUTED
    return None


def check_inference(t: Tensor) -> None:
    """RuntimeError for a write to an inference tensor outside inference mode."""
    if type(t._c) is InferenceCell and not in_inference():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make "
            "a clone to get a normal tensor before doing inplace update."
        )


def bump(t: Tensor) -> None:
    """Count a write into the tensor's storage, before it: no interrupt can come between then."""
    if t._c is None:
        t._c = [1]
    elif type(t._c) is list:  # inference tensors have no versions
        t._c[0] += 1


def unbump(t: Tensor) -> None:
    """Count one write less: it was refused."""
    if type(t._c) is list:
        t._c[0] -= 1


def version_of(t: Tensor) -> int:
    """How often the tensor's storage was written."""
    return 0 if t._c is None else t._c[0]
