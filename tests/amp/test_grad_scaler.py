"""``GradScaler`` beside PyTorch's, and what each device computes for it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

import tensorbus as tb


def training(torch: Any) -> list[Any]:
    """Scales, parameters and counts through steps of which some overflow."""
    w = torch.ones(3, requires_grad=True)
    v = torch.full((2,), 0.5, requires_grad=True)
    first = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    second = torch.optim.SGD([v], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    seen = []
    for i in range(9):
        first.zero_grad()
        second.zero_grad()
        x = torch.tensor([1.0, 2.0, 3.0]) * (float("inf") if i in (2, 5) else 1.0)
        loss = (w * x).pow(2).sum()
        other = (v * (float("nan") if i == 5 else i)).sum()
        for each in scaler.scale([loss, other]):
            each.backward()
        if i % 2:
            scaler.unscale_(first)
            torch.nn.utils.clip_grad_norm_([w], 1.0)
        scaler.step(first)
        scaler.step(second)
        scaler.update()
        seen.append([scaler.get_scale(), w.tolist(), v.tolist(), dict(scaler.state_dict())])
    return seen


def test_steps_go_as_pytorchs(oracle: Any) -> None:
    ours, theirs = training(tb), oracle(training)
    for (scale, w, v, state), (scale2, w2, v2, state2) in zip(ours, theirs, strict=True):
        assert (scale, state) == (scale2, state2)
        assert w == pytest.approx(w2, rel=1e-6) and v == pytest.approx(v2, rel=1e-6)


def test_each_device_looks_for_infinities(device: str) -> None:
    w = tb.ones(3, device=device, requires_grad=True)
    optimizer = tb.optim.SGD([w], lr=1.0)
    scaler = tb.amp.GradScaler(device, init_scale=4.0)
    for factor, expected, scale in ((1.0, 0.0, 4.0), (float("inf"), 0.0, 2.0)):
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert w.tolist() == [expected] * 3
        assert scaler.get_scale() == scale


def test_sparse_gradients(device: str) -> None:
    table = tb.nn.Embedding(4, 2, sparse=True, device=device)
    tb.nn.init.ones_(table.weight)
    optimizer = tb.optim.SGD(table.parameters(), lr=0.5)
    scaler = tb.amp.GradScaler(device, init_scale=8.0)
    at = tb.tensor([1, 1, 2], device=device)
    for factor, scale in ((1.0, 8.0), (float("inf"), 4.0)):
        optimizer.zero_grad()
        scaler.scale((table(at) * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert table.weight.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.5, 0.5], [1.0, 1.0]]
        assert scaler.get_scale() == scale


def small() -> tuple[Any, Any, Any]:
    w = tb.ones(2, requires_grad=True)
    return w, tb.optim.SGD([w], lr=0.5), tb.amp.GradScaler("cpu", init_scale=4.0)


def test_calls_in_a_wrong_order_are_refused() -> None:
    w, optimizer, scaler = small()
    calls: tuple[tuple[Callable[[], Any], str], ...] = (
        (lambda: scaler.update(), "update"),
        (lambda: scaler.step(optimizer), "step"),
        (lambda: scaler.unscale_(optimizer), "unscale_"),
    )
    for call, name in calls:
        with pytest.raises(AssertionError, match=f"Attempted {name} but _scale is None"):
            call()
    scaler.scale(w.sum()).backward()
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: None)
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="has already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning"):
        pickle.dumps(scaler)
    scaler.update()
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    w.grad = None
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)


def test_wrong_values_are_refused() -> None:
    wrongs: tuple[dict[str, Any], ...] = {"growth_factor": 1.0}, {"backoff_factor": 1.0}
    for wrong in wrongs:
        with pytest.raises(AssertionError, match="factor must be"):
            tb.amp.GradScaler("cpu", **wrong)
    w, _, scaler = small()
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable"):
        scaler.scale(3)
    scaler.scale(w.sum()).backward()
    with pytest.raises(AssertionError, match="new_scale should be a float"):
        scaler.update(tb.ones(2))
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        scaler.load_state_dict({})
    h = tb.ones(2, requires_grad=True, dtype=tb.float16)
    scaler.scale(h.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.step(tb.optim.SGD([h], lr=1.0))


def test_scales_are_set_kept_and_switched_off() -> None:
    w, optimizer, scaler = small()
    nested = scaler.scale([w, (w.detach(),)])
    assert nested[0].tolist() == [4.0, 4.0] and nested[1][0].tolist() == [4.0, 4.0]
    assert [t.tolist() for t in scaler.scale(t for t in [w])] == [[4.0, 4.0]]
    scaler.update(3.0)
    assert scaler.get_scale() == 3.0
    scaler.update(tb.tensor([5.0]))
    assert scaler.get_scale() == 5.0
    for name, value in (("growth_factor", 3.0), ("backoff_factor", 0.1), ("growth_interval", 7)):
        getattr(scaler, f"set_{name}")(value)
        assert getattr(scaler, f"get_{name}")() == value
    again = tb.amp.GradScaler("cpu")
    again.load_state_dict(scaler.state_dict())
    copied = pickle.loads(pickle.dumps(scaler))
    assert again.state_dict() == scaler.state_dict() == copied.state_dict()
    scaler.load_state_dict({**scaler.state_dict(), "scale": 2.0})
    assert scaler.get_scale() == 2.0
    off = tb.amp.GradScaler("cpu", enabled=False)
    assert (off.is_enabled(), off.get_scale(), off.state_dict()) == (False, 1.0, {})
    assert off.scale(w) is w
    w.grad = tb.ones(2)
    off.unscale_(optimizer)
    off.step(optimizer)
    off.update()
    off.load_state_dict({})
    assert w.tolist() == [0.5, 0.5]
