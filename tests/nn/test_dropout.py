"""Dropout layers: what is dropped, how the rest is scaled, and when."""

import numpy as np
import pytest

import tensorbus
from tensorbus import nn


@pytest.fixture(autouse=True)
def seeded():
    tensorbus.manual_seed(0)


def test_elements_are_dropped_and_the_rest_scaled():
    x = tensorbus.ones(200, 50, requires_grad=True)
    y = nn.Dropout(0.3)(x)
    kept = y.detach().numpy() != 0
    assert abs(kept.mean() - 0.7) < 0.02
    np.testing.assert_allclose(y.detach().numpy()[kept], 1 / 0.7, rtol=1e-6)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize("layer", [nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.AlphaDropout])
def test_evaluation_changes_nothing(layer):
    x = tensorbus.rand(2, 3, 4, 4) if layer is nn.Dropout2d else tensorbus.rand(2, 3, 4)
    np.testing.assert_array_equal(layer(0.9).eval()(x).numpy(), x.numpy())


def test_probability_one_gives_zeros_and_zero_gradients():
    x = tensorbus.ones(5, requires_grad=True)
    y = nn.Dropout(1.0)(x)
    y.sum().backward()
    assert y.tolist() == [0.0] * 5
    assert x.grad.tolist() == [0.0] * 5


@pytest.mark.parametrize(
    ("layer", "shape"), [(nn.Dropout1d, (40, 30, 5)), (nn.Dropout2d, (40, 30, 2, 3))]
)
def test_whole_channels_are_dropped(layer, shape):
    y = layer(0.5)(tensorbus.ones(*shape)).numpy().reshape(1200, -1)
    assert (y == y[:, :1]).all()
    assert abs((y[:, 0] == 0).mean() - 0.5) < 0.06


def test_alpha_dropout_keeps_mean_and_variance():
    y = nn.AlphaDropout(0.2)(tensorbus.randn(40000)).numpy()
    assert abs(y.mean()) < 0.03
    assert abs(y.std() - 1) < 0.03


def test_inplace():
    x = tensorbus.ones(100)
    assert nn.Dropout(0.5, inplace=True)(x) is x
    assert 0 < (x.numpy() == 0).sum() < 100
