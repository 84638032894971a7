"""Random functions refuse values with PyTorch's words, and wait for no device to look at them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorbus

# fmt: off
CALLS: dict[str, tuple[Callable[[Any, Any], Any], list[float]]] = {
    "bernoulli": (lambda torch, x: torch.bernoulli(x), [0.5, 1.5]),
    "bernoulli_": (lambda torch, x: torch.zeros_like(x).bernoulli_(x), [-0.5, 0.5]),
    "multinomial": (lambda torch, x: torch.multinomial(x, 1), [0.5, float("nan")]),
    "nothing to choose": (lambda torch, x: torch.multinomial(x, 1), [0.0, 0.0]),
    "normal": (lambda torch, x: torch.normal(0.0, x), [1.0, -1.0]),
    "poisson": (lambda torch, x: torch.poisson(x), [1.0, -1.0]),
}
# fmt: on


def words(torch: Any, call: Any, values: list[float]) -> str:
    try:
        call(torch, torch.tensor(values))
    except RuntimeError as error:
        return str(error).split("  (Could this")[0]
    return "nothing"


@pytest.mark.parametrize("name", CALLS)
def test_values_are_refused_in_pytorchs_words_without_a_wait(name, device, oracle):
    call, values = CALLS[name]
    expected = oracle(lambda torch: words(torch, call, values))
    x, results = tensorbus.tensor(values, device=device), []
    with pytest.raises(RuntimeError) as raised:
        results.append(call(tensorbus, x))
        results[0].cpu()
    assert str(raised.value) == expected
    waits = device == "cpu" or name == "poisson"  # which draws until all is taken
    assert len(results) == (not waits)
    assert call(tensorbus, tensorbus.ones(2, device=device)).cpu().isfinite().all()


@pytest.mark.parametrize("name", [n for n in CALLS if "multi" not in n and "choose" not in n])
def test_no_values_are_fine(name, device):
    assert CALLS[name][0](tensorbus, tensorbus.ones(0, device=device)).cpu().shape == (0,)
