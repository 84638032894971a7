"""What is no probability is refused by the cross-entropy of probabilities, on every device."""

from __future__ import annotations

import pytest

import tensorbus as torch

WRONG = {
    "below": ([-1e-7, 0.5], [1.0, 0.0], "input"),
    "above": ([0.5, 1.0000001], [1.0, 0.0], "input"),
    "NaN": ([0.5, float("nan")], [1.0, 0.0], "input"),
    "infinite": ([float("-inf"), 0.5], [1.0, 0.0], "input"),
    "targets": ([0.5, 0.5], [1.0, -0.5], "target"),
    "NaN in targets": ([0.5, 0.5], [float("nan"), 0.0], "target"),
    "both": ([2.0, 0.5], [1.0, -0.5], "input"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_what_is_no_probability_is_refused_with_words(case, device):
    """At once, or where the device is waited for: then the call itself does not wait."""
    *values, name = case
    x, y = (torch.tensor(v, device=device) for v in values)
    results = []
    with pytest.raises(RuntimeError) as raised:
        results.append(torch.nn.functional.binary_cross_entropy(x, y))
        results[0].item()
    assert raised.type.__name__ == "RuntimeError"
    assert str(raised.value) == f"all elements of {name} should be between 0 and 1"
    assert len(results) == (device != "cpu")
    assert torch.ones(1, device=device).item() == 1  # it is said once


def test_limits_and_no_elements_are_probabilities(device):
    for values in ([0.0, 1.0, 1e-38], []):
        x = torch.tensor(values, device=device)
        found = torch.nn.functional.binary_cross_entropy(x, x.round(), reduction="sum")
        assert abs(found.item()) < 1e-6
