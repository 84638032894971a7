"""``torch.lstm`` and its like, of whole and of packed batches, beside PyTorch's answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.rows.registry import ROWS

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
LENGTHS = [4, 3, 3, 1]
"""Sizes of the steps of a packed batch."""
L, N, INPUTS, HIDDEN, LAYERS = 4, 4, 3, 2, 2


def numbers(torch: Any, shape: tuple[int, ...], seed: int) -> Any:
    count = int(np.prod(shape))
    values = np.sin(np.arange(count) * 1.7 + seed) * 0.8
    return torch.tensor(values.reshape(shape), dtype=torch.float64, requires_grad=True)


def weights(torch: Any, name: str, directions: int, biases: bool, projected: int) -> list[Any]:
    rows, found = GATES[name] * HIDDEN, []
    for layer in range(LAYERS):
        for _ in range(directions):
            out = projected or HIDDEN
            shapes = [(rows, INPUTS if layer == 0 else directions * out), (rows, out)]
            shapes += [(rows,), (rows,)] if biases else []
            shapes += [(projected, HIDDEN)] if projected else []
            found += [numbers(torch, s, len(found) + k) for k, s in enumerate(shapes)]
    return found


def run(torch: Any, name: str, case: str) -> list[Any]:
    directions = 2 if "both" in case else 1
    projected = 1 if "projected" in case else 0
    biases = "plain" not in case
    params = weights(torch, name, directions, biases, projected)
    states = [numbers(torch, (LAYERS * directions, N, projected or HIDDEN), 50)]
    if name == "lstm":
        states.append(numbers(torch, (LAYERS * directions, N, HIDDEN), 60))
    hx = states if name == "lstm" else states[0]
    settings = (biases, LAYERS, 0.0, True, directions == 2)
    if "packed" in case:
        x = numbers(torch, (sum(LENGTHS), INPUTS), 70)
        found = getattr(torch, name)(x, torch.tensor(LENGTHS), hx, params, *settings)
    else:
        first = "batch" in case
        x = numbers(torch, (N, L, INPUTS) if first else (L, N, INPUTS), 70)
        found = getattr(torch, name)(x, hx, params, *settings, first)
    total = sum((part * numbers(torch, tuple(part.shape), 80).detach()).sum() for part in found)
    total.backward()
    return [t.detach().tolist() for t in found] + [t.grad.tolist() for t in (x, *states, *params)]


def same(got: list[Any], expected: list[Any]) -> None:
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(np.array(g), np.array(e), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("case", ["", "both", "plain-batch", "packed", "packed-both-plain"])
@pytest.mark.parametrize("name", GATES)
def test_a_network_is_pytorchs(oracle: Any, name: str, case: str) -> None:
    same(run(tensorbus, name, case), oracle(lambda torch: run(torch, name, case)))


@pytest.mark.parametrize("case", ["projected", "packed-both-projected"])
def test_an_lstm_with_projections_is_pytorchs(oracle: Any, case: str) -> None:
    same(run(tensorbus, "lstm", case), oracle(lambda torch: run(torch, "lstm", case)))


def step(torch: Any, name: str) -> list[Any]:
    rows = GATES[name] * HIDDEN
    operands = [numbers(torch, s, k) for k, s in enumerate([(rows, INPUTS), (rows, HIDDEN)])]
    operands += [numbers(torch, (rows,), 5), numbers(torch, (rows,), 6)]
    h, c = numbers(torch, (N, HIDDEN), 7), numbers(torch, (N, HIDDEN), 8)
    hx = (h, c) if name == "lstm" else h
    found = getattr(torch, f"{name}_cell")(numbers(torch, (N, INPUTS), 9), hx, *operands)
    return [t.tolist() for t in found] if name == "lstm" else [found.tolist()]


@pytest.mark.parametrize("name", GATES)
def test_a_cell_is_pytorchs(oracle: Any, name: str) -> None:
    same(step(tensorbus, name), oracle(lambda torch: step(torch, name)))


def test_dropout_lies_between_layers() -> None:
    params = weights(tensorbus, "gru", 1, True, 0)
    x, h = numbers(tensorbus, (L, N, INPUTS), 1), numbers(tensorbus, (LAYERS, N, HIDDEN), 2)
    outputs, states = tensorbus.gru(x, h, params, True, LAYERS, 1.0, True, False, False)
    silent = x.new_zeros(L, N, HIDDEN)
    expected = tensorbus.gru(silent, h[1:], params[4:], True, 1, 0.0, True, False, False)[0]
    assert tensorbus.equal(outputs, expected)
    still = tensorbus.gru(x, h, params, True, LAYERS, 1.0, False, False, False)[0]
    plain = tensorbus.gru(x, h, params, True, LAYERS, 0.0, True, False, False)[0]
    assert tensorbus.equal(still, plain) and not tensorbus.equal(still, outputs)
    assert states.shape == (LAYERS, N, HIDDEN)


def test_wrong_input_is_refused() -> None:
    params = weights(tensorbus, "lstm", 1, True, 0)
    x, h = numbers(tensorbus, (L, N, INPUTS), 1), numbers(tensorbus, (LAYERS, N, HIDDEN), 2)
    with pytest.raises(RuntimeError, match="lstm expects 2 hidden states, but got 1"):
        tensorbus.lstm(x, [h], params, True, LAYERS, 0.0, True, False, False)
    with pytest.raises(ValueError, match="7 weights were given for 2 layers and directions"):
        tensorbus.lstm(x, [h, h], params[:7], True, LAYERS, 0.0, True, False, False)
    with pytest.raises(ValueError, match="batch_sizes has to hold sizes of at least 1"):
        sizes = tensorbus.tensor([1, 2])
        tensorbus.lstm(x[0], sizes, [h, h], params, True, LAYERS, 0.0, True, False)


class CountedProducts:
    """A namespace of ops that counts products."""

    def __init__(self, kind: Any):
        self.kind, self.products = kind, 0

    def __getattr__(self, name: str) -> Any:
        self.products += name == "matmul"
        return getattr(self.kind, name)


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh"])
def test_the_composition_multiplies_the_input_once_for_all_steps(
    name: str, directions: int
) -> None:
    each = weights(tensorbus, name, directions, True, 0)[: 4 * directions]
    x, state = (
        numbers(tensorbus, (L * N, INPUTS), 1),
        numbers(tensorbus, (directions, N, HIDDEN), 2),
    )
    F = CountedProducts(x._k)
    states = [state._a] * (2 if name == "lstm" else 1)
    options = [False] if name == "rnn_tanh" else []
    row = ROWS[f"{name.partition('_')[0]}_layer"]
    row.composite(F, x._a, *states, [w._a for w in each], *options, (N,) * L)
    assert F.products == directions * (1 + L)
