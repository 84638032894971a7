"""The Fourier transforms of a signal's windows, and the signal from them."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes, registered
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_device, check_tensors
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.factories import ones
from tensorbus.ops.fft.arguments import precise
from tensorbus.ops.views.reinterpretation import view_as_real

_LEAST = 1e-11
"""A sum of squared windows below which the signal can't be found again."""

_NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied, {} To suppress this warning "
    "and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
)


def _shown(x: Tensor | None, opening: str = "[", closing: str = "]") -> str:
    if x is None:
        return "None"
    return f"torch.{scalar_name(x._k.dtype)}Tensor{opening}{str(list(x._s))[1:-1]}{closing}"


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _windowed(window: Tensor | None, win_length: int, n_fft: int, like: Tensor) -> Tensor | None:
    """The window in the middle of *n_fft* elements, else zeros; None for ones."""
    if win_length == n_fft:
        return window
    if window is None:
        real = like._k.dtype.to_real()
        window = ones(win_length, dtype=real, device=like._k.device)
    left = (n_fft - win_length) // 2
    made: Tensor = core("pad")(window, ((left, n_fft - win_length - left),), 0)
    return made


def _times(x: Tensor, window: Tensor) -> Tensor:
    """The product, which is complex where one of them is."""
    if window._k.dtype.is_complex and not x._k.dtype.is_complex:
        x = to_kind(x, x._k.complex)
    return x * window


@public()
@autocasts("cpu float32")
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The Fourier transforms of windows of *n_fft* samples, *hop_length* apart.

    (n,) or (batch, n) -> (..., frequencies, windows), complex: n_fft // 2 + 1 frequencies of real
    samples, all n_fft of complex ones and without *onesided*. *hop_length* is n_fft // 4 where none
    is given; *window*, of *win_length*, by default n_fft, elements, weighs the samples from the
    middle of each. With *center* the signal gets a border of n_fft // 2 by *pad_mode*
    (``nn.functional.pad``), so that window i is around sample ``i * hop_length``; without it
    *align_to_window* lets the first sample be the first of the *win_length*. *normalized* divides
    by the square root of n_fft. *return_complex* must be given for real samples; False gives
    parts, (..., 2), and a warning. RuntimeError where sizes or dtypes do not fit.
    """
    check_tensors("stft", input=input)
    x = input
    rank = len(x._s)
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        wide = core("view")(x, (1,) * (3 - rank) + tuple(x._s)) if rank < 3 else x
        border = n_fft // 2
        padded = registered.bordered(wide, (border, border), pad_mode, None)
        x = padded.reshape(padded._s[len(padded._s) - rank :]) if rank else padded.reshape(-1)
    complex_given = x._k.dtype.is_complex or (window is not None and window._k.dtype.is_complex)
    _check_return(return_complex, complex_given)
    if window is None:
        warn_user(_NO_WINDOW.format("which is known to cause spectral leakage."))
    begin = (
        f"stft({_shown(x)}, n_fft={n_fft}, hop_length={hop}, win_length={length}, "
        f"window={_shown(window, '{[', ']}')}, normalized={int(normalized)}, "
        f"onesided={_number(onesided)}, return_complex={_number(return_complex)}, "
        f"align_to_window={_number(align_to_window)}) : "
    )
    _check_signal(begin, x, n_fft, hop, length, window)
    if onesided and complex_given:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    x = precise(x)
    single = len(x._s) == 1
    if single:
        x = x.unsqueeze(0)
    if align_to_window and length < n_fft:
        left = (n_fft - length) // 2
        x = core("pad")(x, ((0, 0), (left, left)), 0)
    frames = core("windows")(x, 1, n_fft, hop)
    weights = _windowed(window, length, n_fft, x)
    if weights is not None:
        frames = precise(_times(frames, weights))
    scale = 1.0 / math.sqrt(n_fft) if normalized else 1.0
    if frames._k.dtype.is_complex:
        made = core("fft_c2c")(frames, (2,), False, scale)
    elif onesided is None or onesided:
        made = core("fft_r2c")(frames, 2, scale)
    else:
        made = core("fft_real")(frames, (2,), False, scale)
    made = made.transpose(1, 2)
    if single:
        made = made.squeeze(0)
    return view_as_real(made) if return_complex is False else made


def _check_return(return_complex: bool | None, complex_given: bool) -> None:
    if return_complex is None and not complex_given:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further "
            "require that return_complex=True in a future PyTorch release."
        )
    if return_complex is False:
        warn_user(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will "
            "return complex tensors for all inputs, and return_complex=False will raise an error.\n"
            "Note: you can still call torch.view_as_real on the complex output to recover the old "
            "return format."
        )


def _check_signal(
    begin: str, x: Tensor, n_fft: int, hop: int, length: int, window: Tensor | None
) -> None:
    """RuntimeError for what the samples, sizes and the window can't be."""
    if window is not None:
        check_device(x, window)
    if x._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"{begin}expected a tensor of floating point or complex values")
    if len(x._s) not in (1, 2):
        raise RuntimeError(f"{begin}expected a 1D or 2D tensor")
    n = x._s[-1]
    if not 0 < n_fft <= n:
        raise RuntimeError(f"{begin}expected 0 < n_fft < {n}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{begin}expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{begin}expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and tuple(window._s) != (length,):
        raise RuntimeError(
            f"{begin}expected a 1D window tensor of size equal to win_length={length}, but got "
            f"window with size {list(window._s)}"
        )


# -- and back --------------------------------------------------------------------------------
@public()
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose windows have these Fourier transforms: the inverse of ``stft``.

    (..., frequencies, windows), complex, -> (..., n) with up to one batch dimension. The arguments
    are those that ``stft`` had; *onesided* is meant where there are not *n_fft* frequencies, and
    *return_complex* says that the samples were complex. Each sample is the sum of the windows'
    over the sum of their squared weights, so of windows that do not agree it is that of least
    squares; RuntimeError where that sum is 0 somewhere. The signal has *length* samples, followed
    by zeros, with a warning, where there are fewer. RuntimeError where sizes do not fit.
    """
    check_tensors("istft", input=input)
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    if window is None:
        warn_user(
            _NO_WINDOW.format(
                "Please provide the same window used by stft to make the inversion lossless."
            )
        )
    else:
        check_device(input, window)
    if not input._k.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    begin = (
        f"istft(torch.{scalar_name(input._k.dtype)}Tensor{list(input._s)}, n_fft={n_fft}, "
        f"hop_length={hop}, win_length={size}, window={_shown(window, '{[', ']}')}, "
        f"center={int(center)}, normalized={int(normalized)}, onesided={_number(onesided)}, "
        f"length={length}, return_complex={int(return_complex)}) "
    )
    wrap_dim(-3, len(input._s) + 1)
    half = input._s[-2] != n_fft if onesided is None else onesided
    _check_spectra(begin + ": ", input, n_fft, hop, size, window, half)
    if length is not None and length <= 0:
        raise RuntimeError(f"{begin}: expected length > 0, but got length={length}")
    if return_complex and half:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window._k.dtype.is_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    x = input if len(input._s) == 3 else input.unsqueeze(0)
    spectra = x.transpose(1, 2)  # (batch, windows, frequencies)
    scale = math.sqrt(n_fft) if normalized else 1.0
    if return_complex:
        frames = core("fft_c2c")(spectra, (2,), True, scale / n_fft)
    else:
        frames = core("fft_c2r")(spectra.narrow(2, 0, n_fft // 2 + 1), 2, n_fft, scale / n_fft)
    weights = _windowed(window, size, n_fft, x)
    if weights is None:
        weights = ones(n_fft, dtype=x._k.dtype.to_real(), device=x._k.device)
    else:
        frames = _times(frames, weights)
        if not weights._k.dtype.is_complex:  # squares as precise as the samples
            weights = to_kind(weights, x._k.of(frames._k.dtype.to_real()))
    return _added(begin, frames, weights.square(), hop, center, length, len(input._s) == 2)


def _check_spectra(
    begin: str, x: Tensor, n_fft: int, hop: int, size: int, window: Tensor | None, half: bool
) -> None:
    """RuntimeError for what the transforms, sizes and the window can't be."""
    if not x._s.numel():
        raise RuntimeError(f"{begin}input tensor cannot be empty.")
    if len(x._s) not in (2, 3):
        raise RuntimeError(
            f"{begin}expected a tensor with 3 or 4 dimensions, but got {len(x._s) + 1}: the last "
            "of them are the two parts of complex numbers"
        )
    wanted, shown = (n_fft // 2 + 1, "n_fft / 2 + 1") if half else (n_fft, "n_fft")
    if x._s[-2] != wanted:
        raise RuntimeError(
            f"{begin}expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match {shown} when onesided={half}, but got {x._s[-2]}"
        )
    if not 0 < hop <= size:
        raise RuntimeError(f"{begin}expected 0 < hop_length <= win_length")
    if not 0 < size <= n_fft:
        raise RuntimeError(f"{begin}expected 0 < win_length <= n_fft")
    if window is not None and tuple(window._s) != (size,):
        raise RuntimeError(
            f"{begin}Invalid window shape. window has to be 1D and length of `win_length`"
        )


def _added(
    begin: str,
    frames: Tensor,
    squares: Tensor,
    hop: int,
    center: bool,
    length: int | None,
    single: bool,
) -> Tensor:
    """The windows (batch, windows, n_fft) added where they lie, over their squared weights."""
    batch, count, n_fft = frames._s
    whole = n_fft + hop * (count - 1)
    add = core("windows_backward")
    y = add(frames, (batch, whole), 1, n_fft, hop)
    weights = add(squares.expand(1, count, n_fft), (1, whole), 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else whole - start
    kept = max(min(stop, whole) - start, 0)
    y, weights = y.narrow(1, start, kept), weights.narrow(1, start, kept)
    if weights._k.has_values and weights.detach().abs().min().item() < _LEAST:
        raise RuntimeError(
            f"{begin}window overlap add min: 1: the squared windows add up to 0 at some sample, "
            "which can't be found again. Use a window or hop_length without such gaps."
        )
    y = y / weights
    if single:
        y = y.squeeze(0)
    if stop > whole:
        warn_user(
            "The length of signal is shorter than the length parameter. Result is being padded "
            "with zeros in the tail. Please check your center and hop_length settings."
        )
        widths = ((0, 0),) * (len(y._s) - 1) + ((0, stop - whole),)
        y = core("pad")(y, widths, 0)
    return y
