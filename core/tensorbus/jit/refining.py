"""Whether a value is of a type with parameters, as ``torch.jit.isinstance`` asks."""

from __future__ import annotations

import types
import typing
from typing import Any

from tensorbus._base.warning import warn_user

_BARE = (list, dict, tuple, typing.List, typing.Dict, typing.Tuple)  # noqa: UP006


def is_of(value: Any, wanted: Any) -> bool:
    """Whether *value* is of a type, or of one of a tuple of types."""
    if isinstance(wanted, tuple):
        return any(is_of(value, each) for each in wanted)
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        return any(is_of(value, each) for each in inner)
    if wanted in _BARE:
        name = wanted.__name__
        raise RuntimeError(
            f"Attempted to use {name} without a contained type. Please add a contained type, e.g. "
            f"{name}[int]"
        )
    if wanted is None or wanted is type(None):
        return value is None
    if origin is None:
        return isinstance(value, wanted)
    if not isinstance(value, origin):
        return False
    if not value and origin in (list, dict):
        warn_user(
            "The inner type of a container is lost when calling torch.jit.isinstance in eager "
            "mode. For example, List[int] would become list and therefore falsely return True for "
            "List[float] or List[str]."
        )
        return True
    if origin is list:
        return all(is_of(item, inner[0]) for item in value)
    if origin is dict:
        return all(is_of(k, inner[0]) and is_of(v, inner[1]) for k, v in value.items())
    if origin is tuple:
        return len(value) == len(inner) and all(map(is_of, value, inner))
    return True
