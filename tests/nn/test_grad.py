"""Gradients of convolutions as functions, beside PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus as torch

CASES = {
    "conv1d": ((2, 4, 9), (6, 2, 3), {"stride": 2, "padding": 1, "groups": 2}),
    "conv2d": ((1, 2, 6, 5), (3, 2, 2, 3), {"stride": (2, 1), "dilation": (1, 2)}),
    "conv3d": ((1, 2, 4, 5, 3), (2, 2, 2, 2, 2), {"padding": (1, 0, 1), "stride": 2}),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_for_input_and_weight(name, oracle, device):
    x_size, w_size, options = CASES[name]

    def program(lib, device="cpu"):
        rng = np.random.default_rng(0)
        x, w = (lib.tensor(rng.normal(size=s)).float().to(device) for s in (x_size, w_size))
        out = getattr(lib.nn.functional, name)(x, w, **options)
        grad = lib.tensor(rng.normal(size=tuple(out.shape))).float().to(device)
        room = lib.nn.grad
        return [
            getattr(room, f"{name}_input")(x_size, w, grad, **options),
            getattr(room, f"{name}_weight")(x, w_size, grad, **options),
        ]

    for mine, other in zip(program(torch, device), oracle(program), strict=True):
        assert not mine.requires_grad and mine.device.type == device
        np.testing.assert_allclose(mine.cpu().numpy(), other.values, rtol=1e-4, atol=1e-5)


def test_they_are_recorded_and_need_the_shape_of_the_output():
    weight = torch.ones(1, 1, 2, requires_grad=True)
    found = torch.nn.grad.conv1d_input((1, 1, 3), weight, torch.ones(1, 1, 2))
    found.sum().backward()
    assert weight.grad.tolist() == [[[2.0, 2.0]]]
    with pytest.raises(RuntimeError, match="[Mm]ismatch in shape"):
        torch.nn.grad.conv1d_input((1, 1, 3), weight, torch.ones(1, 1, 3))
