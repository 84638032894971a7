"""``optim.swap_in_optimizer_params_and_state``: steps on other parameters, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus


def prepared(torch: Any, name: str) -> tuple[Any, list[Any], dict[str, Any]]:
    """An optimizer that stepped once, its parameters, and others with gradients."""
    params = [torch.tensor([1.0, -2.0], requires_grad=True), torch.ones(1, requires_grad=True)]
    options = {"SGD": {"momentum": 0.9}}.get(name, {})
    optimizer = getattr(torch.optim, name)(
        [{"params": params[:1]}, {"params": params[1:], "lr": 0.2}], lr=0.1, **options
    )
    others = {"a": torch.tensor([0.5, 0.25]), "b": torch.tensor([3.0])}
    for i, t in enumerate((*params, *others.values())):
        t.grad = torch.full_like(t, i + 1.0).detach()
    optimizer.step()
    return optimizer, params, others


def stepped(torch: Any, name: str) -> Any:
    optimizer, params, others = prepared(torch, name)
    state, before = optimizer.state_dict(), optimizer.state
    lists = [group["params"] for group in optimizer.param_groups]
    state["param_groups"][1]["lr"] = 0.5
    state = {"state": {k: {n: v.clone() for n, v in s.items()} for k, s in state["state"].items()},
             "param_groups": state["param_groups"]}  # fmt: skip
    with torch.optim.swap_in_optimizer_params_and_state(optimizer, others, state):
        inside = [group["lr"] for group in optimizer.param_groups]
        optimizer.step()
    assert optimizer.state is before
    kept = zip(optimizer.param_groups, lists, strict=True)
    assert all(group["params"] is params for group, params in kept)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.2]
    optimizer.step()
    numbers = [v.tolist() for s in state["state"].values() for v in s.values()]
    return [*inside, *(t.tolist() for t in (*others.values(), *params)), *numbers]


@pytest.mark.parametrize("name", ["SGD", "AdamW", "RMSprop"])
def test_steps_are_those_of_an_optimizer_of_the_others(name: str, oracle: Any) -> None:
    found, want = stepped(tensorbus, name), oracle(lambda torch: stepped(torch, name))
    assert len(found) == len(want)
    for ours, theirs in zip(found, want, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_an_error_inside_puts_everything_back() -> None:
    optimizer, params, others = prepared(tensorbus, "AdamW")
    state, before = optimizer.state_dict(), optimizer.state
    swap = tensorbus.optim.swap_in_optimizer_params_and_state
    with pytest.raises(ValueError, match="stop"), swap(optimizer, others, state):
        raise ValueError("stop")
    assert optimizer.state is before
    assert optimizer.param_groups[0]["params"][0] is params[0]


WRONG: dict[str, Any] = {
    "no-dict": lambda state, params: None,
    "state": lambda state, params: {**state, "state": 3},
    "tensor-keys": lambda state, params: {**state, "state": {params[0]: {}}},
    "entries": lambda state, params: {**state, "state": {0: 1}},
    "groups": lambda state, params: {**state, "param_groups": ()},
    "fewer-groups": lambda state, params: {**state, "param_groups": state["param_groups"][:1]},
    "group": lambda state, params: {**state, "param_groups": [1, 2]},
    "params": lambda state, params: {**state, "param_groups": [
        {**group, "params": ["a"]} for group in state["param_groups"]]},
    "more-params": lambda state, params: {**state, "param_groups": [
        {**group, "params": [0, 1]} for group in state["param_groups"]]},
    "option": lambda state, params: {**state, "param_groups": [
        {**group, "warmth": 1} for group in state["param_groups"]]},
    "extra": lambda state, params: {**state, "state": {**state["state"], 7: {}}},
}  # fmt: skip


def refusal(torch: Any, name: str) -> str:
    optimizer, params, others = prepared(torch, "SGD")
    state = optimizer.state_dict()
    if name == "few":
        others = {"a": params[0]}
    elif name == "no-state":
        optimizer.state.clear()
    else:
        state = WRONG[name](state, params)
    try:
        with torch.optim.swap_in_optimizer_params_and_state(optimizer, others, state):
            pass
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


@pytest.mark.parametrize("name", [*WRONG, "few", "no-state"])
def test_refusals_are_pytorchs(name: str, oracle: Any) -> None:
    assert refusal(tensorbus, name) == oracle(lambda torch: refusal(torch, name))
