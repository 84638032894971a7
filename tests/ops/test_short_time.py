"""Short-time Fourier transforms: there and back, windows' gradients, warnings."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import tensorbus as torch


def signal(*shape: int, turned: bool = False) -> Any:
    rng = np.random.default_rng(3)
    values = rng.standard_normal(shape)
    return torch.tensor(values + 1j * rng.standard_normal(shape) if turned else values)


OPTIONS = list(itertools.product([(41,), (2, 40)], [8, 7], [None, 5], [False, True], [False, True]))


@pytest.mark.parametrize(("shape", "n_fft", "win_length", "normalized", "turned"), OPTIONS)
def test_the_signal_comes_back(
    shape: Any, n_fft: int, win_length: Any, normalized: bool, turned: bool
) -> None:
    x = signal(*shape, turned=turned)
    window = torch.hann_window(win_length or n_fft, dtype=torch.float64) + 0.1
    given = {"hop_length": 2, "win_length": win_length, "window": window, "normalized": normalized}
    for onesided in (False,) if turned else (None, False, True):
        spectra = torch.stft(x, n_fft, onesided=onesided, return_complex=True, **given)
        back = torch.istft(
            spectra, n_fft, onesided=onesided, length=shape[-1], return_complex=turned, **given
        )
        np.testing.assert_allclose(back.numpy(), x.numpy(), atol=1e-12)


def test_gradients_of_the_window_and_of_both_together() -> None:
    x = signal(2, 9).requires_grad_()
    window = torch.tensor([0.3, 0.9, 1.1, 0.7], dtype=torch.float64, requires_grad=True)
    fixed = window.detach().clone()  # gradcheck moves the elements of what it is given

    def there(x: Any, w: Any) -> Any:
        return torch.stft(x, 4, 2, window=w, return_complex=True)

    def back(x: Any, w: Any) -> Any:
        return torch.istft(there(x, fixed), 4, 2, window=w)

    for f in (there, back):
        assert torch.autograd.gradcheck(f, (x, window))
        assert torch.autograd.gradgradcheck(f, (x, window))


def test_warnings() -> None:
    x = signal(16)
    with pytest.warns(UserWarning, match="A window was not provided.*spectral leakage"):
        spectra = torch.stft(x, 4, return_complex=True)
    with pytest.warns(UserWarning, match="A window was not provided.*the same window"):
        torch.istft(spectra, 4)
    window = torch.ones(4)
    with pytest.warns(UserWarning, match="length of signal is shorter than the length parameter"):
        back = torch.istft(spectra, 4, window=window, length=21)
    # Behind the signal comes its border of two samples, which was a reflection.
    expected = [*x.numpy(), *x.numpy()[[14, 13]], 0, 0, 0]
    np.testing.assert_allclose(back.numpy(), expected, atol=1e-12)
    with pytest.warns(UserWarning, match="return_complex=False is deprecated"):
        parts = torch.stft(x, 4, window=window, return_complex=False)
    np.testing.assert_allclose(torch.view_as_complex(parts).numpy(), spectra.numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.istft(torch.stft(x, 4, window=window, return_complex=True), 4, window=window)
