"""Leaves whose hooks run during the backward pass, and what runs at its end.

A leaf without a hook gets its gradient when the walk is over. One with a post-accumulate hook gets
it as soon as the last contribution has come, so that the hook's work overlaps with the rest of the
walk. Only then are edges counted beforehand.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from tensorbus.autograd.node import AccumulateGrad

EARLY: set[weakref.ref[AccumulateGrad]] = set()
"""The leaves that have, or once had, a post-accumulate hook."""

CALLBACKS: dict[int, list[Callable[[], None]]] = {}
"""What runs at the end of the backward pass, by thread."""


def hear_early(edge: AccumulateGrad) -> None:
    """Store this leaf's gradient as soon as it is complete."""
    EARLY.add(weakref.ref(edge, EARLY.discard))


def count(roots: Iterable[Any]) -> dict[AccumulateGrad, int]:
    """How many edges lead from the roots to each leaf that has a post-accumulate hook."""
    found: dict[AccumulateGrad, int] = {}
    seen: set[Any] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node in seen or type(node) is AccumulateGrad:
            continue
        seen.add(node)
        for edge in node.edges():
            if edge is None:
                continue
            if type(edge) is not AccumulateGrad:
                stack.append(edge)
            elif edge.h is not None and edge.h.at("post_accumulate"):
                found[edge] = found.get(edge, 0) + 1
    return found


def queue_callback(callback: Callable[[], None]) -> None:
    """Call *callback* once, when the backward pass that runs in this thread has ended well."""
    CALLBACKS.setdefault(threading.get_ident(), []).append(callback)


def run_callbacks() -> None:
    """Call what this thread has queued, and what is queued meanwhile."""
    me = threading.get_ident()
    try:
        for callback in CALLBACKS.get(me, ()):
            callback()
    finally:
        CALLBACKS.pop(me, None)


def drop_callbacks() -> None:
    """Forget what this thread has queued: its backward pass failed."""
    CALLBACKS.pop(threading.get_ident(), None)
