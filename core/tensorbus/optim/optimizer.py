"""``Optimizer``, the base class: parameter groups, state, checkpoints, hooks."""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import run_switched
from tensorbus.nn.modules.module import clear_grad, typename
from tensorbus.optim._shared import no_sparse_gradients
from tensorbus.optim.complex_parameters import PartsOfState
from tensorbus.utils.hooks import HookTable, RemovableHandle

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
_params_t = ParamsT  # its name until 2.0


class _Required:
    """The default of an option that each group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

_HOOK_SORTS = ("step_pre", "step_post", "save_pre", "save_post", "load_pre", "load_post")

_global_optimizer_pre_hooks = HookTable()
_global_optimizer_post_hooks = HookTable()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(optimizer, args, kwargs)``, run before ``step`` of every optimizer."""
    return _global_optimizer_pre_hooks.add(hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(optimizer, args, kwargs)``, run after ``step`` of every optimizer."""
    return _global_optimizer_post_hooks.add(hook)


def _with_step_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Run the hooks around ``step``."""

    @functools.wraps(step)
    def run(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        hooks = self._hooks
        if hooks is None and not (_global_optimizer_pre_hooks or _global_optimizer_post_hooks):
            return step(self, *args, **kwargs)
        for hook in (*_global_optimizer_pre_hooks.values(), *self._hooks_of("step_pre")):
            changed = hook(self, (self, *args), kwargs)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                        f"{changed}."
                    )
                (_, *args), kwargs = changed
        result = step(self, *args, **kwargs)
        for hook in (*self._hooks_of("step_post"), *_global_optimizer_post_hooks.values()):
            hook(self, (self, *args), kwargs)
        return result

    return run


class Optimizer:
    """Base class of all optimizers.

    A subclass calls ``super().__init__(params, defaults)`` and defines ``_update(group)``, which
    steps the parameters of one group and runs without recording; or it defines ``step`` itself.

    Args:
        params: tensors, pairs of name and tensor, or dicts that each describe a group: ``params``
            and options that differ from the defaults.
        defaults: the options of groups that don't give them.
    """

    _hooks: dict[str, HookTable] | None = None
    _opt_called = False
    """Whether ``step`` ran since a scheduler was made, which notes it."""
    state: defaultdict[Any, Any]
    param_groups: list[dict[str, Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_step_hooks(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be "
                f"an iterable of Tensors or dicts, but got {typename(params)}"
            )
        if defaults.get("fused") and defaults.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        if defaults.get("foreach") and defaults.get("fused"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        self.state = defaultdict(dict)
        self.param_groups = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # Stepping

    @_with_step_hooks
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once, from their gradients.

        Args:
            closure: computes the loss and its gradients anew; called before the update.

        Returns:
            What the closure returned, if there is one.
        """
        loss = None if closure is None else run_switched(True, closure)
        run_switched(bool(self.defaults.get("differentiable")), self._update_all)
        return loss

    def _update_all(self) -> None:
        for group in self.param_groups:
            self._update(group)

    def _update(self, group: dict[str, Any]) -> None:
        raise NotImplementedError

    def _gradients(self, group: dict[str, Any]) -> Iterator[tuple[Tensor, Tensor]]:
        """The group's parameters that have a gradient, with it."""
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            if grad._k is not param._k and grad.layout is not tensorbus.strided:
                self._take_sparse(group, param, grad)
                continue
            yield param, grad

    def _take_sparse(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        """A step from a sparse gradient, in the optimizers that take these."""
        raise no_sparse_gradients(type(self).__name__)

    def _with_state(self, group: dict[str, Any]) -> Iterator[tuple[Tensor, Tensor, Any]]:
        """``_gradients`` and the parameters' states; complex parameters come by their parts."""
        for param, grad in self._gradients(group):
            state = self.state[param]
            if param.is_complex():
                parts = tensorbus.view_as_real(param), tensorbus.view_as_real(grad)
                yield *parts, PartsOfState(state, param)
            else:
                yield param, grad, state

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                else:
                    clear_grad(param, set_to_none)

    # Groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group: a dict with ``params`` and the options that differ from the defaults.

        Raises:
            TypeError: a member is not a tensor, or the members have no order.
            ValueError: a member is not a leaf, or is in another group already.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _unpack_members(param_group)
        for param in param_group["params"]:
            if not isinstance(param, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, "
                    f"but one of the params is {typename(param)}"
                )
            if not self.defaults.get("differentiable") and not (
                param.is_leaf or param.retains_grad
            ):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        self._check_members(param_group)
        self.param_groups.append(param_group)

    def _check_members(self, new: dict[str, Any]) -> None:
        ids = {id(param) for param in new["params"]}
        if len(ids) != len(new["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; "
                "in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=4,
            )
        for group in self.param_groups:
            if ("param_names" in new) != ("param_names" in group):
                which = "with names" if "param_names" in new else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {which} to the optimizer"
                )
            if not ids.isdisjoint(id(param) for param in group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")

    # Checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the groups, in which parameters are numbered through."""
        for hook in self._hooks_of("save_pre"):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {name: value for name, value in group.items() if name != "params"}
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {
            numbers[id(key)] if isinstance(key, Tensor) else key: value
            for key, value in self.state.items()
        }
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._hooks_of("save_post"):
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over state and options from what ``state_dict`` returned.

        Floating point state is converted to each parameter's dtype and device.

        Raises:
            ValueError: the groups differ in number or size.
        """
        state_dict = state_dict.copy()
        for hook in self._hooks_of("load_pre"):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups = self.param_groups
        saved_groups = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(
            len(mine["params"]) != len(saved["params"])
            for mine, saved in zip(groups, saved_groups, strict=True)
        ):
            raise ValueError(
                "loaded state dict contains a parameter group "
                "that doesn't match the size of optimizer's group"
            )
        saved_ids = chain.from_iterable(group["params"] for group in saved_groups)
        params = chain.from_iterable(group["params"] for group in groups)
        param_of = dict(zip(saved_ids, params, strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in param_of:
                state[param_of[key]] = _fit(param_of[key], value)
            else:
                state[key] = value
        for mine, saved in zip(groups, saved_groups, strict=True):
            saved["params"] = mine["params"]
            if "param_names" in mine:
                saved.setdefault("param_names", mine["param_names"])
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._hooks_of("load_post"):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Options that came after the checkpoint was written have their defaults.
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)

    # Hooks

    def _hooks_of(self, sort: str) -> list[Callable[..., Any]]:
        return [] if self._hooks is None else list(self._hooks[sort].values())

    def _table(self, sort: str) -> HookTable:
        if self._hooks is None:
            self._hooks = {each: HookTable() for each in _HOOK_SORTS}
        return self._hooks[sort]

    def _add_hook(self, sort: str, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
        return self._table(sort).add(hook, prepend)

    # The tables as programs find them in PyTorch's optimizers.
    _optimizer_step_pre_hooks = property(lambda self: self._table("step_pre"))
    _optimizer_step_post_hooks = property(lambda self: self._table("step_post"))
    _optimizer_state_dict_pre_hooks = property(lambda self: self._table("save_pre"))
    _optimizer_state_dict_post_hooks = property(lambda self: self._table("save_post"))
    _optimizer_load_state_dict_pre_hooks = property(lambda self: self._table("load_pre"))
    _optimizer_load_state_dict_post_hooks = property(lambda self: self._table("load_post"))

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(optimizer, args, kwargs)``, run before ``step``; it may return both."""
        return self._add_hook("step_pre", hook, False)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(optimizer, args, kwargs)``, run after ``step``."""
        return self._add_hook("step_post", hook, False)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Register ``hook(optimizer)``, run before ``state_dict`` collects."""
        return self._add_hook("save_pre", hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Register ``hook(optimizer, state_dict)``; what it returns replaces the dict."""
        return self._add_hook("save_post", hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Register ``hook(optimizer, state_dict)``; what it returns is loaded instead."""
        return self._add_hook("load_pre", hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Register ``hook(optimizer)``, run after ``load_state_dict``."""
        return self._add_hook("load_post", hook, prepend)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            for name in sorted(group):
                if name != "params":
                    text += f"    {name}: {group[name]}\n"
        return text + ")"


def _unpack_members(group: dict[str, Any]) -> None:
    """Make ``params`` a list of tensors, and their names, if given, a list beside it."""
    params = group["params"]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but "
            "the ordering of tensors in sets will change between runs. Please use a list instead."
        )
    members = [params] if isinstance(params, Tensor) else list(params)
    names = [member[0] for member in members if isinstance(member, tuple)]
    if names and len(names) != len(members):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    group["params"] = [m[1] if isinstance(m, tuple) else m for m in members]
    if names:
        group["param_names"] = names


def _fit(param: Tensor, value: Any, key: Any = None) -> Any:
    """Loaded state in the parameter's dtype and on its device; the count of steps stays."""
    if isinstance(value, Tensor):
        if key == "step":
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {name: _fit(param, each, name) for name, each in value.items()}
    if isinstance(value, list | tuple | set):
        return type(value)(_fit(param, each) for each in value)
    return value
