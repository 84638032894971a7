"""Window functions, whole by default; ``sym=False`` leaves the last value out of one place more.

>>> import tensorbus
>>> tensorbus.signal.windows.cosine(4)
tensor([0.3827, 0.9239, 0.9239, 0.3827])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tensorbus._base import dtypes as _dtypes
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus._base.formats import layout as Layout
from tensorbus._base.public_place import show_in as _show_in
from tensorbus._device.device import device as Device
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.options import Options as _Options
from tensorbus.ops.creation import windows as _formulas

__path__: list[str] = []  # paths of PyTorch lie below it: pytorch_paths.py


def _made(
    name: str, M: int, sym: bool, options: tuple[Any, ...], formula: Callable[[int], Any]
) -> Tensor:
    """The window; *formula* gets the last index of it, *options* are in the signatures' order."""
    dtype, layout, device, requires_grad = options
    if layout is not None and str(layout) != "torch.strided":
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype is None:
        dtype = _dtypes.get_default_dtype()
    if dtype not in (_dtypes.float32, _dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    if not isinstance(M, int) or isinstance(M, bool):
        raise TypeError(f"{name}(): argument 'M' (position 1) must be int, not {type(M).__name__}")
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    given = {"dtype": dtype, "device": device, "layout": layout, "requires_grad": requires_grad}
    made = _Options(name, given, tuple(given))
    kind = made.kind()
    return made.deliver(_formulas.values(kind, M, sym, formula(M - 1 if sym else M)))


def _exponential(center: float, tau: float) -> Any:
    def formula(F: Any, places: Any, last: int) -> Any:
        return F.exp(F.mul(F.abs(F.sub(places, center)), -1.0 / tau))

    return formula


def _gaussian(std: float) -> Any:
    def formula(F: Any, places: Any, last: int) -> Any:
        place = F.mul(F.sub(places, last / 2.0), 1.0 / std)
        return F.exp(F.mul(F.mul(place, place), -0.5))

    return formula


def _sine(F: Any, places: Any, last: int) -> Any:
    return F.sin(F.mul(F.add(places, 0.5), math.pi / (last + 1)))


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Bartlett's window: a triangle that is 0 at the ends.

    *M* is the number of values. ValueError where it is negative, and for dtypes other than
    float32 and float64.
    """
    options = (dtype, layout, device, requires_grad)
    return _made("bartlett", M, sym, options, lambda last: _formulas.triangle)


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Blackman's window: a sum of two cosines.

    *M* is the number of values. ValueError where it is negative, and for dtypes other than
    float32 and float64.
    """
    options = (dtype, layout, device, requires_grad)
    return _made("blackman", M, sym, options, lambda last: _formulas.cosines(_formulas.BLACKMAN))


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Half a period of the sine, between its zeros.

    *M* is the number of values. ValueError where it is negative, and for dtypes other than
    float32 and float64.
    """
    options = (dtype, layout, device, requires_grad)
    return _made("cosine", M, sym, options, lambda last: _sine)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """An exponential that decays by *tau* on both sides of *center*: the middle where None.

    *M* is the number of values. ValueError where it is negative, and for dtypes other than
    float32 and float64.
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    options = (dtype, layout, device, requires_grad)
    return _made(
        "exponential",
        M,
        sym,
        options,
        lambda last: _exponential(last / 2.0 if center is None else float(center), float(tau)),
    )


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The normal density's shape with the standard deviation *std*, 1 in the middle.

    *M* is the number of values. ValueError where it is negative, and for dtypes other than
    float32 and float64.
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    options = (dtype, layout, device, requires_grad)
    return _made("gaussian", M, sym, options, lambda last: _gaussian(float(std)))


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The alternating sum of cosines with the weights *a*, of which the first is the constant.

    *M* is the number of values. ValueError where it is negative, and for dtypes other than
    float32 and float64.
    """
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = tuple(float(weight) for weight in a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    options = (dtype, layout, device, requires_grad)
    return _made("general_cosine", M, sym, options, lambda last: _formulas.cosines(weights))


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``alpha - (1 - alpha) * cos(2 * pi * n / N)``.

    *M* is the number of values. ValueError where it is negative, and for dtypes other than
    float32 and float64.
    """
    weights = (float(alpha), 1.0 - float(alpha))
    options = (dtype, layout, device, requires_grad)
    return _made("general_hamming", M, sym, options, lambda last: _formulas.cosines(weights))


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Hamming's window: a raised cosine that is 0.08 at the ends.

    *M* is the number of values. ValueError where it is negative, and for dtypes other than
    float32 and float64.
    """
    options = (dtype, layout, device, requires_grad)
    return _made("hamming", M, sym, options, lambda last: _formulas.cosines((0.54, 0.46)))


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Hann's window: a raised cosine that is 0 at the ends.

    *M* is the number of values. ValueError where it is negative, and for dtypes other than
    float32 and float64.
    """
    options = (dtype, layout, device, requires_grad)
    return _made("hann", M, sym, options, lambda last: _formulas.cosines((0.5, 0.5)))


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser's window of the shape *beta*: the larger, the narrower.

    *M* is the number of values. ValueError where it is negative, and for dtypes other than
    float32 and float64.
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    options = (dtype, layout, device, requires_grad)
    return _made("kaiser", M, sym, options, lambda last: _formulas.bump(float(beta)))


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Nuttall's window of four terms, after Blackman and Harris.

    *M* is the number of values. ValueError where it is negative, and for dtypes other than
    float32 and float64.
    """
    options = (dtype, layout, device, requires_grad)
    return _made("nuttall", M, sym, options, lambda last: _formulas.cosines(_formulas.NUTTALL))


if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip

_show_in(__name__, [(name, globals()[name]) for name in __all__])
