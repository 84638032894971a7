"""nn.utils: clipping gradients, parameters as a vector."""

import math

import numpy as np
import pytest

import tensorbus
from tensorbus import nn


def with_grads(*grads):
    params = []
    for grad in grads:
        param = nn.Parameter(tensorbus.zeros(len(grad)))
        param.grad = tensorbus.tensor(grad)
        params.append(param)
    return params


@pytest.mark.parametrize("order", [1, 2, 3.5, 0.5, math.inf])
def test_clip_grad_norm(order):
    grads = [3.0, -4.0], [12.0, 0.5, -2.0]
    params = [*with_grads(*grads), nn.Parameter(tensorbus.zeros(2))]
    flat = np.concatenate(grads)
    expected = np.linalg.norm(flat, order)
    total = nn.utils.clip_grad_norm_(params, 2.0, norm_type=order)
    np.testing.assert_allclose(total.item(), expected, rtol=1e-6)
    clipped = np.concatenate([p.grad.numpy() for p in params[:2]])
    np.testing.assert_allclose(clipped, flat * 2.0 / (expected + 1e-6), rtol=1e-6)


def test_small_gradients_stay():
    (param,) = with_grads([0.3, 0.4])
    total = nn.utils.clip_grad_norm_(param, 1.0)
    np.testing.assert_allclose(total.item(), 0.5, rtol=1e-6)
    np.testing.assert_array_equal(param.grad.numpy(), np.float32([0.3, 0.4]))


def test_a_generator_of_parameters_is_enough():
    layer = nn.Linear(2, 2)
    (layer(tensorbus.ones(1, 2)) * 100).sum().backward()
    nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    norm = nn.utils.get_total_norm([p.grad for p in layer.parameters()])
    np.testing.assert_allclose(norm.item(), 1.0, rtol=1e-5)


def test_no_gradients():
    assert nn.utils.clip_grad_norm_([nn.Parameter(tensorbus.ones(1))], 1.0).item() == 0.0


def test_a_norm_that_is_not_finite():
    params = with_grads([math.inf, 1.0])
    with pytest.raises(RuntimeError, match="for gradients from `parameters` is non-finite, so it"):
        nn.utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    assert params[0].grad.tolist() == [math.inf, 1.0]


def test_clip_grad_value():
    params = with_grads([-5.0, 0.2, 3.0])
    nn.utils.clip_grad_value_(params, 0.5)
    np.testing.assert_array_equal(params[0].grad.numpy(), np.float32([-0.5, 0.2, 0.5]))


def test_the_old_name_warns():
    (param,) = with_grads([3.0])
    with pytest.warns(FutureWarning, match="clip_grad_norm` is now deprecated"):
        nn.utils.clip_grad_norm(param, 1.0)


def test_parameters_to_vector_and_back():
    layer = nn.Linear(3, 2)
    weight = layer.weight
    vector = nn.utils.parameters_to_vector(layer.parameters())
    expected = np.concatenate([p.detach().numpy().ravel() for p in layer.parameters()])
    np.testing.assert_array_equal(vector.detach().numpy(), expected)
    nn.utils.vector_to_parameters(tensorbus.arange(8.0), layer.parameters())
    assert layer.weight is weight
    assert layer.weight.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert layer.bias.tolist() == [6, 7]
    with pytest.raises(TypeError, match="expected torch.Tensor, but got: list"):
        nn.utils.vector_to_parameters([1.0], layer.parameters())
