"""nn.init: distributions, structures and bounds."""

import math

import numpy as np
import pytest
from scipy import special, stats

import tensorbus
from tensorbus import nn
from tensorbus.nn import init


@pytest.fixture(autouse=True)
def seeded():
    tensorbus.manual_seed(0)


def check_uniform(tensor, bound):
    sample = tensor.detach().numpy().ravel()
    assert np.abs(sample).max() <= bound
    assert stats.kstest(sample, stats.uniform(-bound, 2 * bound).cdf).pvalue > 1e-3


def check_normal(tensor, std):
    sample = tensor.detach().numpy().ravel()
    assert stats.kstest(sample, stats.norm(0, std).cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("name", "param", "gain"),
    [
        ("linear", None, 1),
        ("conv_transpose3d", None, 1),
        ("sigmoid", None, 1),
        ("tanh", None, 5 / 3),
        ("relu", None, math.sqrt(2)),
        ("leaky_relu", None, math.sqrt(2 / 1.0001)),
        ("leaky_relu", 2, math.sqrt(2 / 5)),
        ("selu", None, 0.75),
    ],
)
def test_gains(name, param, gain):
    assert init.calculate_gain(name, param) == gain


def test_a_slope_that_is_no_number():
    with pytest.raises(ValueError, match="negative_slope True not a valid number"):
        init.calculate_gain("leaky_relu", True)


def test_constants():
    x = tensorbus.empty(2, 3)
    assert init.constant_(x, 0.3) is x
    assert (x.numpy() == np.float32(0.3)).all()
    assert (init.ones_(x).numpy() == 1).all()
    assert (init.zeros_(x).numpy() == 0).all()
    np.testing.assert_array_equal(init.eye_(x).numpy(), np.eye(2, 3))


def test_values_change_in_place_without_recording():
    weight = nn.Parameter(tensorbus.zeros(4, 4))
    assert init.uniform_(weight) is weight
    assert weight.is_leaf
    assert weight.requires_grad
    assert len(np.unique(weight.detach().numpy())) == 16


def test_uniform_and_normal():
    check_uniform(init.uniform_(tensorbus.empty(5000), -3, 3), 3)
    check_normal(init.normal_(tensorbus.empty(5000), 0, 2.5), 2.5)


def test_fans_of_xavier_and_kaiming():
    def shape():
        return tensorbus.empty(30, 20, 3, 3)

    fan_in, fan_out = 180, 270
    check_uniform(init.xavier_uniform_(shape(), gain=2), 2 * math.sqrt(6 / (fan_in + fan_out)))
    check_normal(init.xavier_normal_(shape()), math.sqrt(2 / (fan_in + fan_out)))
    check_uniform(init.kaiming_uniform_(shape(), nonlinearity="relu"), math.sqrt(6 / fan_in))
    check_uniform(init.kaiming_uniform_(shape(), a=math.sqrt(5)), 1 / math.sqrt(fan_in))
    check_normal(init.kaiming_normal_(shape(), mode="fan_out"), math.sqrt(2 / fan_out))


def test_kaiming_leaves_empty_tensors_with_a_warning():
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        init.kaiming_uniform_(tensorbus.empty(0, 3))


def test_trunc_normal():
    x = init.trunc_normal_(tensorbus.empty(5000), mean=1.0, std=2.0, a=-1.0, b=2.0)
    reference = stats.truncnorm(-1.0, 0.5, loc=1.0, scale=2.0)
    assert x.min().item() >= -1.0
    assert x.max().item() <= 2.0
    assert stats.kstest(x.numpy(), reference.cdf).pvalue > 1e-3
    with pytest.warns(UserWarning, match="mean is more than 2 std from"):
        init.trunc_normal_(x, mean=9.0)


def test_inverse_erf_is_one():
    y = np.concatenate([np.linspace(-0.9999, 0.9999, 201), [0.0, 1e-9, -1.0, 1.0]])
    x = init._inverse_erf(tensorbus.tensor(y)).numpy()
    np.testing.assert_allclose(x[:-2], special.erfinv(y[:-2]), rtol=1e-6, atol=1e-12)
    assert np.isfinite(x).all()


@pytest.mark.parametrize("groups", [1, 2])
def test_dirac_passes_channels_through(groups):
    weight = init.dirac_(tensorbus.empty(4, 4 // groups, 3, 3), groups)
    x = tensorbus.rand(1, 4, 5, 5)
    passed = nn.functional.conv2d(x, weight, padding=1, groups=groups)
    np.testing.assert_allclose(passed.numpy(), x.numpy())
    with pytest.raises(ValueError, match="dim 0 must be divisible by groups"):
        init.dirac_(tensorbus.empty(5, 2, 3), 2)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (6, 2), (3, 2, 4), (60, 60)])
def test_orthogonal(shape):
    weight = init.orthogonal_(tensorbus.empty(*shape), gain=2.0)
    flat = weight.numpy().reshape(shape[0], -1)
    gram = flat @ flat.T if flat.shape[0] <= flat.shape[1] else flat.T @ flat
    np.testing.assert_allclose(gram, 4 * np.eye(len(gram)), atol=1e-5)


def test_sparse():
    weight = init.sparse_(tensorbus.empty(10, 6), sparsity=0.35, std=2.0).numpy()
    assert ((weight == 0).sum(0) == 4).all()


@pytest.mark.parametrize(
    ("layer", "fan_in"),
    [
        (lambda: nn.Linear(50, 100), 50),
        (lambda: nn.Conv2d(6, 64, 5), 150),
        (lambda: nn.Conv2d(8, 256, 3, groups=4), 18),
        (lambda: nn.Conv1d(16, 128, 3), 48),
        # A transposed convolution counts its second dim as fan in, like PyTorch.
        (lambda: nn.ConvTranspose2d(16, 64, 3), 576),
        (lambda: nn.Bilinear(25, 30, 40), 25),
    ],
)
def test_layers_start_uniformly_within_one_over_root_fan_in(layer, fan_in):
    made = layer()
    bound = 1 / math.sqrt(fan_in)
    check_uniform(made.weight, bound * (1 + 1e-6))
    check_uniform(made.bias, bound * (1 + 1e-6))


def test_other_layers_start():
    check_normal(nn.Embedding(100, 30).weight, 1.0)
    norm = nn.BatchNorm2d(3)
    assert norm.weight.tolist() == [1, 1, 1]
    assert norm.bias.tolist() == [0, 0, 0]
    assert norm.running_mean.tolist() == [0, 0, 0]
    assert norm.running_var.tolist() == [1, 1, 1]
    assert nn.PReLU(2).weight.tolist() == [0.25, 0.25]


def test_device_and_dtype_reach_the_parameters():
    layer = nn.Sequential(
        nn.Linear(1, 1, dtype=tensorbus.float64, device="cpu"),
        nn.Conv2d(1, 1, 1, dtype=tensorbus.float64),
        nn.BatchNorm2d(1, dtype=tensorbus.float64),
        nn.LayerNorm(1, dtype=tensorbus.float64),
        nn.Embedding(1, 1, dtype=tensorbus.float64),
    )
    assert {p.dtype for p in layer.parameters()} == {tensorbus.float64}
    assert layer[2].running_mean.dtype == tensorbus.float64
