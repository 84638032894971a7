"""``torch.cpu.amp``: the older spelling of ``torch.amp`` for the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.public_place import show_in
from tensorbus.amp import older

__path__: list[str] = []  # paths of PyTorch lie below it: pytorch_paths.py

__all__ = ["GradScaler", "autocast"]


class autocast(older.autocast):
    """``tensorbus.amp.autocast("cpu", ...)``, which its warning says to use."""

    place = "cpu"


class GradScaler(older.GradScaler):
    """``tensorbus.amp.GradScaler("cpu", ...)``, which its warning says to use."""

    place = "cpu"


show_in(__name__, [(n, globals()[n]) for n in __all__])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
