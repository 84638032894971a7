"""``_NamedOptimizer``: states by the parameters' names, where others have their numbers."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.optim.optimizer import Optimizer


class _NamedOptimizer(Optimizer):
    """Wraps an optimizer, and gives its state by the parameters' names.

    Args:
        named_parameters: pairs of name and parameter, or a dict of them.
        optimizer_class: the optimizer that steps.
        param_groups: groups of some of the parameters, where not all are stepped alike.
        module: kept as an attribute.
        args, kwargs: handed to the optimizer's constructor.

    Example:
        >>> from tensorbus.distributed.optim import _NamedOptimizer
        >>> net = nn.Linear(2, 1, bias=False)
        >>> named = _NamedOptimizer(net.named_parameters(), tensorbus.optim.SGD, lr=0.5)
        >>> named.state_dict()["param_groups"][0]["params"]
        ['weight']
    """

    def __init__(
        self,
        named_parameters: Any,
        optimizer_class: Callable[..., Optimizer],
        param_groups: Iterable[dict[str, Any]] | None = None,
        module: Any = None,
        *args: Any,
        **kwargs: Any,
    ):
        self.named_parameters: dict[str, Tensor] = dict(named_parameters)
        self.module = module
        groups = None if param_groups is None else [_with_list(g) for g in param_groups]
        given = self.named_parameters.values() if groups is None else groups
        self._optimizer = optimizer_class(given, *args, **kwargs)
        if groups is None:
            self.ordered_param_keys = list(self.named_parameters)
        else:
            warnings.warn(
                "Since we pass in param_groups, we will use param_groups to initialize the "
                "optimizer, not all parameters of the module.",
                stacklevel=2,
            )
            missing = "Expect param name {} found in param group but is missing."
            self.ordered_param_keys = self._keys([p for g in groups for p in g["params"]], missing)
        self.param_groups = self._optimizer.param_groups

    def _keys(self, params: list[Tensor], missing: str) -> list[str]:
        known = {id(p): key for key, p in self.named_parameters.items()}
        for p in params:
            if id(p) not in known:
                raise ValueError(missing.format(p))
        return [known[id(p)] for p in params]

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The wrapped optimizer's."""
        return self._optimizer.state

    def state_dict(self) -> dict[str, Any]:
        """The wrapped optimizer's, by names."""
        found, keys = self._optimizer.state_dict(), self.ordered_param_keys
        groups = [
            {
                "params": sorted(keys[n] for n in group["params"]),
                **{k: copy.deepcopy(v) for k, v in group.items() if k != "params"},
            }
            for group in found["param_groups"]
        ]
        return {"state": {keys[n]: s for n, s in found["state"].items()}, "param_groups": groups}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """The wrapped optimizer's."""
        return self._optimizer.step(closure=closure)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take states and options by names, once the optimizer has states (``init_state``).

        Parameters and groups that are not in *state_dict* keep theirs; ValueError where one has
        other entries.
        """
        own = self._optimizer.state_dict()
        if not own["state"]:
            raise ValueError(
                "Expects the optim to be initialized before load but found not initialized."
            )
        for number, key in enumerate(self.ordered_param_keys):
            if key in state_dict["state"]:
                _take_state(own["state"][number], state_dict["state"][key], key)
        given = {"/".join(sorted(g["params"])): g for g in state_dict["param_groups"]}
        for group in own["param_groups"]:
            key = "/".join(sorted(self.ordered_param_keys[n] for n in group["params"]))
            if key in given:
                _take_options(group, given[key], key)
        self._optimizer.load_state_dict(own)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters that have names."""
        group = _with_list(param_group)
        self.ordered_param_keys += self._keys(
            group["params"], "some parameters are not in the module"
        )
        self._optimizer.add_param_group(group)
        self.param_groups = self._optimizer.param_groups

    def init_state(self) -> None:
        """Make the states by a step with gradients of zero."""
        for param in self.named_parameters.values():
            if param.requires_grad:
                param.grad = tensorbus.zeros_like(param)
        self.step()


def _with_list(group: Any) -> dict[str, Any]:
    if not isinstance(group, dict):
        raise AssertionError("param group must be a dict")
    if "params" not in group:
        raise AssertionError("param group must contain key params")
    params = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
    for param in params:
        if not isinstance(param, Tensor):
            raise TypeError(
                "optimizer can only optimize Tensors, but one of the params is "
                f"{tensorbus.typename(param)}"
            )
    group["params"] = params
    return group


def _take_state(own: dict[str, Any], given: dict[str, Any], key: str) -> None:
    if len(own) != len(given):
        raise ValueError(
            f"Expects equal length as {len(own)} for parameter {key} but found: {len(given)}"
        )
    for name, value in own.items():
        if name not in given:
            raise ValueError(f"Expects state {name} for parameter {key} but not found.")
        if isinstance(value, Tensor):
            value.detach().copy_(given[name])
        else:
            own[name] = copy.deepcopy(given[name])


def _take_options(own: dict[str, Any], given: dict[str, Any], key: str) -> None:
    if len(own) != len(given):
        raise ValueError(
            f"Expects equal param_group size as {len(own)} for group {key} but found {len(given)}."
        )
    for name, value in given.items():
        if name not in own:
            raise ValueError(
                f"Expects group key {name} to be in group {key} in `state_dict` but is missing."
            )
        if name != "params":
            own[name] = copy.deepcopy(value)
