"""The attributes of PyTorch's own modules, as pickles of whole modules hold them."""

from __future__ import annotations

import inspect
from typing import Any

HOOKS = (
    "_backward_hooks",
    "_backward_pre_hooks",
    "_forward_hooks",
    "_forward_hooks_always_called",
    "_forward_hooks_with_kwargs",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_is_full_backward_hook",
    "_load_state_dict_post_hooks",
    "_load_state_dict_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
)


def adopted(cls: type, state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a module of ours for those of PyTorch's.

    What versions before some option did not save has the option's default. Tables of hooks are
    left to their properties.
    """
    if "_forward_hooks" not in state:
        return state
    made = {k: v for k, v in state.items() if k not in HOOKS and k != "_backend"}
    made.setdefault("_non_persistent_buffers_set", set())
    members = (*made["_parameters"], *made["_buffers"], *made["_modules"])
    for name, default in _defaults(cls).items():
        if name not in members:
            made.setdefault(name, default)
    return made


def _defaults(cls: type) -> dict[str, Any]:
    """The constructor's options with their defaults, of the class of ours that this one extends."""
    ours = next(c for c in cls.__mro__ if c.__module__.startswith("tensorbus.nn."))
    options = inspect.signature(ours).parameters.values()
    return {
        option.name: option.default
        for option in options
        if option.default is not option.empty
        and option.name not in ("device", "dtype")
        and not option.name.startswith("_")
    }
