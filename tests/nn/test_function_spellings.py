"""Other spellings of functions: those that write in place, and those in ``torch`` itself."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus as torch
import tensorbus.nn.functional as F

IN_PLACE = {
    "relu_": (),
    "hardtanh_": (-0.5, 0.75),
    "leaky_relu_": (0.25,),
    "elu_": (0.5,),
    "selu_": (),
    "celu_": (2.0,),
    "rrelu_": (0.25, 0.75),
    "threshold_": (0.1, 7.0),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_a_function_in_place_writes_what_the_other_gives(name):
    data = [-2.0, -0.25, 0.0, 0.5, 3.0]
    x = torch.tensor(data, requires_grad=True)
    y = torch.tensor(data, requires_grad=True)
    z = x * 1
    expected = getattr(F, name[:-1])(y, *IN_PLACE[name])
    assert getattr(F, name)(z, *IN_PLACE[name]) is z
    assert torch.equal(z, expected)
    weights = torch.tensor([1.0, -2.0, 3.0, 0.5, 4.0])
    (z * weights).sum().backward()
    (expected * weights).sum().backward()
    assert torch.equal(x.grad, y.grad)


@pytest.mark.parametrize(
    "name",
    "avg_pool1d bilinear celu celu_ conv1d conv2d conv_tbc cosine_similarity hardshrink pdist "
    "pixel_shuffle prelu rrelu rrelu_ selu selu_ threshold threshold_".split(),
)
def test_functions_of_layers_are_in_torch_too(name):
    assert getattr(torch, name) is getattr(F, name)


def test_rrelu_draws_a_slope_for_each_negative_value():
    torch.manual_seed(3)
    x = torch.full((20_000,), -2.0, dtype=torch.float64, requires_grad=True)
    y = F.rrelu(x, 0.25, 0.75, training=True)
    slopes = (y / x).detach().numpy()
    assert slopes.min() >= 0.25 and slopes.max() <= 0.75
    assert abs(slopes.mean() - 0.5) < 4 * 0.5 / np.sqrt(12 * 20_000)
    y.sum().backward()
    assert np.allclose(x.grad.numpy(), slopes, rtol=1e-15)
    positive = torch.tensor([1.0, float("inf"), 5.5])
    assert torch.equal(F.rrelu(positive, training=True), positive)
    assert F.rrelu(torch.tensor([float("nan")]), training=True).isnan().all()


def test_rrelu_in_place_while_training_keeps_its_slopes_for_the_gradient():
    x = torch.tensor([-1.0, 2.0, -3.0], requires_grad=True)
    z = x * 1
    F.rrelu_(z, 0.25, 0.75, True)
    z.sum().backward()
    assert np.allclose((x.detach() * x.grad).numpy(), z.detach().numpy())


def test_rrelu_refuses_bounds_in_the_wrong_order():
    for x in (torch.ones(2), torch.ones(2, requires_grad=True)):
        with pytest.raises(RuntimeError, match="Lower bound should be less than or equal"):
            F.rrelu(x, 0.5, 0.25)
