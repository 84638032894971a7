"""Where an object says that it was defined."""

from __future__ import annotations

from typing import Any


def set_module(obj: Any, mod: str) -> None:
    """Let an object say that a module of the name *mod* defines it; TypeError for no str.

    >>> import tensorbus as torch
    >>> class Layer: ...
    >>> torch.utils.set_module(Layer, "mine")
    >>> Layer
    <class 'mine.Layer'>
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
