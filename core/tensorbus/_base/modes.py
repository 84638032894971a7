"""The one flag that sends every op to the slow path: inference, tracing, profiling and their like.

And what these modes are in a thread: inference mode, whose tensors are known by their version
cells, and the hooks for saved tensors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NoReturn


class _Rare:
    """``on`` while any mode is active in any thread."""

    __slots__ = ("hooked", "inference", "on")

    def __init__(self) -> None:
        self.on = False
        self.inference = 0
        """How many threads are in inference mode."""
        self.hooked = 0
        """How many threads have hooks for saved tensors."""


RARE = _Rare()


PackHooks = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""What packs a saved tensor, and what unpacks it again."""


class _Thread(threading.local):
    inference = False
    hooks: tuple[PackHooks, ...] = ()
    """The innermost last, which alone counts."""
    hooks_refused: str | None = None
    """The error text for hooks where they are disabled."""
    hear: Callable[[str, Any], None] | None = None
    """Told each op's name and result, while there are hooks."""


this_thread = _Thread()
_lock = threading.Lock()


def in_inference() -> bool:
    """Whether this thread is in inference mode."""
    return RARE.on and this_thread.inference


def switch_inference(on: bool) -> bool:
    """Enter or leave inference mode in this thread; whether it was on."""
    before = this_thread.inference
    if before != on:
        with _lock:  # no call inside: an interrupt comes before all of it or after
            this_thread.inference = on
            RARE.inference += 1 if on else -1
            RARE.on = RARE.inference > 0 or RARE.hooked > 0
    return before


def switch_hooks(hooks: tuple[PackHooks, ...]) -> tuple[PackHooks, ...]:
    """Set the hooks for what this thread saves; those from before."""
    before = this_thread.hooks
    change = (1 if hooks else 0) - (1 if before else 0)
    with _lock:  # no call inside: an interrupt comes before all of it or after
        this_thread.hooks = hooks
        RARE.hooked += change
        RARE.on = RARE.inference > 0 or RARE.hooked > 0
    return before


class InferenceCell:
    """The version cell of a tensor made in inference mode, and of its views: it counts nothing.

    A backward pass that saves a tensor reads its version, so that is where inference tensors are
    refused.
    """

    __slots__ = ()

    def __getitem__(self, _: Any) -> NoReturn:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
            "inference mode in computation tracked by autograd. To work around this, you can make "
            "a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
            "instead of `torch.inference_mode()`."
        )


def fresh_cell() -> Any:
    """The version cell of a new tensor: None outside inference mode."""
    return InferenceCell() if this_thread.inference else None
