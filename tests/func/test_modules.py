"""Modules as functions: ``functional_call``, ``stack_module_state``, batch norms without state."""

from __future__ import annotations

import pytest

import tensorbus as torch
from tensorbus import nn
from tensorbus.func import (
    functional_call,
    grad,
    replace_all_batch_norm_modules_,
    stack_module_state,
)

X = torch.tensor([[2.0, 3.0]])


def weights(scale=1.0):
    return {"weight": torch.tensor([[scale, 10.0]]), "bias": torch.tensor([0.5])}


class Tied(nn.Module):
    """Two layers that share a weight, and a buffer that counts calls."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 1, bias=False)
        self.b = nn.Linear(1, 1, bias=False)
        self.b.weight = self.a.weight
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x, fail=False):
        self.calls = self.calls + 1
        if fail:
            raise ZeroDivisionError
        return self.a(x) + 10 * self.b(x)


def test_a_module_is_called_with_other_tensors_and_keeps_its_own():
    net = nn.Linear(2, 1)
    own = net.weight
    assert functional_call(net, weights(), X).item() == 32.5
    assert functional_call(net, weights(), (X,)).item() == 32.5
    assert functional_call(net, weights(), None, {"input": X}).item() == 32.5
    one, other = weights().items()
    assert functional_call(net, [dict([one]), dict([other])], X).item() == 32.5
    assert functional_call(net, weights(), X, strict=True).item() == 32.5
    assert net.weight is own and isinstance(net.weight, nn.Parameter)
    before = net(X)
    assert functional_call(net, {}, X).item() == before.item()


def test_gradients_with_respect_to_parameters():
    net = nn.Linear(2, 1)
    g = grad(lambda p, x: functional_call(net, p, x).sum())(weights(), X)
    assert g["weight"].tolist() == [[2.0, 3.0]] and g["bias"].tolist() == [1.0]
    assert net.weight.grad is None
    g = grad(lambda p: functional_call(net, p, X).sum())(dict(net.named_parameters()))
    assert g["weight"].tolist() == [[2.0, 3.0]]


def test_tied_weights_go_together():
    net, one = Tied(), torch.ones(1, 1)
    with torch.no_grad():
        net.a.weight.fill_(0.25)
    assert functional_call(net, {"a.weight": one * 2}, one).item() == 22.0
    assert functional_call(net, {"b.weight": one * 2}, one).item() == 22.0
    given = {"a.weight": one * 2}
    assert functional_call(net, given, one, tie_weights=False).item() == 4.5
    both = {"a.weight": one * 2, "b.weight": one * 3}
    assert functional_call(net, both, one, tie_weights=False).item() == 32.0
    with pytest.raises(ValueError, match=r"multiple values for keys \['a.weight', 'b.weight'\]"):
        functional_call(net, both, one)
    assert net.a.weight is net.b.weight and net.a.weight.item() == 0.25


def test_replaced_buffers_are_given_back_also_after_an_error():
    net, one = Tied(), torch.ones(1, 1)
    state = {"calls": torch.tensor([5.0])}
    functional_call(net, state, one)
    assert state["calls"].item() == 6.0
    assert net.calls.item() == 0.0
    with pytest.raises(ZeroDivisionError):
        functional_call(net, state, (one,), {"fail": True})
    assert (state["calls"].item(), net.calls.item()) == (7.0, 0.0)


LINEAR = nn.Linear(2, 1)
ERRORS = [
    (lambda: functional_call(LINEAR, [weights(), weights()], X), ValueError, "multiple dictionar"),
    (lambda: functional_call(LINEAR, 5, X), ValueError, "to be a dict, or a list/tuple of dicts"),
    (lambda: functional_call(LINEAR, {"foo.bar": X}, X), AttributeError, "no attribute `foo`"),
    (lambda: functional_call(LINEAR, {"": X}, X), KeyError, "tensor name can.*t be empty"),
    (lambda: functional_call(LINEAR, {"weight": 3}, X), TypeError, "3 is not an instance of torch"),
    (lambda: functional_call(LINEAR, {"forward": X}, X), TypeError, "attribute `forward`"),
    (
        lambda: functional_call(LINEAR, {"foo": X}, X, strict=True),
        RuntimeError,
        r"for Linear:\n\tUnexpected key\(s\): 'foo'.\n\tMissing key\(s\): 'bias', 'weight'.",
    ),
    (lambda: stack_module_state([]), RuntimeError, "at least one model, got 0"),
    (lambda: stack_module_state([LINEAR, nn.ReLU()]), RuntimeError, "models to be of the same cl"),
    (
        lambda: stack_module_state([LINEAR, nn.Linear(2, 1).eval()]),
        RuntimeError,
        "to have the same training/eval mode",
    ),
    (
        lambda: stack_module_state([LINEAR, nn.Linear(2, 1).requires_grad_(False)]),
        RuntimeError,
        "Expected weight from each model to have the same .requires_grad",
    ),
]


@pytest.mark.parametrize(("f", "error", "text"), ERRORS, ids=range(len(ERRORS)))
def test_refusals(f, error, text):
    with pytest.raises(error, match=text):
        f()


def test_states_are_stacked_as_new_leaves():
    models = [Tied(), Tied(), Tied()]
    parameters, buffers = stack_module_state(models)
    assert list(parameters) == ["a.weight"] and list(buffers) == ["calls"]
    weight = parameters["a.weight"]
    assert weight.shape == (3, 1, 1) and weight.requires_grad and weight.is_leaf
    assert weight[1].item() == models[1].a.weight.item()
    assert buffers["calls"].shape == (3, 1) and not buffers["calls"].requires_grad
    frozen, _ = stack_module_state([m.requires_grad_(False) for m in models])
    assert not frozen["a.weight"].requires_grad


def test_batch_norms_forget_their_statistics():
    net = nn.Sequential(nn.BatchNorm1d(2), nn.Sequential(nn.BatchNorm2d(1)), nn.Linear(2, 2))
    assert replace_all_batch_norm_modules_(net) is net
    for norm in (net[0], net[1][0]):
        assert norm.running_mean is norm.running_var is norm.num_batches_tracked is None
        assert not norm.track_running_stats
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    torch.testing.assert_close(
        net.eval()[0](x), torch.tensor([[-1.0, -1.0], [1.0, 1.0]]), atol=1e-4, rtol=0
    )
