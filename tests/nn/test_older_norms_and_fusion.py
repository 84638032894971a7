"""Weight and spectral norm as hooks, fused layers and other helpers of nn.utils, beside PyTorch."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import tensorbus
from tensorbus import nn


def filled(lib, module, seed=0):
    """A module in float64 whose floating point state is known."""
    rng = np.random.default_rng(seed)
    module = module.double()
    with lib.no_grad():
        for t in [*module.parameters(), *module.buffers()]:
            if t.is_floating_point():
                t.copy_(lib.tensor(rng.uniform(0.2, 2, tuple(t.shape))))
    return module


def draw(lib, *shape, seed=9):
    return lib.tensor(np.random.default_rng(seed).normal(size=shape))


def same(ours, theirs):
    if isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    elif isinstance(ours, tensorbus.Tensor):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.values, rtol=1e-10, atol=1e-13)
    else:
        assert ours == theirs


LAYERS = {
    "linear": (lambda lib: lib.nn.Linear(4, 3), (2, 4), {}),
    "conv": (lambda lib: lib.nn.Conv2d(2, 3, 2), (1, 2, 3, 3), {}),
    "transposed": (lambda lib: lib.nn.ConvTranspose2d(2, 3, 2), (1, 2, 3, 3), {}),
    "dim": (lambda lib: lib.nn.Linear(4, 3), (2, 4), {"dim": 1}),
}


@pytest.mark.parametrize("case", [*LAYERS, "whole"])
def test_weight_norm(case, oracle):
    make, shape, options = LAYERS.get(case, (LAYERS["linear"][0], (2, 4), {"dim": None}))

    def program(lib):
        net = filled(lib, make(lib))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lib.nn.utils.weight_norm(net, **options)
        found = [[(w.category.__name__, str(w.message)) for w in caught]]
        out = net(draw(lib, *shape))
        (out * out).sum().backward()
        found += [out, net.weight, [p.grad for p in net.parameters()], list(net.state_dict())]
        with lib.no_grad():
            net.weight_g.mul_(2)
        found.append(net(draw(lib, *shape)))
        lib.nn.utils.remove_weight_norm(net)
        return [*found, net.weight, list(net.state_dict()), len(net._forward_pre_hooks)]

    same(program(tensorbus), oracle(program))


@pytest.mark.parametrize("case", LAYERS)
def test_spectral_norm(case, oracle):
    make, shape, options = LAYERS[case]

    def program(lib):
        net = filled(lib, make(lib))
        lib.nn.utils.spectral_norm(net, n_power_iterations=2, **options)
        with lib.no_grad():
            for t in (net.weight_u, net.weight_v):
                t.copy_(lib.ones_like(t) / len(t) ** 0.5)
        out = net(draw(lib, *shape))
        net(draw(lib, *shape))
        (out * out).sum().backward()
        found = [out, net.weight, net.weight_orig.grad, net.weight_u, net.weight_v]
        state = net.state_dict()
        found += [list(state), state._metadata[""]["spectral_norm"]]
        net.eval()
        found.append(net(draw(lib, *shape)))
        lib.nn.utils.remove_spectral_norm(net)
        tables = "_forward_pre_hooks", "_state_dict_hooks"
        return [*found, net.weight, list(net.state_dict()), [len(getattr(net, t)) for t in tables]]

    same(program(tensorbus), oracle(program))


@pytest.mark.parametrize("strict", [True, False])
def test_spectral_norm_takes_checkpoints_without_v(strict):
    net = nn.utils.spectral_norm(filled(tensorbus, nn.Linear(4, 3)))
    for _ in range(200):
        net(draw(tensorbus, 2, 4))
    state = net.state_dict()
    old = type(state)((k, v.clone()) for k, v in state.items() if k != "weight_v")
    old["weight"] = net.weight.detach()
    other = nn.utils.spectral_norm(nn.Linear(4, 3).double())
    other.load_state_dict(copy.deepcopy(old), strict=strict)
    tensorbus.testing.assert_close(other.weight_v, net.weight_v, rtol=1e-6, atol=1e-8)
    x = draw(tensorbus, 2, 4)
    tensorbus.testing.assert_close(other.eval()(x), net.eval()(x))
    del old["weight_u"]
    if strict:
        with pytest.raises(RuntimeError, match='Missing key.*"weight_u"'):
            other.load_state_dict(old)
    again = nn.utils.spectral_norm(nn.Linear(4, 3).double())
    again.load_state_dict(state, strict=strict)
    tensorbus.testing.assert_close(again.weight_v, net.weight_v)


REFUSED = {
    "weight norm twice": lambda u, net: u.weight_norm(u.weight_norm(net)),
    "spectral norm twice": lambda u, net: u.spectral_norm(u.spectral_norm(net)),
    "no weight norm": lambda u, net: u.remove_weight_norm(net),
    "no spectral norm": lambda u, net: u.remove_spectral_norm(net, "bias"),
    "no iterations": lambda u, net: u.spectral_norm(net, n_power_iterations=0),
    "no bias": lambda u, net: u.spectral_norm(type(net)(2, 2, bias=False), "bias"),
    "no module": lambda u, net: u.skip_init(dict),
    "no device": lambda u, net: u.skip_init(type(net).__bases__[0]),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case, oracle):
    def program(lib):
        with pytest.raises(Exception) as found:
            REFUSED[case](lib.nn.utils, lib.nn.Linear(4, 3))
        return type(found.value).__name__, str(found.value)

    ours, theirs = program(tensorbus), oracle(program)
    assert (ours[0], ours[1].replace("tensorbus", "torch")) == (theirs[0], theirs[1])


FUSED = {
    "conv": (lambda n: (n.Conv2d(2, 3, 2), n.BatchNorm2d(3)), (2, 2, 4, 4)),
    "no bias": (lambda n: (n.Conv1d(2, 3, 2, bias=False), n.BatchNorm1d(3)), (2, 2, 4)),
    "plain": (lambda n: (n.Conv1d(2, 3, 2), n.BatchNorm1d(3, affine=False)), (2, 2, 4)),
    "transposed": (lambda n: (n.ConvTranspose2d(2, 3, 2), n.BatchNorm2d(3)), (2, 2, 4, 4)),
    "linear": (lambda n: (n.Linear(4, 3), n.BatchNorm1d(3)), (2, 4)),
    "one feature": (lambda n: (n.Linear(4, 3), n.BatchNorm2d(1)), (2, 1, 5, 4)),
}


@pytest.mark.parametrize("case", FUSED)
def test_fused_layers(case, oracle):
    make, shape = FUSED[case]

    def program(lib):
        first, norm = (filled(lib, m, i).eval() for i, m in enumerate(make(lib.nn)))
        utils = lib.nn.utils
        if hasattr(first, "in_features"):
            fused = utils.fuse_linear_bn_eval(first, norm)
        else:
            fused = utils.fuse_conv_bn_eval(first, norm, "Transpose" in type(first).__name__)
        x = draw(lib, *shape)
        flags = [p.requires_grad for p in fused.parameters()]
        return [fused(x), norm(first(x)), fused.weight, fused.bias, flags, fused is first]

    ours = program(tensorbus)
    tensorbus.testing.assert_close(ours[0], ours[1])
    same(ours, oracle(program))


def test_fusion_refuses_training_mode_and_what_does_not_fit():
    fuse = nn.utils.fuse_conv_bn_eval
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        fuse(nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1).eval())
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        nn.utils.fuse_linear_bn_eval(nn.Linear(2, 3).eval(), nn.BatchNorm1d(4))
    with pytest.raises(AssertionError, match="running_mean and bn.running_var must not be None"):
        fuse(nn.Conv1d(1, 1, 1).eval(), nn.BatchNorm1d(1, track_running_stats=False).eval())
    with pytest.raises(AssertionError, match="linear.out_features=3 and bn.num_features=4"):
        nn.utils.fuse_linear_bn_eval(nn.Linear(2, 3).eval(), nn.BatchNorm1d(4).eval())


def test_skip_init(device):
    made = nn.utils.skip_init(nn.Conv2d, 2, 3, kernel_size=2, device=device, bias=False)
    assert (type(made), made.bias, made.weight.shape) == (nn.Conv2d, None, (3, 2, 2, 2))
    assert made.weight.device.type == device
    assert isinstance(made.weight, nn.Parameter)


@pytest.mark.parametrize("rank", [2, 3])
def test_memory_format_of_convolutions_alone(rank, oracle):
    def program(lib):
        conv, transposed = (getattr(lib.nn, f"{name}{rank}d") for name in ("Conv", "ConvTranspose"))
        net = lib.nn.Sequential(conv(4, 6, 2), lib.nn.Sequential(transposed(6, 2, 3)),
                                lib.nn.Conv1d(2, 2, 2), lib.nn.Linear(2, 2))  # fmt: skip
        before = [p.detach().clone() for p in net.parameters()]
        format = lib.channels_last if rank == 2 else lib.channels_last_3d
        convert = getattr(lib.nn.utils, f"convert_conv{rank}d_weight_memory_format")
        assert convert(net, format) is net
        for old, new in zip(before, net.parameters(), strict=True):
            assert lib.equal(old, new)
        return [p.stride() for p in net.parameters()]

    assert program(tensorbus) == [tuple(s) for s in oracle(program)]


def test_stateless_warns_and_calls():
    from tensorbus.nn.utils.stateless import functional_call

    net = nn.Linear(2, 1)
    weights = {"weight": tensorbus.ones(1, 2), "bias": tensorbus.zeros(1)}
    with pytest.warns(FutureWarning, match="use `torch.func.functional_call` instead"):
        assert functional_call(net, weights, tensorbus.ones(1, 2)).item() == 2.0


def test_modules_and_functions_of_one_name_do_not_hide_each_other():
    import importlib

    for name in ("weight_norm", "spectral_norm"):
        module = importlib.import_module(f"tensorbus.nn.utils.{name}")
        assert callable(getattr(nn.utils, name))
        assert getattr(module, name) is getattr(nn.utils, name)
