"""Saving and loading the state of modules: ``state_dict``, ``load_state_dict``, extra state."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import tensorbus
from tensorbus._base.conversion import CONVERSION
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules._foreign import HOOKS, adopted
from tensorbus.nn.modules._hooks import NO_HOOKS, HookTables
from tensorbus.nn.parameter import Parameter, is_lazy
from tensorbus.utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from tensorbus.nn.modules.module import Module

EXTRA_STATE_KEY = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` returns: the keys that had no counterpart."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


class ModuleState(HookTables):
    """The part of ``Module`` that saves and loads."""

    _version: int = 1
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    if TYPE_CHECKING:  # or get_type_hints of any module would fail
        _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Register ``hook(module, prefix, keep_vars)``, called before ``state_dict`` collects."""
        return self._own_hooks().state_dict_pre.add(hook)

    def register_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Register ``hook(module, state_dict, prefix, local_metadata)``; it may change the dict."""
        return self._own_hooks().state_dict_post.add(hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As ``register_state_dict_post_hook``; what the hook returns replaces the dict."""
        return self._own_hooks().state_dict_post.register(hook, replaces=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        """As ``register_load_state_dict_pre_hook``; the hook gets the module if *with_module*."""
        return self._own_hooks().load_pre.register(hook, without_module=not with_module)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Register a hook that may change a state dict before this module takes its part.

        It is called as `hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`.
        """
        return self._own_hooks().load_pre.add(hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Register ``hook(module, incompatible_keys)``, which may change the two lists of keys."""
        return self._own_hooks().load_post.add(hook)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a pickle, which may be one of PyTorch's module."""
        self.__dict__.update(adopted(type(self), state))
        for name in HOOKS:
            if state.get(name) not in (None, {}):
                setattr(self, name, state[name])

    def get_extra_state(self) -> Any:
        """Override to add something picklable to the state dict; see ``set_extra_state``."""
        raise RuntimeError(
            f"{type(self).__name__} defines set_extra_state() but not get_extra_state(): "
            "a module with extra state defines both"
        )

    def set_extra_state(self, state: Any) -> None:
        """Override to take back what ``get_extra_state`` returned."""
        raise RuntimeError(
            f"{type(self).__name__} defines get_extra_state() but not set_extra_state(): "
            "a module with extra state defines both"
        )

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + EXTRA_STATE_KEY] = self.get_extra_state()

    def state_dict(
        self,
        *args: Any,
        destination: Any = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> Any:
        """Return all parameters and persistent buffers by their dotted names.

        The values share memory with the module's; they are detached unless *keep_vars*.

        Example:
            >>> sorted(nn.Linear(2, 3).state_dict())
            ['bias', 'weight']
        """
        if args:
            warn_user(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.state_dict for details.",
                FutureWarning,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given.get("destination", destination)
            prefix = given.get("prefix", prefix)
            keep_vars = given.get("keep_vars", keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata: dict[str, Any] = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata

        hooks = self._hooks or NO_HOOKS
        for hook in tuple(hooks.state_dict_pre.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        replaces = hooks.state_dict_post.marked("replaces")
        for hook_id, hook in tuple(hooks.state_dict_post.items()):
            changed = hook(self, destination, prefix, local_metadata)
            if changed is not None:
                if hook_id not in replaces:
                    raise RuntimeError("state_dict post-hook must return None")
                destination = changed
        return destination

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Take this module's own entries, children excluded; override to convert old formats."""
        before = (self._hooks or NO_HOOKS).load_pre
        alone = before.marked("without_module")
        for hook_id, hook in tuple(before.items()):
            hook(
                *(() if hook_id in alone else (self,)),
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        own: dict[str, Tensor] = {name: p for name, p in self._parameters.items() if p is not None}
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                own[name] = buffer
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, current in own.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(name, key, current, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + EXTRA_STATE_KEY
        takes_extra = type(self).set_extra_state is not ModuleState.set_extra_state
        if takes_extra and extra_key in state_dict:
            self.set_extra_state(state_dict[extra_key])
        elif takes_extra and strict:
            missing_keys.append(extra_key)
        if not strict:
            return
        for key in state_dict:
            if not key.startswith(prefix) or (takes_extra and key == extra_key):
                continue
            head, dot, _ = key[len(prefix) :].partition(".")
            if head not in (self._modules if dot else own):
                unexpected_keys.append(key)

    def _load_one(
        self,
        name: str,
        key: str,
        current: Tensor,
        given: Any,
        assign: bool,
        error_msgs: list[str],
    ) -> None:
        if not isinstance(given, Tensor):
            error_msgs.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or '
                f"Tensor-like object from checkpoint but received {type(given)}"
            )
            return
        lazy = is_lazy(current)  # has no shape; values would have given it one before this
        if not lazy and given.shape == (1,) and current.dim() == 0:
            # Checkpoints from before 0-dim tensors existed hold single numbers as vectors.
            given = given[0]
        if not lazy and given.shape != current.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from "
                f"checkpoint, the shape in current model is {current.shape}."
            )
            return
        if current.is_meta and not given.is_meta and not assign:
            warn_user(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
                "parameter in the current model, which is a no-op. (Did you mean to pass "
                "`assign=True` to assign items in the state dictionary to their corresponding key "
                "in the module instead of copying them in place?)"
            )
        try:
            with tensorbus.no_grad():
                if not assign:
                    current.copy_(given)
                    return
                if isinstance(given, Parameter):
                    given.requires_grad_(current.requires_grad)
                elif isinstance(current, Parameter):
                    given = Parameter(given, requires_grad=current.requires_grad)
                if CONVERSION.swap:
                    current.grad = None
                    current.data = given.detach()
                else:
                    setattr(self, name, given)
        except Exception as error:
            error_msgs.append(
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{current.size()} and whose dimensions in the checkpoint are {given.size()}, "
                f"an exception occurred : {error.args}."
            )

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy parameters and buffers from *state_dict* into this module and its children.

        Args:
            state_dict: values by dotted name, as ``state_dict()`` returns them.
            strict: whether the names must be the same on both sides.
            assign: put the given tensors in place of the module's, instead of copying into them.

        Raises:
            RuntimeError: names or shapes differ; the message lists every difference.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        working = OrderedDict(state_dict)
        if metadata is not None:
            working._metadata = metadata  # type: ignore[attr-defined]

        def load(module: ModuleState, part: dict[str, Any], prefix: str) -> None:
            local_metadata = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
            if assign:
                local_metadata["assign_to_params_buffers"] = True
            module._load_from_state_dict(
                part, prefix, local_metadata, True, missing, unexpected, errors
            )
            for name, child in module._modules.items():
                if child is not None:
                    below = f"{prefix}{name}."
                    mine = {key: v for key, v in part.items() if key.startswith(below)}
                    load(child, mine, below)
            incompatible = _IncompatibleKeys(missing, unexpected)
            for hook in tuple((module._hooks or NO_HOOKS).load_post.values()):
                if hook(module, incompatible) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                        "expected to return new values, if incompatible_keys need to be modified, "
                        "it should be done inplace."
                    )

        load(self, working, "")
        if strict:
            for what, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    names = ", ".join(f'"{key}"' for key in keys)
                    errors.insert(0, f"{what} key(s) in state_dict: {names}. ")
        if errors:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(errors)
            )
        return _IncompatibleKeys(missing, unexpected)
