"""Averaged models, their batch norms and their rate, beside PyTorch."""

from __future__ import annotations

import copy
import importlib

import numpy as np
import pytest

import tensorbus
from tensorbus import nn
from tensorbus.optim import swa_utils


def utils(lib):
    return importlib.import_module(f"{lib.__name__}.optim.swa_utils")


def model(lib, device="cpu"):
    net = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.BatchNorm1d(4), lib.nn.Linear(4, 2))
    step(lib, net, 0)
    return net.to(device)


def step(lib, net, number):
    """Give parameters and statistics known values."""
    rng = np.random.default_rng(number)
    with lib.no_grad():
        for t in [*net.parameters(), *net.buffers()]:
            if t.is_floating_point():
                t.copy_(lib.tensor(rng.uniform(0.5, 2, tuple(t.shape))))
            else:
                t.fill_(3 * number + 1)


WAYS = {
    "all alike": lambda u: {},
    "buffers too": lambda u: {"use_buffers": True},
    "one by one": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "many": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "exponential": lambda u: {"avg_fn": u.get_ema_avg_fn(0.8)},
    "exponential, many": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.8)},
    "exponential, buffers": lambda u: {
        "multi_avg_fn": u.get_ema_multi_avg_fn(0.8), "use_buffers": True
    },
    "own": lambda u: {"avg_fn": lambda average, current, count: average * 0.5 + current * count},
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_averages(way, oracle, device):
    def program(lib, device="cpu"):
        net = model(lib, device)
        averaged = utils(lib).AveragedModel(net, **WAYS[way](utils(lib)))
        for number in range(4):
            step(lib, net, number)
            averaged.update_parameters(net)
        averaged.eval()
        out = averaged(lib.ones(2, 3, device=device))
        return list(averaged.state_dict()), [t.cpu() for t in averaged.state_dict().values()], out

    names, values, out = program(tensorbus, device)
    expected = oracle(program)
    assert names == list(expected[0])
    for name, mine, other in zip(names, [*values, out], [*expected[1], expected[2]], strict=False):
        # float32: means of four numbers near 1; the outputs are sums of a dozen products
        array = mine.detach().cpu().numpy()
        np.testing.assert_allclose(array, other.values, rtol=1e-5, err_msg=name)
        assert str(mine.dtype) == other.dtype
    np.testing.assert_allclose(out.detach().cpu().numpy(), expected[2].values, rtol=2e-5)


def test_the_model_itself_stays_and_its_copy_follows_no_gradient(device):
    net = model(tensorbus)
    before = copy.deepcopy(net.state_dict())
    averaged = swa_utils.AveragedModel(net, device=device)
    assert {p.device.type for p in averaged.parameters()} == {device}
    averaged.update_parameters(net)
    tensorbus.testing.assert_close(dict(net.state_dict()), dict(before))
    assert averaged.n_averaged.item() == 1
    assert averaged.n_averaged.device.type == device
    again = swa_utils.AveragedModel(model(tensorbus))
    again.load_state_dict(averaged.state_dict())
    assert again.n_averaged.item() == 1


@pytest.mark.parametrize("shape", ["tensors", "pairs"])
def test_statistics_of_batch_norms(shape, oracle, device):
    def program(lib, device="cpu"):
        rng = np.random.default_rng(7)
        batches = [lib.tensor(rng.normal(size=(n, 3)) * n).float() for n in (4, 5, 9)]
        loader = [(b, None) for b in batches] if shape == "pairs" else batches
        net = model(lib, device).eval()
        net[1].momentum = 0.3
        utils(lib).update_bn(loader, net, device=device)
        return [t.cpu() for t in net.buffers()], net[1].momentum, net.training, net[1].training

    ours, theirs = program(tensorbus, device), oracle(program)
    for mine, other in zip(ours[0], theirs[0], strict=True):
        np.testing.assert_allclose(mine.numpy(), other.values, rtol=2e-5)
    assert list(ours[1:]) == list(theirs[1:])


def test_a_loader_that_fails_leaves_the_momentum_and_the_mode():
    net = model(tensorbus).eval()

    def loader():
        yield tensorbus.ones(2, 3)
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        swa_utils.update_bn(loader(), net)
    assert net[1].momentum == 0.1
    assert not net[1].training


def test_a_model_without_batch_norms_is_not_run():
    swa_utils.update_bn(iter([None]), nn.Linear(1, 1))


RATES = {
    "cosine": lambda u, o: u.SWALR(o, 0.05),
    "linear": lambda u, o: u.SWALR(o, [0.05, 0.01], anneal_epochs=4, anneal_strategy="linear"),
    "at once": lambda u, o: u.SWALR(o, 0.05, anneal_epochs=0),
}


def optimizer(lib):
    params = [lib.nn.Parameter(lib.ones(n)) for n in (2, 3)]
    return lib.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.3}], lr=0.1)


@pytest.mark.parametrize("case", RATES)
def test_rates(case, oracle):
    def program(lib):
        made = optimizer(lib)
        schedule = RATES[case](utils(lib), made)
        found = []
        for _ in range(13):
            made.step()
            schedule.step()
            found.append(schedule.get_last_lr())
        return found, sorted(schedule.state_dict()), repr(made)

    assert [*program(tensorbus)] == [*oracle(program)]


REFUSED = {
    "strategy": lambda u, lib: u.SWALR(optimizer(lib), 0.1, anneal_strategy="steps"),
    "negative": lambda u, lib: u.SWALR(optimizer(lib), 0.1, anneal_epochs=-1),
    "rates": lambda u, lib: u.SWALR(optimizer(lib), [0.1]),
    "decay": lambda u, lib: u.get_ema_avg_fn(1.5),
    "decay of many": lambda u, lib: u.get_ema_multi_avg_fn(-0.1),
    "two functions": lambda u, lib: u.AveragedModel(
        lib.nn.ReLU(), avg_fn=u.get_swa_avg_fn(), multi_avg_fn=u.get_swa_multi_avg_fn()
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case, oracle):
    def program(lib):
        with pytest.raises((ValueError, AssertionError)) as found:
            REFUSED[case](utils(lib), lib)
        return found.type.__name__, str(found.value)

    assert program(tensorbus) == oracle(program)
