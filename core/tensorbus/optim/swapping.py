"""An optimizer with other parameters and another state for a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping
from typing import Any

from tensorbus._base.leaving import block
from tensorbus._tensor.tensor import Tensor
from tensorbus.optim.optimizer import Optimizer

_NAME = "swap_in_optimizer_params_and_state"


@block
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: Mapping[str, Tensor], swapin_optim_state: Any
) -> Generator[None]:
    """Inside, *optimizer* has other parameters and another state; at the end its own again.

    The values of *swapin_parameters* stand for its parameters, in order; *swapin_optim_state* is
    what ``state_dict`` gives: the states, and the options of the groups. Its tensors are updated in
    place, while what a step puts beside them is forgotten.

    RuntimeError for an optimizer that has no state yet, and for what does not fit its groups.

    >>> import tensorbus as torch
    >>> w, other = torch.ones(1, requires_grad=True), torch.zeros(1)
    >>> optimizer = torch.optim.SGD([w], lr=0.5, momentum=0.9)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> other.grad = torch.ones(1)
    >>> state = optimizer.state_dict()
    >>> with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"w": other}, state):
    ...     optimizer.step()
    >>> other, w.detach()
    (tensor([-0.9500]), tensor([0.5000]))

    Source: https://pytorch.org/docs/stable/optim.html
    """
    state, groups = _checked(optimizer, swapin_optim_state)
    given = iter(_fitting(groups, swapin_parameters))
    own, options = optimizer.state, [dict(group) for group in optimizer.param_groups]
    swapped: defaultdict[Tensor, Any] = defaultdict(dict)
    try:
        for group, other in zip(optimizer.param_groups, groups, strict=True):
            params = [next(given) for _ in other["params"]]
            group.update({**other, "params": params})
            for param, key in zip(params, other["params"], strict=True):
                swapped[param] = dict(state.get(key, {}))
        optimizer.state = swapped
        yield
    finally:
        for group, before in zip(optimizer.param_groups, options, strict=True):
            group.clear()
            group.update(before)
        optimizer.state = own


def _checked(optimizer: Optimizer, found: Any) -> tuple[dict[Any, Any], list[dict[str, Any]]]:
    """The states by number, and the groups, of what ``state_dict`` gave."""
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state.")
    if not isinstance(found, dict):
        raise RuntimeError(f"{_NAME} requires a DCP-style optimizer state_dict.")
    state, groups = found.get("state"), found.get("param_groups")
    if not isinstance(state, dict):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter "
            f"ids to per-param state dicts, got {type(state).__name__}."
        )
    if any(isinstance(key, Tensor) for key in state):
        raise RuntimeError(
            f"{_NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids."
        )
    if any(isinstance(k, int) and not isinstance(v, dict) for k, v in state.items()):
        raise RuntimeError(
            f"{_NAME} requires per-parameter optimizer state entries to be dictionaries."
        )
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group "
            f"dicts, got {type(groups).__name__}."
        )
    if len(optimizer.param_groups) != len(groups):
        raise RuntimeError(
            "swapin_optim_state has a different number of parameter groups than the live optimizer."
        )
    for i, (group, other) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        _check_group(i, group, other)
    known = {key for group in groups for key in group["params"]}
    extra = [key for key in state if key not in known]
    if extra:
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter "
            f"ids from param_groups[*]['params']; got extra keys {extra!r}."
        )
    return state, groups


def _check_group(i: int, group: dict[str, Any], other: Any) -> None:
    if not isinstance(other, dict):
        raise RuntimeError(f"{_NAME} requires each optimizer param group to be a dictionary.")
    keys = other.get("params")
    if not isinstance(keys, list) or not all(isinstance(key, int) for key in keys):
        raise RuntimeError(
            f"{_NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries "
            "keyed by packed parameter ids."
        )
    if len(group["params"]) != len(keys):
        raise RuntimeError(
            f"swapin_optim_state param group {i} has a different number of params than the live "
            "optimizer param group."
        )
    theirs = [key for key in other if key not in group]
    ours = [key for key in group if key not in other]
    if theirs or ours:
        raise RuntimeError(
            f"{_NAME} requires optimizer.state_dict()-style param group keys to exactly match the "
            f"live optimizer group keys for group {i}. Keys only in swap-in: {theirs}. Keys only "
            f"in live: {ours}."
        )


def _fitting(groups: list[dict[str, Any]], parameters: Mapping[str, Tensor]) -> list[Tensor]:
    """As many parameters as the groups have."""
    found = list(parameters.values())
    if len(found) < sum(len(group["params"]) for group in groups):
        raise RuntimeError(
            f"{_NAME} requires the explicit parameter state to match optimizer.param_groups "
            "ordering."
        )
    return found
