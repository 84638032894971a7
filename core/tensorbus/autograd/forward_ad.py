"""Forward mode: tensors with tangents, which each operation carries on.

>>> import tensorbus as torch
>>> import tensorbus.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
...     fwAD.unpack_dual(x**2).tangent
tensor([2., 0.])
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.errors import type_error
from tensorbus._base.leaving import Decorator
from tensorbus._base.modes import switch, this_thread
from tensorbus._base.page import show_pages
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.forward_level import Level, laid_out_as, levels, without
from tensorbus.autograd.function_jvp import wrong_size
from tensorbus.op_engine.cores import core


class UnpackedDualTensor(NamedTuple):
    """What ``unpack_dual`` gives: a tensor without its tangent, and the tangent or None.

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.forward_ad.UnpackedDualTensor.html
    """

    primal: Tensor
    tangent: Tensor | None


def _entered() -> Level | None:
    """The level of ``enter_dual_level`` that this thread is in."""
    return next((x for x in levels() if x.public), None)


def enter_dual_level() -> int:
    """Begin forward mode in this thread; the number of the level, which is 0.

    RuntimeError inside of another: PyTorch's levels do not nest (those of ``torch.func.jvp`` do).

    >>> import tensorbus.autograd.forward_ad as fwAD
    >>> fwAD.enter_dual_level()
    0
    >>> fwAD.exit_dual_level()

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.forward_ad.enter_dual_level.html
    """
    _enter(Level(public=True))
    return 0


def _enter(level: Level) -> None:
    if _entered() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    switch("handlers", (*this_thread.handlers, level))


def exit_dual_level(*, level: int | None = None) -> None:
    """End what ``enter_dual_level`` began: no tensor has a tangent any more.

    RuntimeError where nothing was begun, or for another level than the last.

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.forward_ad.exit_dual_level.html
    """
    entered = _entered()
    if entered is None:
        raise RuntimeError("Dual level must be a positive number.")
    if level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This "
            "is not supported."
        )
    leave(entered)


def leave(level: Level) -> None:
    """Take a level from this thread's handlers."""
    switch("handlers", tuple(h for h in this_thread.handlers if h is not level))
    level.close()


class dual_level(Decorator):
    """Inside, tensors may have tangents: forward mode; a context manager, a decorator.

    ``make_dual`` gives a tensor its tangent, ``unpack_dual`` shows it.

    >>> import tensorbus as torch
    >>> import tensorbus.autograd.forward_ad as fwAD
    >>> x, v = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 1.0])
    >>> with fwAD.dual_level():
    ...     y = fwAD.make_dual(x, v).exp()
    ...     print(fwAD.unpack_dual(y).tangent)
    tensor([1.0000, 2.7183])

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.forward_ad.dual_level.html
    """

    def __init__(self) -> None:  # inspect.signature reads no compiled one
        super().__init__()

    def within(self, outer: Any) -> Generator[int, None, None]:
        level = Level(public=True)
        try:
            _enter(level)
            yield 0
        finally:
            self.close = outer
            try:
                leave(level)
            except BaseException:
                leave(level)
                raise


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """*tensor* with a tangent: a view of it, from which operations carry the tangent on.

    Both have the same shape and are floating point or complex. ValueError for other dtypes,
    RuntimeError for another shape or outside of a ``dual_level``.

    >>> import tensorbus as torch
    >>> import tensorbus.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor([3.0]), torch.tensor([1.0]))
    ...     fwAD.unpack_dual(x * x)
    UnpackedDualTensor(primal=tensor([9.]), tangent=tensor([6.]))

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.forward_ad.make_dual.html
    """
    entered = _entered()
    if entered is None or (level or 0) < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for name, t in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(t, Tensor):
            raise type_error("make_dual", name, 1 + (name == "tangent"), "Tensor", t)
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not t._k.differentiable:
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {t._k.dtype}"
            )
    if entered.tangent(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not supported."
        )
    if entered.tangent(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not "
            "supported."
        )
    return dual(entered, tensor, tangent)


def dual(level: Level, tensor: Tensor, tangent: Tensor) -> Tensor:
    """A view of a tensor that has a tangent at a level."""
    if tensor._s != tangent._s:
        raise wrong_size(tensor, tangent)
    with without(level):
        made = core("alias")(tensor)
        level.keep(made, laid_out_as(tangent, made))
    return made


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor without its tangent, and the tangent, which is None where it has none.

    >>> import tensorbus as torch
    >>> import tensorbus.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     fwAD.unpack_dual(torch.ones(1))
    UnpackedDualTensor(primal=tensor([1.]), tangent=None)

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.forward_ad.unpack_dual.html
    """
    if not isinstance(tensor, Tensor):
        raise type_error("unpack_dual", "dual", 1, "Tensor", tensor)
    entered = _entered()
    if entered is None or (level or 0) < 0:
        return UnpackedDualTensor(tensor, None)
    if level not in (None, 0):
        raise RuntimeError(f"unpack_dual: there is no level {level}: the only one is 0")
    return UnpackedDualTensor(*unpacked(entered, tensor))


def unpacked(level: Level, t: Tensor) -> tuple[Tensor, Tensor | None]:
    """A view of a tensor without a tangent at a level, and the tangent."""
    tangent = level.tangent(t)
    if tangent is None:
        return t, None
    with without(level):
        made = core("alias")(t)
        level.keep(made, None)
    return made, tangent


__getattr__ = _attributes(__name__)
__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]
show_pages(__name__, [(name, globals()[name]) for name in __all__])
