"""Plugins asked to compile: what one raises, and how long one takes, costs users no result."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import Any

from tensorbus._base.warning import user_frame, warn_at, warn_once
from tensorbus.plugin.graph import Graph

Entry = Callable[..., Any]
Compile = Callable[[Graph, int], Entry | None]

VARIABLE = "TENSORBUS_COMPILE_PATIENCE"
_DEFAULT = "30"

_too_slow: list[object] = []
"""The plugins that took longer than that once: they are asked no more."""


def patience() -> float:
    """How many seconds a plugin may compile before users are told what they wait for."""
    text = os.environ.get(VARIABLE, _DEFAULT)
    with contextlib.suppress(ValueError):
        seconds = float(text)
        if 0 < seconds <= threading.TIMEOUT_MAX:
            return seconds
    raise ValueError(f"{VARIABLE} is a number of seconds above 0, not {text!r}")


def ask(compile: Compile, graph: Graph, index: int, what: str) -> Entry | None:
    """What a plugin makes of the graph of *what*.

    None, after one warning, where it raises. While it takes too long, a warning says who is waited
    for, and from then on it is asked nothing.
    """
    owner = getattr(compile, "__self__", compile)
    if any(owner is one for one in _too_slow):
        return None
    name = str(getattr(owner, "name", type(owner).__name__))
    seconds, line = patience(), user_frame()

    def impatient() -> None:
        _too_slow.append(owner)
        warn_at(
            line,
            f"{name} has been compiling {what} for {seconds:g} seconds, and the program waits for "
            f"it: Ctrl-C ends that. It is not asked again, so what it would compile is computed "
            f"step by step. To give it more time set {VARIABLE}=SECONDS; with TENSORBUS_FUSION=0 "
            "nothing is compiled",
        )

    watch = threading.Timer(seconds, impatient)
    watch.daemon = True
    with contextlib.suppress(RuntimeError):  # no thread is to be had: nobody watches
        watch.start()
    try:
        return compile(graph, index)
    except Exception as error:
        warn_once(
            f"compile by {name}",
            f"{name} failed to compile {what}, which is computed step by step instead: "
            f"{type(error).__name__}: {error}",
        )
        return None
    finally:
        watch.cancel()
