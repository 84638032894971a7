"""Short-time Fourier transforms and their inverse."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance.formats import FLOAT32, FLOAT64, INT64
from tensorbus_conformance.op import COMPLEX, E, Op, S, T

_MODES = {"reflect": "reflect", "constant": "constant", "replicate": "edge", "circular": "wrap"}
_HANN = np.array([0.25, 0.75, 1.0, 0.75])
_WIDE = np.array([0.25, 0.875, 1.0, 0.75, 0.375, 0.125])


def _window(window: Any, length: Any, n_fft: int) -> Any:
    length = n_fft if length is None else length
    window = np.ones(length) if window is None else window
    left = (n_fft - length) // 2
    return np.pad(window, (left, n_fft - length - left))


def _stft(
    x: Any, n_fft: int, hop_length: Any = None, win_length: Any = None, window: Any = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: Any = None,
    return_complex: Any = None, align_to_window: Any = None,
) -> Any:  # fmt: skip
    hop = hop_length or n_fft // 4
    if center:
        border = ((0, 0),) * (x.ndim - 1) + ((n_fft // 2,) * 2,)
        x = np.pad(x, border, _MODES[pad_mode])  # type: ignore[call-overload]
    if align_to_window:
        left = (n_fft - (win_length or n_fft)) // 2
        x = np.pad(x, ((0, 0),) * (x.ndim - 1) + ((left, left),))
    weights = _window(window, win_length, n_fft)
    starts = range(0, x.shape[-1] - n_fft + 1, hop)
    made: Any = np.stack([np.fft.fft(x[..., i : i + n_fft] * weights) for i in starts], -1)
    if onesided is not False and not np.iscomplexobj(x * weights[:1]):
        made = made[..., : n_fft // 2 + 1, :]
    made = made / np.sqrt(n_fft) if normalized else made
    return np.stack([made.real, made.imag], -1) if return_complex is False else made


def _istft(
    x: Any, n_fft: int, hop_length: Any = None, win_length: Any = None, window: Any = None,
    center: bool = True, normalized: bool = False, onesided: Any = None, length: Any = None,
    return_complex: bool = False,
) -> Any:  # fmt: skip
    hop = hop_length or n_fft // 4
    weights = _window(window, win_length, n_fft)
    x = np.swapaxes(x, -1, -2) * (np.sqrt(n_fft) if normalized else 1.0)
    half = x[..., : n_fft // 2 + 1]
    frames: Any = np.fft.ifft(x) if return_complex else np.fft.irfft(half, n_fft)
    count = frames.shape[-2]
    whole = n_fft + hop * (count - 1)
    total = np.zeros((*frames.shape[:-2], whole), frames.dtype)
    squares = np.zeros(whole)
    for i in range(count):
        at = slice(i * hop, i * hop + n_fft)
        total[..., at] += frames[..., i, :] * weights
        squares[at] += weights**2
    start = n_fft // 2 if center else 0
    stop = whole - start if length is None else start + length
    found: Any = total[..., start:stop] / squares[start:stop]
    missing = max(stop - whole, 0)
    return np.pad(found, ((0, 0),) * (found.ndim - 1) + ((0, missing),))


def _quiet(name: str) -> Any:
    """The function without its warnings, which tests of programs hold."""

    def call(*args: Any, **named: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(tensorbus, name)(*args, **named)

    return call


def _complex(dtype: Any) -> Any:
    return dtype.to_complex()


_W: Any = {"window": T(data=_HANN, dtype=FLOAT32)}
_GIVEN: Any = {"return_complex": True, **_W}
_REAL = (FLOAT32, FLOAT64)
_SAMPLES = [
    S("plain", T(10), 4, **_GIVEN),
    S("window", T(10), 4, window=T(4, of="positive"), return_complex=True),
    S("batch", T(2, 9), 4, 2, **_GIVEN),
    S("no-window", T(9), 4, 3, return_complex=True),
    S("shorter", T(12), 6, 2, 4, **_GIVEN),
    S("shorter-no-window", T(12), 6, 2, 3, return_complex=True),
    S("odd", T(11), 5, 2, return_complex=True),
    S("not-centered", T(10), 4, center=False, **_GIVEN),
    S("aligned", T(12), 6, 2, 4, center=False, align_to_window=True, **_GIVEN),
    S("not-aligned", T(12), 6, 2, 4, center=False, align_to_window=False, **_GIVEN),
    S("normalized", T(10), 4, normalized=True, **_GIVEN),
    S("both-sides", T(10), 4, onesided=False, **_GIVEN),
    *(S(mode, T(2, 10), 6, 2, pad_mode=mode, return_complex=True) for mode in _MODES),
    S("many", T(300, grad=False), 64, 16, return_complex=True),
]
_PARTS = [S("parts", T(10), 4, window=_W["window"], return_complex=False)]
_BEGIN = r"stft\(torch\.FloatTensor\[\d+\], n_fft=\d+, .*\) : "


def _stft_errors() -> list[Any]:
    given: Any = {"return_complex": True}
    return [
        E("not-said", RuntimeError, "stft requires the return_complex parameter be given for real "
          "inputs, and will further require that return_complex=True in a future PyTorch "
          r"release\.", T(9), 4),
        E("integers", RuntimeError, r"stft\(torch\.LongTensor\[13\], .*\) : expected a tensor of "
          "floating point or complex values", T(9), 4, dtype=INT64, **given),
        E("rank", RuntimeError, r"stft\(torch\.FloatTensor\[2, 2, 9\], .*\) : expected a 1D or 2D "
          "tensor", T(2, 2, 9), 4, center=False, **given),
        E("short", RuntimeError, _BEGIN + "expected 0 < n_fft < 3, but got n_fft=4", T(3), 4,
          center=False, **given),
        E("border", RuntimeError, "Argument #4: Padding size should be less than the corresponding "
          r"input dimension, but got: padding \(4, 4\) at dimension 2 of input \[1, 1, 3\]", T(3),
          8, **given),
        E("hop", RuntimeError, _BEGIN + "expected hop_length > 0, but got hop_length=0", T(9), 4, 0,
          **given),
        E("win-length", RuntimeError, _BEGIN + "expected 0 < win_length <= n_fft, but got "
          "win_length=5", T(9), 4, 2, 5, **given),
        E("window", RuntimeError, _BEGIN + "expected a 1D window tensor of size equal to "
          r"win_length=4, but got window with size \[3\]", T(9), 4, window=T(3), **given),
        E("align", RuntimeError, "stft align_to_window should only be set when center = false",
          T(9), 4, align_to_window=True, **given),
    ]  # fmt: skip


_SPECTRA = [
    S("plain", T(3, 7), 4, **_W),
    S("batch", T(2, 3, 6), 4, 2, **_W),
    S("no-window", T(3, 5), 4, 3),
    S("shorter", T(4, 6), 6, 1, 4, **_W),
    S("odd", T(3, 5), 5, 2),
    S("not-centered", T(3, 5), 4, center=False, **_W),
    S("normalized", T(3, 5), 4, normalized=True, **_W),
    S("both-sides", T(4, 5), 4, onesided=False, **_W),
    S("length", T(3, 7), 4, length=5, **_W),
    S("longer", T(3, 5), 4, 2, length=14, **_W),
    S("complex", T(4, 6), 4, 2, return_complex=True, **_W),
    S("overlapping", T(4, 9), 6, 2, window=T(data=_WIDE, dtype=FLOAT32)),
]
_BACK = r"istft\(torch\.ComplexFloatTensor\[\d, \d\], n_fft=\d, .*\) "


def _istft_errors() -> list[Any]:
    from tensorbus_conformance.formats import COMPLEX64

    given: Any = {"dtype": COMPLEX64}
    return [
        E("real", RuntimeError, "istft requires a complex-valued input tensor matching the output "
          r"from stft with return_complex=True\.", T(3, 5), 4),
        E("vector", IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\], "
          r"but got -3\)", T(3), 4, **given),
        E("none", RuntimeError, _BACK + r": input tensor cannot be empty\.", T(3, 0), 4, **given),
        E("frequencies", RuntimeError, _BACK + r": expected the frequency dimension \(3rd to the "
          r"last\) of the input tensor to match n_fft / 2 \+ 1 when onesided=True, but got 3",
          T(3, 5), 6, **given),
        E("both-sides", RuntimeError, _BACK + r": expected the frequency dimension \(3rd to the "
          r"last\) of the input tensor to match n_fft when onesided=False, but got 3",
          T(3, 5), 4, onesided=False, **given),
        E("hop", RuntimeError, _BACK + ": expected 0 < hop_length <= win_length", T(3, 5), 4, 5,
          **given),
        E("win-length", RuntimeError, _BACK + ": expected 0 < win_length <= n_fft", T(3, 5), 4, 1,
          5, **given),
        E("window", RuntimeError, _BACK + r": Invalid window shape\. window has to be 1D and "
          "length of `win_length`", T(3, 5), 4, window=T(3), **given),
        E("gap", RuntimeError, _BACK + "window overlap add min: 1: the squared windows add up to 0 "
          r"at some sample, which can't be found again\. Use a window or hop_length without such "
          r"gaps\.", T(3, 5), 4, 4, window=T(data=[0.0, 1, 1, 1], dtype=FLOAT32), **given),
        E("complex-half", RuntimeError, "Cannot have onesided output if window or input is complex",
          T(3, 5), 4, return_complex=True, **given),
        E("complex-window", RuntimeError, "Complex windows are incompatible with return_complex="
          "False", T(3, 5), 4, window=T(4), **given),
    ]  # fmt: skip


_ANY: Any = {"ulp": 16.0, "measure": "norm", "layouts": ("transposed", "strided"),
             "family": "fft", "grad_ulp": 128.0}  # fmt: skip

OPS = [
    Op("stft", _stft, [s for s in _SAMPLES if s.variant != "both-sides"], (*_REAL, *COMPLEX),
       call=_quiet("stft"), result=_complex, errors=_stft_errors(), **_ANY),
    Op("stft-of-real", _stft, [s for s in _SAMPLES if s.variant == "both-sides"], _REAL,
       call=_quiet("stft"), result=_complex, **_ANY),
    Op("stft-parts", lambda x, n, **named: _stft(x, n, **{**named, "return_complex": True}),
       _PARTS, _REAL, result=_complex,
       call=lambda *x, **named: tensorbus.view_as_complex(_quiet("stft")(*x, **named)), **_ANY),
    Op("istft", _istft, [s for s in _SPECTRA if s.variant != "complex"], COMPLEX,
       call=_quiet("istft"), result="real", errors=_istft_errors(), **_ANY),
    Op("istft-complex", _istft, [s for s in _SPECTRA if s.variant == "complex"], COMPLEX,
       call=_quiet("istft"), **_ANY),
]  # fmt: skip
