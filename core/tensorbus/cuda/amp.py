"""``torch.cuda.amp``: the older spelling of ``torch.amp`` for devices of type ``cuda``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorbus._base import dtypes
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.public_place import show_in
from tensorbus.amp import autocast_mode as _autocast_mode
from tensorbus.amp import older

__path__: list[str] = []  # paths of PyTorch lie below it: pytorch_paths.py

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(older.autocast):
    """``tensorbus.amp.autocast("cuda", ...)``, which its warning says to use."""

    place = "cuda"


class GradScaler(older.GradScaler):
    """``tensorbus.amp.GradScaler("cuda", ...)``, which its warning says to use."""

    place = "cuda"


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, cast_inputs: dtypes.dtype | None = None
) -> Any:
    """``tensorbus.amp.custom_fwd`` for ``cuda``, which its warning says to use."""
    older.warn("cuda", "custom_fwd")
    return functools.partial(
        _autocast_mode.custom_fwd, device_type="cuda", cast_inputs=cast_inputs
    )(fwd)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """``tensorbus.amp.custom_bwd`` for ``cuda``, which its warning says to use."""
    older.warn("cuda", "custom_bwd")
    return _autocast_mode.custom_bwd(bwd, device_type="cuda")


show_in(__name__, [(n, globals()[n]) for n in __all__])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
