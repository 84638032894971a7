"""Large models: made on the meta device, and filled from a checkpoint without a second copy."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import tensorbus
from tensorbus import nn


def net(lib, **options):
    n = lib.nn
    return n.Sequential(
        n.Linear(3, 4, **options), n.BatchNorm1d(4, **options), n.Linear(4, 2, **options)
    )


def state(lib):
    rng = np.random.default_rng(0)
    found = net(lib).state_dict()
    for name, value in found.items():
        if value.is_floating_point():
            found[name] = lib.tensor(rng.uniform(0.5, 1, tuple(value.shape))).float()
    return found


def test_assigning_a_checkpoint_fills_a_model_on_meta(oracle, device):
    def program(lib, device="cpu"):
        with lib.device("meta"):
            made = net(lib)
        on_meta = {str(t.device) for t in [*made.parameters(), *made.buffers()]}
        given = {name: t.to(device) for name, t in state(lib).items()}
        result = made.load_state_dict(given, assign=True)
        flags = [(p.requires_grad, type(p).__name__) for p in made.parameters()]
        shared = [p.data_ptr() == given[n].data_ptr() for n, p in made.named_parameters()]
        out = made.eval()(lib.ones(2, 3).to(device))
        out.sum().backward()
        return sorted(on_meta), repr(result), flags, shared, out.cpu(), made[0].weight.grad.cpu()

    ours, theirs = program(tensorbus, device), oracle(program)
    assert [list(map(list, ours[2])), ours[0], ours[1], ours[3]] == [
        list(map(list, theirs[2])), list(theirs[0]), theirs[1], list(theirs[3])
    ]  # fmt: skip
    for mine, other in zip(ours[4:], theirs[4:], strict=True):
        # float32 sums of a dozen products
        np.testing.assert_allclose(mine.detach().numpy(), other.values, rtol=2e-5)


@pytest.mark.parametrize("trained", [True, False])
def test_what_is_assigned_takes_the_model_s_flag(trained, oracle):
    def program(lib):
        made = lib.nn.Linear(2, 2, device="meta").requires_grad_(trained)
        given = {"weight": lib.nn.Parameter(lib.ones(2, 2)), "bias": lib.ones(2)}
        made.load_state_dict(given, assign=True)
        return [p.requires_grad for p in made.parameters()], made.weight is given["weight"]

    assert [*program(tensorbus)] == [*oracle(program)]


def test_copying_into_a_model_on_meta_changes_nothing_and_says_so(oracle):
    def program(lib):
        made = lib.nn.Linear(2, 2, device="meta")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made.load_state_dict(lib.nn.Linear(2, 2).state_dict())
        return str(made.weight.device), [str(w.message).split(":")[1].strip() for w in caught]

    assert [*program(tensorbus)] == [*oracle(program)]


def test_to_empty_keeps_the_parameters_objects_and_takes_values(device):
    with tensorbus.device("meta"):
        made = net(tensorbus)
    before = list(made.parameters())
    optimizer = tensorbus.optim.SGD(made.parameters(), lr=0.1)
    assert made.to_empty(device=device) is made
    assert all(a is b for a, b in zip(before, made.parameters(), strict=True))
    assert {t.device.type for t in [*made.parameters(), *made.buffers()]} == {device}
    made.load_state_dict(state(tensorbus))
    made(tensorbus.ones(4, 3, device=device)).sum().backward()
    optimizer.step()
    wanted = state(tensorbus)["2.bias"] - 0.1 * 4
    tensorbus.testing.assert_close(made[2].bias.detach().cpu(), wanted)


def test_only_the_module_itself_is_moved_where_that_is_wanted():
    with tensorbus.device("meta"):
        made = nn.Sequential(nn.Linear(1, 1))
        made.own = nn.Parameter(tensorbus.zeros(2))
    made.to_empty(device="cpu", recurse=False)
    assert (made.own.device.type, made[0].weight.device.type) == ("cpu", "meta")


@pytest.mark.parametrize("way", ["to", "cpu", "float64"])
def test_values_can_not_be_taken_from_meta(way, oracle):
    def program(lib):
        made = lib.nn.Linear(1, 1, device="meta")
        try:
            if way == "float64":
                return str(made.double().weight.dtype)
            made.to("cpu") if way == "to" else made.cpu()
        except NotImplementedError as error:
            return str(error)
        return "moved"

    assert program(tensorbus) == oracle(program)


def test_other_shapes_are_refused_where_they_would_be_assigned(oracle):
    def program(lib):
        made = lib.nn.Linear(2, 2, device="meta")
        with pytest.raises(RuntimeError) as found:
            made.load_state_dict({"weight": lib.ones(3, 2), "bias": lib.ones(2)}, assign=True)
        return str(found.value), str(made.weight.device)

    assert [*program(tensorbus)] == [*oracle(program)]


def test_a_checkpoint_is_not_changed_by_assigning_it():
    given = state(tensorbus)
    before = copy.deepcopy(given)
    with tensorbus.device("meta"):
        made = net(tensorbus)
    made.load_state_dict(given, assign=True)
    tensorbus.testing.assert_close(dict(given), dict(before))
