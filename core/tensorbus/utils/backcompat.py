"""Switches that bring back what older versions of PyTorch did, or warn where it was different.

>>> import tensorbus as torch
>>> torch.utils.backcompat.float_arange.enabled = True
>>> torch.arange(2, 6)
tensor([2., 3., 4., 5.])
>>> torch.utils.backcompat.float_arange.enabled = False

All are off at first, and hold for all threads.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import tensorbus
from tensorbus._base.modes import switch_broadcast_warning
from tensorbus._base.page import show_pages
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.names import FUNCTIONS, METHODS
from tensorbus.op_engine.older_broadcasting import FALLBACK

_Function = Callable[..., Any]
_Replacements = list[tuple[Any, str, _Function]]
"""Public functions and methods that are other ones while a switch is on: where, name, which."""


class Switch:
    """A behaviour of older versions: ``enabled = True`` brings it back."""

    def __init__(self, name: str, doc: str, turn: Callable[[bool], None]):
        self.__name__, self.__doc__ = name, doc
        self._turn = turn
        self._enabled = False

    @property
    def enabled(self) -> bool:
        """Whether the switch is on; may be set."""
        return self._enabled

    @enabled.setter
    def enabled(self, on: bool) -> None:
        on = bool(on)
        if on is not self._enabled:
            self._turn(on)
            self._enabled = on

    def __repr__(self) -> str:
        return f"tensorbus.utils.backcompat.{self.__name__}(enabled={self._enabled})"


def _replacing(replacements: Callable[[], Iterator[tuple[Any, str, _Function]]]) -> Any:
    """What puts other functions in the place of public ones, and takes them out again."""
    before: _Replacements = []

    def turn(on: bool) -> None:
        changes = list(replacements()) if on else before[:]
        before[:] = [(home, name, getattr(home, name)) for home, name, _ in changes] if on else []
        for home, name, function in changes:
            setattr(home, name, function)

    return turn


# -- dimensions that reductions drop ---------------------------------------------------------
def _warning_of_keepdim(f: _Function, name: str, signature: inspect.Signature) -> _Function:
    """The reduction, with a warning where it is called with a dimension and without *keepdim*."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(signature.parameters, args, strict=False)) | kwargs
        dim = given.get("dim", given.get("axis"))
        if isinstance(dim, (int, tuple, list)) and not {"keepdim", "keepdims"} & given.keys():
            warn_user(
                f'backwards compatibility: call to "{name}" uses default value for keepdim which '
                "has changed default to False.  Consider passing as kwarg."
            )
        return f(*args, **kwargs)

    return call


def _reductions() -> Iterator[tuple[Any, str, _Function]]:
    """The functions and methods with an argument *keepdim* that is False by default."""
    for home, names in ((tensorbus, FUNCTIONS), (Tensor, METHODS)):
        for name in names:
            f = getattr(home, name)
            if name.startswith("_") or not inspect.isfunction(f):
                continue
            signature = inspect.signature(f)
            if "keepdim" in signature.parameters and "dim" in signature.parameters:
                yield home, name, _warning_of_keepdim(f, name, signature)


# -- other results ---------------------------------------------------------------------------
def _float_arange() -> Iterator[tuple[Any, str, _Function]]:
    plain = tensorbus.arange

    @functools.wraps(plain)
    def arange(*args: Any, **kwargs: Any) -> Tensor:
        if kwargs.get("dtype") is None and kwargs.get("out") is None:
            kwargs["dtype"] = tensorbus.get_default_dtype()
        return plain(*args, **kwargs)

    yield tensorbus, "arange", arange


def _logical_invert() -> Iterator[tuple[Any, str, _Function]]:
    bitwise: _Function = Tensor.__invert__

    @functools.wraps(bitwise)
    def __invert__(self: Tensor) -> Tensor:
        if self.dtype is tensorbus.uint8:
            return tensorbus.logical_not(self).to(tensorbus.uint8)
        result: Tensor = bitwise(self)
        return result

    yield Tensor, "__invert__", __invert__


def _bool_error() -> Iterator[tuple[Any, str, _Function]]:
    plain: _Function = Tensor.__bool__

    @functools.wraps(plain)
    def __bool__(self: Tensor) -> bool:
        if self.numel():
            raise RuntimeError(
                f"bool value of tensors with {self.numel()} element(s) is ambiguous while "
                "utils.backcompat.bool_error is enabled: compare with a number, or call item()"
            )
        return bool(plain(self))

    yield Tensor, "__bool__", __bool__


def _turn_fallback(on: bool) -> None:
    FALLBACK.on = on


broadcast_warning = Switch(
    "broadcast_warning",
    "Warn where two tensors of different shapes broadcast that have as many elements: PyTorch 0.1 "
    "combined them element by element.",
    switch_broadcast_warning,
)
keepdim_warning = Switch(
    "keepdim_warning",
    "Warn where a reduction over a dimension is not told *keepdim*, which was once True.",
    _replacing(_reductions),
)
pointwise_fallback = Switch(
    "pointwise_fallback",
    "Combine tensors whose shapes do not broadcast element by element, with a warning, where they "
    "have as many elements: the result has the shape of the first. Otherwise that is an error.",
    _turn_fallback,
)
float_arange = Switch(
    "float_arange",
    "Let ``arange`` of integers give the default floating point dtype, instead of int64.",
    _replacing(_float_arange),
)
logical_invert = Switch(
    "logical_invert",
    "Let ``~x`` of a uint8 tensor be 1 where x is 0 and 0 elsewhere, instead of its bits.",
    _replacing(_logical_invert),
)
bool_error = Switch(
    "bool_error",
    "Let ``bool(x)`` be an error for a tensor of one element, too.",
    _replacing(_bool_error),
)

__all__ = [
    "Switch",
    "bool_error",
    "broadcast_warning",
    "float_arange",
    "keepdim_warning",
    "logical_invert",
    "pointwise_fallback",
]

show_pages(__name__, [("Switch", Switch)])
