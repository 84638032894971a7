"""Automatic mixed precision: ``autocast`` chooses dtypes, ``GradScaler`` scales losses."""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.public_place import show_in as _show_in
from tensorbus.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from tensorbus.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_show_in(__name__, [(n, globals()[n]) for n in __all__])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
