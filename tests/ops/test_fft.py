"""Frequencies, lengths, refusals of ``torch.fft``: what PyTorch 2.13 gives, as literals."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import tensorbus

VALUES = {
    "torch.fft.fftfreq(5)": [0.0, 0.2, 0.4, -0.4, -0.2],
    "torch.fft.fftfreq(4, 0.5)": [0.0, 0.5, -1.0, -0.5],
    "torch.fft.fftfreq(4, d=-0.25)": [0.0, -1.0, 2.0, 1.0],
    "torch.fft.fftfreq(1)": [0.0],
    "torch.fft.fftfreq(0)": [],
    "torch.fft.fftfreq(3, 0.0)[1:]": [float("inf"), float("-inf")],
    "torch.fft.fftfreq(4, dtype=torch.float64, requires_grad=True).detach()": [
        0,
        0.25,
        -0.5,
        -0.25,
    ],
    "torch.fft.rfftfreq(5)": [0.0, 0.2, 0.4],
    "torch.fft.rfftfreq(4, 0.5)": [0.0, 0.5, 1.0],
    "torch.fft.rfftfreq(4, out=torch.empty(3, dtype=torch.float64))": [0.0, 0.25, 0.5],
    "torch.fft.irfft(torch.ones(3), n=1)": [1.0],
    "torch.fft.irfft(torch.tensor([4 + 7j, 2, 0 + 5j])).real": [2.0, 1.0, 0.0, 1.0],
    "torch.fft.fft(torch.ones(0), n=2).real": [0.0, 0.0],
    "torch.fft.fftshift(torch.arange(5))": [3, 4, 0, 1, 2],
    "torch.fft.ifftshift(torch.arange(5))": [2, 3, 4, 0, 1],
    "torch.fft.fftn(torch.tensor(3.0)).real": 3.0,
    "torch.fft.fft(torch.tensor([0.0, 1, 2, 3])).angle() / torch.pi": [0.0, 0.75, 1.0, -0.75],
    "torch.fft.ifft(torch.tensor([0.0, 1, 2, 3])).angle() / torch.pi": [0.0, -0.75, -1.0, 0.75],
    "torch.fft.ihfft(torch.tensor([0.0, 1, 2, 3])).angle() / torch.pi": [0.0, -0.75, -1.0],
    "torch.fft.fft2(torch.tensor([[1.0, 2], [3, 6]])).angle()[1] / torch.pi": [1.0, 0.0],
    "torch.fft.fft(torch.ones(3), out=torch.empty(3, dtype=torch.complex128)).real": [3.0, 0, 0],
    "torch.fft.fftn(torch.ones(2, 2), s=1, dim=0)[0].real": [1.0, 1.0],
}
REFUSED = {
    "torch.fft.fft([1.0])": TypeError,
    "torch.fft.fft(torch.ones(3), n=2.5)": TypeError,
    "torch.fft.fft(torch.ones(3), norm=1)": TypeError,
    "torch.fft.fft(torch.ones(3), dim=None)": TypeError,
    "torch.fft.fft(torch.ones(3), out=torch.empty(3))": RuntimeError,
    "torch.fft.fft(torch.ones(3, dtype=torch.float16))": RuntimeError,
    "torch.fft.irfft(torch.ones(1))": RuntimeError,
    "torch.fft.irfft(torch.ones(0))": RuntimeError,
    "torch.fft.hfft(torch.ones(1))": RuntimeError,
    "torch.fft.fft2(torch.ones(3))": IndexError,
    "torch.fft.fftn(torch.ones(3, 3), s=(-2, 2))": RuntimeError,
    "torch.fft.rfftn(torch.tensor(1.0))": RuntimeError,
    "torch.fft.fftfreq(-1)": RuntimeError,
    "torch.fft.fftfreq(2.5)": TypeError,
    "torch.fft.fftfreq(4, 'x')": TypeError,
    "torch.fft.fftfreq(4, dtype=torch.int64)": RuntimeError,
    "torch.fft.fftfreq(4, dtype=torch.complex64)": NotImplementedError,
    "torch.fft.fftshift(torch.tensor(3))": RuntimeError,
    "torch.fft.fftshift(torch.ones(2), 1)": IndexError,
}
NODES = {
    "fft": "FftR2CBackward0",
    "ifft": "ConjBackward0",
    "rfft": "FftR2CBackward0",
    "irfft": "FftC2RBackward0",
    "hfft": "FftC2RBackward0",
    "ihfft": "ConjBackward0",
    "fftn": "FftC2CBackward0",
    "ifftn": "FftC2CBackward0",
    "rfftn": "FftR2CBackward0",
    "irfftn": "FftC2RBackward0",
    "hfftn": "FftC2RBackward0",
    "ihfftn": "FftC2CBackward0",
}


def check(torch: Any) -> None:
    for program, expected in VALUES.items():
        found = eval(program, {"torch": torch}).tolist()
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-6), program
    for program, error in REFUSED.items():
        with pytest.raises(error):
            eval(program, {"torch": torch})
            print(program, file=sys.stderr)


def test_values_and_refusals() -> None:
    check(tensorbus)


def test_the_tables_are_pytorchs(live_torch: Any) -> None:
    check(live_torch)


def test_nodes_have_pytorchs_names() -> None:
    x = tensorbus.ones(4, 4, requires_grad=True)
    assert {name: getattr(tensorbus.fft, name)(x).grad_fn.name() for name in NODES} == NODES
    y = x.to(tensorbus.complex64)
    assert tensorbus.fft.ifft(y).grad_fn.name() == "FftC2CBackward0"


def test_the_names_of_nodes_are_pytorchs(live_torch: Any) -> None:
    x = live_torch.ones(4, 4, requires_grad=True)
    assert {name: getattr(live_torch.fft, name)(x).grad_fn.name() for name in NODES} == NODES
