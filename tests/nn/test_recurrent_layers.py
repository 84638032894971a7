"""Recurrent layers and cells beside PyTorch's: values, gradients, states, texts."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus import nn

# layer, arguments, shape of the input, whether states are given
LAYERS = [
    ("RNN", {}, (5, 3, 4), False),
    ("RNN", {"nonlinearity": "relu", "num_layers": 2}, (5, 3, 4), True),
    ("RNN", {"bidirectional": True, "bias": False}, (5, 4), True),
    ("GRU", {"num_layers": 2, "bidirectional": True}, (5, 3, 4), True),
    ("GRU", {"batch_first": True}, (3, 5, 4), False),
    ("GRU", {"batch_first": True}, (5, 4), True),
    ("LSTM", {}, (5, 3, 4), False),
    ("LSTM", {"num_layers": 2, "bidirectional": True, "batch_first": True}, (3, 5, 4), True),
    ("LSTM", {"proj_size": 1, "num_layers": 2}, (5, 3, 4), True),
    ("LSTM", {"bias": False}, (5, 4), True),
    ("LSTM", {"proj_size": 1, "bidirectional": True}, (5, 4), False),
]
CELLS = [
    ("RNNCell", {}, (3, 4), True),
    ("RNNCell", {"nonlinearity": "relu", "bias": False}, (4,), True),
    ("GRUCell", {}, (3, 4), False),
    ("GRUCell", {"bias": False}, (4,), True),
    ("LSTMCell", {}, (3, 4), True),
    ("LSTMCell", {}, (4,), False),
]
LENGTHS = [2, 5, 1, 5]


def label(case: Any) -> str:
    name, options, shape, states = case
    told = ",".join(f"{k}={v}" for k, v in options.items())
    return f"{name}({told})-{len(shape)}d{'-states' if states else ''}"


def numbers(torch: Any, rng: Any, *shape: int) -> Any:
    return torch.tensor(rng.standard_normal(shape) / 2, requires_grad=True)


def layer(torch: Any, name: str, options: dict[str, Any]) -> Any:
    """In float64, with weights that are the same in both libraries."""
    made = getattr(torch.nn, name)(4, 3, **options).double()
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for p in made.parameters():
            p.copy_(torch.from_numpy(rng.standard_normal(tuple(p.shape)) / 2))
    return made


def states(torch: Any, rng: Any, name: str, options: dict[str, Any], batch: Any) -> Any:
    first: tuple[int, ...] = ()
    if not name.endswith("Cell"):
        first = (options.get("num_layers", 1) * (1 + options.get("bidirectional", False)),)
    h = numbers(torch, rng, *first, *batch, options.get("proj_size", 0) or 3)
    return (h, numbers(torch, rng, *first, *batch, 3)) if name.startswith("LSTM") else h


def flat(found: Any) -> list[Any]:
    if isinstance(found, (tuple, list)):
        return [t for part in found for t in flat(part)]
    return [found]


def judged(torch: Any, net: Any, found: Any, given: list[Any]) -> list[Any]:
    """Results and gradients, of the weights too."""
    rng = np.random.default_rng(9)
    results = flat(found)
    weights = [torch.tensor(rng.standard_normal(tuple(t.shape))) for t in results]
    sum((t * w).sum() for t, w in zip(results, weights, strict=True)).backward()
    return [t.detach().numpy() for t in results] + [
        t.grad.numpy() for t in (*given, *net.parameters())
    ]


def same(got: list[Any], expected: list[Any]) -> None:
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        assert g.shape == np.shape(e)
        np.testing.assert_allclose(g, e, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("case", [*LAYERS, *CELLS], ids=label)
def test_values_and_gradients_are_pytorchs(case: Any, oracle: Any) -> None:
    name, options, shape, given = case

    def program(torch: Any) -> Any:
        rng = np.random.default_rng(1)
        net, x = layer(torch, name, options), numbers(torch, rng, *shape)
        whole = 1 if name.endswith("Cell") else 2
        batch = () if len(shape) == whole else (3,)
        hx = states(torch, rng, name, options, batch) if given else None
        found = net(x, hx) if given else net(x)
        return judged(torch, net, found, [x, *(flat(hx) if given else [])])

    same(program(tensorbus), oracle(program))


@pytest.mark.parametrize("case", [*LAYERS, *CELLS], ids=label)
def test_names_and_texts_are_pytorchs(case: Any, oracle: Any) -> None:
    name, options, *_ = case

    def program(torch: Any) -> Any:
        net = layer(torch, name, options)
        return repr(net), [[n, list(p.shape)] for n, p in net.state_dict().items()]

    assert [*program(tensorbus)] == [*oracle(program)]


@pytest.mark.parametrize("enforced", [True, False])
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_packed_sequences(name: str, enforced: bool, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        rnn = torch.nn.utils.rnn
        rng = np.random.default_rng(2)
        options = {"num_layers": 2, "bidirectional": True}
        net = layer(torch, name, options)
        lengths = sorted(LENGTHS, reverse=True) if enforced else LENGTHS
        parts = [numbers(torch, rng, n, 4) for n in lengths]
        packed = rnn.pack_sequence(parts, enforce_sorted=enforced)
        hx = states(torch, rng, name, options, (len(lengths),))
        output, last = net(packed, hx)
        padded, found = rnn.pad_packed_sequence(output)
        assert found.tolist() == lengths
        return judged(torch, net, (padded, last), [*parts, *flat(hx)])

    same(program(tensorbus), oracle(program))


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_of_complex_numbers(name: str, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        options = {"num_layers": 2, "bidirectional": True}
        options |= {"proj_size": 1} if name == "LSTM" else {}
        net, rng = layer(torch, name, options).to(torch.complex128), np.random.default_rng(3)
        with torch.no_grad():
            for p in net.parameters():
                p += 0.2j * torch.from_numpy(rng.standard_normal(tuple(p.shape)))
        x = torch.complex(numbers(torch, rng, 4, 3, 4), 0.3 * numbers(torch, rng, 4, 3, 4))
        x = x.detach().requires_grad_()
        found = net(x)
        loss = sum((t * (1 + 0.5j)).real.sum() for t in flat(found))
        grads = torch.autograd.grad(loss, [x, *net.parameters()])
        parts = [torch.view_as_real(t.detach().resolve_conj()) for t in (*flat(found), *grads)]
        return [t.numpy() for t in parts]

    same(program(tensorbus), oracle(program))


def refusals(torch: Any) -> dict[str, Any]:
    nn, ones = torch.nn, torch.ones
    lstm, gru, rnn = nn.LSTM(4, 3), nn.GRU(4, 3), nn.RNN(4, 3)
    return {
        "dropout": lambda: nn.LSTM(4, 3, dropout=2),
        "dropout of True": lambda: nn.LSTM(4, 3, dropout=True),
        "bias": lambda: nn.GRU(4, 3, bias=1),
        "batch_first": lambda: nn.GRU(4, 3, batch_first=0),
        "input_size": lambda: nn.RNN(0, 3),
        "input_size of a float": lambda: nn.RNN(4.0, 3),
        "hidden_size": lambda: nn.RNN(4, -1),
        "hidden_size of a float": lambda: nn.RNN(4, 3.0),
        "num_layers": lambda: nn.RNN(4, 3, 0),
        "proj_size below zero": lambda: nn.LSTM(4, 3, proj_size=-1),
        "proj_size too large": lambda: nn.LSTM(4, 3, proj_size=3),
        "proj_size of a GRU": lambda: nn.GRU(4, 3, proj_size=1),
        "proj_size of an RNN": lambda: nn.RNN(4, 3, proj_size=1),
        "nonlinearity": lambda: nn.RNN(4, 3, nonlinearity="sin"),
        "mode": lambda: nn.RNNBase("MLP", 4, 3),
        "rank": lambda: lstm(ones(4)),
        "rank of a GRU": lambda: gru(ones(1, 1, 1, 4)),
        "rank of an RNN": lambda: rnn(ones(1, 1, 1, 4)),
        "size": lambda: lstm(ones(5, 3, 2)),
        "dtype": lambda: gru(ones(5, 3, 4).double()),
        "state's size": lambda: gru(ones(5, 3, 4), ones(1, 2, 3)),
        "state's rank": lambda: gru(ones(5, 3, 4), ones(1, 3)),
        "state's rank without a batch": lambda: rnn(ones(5, 4), ones(1, 1, 3)),
        "hidden state's size": lambda: lstm(ones(5, 3, 4), (ones(1, 3, 2), ones(1, 3, 3))),
        "cells' size": lambda: lstm(ones(5, 3, 4), (ones(1, 3, 3), ones(2, 3, 3))),
        "pair's rank": lambda: lstm(ones(5, 3, 4), (ones(1, 3), ones(1, 3))),
        "pair's rank without a batch": lambda: lstm(ones(5, 4), (ones(1, 1, 3), ones(1, 3))),
        "cell's rank": lambda: nn.RNNCell(4, 3)(ones(1, 1, 4)),
        "cell's state's rank": lambda: nn.GRUCell(4, 3)(ones(1, 4), ones(1, 1, 3)),
        "pair of a cell": lambda: nn.LSTMCell(4, 3)(ones(1, 4), (ones(1, 3), ones(1, 1, 3))),
        "cell's input's size": lambda: nn.RNNCell(4, 3)(ones(2, 5)),
        "cell's state's size": lambda: nn.GRUCell(4, 3)(ones(2, 4), ones(2, 4)),
        "cell's state's batch": lambda: nn.GRUCell(4, 3)(ones(2, 4), ones(3, 3)),
        "pair of a cell's size": lambda: nn.LSTMCell(4, 3)(ones(2, 4), (ones(2, 3), ones(2, 5))),
        "input of a function": lambda: torch.gru(
            ones(5, 2, 7),
            ones(1, 2, 3),
            list(nn.GRU(4, 3).parameters()),
            True,
            1,
            0.0,
            False,
            False,
            False,
        ),
        "relu of complex numbers": lambda: nn.RNN(4, 3, nonlinearity="relu").to(torch.complex64)(
            ones(2, 1, 4, dtype=torch.complex64)
        ),
        "cell's nonlinearity": lambda: nn.RNNCell(4, 3, nonlinearity="sin")(ones(1, 4)),
    }


@pytest.mark.parametrize("case", refusals(tensorbus))
def test_refusals_have_pytorchs_texts(case: str, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        with pytest.raises((RuntimeError, ValueError, TypeError)) as caught:
            refusals(torch)[case]()
        return type(caught.value).__name__, str(caught.value)

    assert [*program(tensorbus)] == [*oracle(program)]


def test_dropout_without_a_layer_to_follow_warns(oracle: Any) -> None:
    def program(torch: Any) -> Any:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            torch.nn.GRU(4, 3, dropout=0.5)
        return [[str(w.message), w.filename == __file__] for w in found]

    ((text, ours),) = program(tensorbus)
    ((expected, _),) = oracle(program)
    assert text == expected and ours


def test_dropout_between_layers_zeroes_elements_while_training():
    tensorbus.manual_seed(0)
    net = nn.GRU(4, 64, 2, dropout=0.5)
    x = tensorbus.ones(3, 2, 4)
    assert not tensorbus.equal(net(x)[0], net(x)[0])
    net.eval()
    assert tensorbus.equal(net(x)[0], net(x)[0])
    assert not tensorbus.equal(nn.GRU(4, 64, 2, dropout=1.0)(x)[0], net(x)[0])


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM", "RNNCell", "GRUCell", "LSTMCell"])
def test_weights_are_drawn_within_their_bound(name: str):
    tensorbus.manual_seed(0)
    made = getattr(nn, name)(64, 100)
    for p in made.parameters():
        assert p.abs().max() <= 0.1 < p.abs().max() * 1.1
        if p.dim() > 1:
            assert abs(p.std() - 0.1 / np.sqrt(3)) < 0.002


def test_weights_that_are_replaced_are_used():
    net, x = nn.LSTM(4, 3), tensorbus.ones(2, 1, 4)
    zero = {n: tensorbus.zeros_like(p) for n, p in net.named_parameters()}
    assert tensorbus.func.functional_call(net, zero, (x,))[0].abs().sum() == 0
    other = copy.deepcopy(net)
    other.weight_ih_l0 = nn.Parameter(tensorbus.zeros(12, 4))
    assert not tensorbus.equal(other(x)[0], net(x)[0])
    assert [p.shape for p in net.all_weights[0]] == [(12, 4), (12, 3), (12,), (12,)]
    assert net._flat_weights[0] is net.weight_ih_l0


def test_on_another_device():
    net = nn.GRU(4, 3, device="meta")
    output, last = net(tensorbus.ones(5, 2, 4, device="meta"))
    assert output.shape == (5, 2, 3) and last.device.type == "meta"


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_a_batch_may_be_empty(name: str, both: bool) -> None:
    layer = getattr(nn, name)(3, 2, 2, bidirectional=both)
    x = tensorbus.ones(4, 0, 3, requires_grad=True)
    output, last = layer(x)
    output.sum().backward()
    assert output.shape == (4, 0, 4 if both else 2)
    assert (last[0] if name == "LSTM" else last).shape == (4 if both else 2, 0, 2)
    assert x.grad.shape == x.shape
    assert all(p.grad.eq(0).all() for p in layer.parameters())


@pytest.mark.parametrize("both", [False, True])
def test_an_lstm_of_other_lengths_in_turn_keeps_nothing_of_those_before(both: bool) -> None:
    layer = nn.LSTM(3, 4, bidirectional=both)
    for length in (3, 40, 17, 600, 3):
        x = tensorbus.randn(length, 1, 3)
        found, expected = [], []
        for packed, results in ((False, found), (True, expected)):
            layer.zero_grad()
            leaf = x.clone().requires_grad_()
            if packed:  # beside a shorter one, of which nothing is read
                pair = nn.utils.rnn.pack_sequence([leaf[:, 0], leaf[:1, 0].detach()])
                output, _ = nn.utils.rnn.pad_packed_sequence(layer(pair)[0])
            else:
                output, _ = layer(leaf)
            first = output[:, :1]
            (first * first).sum().backward()
            results += [first.detach(), leaf.grad, *(p.grad.clone() for p in layer.parameters())]
        for got, wanted in zip(found, expected, strict=True):
            tensorbus.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("alone", ["weight_ih_l0", "weight_hh_l0_reverse"])
def test_a_weight_alone_gets_the_gradient_that_it_gets_beside_others(name: str, alone: str) -> None:
    layer, x = getattr(nn, name)(3, 4, bidirectional=True), tensorbus.randn(5, 2, 3)
    layer(x)[0].square().sum().backward()
    weight = layer.get_parameter(alone)
    expected = weight.grad
    layer.zero_grad()
    for p in layer.parameters():
        p.requires_grad_(p is weight)
    layer(x)[0].square().sum().backward()
    tensorbus.testing.assert_close(weight.grad, expected, rtol=1e-5, atol=1e-6)
    assert all(p.grad is None for p in layer.parameters() if p is not weight)
