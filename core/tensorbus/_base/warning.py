"""Warnings that point at the user's line, however many of our own frames lie between."""

from __future__ import annotations

import sys
import warnings
from types import FrameType


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest frame outside of the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and is_ours(frame.f_back.f_globals.get("__name__")):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level + 1)


def warn_at(frame: FrameType, text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line where a frame is now, from any thread."""
    known = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(text, category, frame.f_code.co_filename, frame.f_lineno, registry=known)


_SHOWN: set[str] = set()
_always = False


def warn_once(what: str, text: str) -> None:
    """Warn the first time that this is called for *what*, or always where that is wanted."""
    if _always or what not in _SHOWN:
        _SHOWN.add(what)
        warn_user(text)


def set_warn_always(b: bool, /) -> None:
    """With True, warnings that are shown once in a process are shown each time.

    RuntimeError where *b* is no bool.
    """
    global _always
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _always = b


def is_warn_always_enabled() -> bool:
    """Whether ``set_warn_always(True)`` is in force."""
    return _always


def user_frame() -> FrameType:
    """The nearest frame outside of the package; where there is none, the outermost."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_ours(frame.f_globals.get("__name__")):
        frame = frame.f_back
    return frame


def is_ours(module: str | None) -> bool:
    """Whether a frame is the package's: generated functions belong to no module."""
    return module is None or module == "tensorbus" or module.startswith("tensorbus.")
