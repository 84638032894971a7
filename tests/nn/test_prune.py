"""Pruning beside PyTorch: masks, values, state, several methods after another, refusals."""

from __future__ import annotations

import copy
import importlib
import pickle

import numpy as np
import pytest

import tensorbus
from tensorbus import nn
from tensorbus.nn.utils import prune


def pruning(lib):
    return importlib.import_module(f"{lib.__name__}.nn.utils.prune")


def layer(lib, device="cpu"):
    made = lib.nn.Linear(6, 4).to(device)
    rng = np.random.default_rng(0)
    with lib.no_grad():
        # No two of the same absolute value: which of them goes would be anybody's guess.
        made.weight.copy_(lib.tensor(rng.permutation(np.linspace(-2, 3, 24)).reshape(4, 6)))
        made.bias.copy_(lib.tensor([0.5, -1.0, 2.0, -0.25]))
    return made


def same(ours, theirs):
    if isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    elif isinstance(ours, tensorbus.Tensor):
        assert tuple(ours.shape) == tuple(theirs.values.shape)
        # Products of a number and 0 or 1, and sums of six of them for the outputs.
        np.testing.assert_allclose(ours.detach().cpu().numpy(), theirs.values, rtol=1e-5, atol=1e-5)
    else:
        assert ours == theirs


WAYS = {
    "identity": lambda p, net, lib: p.identity(net, "weight"),
    "l1 share": lambda p, net, lib: p.l1_unstructured(net, "weight", amount=0.3),
    "l1 count": lambda p, net, lib: p.l1_unstructured(net, "weight", amount=5),
    "none": lambda p, net, lib: p.l1_unstructured(net, "weight", amount=0),
    "none of channels": lambda p, net, lib: p.ln_structured(net, "weight", 0.0, 2, 0),
    "all": lambda p, net, lib: p.l1_unstructured(net, "weight", amount=1.0),
    "scores": lambda p, net, lib: p.l1_unstructured(
        net, "bias", 2, importance_scores=lib.tensor([4.0, 3.0, 2.0, 1.0]).to(net.bias.device)
    ),
    "l2 rows": lambda p, net, lib: p.ln_structured(net, "weight", 2, n=2, dim=0),
    "l1 columns": lambda p, net, lib: p.ln_structured(net, "weight", 0.5, n=1, dim=-1),
    "largest": lambda p, net, lib: p.ln_structured(net, "weight", 1, n=float("inf"), dim=1),
    "mask": lambda p, net, lib: p.custom_from_mask(
        net, "bias", lib.tensor([1, 0, 1, 0]).to(net.bias.device)
    ),
    "entries twice": lambda p, net, lib: p.l1_unstructured(
        p.l1_unstructured(net, "weight", 0.25), "weight", 0.5
    ),
    "channels, then entries": lambda p, net, lib: p.l1_unstructured(
        p.ln_structured(net, "weight", 1, 2, 0), "weight", 4
    ),
    "entries, then channels": lambda p, net, lib: p.ln_structured(
        p.l1_unstructured(net, "weight", 9), "weight", 1, 2, 1
    ),
    "channels twice": lambda p, net, lib: p.ln_structured(
        p.ln_structured(net, "weight", 1, 2, 0), "weight", 1, 1, 0
    ),
    "mask, then entries": lambda p, net, lib: p.l1_unstructured(
        p.custom_from_mask(net, "bias", lib.tensor([1, 1, 0, 1]).to(net.bias.device)), "bias", 1
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_masks_values_and_gradients(way, oracle, device):
    def program(lib, device="cpu"):
        net = layer(lib, device)
        p = pruning(lib)
        WAYS[way](p, net, lib)
        name = "bias" if hasattr(net, "bias_mask") else "weight"
        x = lib.tensor(np.random.default_rng(1).normal(size=(2, 6))).float().to(device)
        out = net(x)
        out.sum().backward()
        hooks = [type(hook).__name__ for hook in net._forward_pre_hooks.values()]
        found = [
            out,
            getattr(net, name),
            getattr(net, f"{name}_mask"),
            getattr(net, f"{name}_orig").grad,
            list(net.state_dict()),
            [n for n, _ in net.named_parameters()],
            hooks,
            p.is_pruned(net),
        ]
        p.remove(net, name)
        return [
            *found, getattr(net, name), [n for n, _ in net.named_parameters()], p.is_pruned(net),
            len(net._forward_pre_hooks),
        ]  # fmt: skip

    same(program(tensorbus, device), oracle(program))


def test_several_parameters_as_one(oracle):
    def program(lib):
        nets = layer(lib), layer(lib)
        with lib.no_grad():
            nets[1].weight.mul_(1.03)
        p = pruning(lib)
        pairs = [(nets[0], "weight"), (nets[1], "weight"), (nets[1], "bias")]
        p.global_unstructured(pairs, p.L1Unstructured, amount=13)
        first = [nets[0].weight_mask, nets[1].weight_mask, nets[1].bias_mask]
        p.global_unstructured(
            pairs, p.L1Unstructured, importance_scores={pairs[2]: lib.ones(4) * 100}, amount=0.2
        )
        return [*first, nets[0].weight_mask, nets[1].weight_mask, nets[1].bias_mask]

    same(program(tensorbus), oracle(program))


def test_drawn_masks_have_as_many_zeros(device):
    net = prune.random_unstructured(layer(tensorbus, device), "weight", 7)
    assert (net.weight_mask == 0).sum().item() == 7
    prune.random_unstructured(net, "weight", 0.5)
    assert (net.weight_mask == 0).sum().item() == 7 + round(17 * 0.5)
    rows = prune.random_structured(layer(tensorbus, device), "weight", 2, dim=0)
    assert sorted(rows.weight_mask.sum(1).tolist()) == [0, 0, 6, 6]
    prune.random_structured(rows, "weight", 1, dim=0)
    assert sorted(rows.weight_mask.sum(1).tolist()) == [0, 0, 0, 6]
    drawn = [prune.random_unstructured(nn.Linear(3, 3), "weight", 4) for _ in range(40)]
    assert {net.weight_mask[0, 0].item() for net in drawn} == {0.0, 1.0}


def broken(lib):
    class Broken(pruning(lib).BasePruningMethod):
        PRUNING_TYPE = "odd"

        def compute_mask(self, t, default_mask):
            raise ZeroDivisionError("no mask")

    return Broken


REFUSED = {
    "type": lambda p, net, lib: p.l1_unstructured(net, "weight", "half"),
    "share": lambda p, net, lib: p.l1_unstructured(net, "weight", 1.5),
    "negative": lambda p, net, lib: p.random_unstructured(net, "weight", -1),
    "too many": lambda p, net, lib: p.l1_unstructured(net, "bias", 5),
    "too many channels": lambda p, net, lib: p.ln_structured(net, "weight", 5, 2, 0),
    "vector": lambda p, net, lib: p.random_structured(net, "bias", 1, 0),
    "dim": lambda p, net, lib: p.ln_structured(net, "weight", 1, 2, 2),
    "not pruned": lambda p, net, lib: p.remove(net, "weight"),
    "name": lambda p, net, lib: p.l1_unstructured(net, "w", 1),
    "scores": lambda p, net, lib: p.l1_unstructured(net, "bias", 1, lib.ones(3)),
    "mask": lambda p, net, lib: p.custom_from_mask(net, "bias", lib.ones(3)),
    "no iterable": lambda p, net, lib: p.global_unstructured(3, p.L1Unstructured, amount=1),
    "no dict": lambda p, net, lib: p.global_unstructured(
        [(net, "bias")], p.L1Unstructured, importance_scores=[1], amount=1
    ),
    "structured": lambda p, net, lib: p.global_unstructured(
        [(net, "weight")], p.RandomStructured, amount=1
    ),
    "no method": lambda p, net, lib: p.PruningContainer().add_pruning_method(3),
    "failing": lambda p, net, lib: broken(lib).apply(net, "weight"),
    "unknown sort": lambda p, net, lib: broken(lib).apply(p.identity(net, "weight"), "weight"),
    "importance of a tensor": lambda p, net, lib: p.L1Unstructured(1).prune(
        lib.ones(3), importance_scores=lib.ones(2)
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_leave_the_module_as_it_was(case, oracle):
    def program(lib):
        net = layer(lib)
        with pytest.raises(Exception) as found:
            REFUSED[case](pruning(lib), net, lib)
        text = str(found.value).replace("torch.nn.modules.", "").split(" <class")[0]
        return type(found.value).__name__, text, sorted(dict(net.named_parameters()))

    ours, theirs = program(tensorbus), oracle(program)
    assert ours[0] == theirs[0]
    assert ours[2] == list(theirs[2])
    if case != "unknown sort":
        assert ours[1] == theirs[1]


def test_a_method_without_a_module():
    t = tensorbus.tensor([3.0, -1.0, 2.0])
    assert prune.L1Unstructured(2).prune(t).tolist() == [3.0, 0.0, 0.0]
    mask = tensorbus.tensor([0.0, 1.0, 1.0])
    pruned = prune.L1Unstructured(1).prune(t, default_mask=mask)
    assert pruned.tolist() == [0.0, 0.0, 2.0]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_pruned_too(again):
    net = prune.l1_unstructured(layer(tensorbus), "weight", 5)
    net.weight = net.weight.detach()  # what was computed with a graph can't be copied
    twin = again(net)
    assert prune.is_pruned(nn.Sequential(nn.ReLU(), twin))
    x = tensorbus.ones(1, 6)
    tensorbus.testing.assert_close(twin(x), net(x))
    prune.remove(twin, "weight")
    assert not prune.is_pruned(twin)
    assert prune.is_pruned(net)


def test_state_goes_into_another_pruned_module():
    net, other = layer(tensorbus), nn.Linear(6, 4)
    prune.l1_unstructured(net, "weight", 5)
    prune.identity(other, "weight").load_state_dict(net.state_dict())
    x = tensorbus.ones(1, 6)
    tensorbus.testing.assert_close(other(x), net(x))


def test_asking_makes_no_tables_of_hooks():
    net = nn.Sequential(nn.Linear(1, 1))
    assert not prune.is_pruned(net)
    assert net[0]._hooks is None
