"""Parametrizations of parameters beside PyTorch: values, gradients, state, copies, refusals."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tensorbus
from tensorbus import nn
from tensorbus.nn.utils import parametrizations, parametrize

RTOL = 1e-10
"""Of float64 results of a few products each."""


def matrix(lib, *shape, seed=0):
    return lib.tensor(np.random.default_rng(seed).normal(size=shape))


def layer(lib, inputs=4, outputs=3):
    made = lib.nn.Linear(inputs, outputs).double()
    with lib.no_grad():
        made.weight.copy_(matrix(lib, outputs, inputs))
        made.bias.copy_(matrix(lib, outputs, seed=1))
    return made


def kinds(lib):
    class Symmetric(lib.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, x):
            return x.triu()

    class Double(lib.nn.Module):
        def forward(self, x):
            return x * 2

        def right_inverse(self, x):
            return x / 2

    class Sum(lib.nn.Module):
        def forward(self, x, y):
            return x + y

        def right_inverse(self, x):
            return x * 0.25, x * 0.75

    class Wide(lib.nn.Module):
        def forward(self, x):
            return lib.cat([x, x])

    class Narrow(lib.nn.Module):
        def forward(self, x):
            return x.float()

    class NoTensor(lib.nn.Module):
        def forward(self, x):
            return [x]

    class WrongInverse(lib.nn.Module):
        def forward(self, x):
            return x

        def right_inverse(self, x):
            return "nothing"

    return {
        cls.__name__: cls for cls in (Symmetric, Double, Sum, Wide, Narrow, NoTensor, WrongInverse)
    }


def same(ours, theirs):
    if isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    elif isinstance(ours, tensorbus.Tensor):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.values, rtol=RTOL, atol=1e-13)
    else:
        assert ours == theirs


@pytest.mark.parametrize("names", [["Symmetric"], ["Double"], ["Sum"], ["Symmetric", "Double"]])
def test_values_gradients_and_assignment(names, oracle):
    def program(lib):
        net = layer(lib, 3, 3)
        p = lib.nn.utils.parametrize
        for name in names:
            p.register_parametrization(net, "weight", kinds(lib)[name]())
        out = net(matrix(lib, 2, 3, seed=2))
        (out * out).sum().backward()
        found = [
            [name for name, _ in net.named_parameters()],
            list(net.state_dict()),
            type(net).__name__,
            p.is_parametrized(net),
            p.is_parametrized(net, "bias"),
            out,
            net.weight,
            [t.grad for t in net.parameters()],
            [tuple(m.training for m in net.modules())],
        ]
        symmetric = matrix(lib, 3, 3, seed=3)
        net.weight = symmetric + symmetric.mT
        found += [net.weight, list(net.parameters())]
        p.remove_parametrizations(net, "weight")
        found += [net.weight, [name for name, _ in net.named_parameters()], type(net).__name__]
        return found

    same(program(tensorbus), oracle(program))


@pytest.mark.parametrize("leave", [True, False])
def test_removing_keeps_the_object_and_its_value(leave, oracle):
    def program(lib):
        net = layer(lib, 3, 3)
        before = net.weight
        net.register_buffer("scale", matrix(lib, 2, 2, seed=5))
        p = lib.nn.utils.parametrize
        for name in ("weight", "scale"):
            p.register_parametrization(net, name, kinds(lib)["Symmetric"]())
        found = [sorted(dict(net.named_buffers()))]
        for name in ("weight", "scale"):
            p.remove_parametrizations(net, name, leave_parametrized=leave)
        return [*found, net.weight, net.scale, net.weight is before, sorted(net.state_dict())]

    same(program(tensorbus), oracle(program))


REFUSED = {
    "name": lambda lib, p, k, net: p.register_parametrization(net, "w", k["Double"]()),
    "shape": lambda lib, p, k, net: p.register_parametrization(net, "weight", k["Wide"]()),
    "dtype": lambda lib, p, k, net: p.register_parametrization(net, "weight", k["Narrow"]()),
    "result": lambda lib, p, k, net: p.register_parametrization(net, "weight", k["NoTensor"]()),
    "inverse": lambda lib, p, k, net: p.register_parametrization(
        net, "weight", k["WrongInverse"]()
    ),
    "second shape": lambda lib, p, k, net: p.register_parametrization(
        p.register_parametrization(net, "weight", k["Double"]()), "weight", k["Wide"]()
    ),
    "second dtype": lambda lib, p, k, net: p.register_parametrization(
        p.register_parametrization(net, "weight", k["Double"]()), "weight", k["Narrow"]()
    ),
    "second inverse": lambda lib, p, k, net: p.register_parametrization(
        p.register_parametrization(net, "weight", k["Double"]()), "weight", k["WrongInverse"]()
    ),
    "nothing": lambda lib, p, k, net: p.ParametrizationList([], net.weight),
    "not parametrized": lambda lib, p, k, net: p.remove_parametrizations(net, "weight"),
    "several originals": lambda lib, p, k, net: p.remove_parametrizations(
        p.register_parametrization(net, "weight", k["Sum"]()), "weight", leave_parametrized=False
    ),
    "no inverse": lambda lib, p, k, net: setattr(
        p.register_parametrization(net, "weight", k["Wide"](), unsafe=True), "weight", net.bias
    ),
    "pickled": lambda lib, p, k, net: pickle.dumps(
        p.register_parametrization(net, "weight", k["Double"]())
    ),
    "orthogonal name": lambda lib, p, k, net: lib.nn.utils.parametrizations.orthogonal(net, "w"),
    "orthogonal vector": lambda lib, p, k, net: lib.nn.utils.parametrizations.orthogonal(
        net, "bias"
    ),
    "orthogonal map": lambda lib, p, k, net: lib.nn.utils.parametrizations.orthogonal(
        net, "weight", "qr"
    ),
    "orthogonal complex": lambda lib, p, k, net: lib.nn.utils.parametrizations.orthogonal(
        net.to(lib.complex128), "weight", "householder"
    ),
    "orthogonal assigned": lambda lib, p, k, net: setattr(
        lib.nn.utils.parametrizations.orthogonal(net, "weight", "cayley", use_trivialization=False),
        "weight",
        net.weight.detach(),
    ),
    "orthogonal shape": lambda lib, p, k, net: setattr(
        lib.nn.utils.parametrizations.orthogonal(net, "weight"), "weight", lib.ones(2, 2)
    ),
    "spectral dim": lambda lib, p, k, net: lib.nn.utils.parametrizations.spectral_norm(net, dim=2),
    "spectral count": lambda lib, p, k, net: lib.nn.utils.parametrizations.spectral_norm(
        net, n_power_iterations=0
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case, oracle):
    def program(lib):
        with pytest.raises(Exception) as found:
            REFUSED[case](lib, lib.nn.utils.parametrize, kinds(lib), layer(lib))
        text = str(found.value).split(", list,")[0].split("with type")[0]
        return type(found.value).__name__, text

    assert [*program(tensorbus)] == [*oracle(program)]


def test_cached_values_are_computed_once_and_forgotten():
    net = layer(tensorbus)
    calls = []

    class Counts(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x * 1

    parametrize.register_parametrization(net, "weight", Counts())
    calls.clear()
    with parametrize.cached():
        first = net.weight
        with parametrize.cached():
            assert net.weight is first
        assert net.weight is first
        assert net(tensorbus.ones(1, 4).double()).shape == (1, 3)
    assert len(calls) == 1
    assert net.weight is not first
    assert len(calls) == 2
    with pytest.raises(KeyError), parametrize.cached():
        raise KeyError
    assert net.weight is not net.weight


def test_a_copy_is_of_its_own():
    net = parametrizations.weight_norm(layer(tensorbus))
    twin = copy.deepcopy(net)
    assert type(twin).__name__ == "ParametrizedLinear"
    with tensorbus.no_grad():
        twin.parametrizations.weight.original0.mul_(3)
    tensorbus.testing.assert_close(twin.weight, net.weight * 3)
    parametrize.remove_parametrizations(twin, "weight")
    assert type(twin) is nn.Linear
    assert parametrize.is_parametrized(net, "weight")
    assert isinstance(net.weight, tensorbus.Tensor)
    assert not isinstance(nn.Linear(4, 3), type(net))


def test_state_goes_to_another_module_and_training_reaches_the_originals():
    net, other = (
        parametrizations.weight_norm(layer(tensorbus)),
        parametrizations.weight_norm(nn.Linear(4, 3).double()),
    )
    other.load_state_dict(net.state_dict())
    tensorbus.testing.assert_close(other.weight, net.weight)
    optimizer = tensorbus.optim.SGD(net.parameters(), lr=0.1)
    before = net.weight.detach().clone()
    net(tensorbus.ones(2, 4).double()).sum().backward()
    optimizer.step()
    assert (net.weight != before).any()


def test_transfer(oracle):
    def program(lib):
        p = lib.nn.utils.parametrize
        net = p.register_parametrization(layer(lib, 3, 3), "weight", kinds(lib)["Double"]())
        p.register_parametrization(net, "bias", kinds(lib)["Sum"]())
        other = p.transfer_parametrizations_and_params(net, layer(lib, 3, 3))
        one = p.transfer_parametrizations_and_params(net, layer(lib, 3, 3), "bias")
        return [
            sorted(dict(other.named_parameters())),
            sorted(dict(one.named_parameters())),
            other.weight,
            one.bias,
            other.parametrizations.weight.original is net.parametrizations.weight.original,
            p.type_before_parametrizations(other) is lib.nn.Linear,
            p.type_before_parametrizations(lib.nn.ReLU()) is lib.nn.ReLU,
        ]

    same(program(tensorbus), oracle(program))


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal_matrices(shape, how, trivial, device):
    if device != "cpu" and shape != (5, 3):
        return  # kernels of each shape take long to compile
    net = nn.Module()
    net.weight = nn.Parameter(matrix(tensorbus, *shape).float().to(device))
    parametrizations.orthogonal(net, "weight", how, use_trivialization=trivial)
    assert net.weight.shape == shape
    for value in (net.weight, None):
        if value is None:
            # A step of what is trained leads to another orthogonal matrix.
            goal = matrix(tensorbus, *shape, seed=4).float().to(device)
            (net.weight * goal).sum().backward()
            original = net.parametrizations.weight.original
            assert original.grad.abs().sum().item() > 0
            before = net.weight.detach()
            with tensorbus.no_grad():
                original -= 0.1 * original.grad
            value = net.weight
            assert (value - before).abs().max().item() > 1e-3
        q = value.detach().cpu().double()
        product = q @ q.mT if shape[-2] < shape[-1] else q.mT @ q
        wanted = np.broadcast_to(np.eye(product.shape[-1]), product.shape)
        np.testing.assert_allclose(product.numpy(), wanted, atol=3e-6)


def test_an_orthogonal_matrix_can_be_assigned(oracle):
    def program(lib):
        net = layer(lib, 3, 3)
        lib.nn.utils.parametrizations.orthogonal(net)
        net.weight = lib.eye(3).double()[[1, 2, 0]]
        tall = layer(lib, 2, 4)
        lib.nn.utils.parametrizations.orthogonal(tall, use_trivialization=False)
        tall.weight = lib.eye(4).double()[:, [2, 0]]
        found = [net.weight, net.parametrizations.weight.original, tall.weight]
        (net.weight * matrix(lib, 3, 3, seed=8)).sum().backward()
        return [*found, net.parametrizations.weight.original.grad]

    same(program(tensorbus), oracle(program))


@pytest.mark.parametrize("dim", [0, 1, -1, None])
def test_weight_norm(dim, oracle, device):
    def program(lib, device="cpu"):
        net = layer(lib).float().to(device)
        lib.nn.utils.parametrizations.weight_norm(net, dim=dim)
        out = net(matrix(lib, 2, 4, seed=2).float().to(device))
        (out * out).sum().backward()
        return [out, net.weight, *[(p, p.grad) for p in net.parameters()]]

    ours, theirs = program(tensorbus, device), oracle(program)
    flat = [ours[0], ours[1], *[t for pair in ours[2:] for t in pair]]
    expected = [theirs[0], theirs[1], *[t for pair in theirs[2:] for t in pair]]
    for a, b in zip(flat, expected, strict=True):
        # float32: sums of up to a dozen products of numbers near 1
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.values, rtol=2e-5, atol=2e-5)


def test_weight_norm_takes_the_older_state():
    older = nn.Linear(4, 3)
    with pytest.warns(FutureWarning, match="parametrizations.weight_norm"):
        nn.utils.weight_norm(older)
    newer = parametrizations.weight_norm(nn.Linear(4, 3))
    newer.load_state_dict(older.state_dict())
    tensorbus.testing.assert_close(newer.weight, older.weight)


@pytest.mark.parametrize("shape", [(3, 4), (4, 2, 3), (5,)])
@pytest.mark.parametrize("dim", [0, -1])
def test_spectral_norm(shape, dim, oracle):
    def program(lib):
        net = lib.nn.Module()
        net.weight = lib.nn.Parameter(matrix(lib, *shape))
        lib.nn.utils.parametrizations.spectral_norm(net, dim=dim, n_power_iterations=2)
        norm = net.parametrizations.weight[0]
        if len(shape) > 1:
            with lib.no_grad():
                norm._u.copy_(lib.ones_like(norm._u) / len(norm._u) ** 0.5)
                norm._v.copy_(lib.ones_like(norm._v) / len(norm._v) ** 0.5)
        first, second = net.weight, net.weight
        (first * matrix(lib, *shape, seed=6)).sum().backward()
        net.eval()
        return [first, second, net.weight, net.parametrizations.weight.original.grad,
                *net.buffers()]  # fmt: skip

    same(program(tensorbus), oracle(program))


def test_spectral_norm_converges_and_knows_transposed_convolutions(device):
    net = parametrizations.spectral_norm(nn.ConvTranspose2d(2, 5, 2).to(device))
    assert net.parametrizations.weight[0]._u.shape == (5,)
    for _ in range(200):
        weight = net.weight
    flat = weight.detach().cpu().transpose(0, 1).flatten(1).numpy()
    np.testing.assert_allclose(np.linalg.svd(flat)[1][0], 1.0, rtol=1e-4)
    flat = nn.Linear(3, 2)
    parametrizations.spectral_norm(flat)
    assert flat.parametrizations.weight[0]._u.shape == (2,)
