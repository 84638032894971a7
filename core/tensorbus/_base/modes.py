"""The one flag that sends every op to the slow path, and what the modes are in a thread.

Those are inference mode, whose tensors are known by their version cells, the hooks for saved
tensors, and the handlers of rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import Any, NoReturn

from tensorbus._base.leaving import block


class _Rare:
    """``on`` while any mode is active in any thread."""

    __slots__ = ("active", "broadcasts", "classes", "on")

    def __init__(self) -> None:
        self.on = False
        self.active = 0
        """How many modes are active, each counted in each thread."""
        self.broadcasts = False
        """Whether all threads warn where tensors with as many elements broadcast."""
        self.classes: Callable[..., Any] | None = None
        """The handler of tensors whose classes have ``__torch_dispatch__``, while there are any."""


RARE = _Rare()


PackHooks = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""What packs a saved tensor, and what unpacks it again."""


class _Thread(threading.local):
    inference = False
    hooks: tuple[PackHooks, ...] = ()
    """The innermost last, which alone counts."""
    hooks_refused: str | None = None
    """The error text for hooks where they are disabled."""
    batches: tuple[int, ...] = ()
    """The sizes of the batches of ``vmap`` that it computes in, the innermost last."""
    randomness: tuple[str, ...] = ()
    """What random numbers are in each of them: ``error``, ``same`` or ``different``."""
    hear: Callable[[str, Any], None] | None = None
    """Told each op's name and result, while there are hooks."""
    handlers: tuple[Callable[..., Any], ...] = ()
    """What gets the calls of rows, the innermost last (``op_engine/row_handlers.py``)."""


this_thread = _Thread()
_lock = threading.Lock()


def in_inference() -> bool:
    """Whether this thread is in inference mode."""
    return RARE.on and this_thread.inference


def switch(mode: str, value: Any) -> None:
    """Set what one of the modes ``inference``, ``hooks`` and ``handlers`` is in this thread.

    A false value means that it is not active.
    """
    mine = this_thread.__dict__
    change = (1 if value else 0) - (1 if mine.get(mode) else 0)
    with _lock:  # no call inside: an interrupt comes before all of it or after
        RARE.active += change
        mine[mode] = value
        RARE.on = RARE.active > 0


def watch_classes(handler: Callable[..., Any] | None) -> None:
    """Let a handler, or none, look at the operands of each op in all threads."""
    change = (1 if handler else 0) - (1 if RARE.classes else 0)
    with _lock:  # no call inside: an interrupt comes before all of it or after
        RARE.active += change
        RARE.classes = handler
        RARE.on = RARE.active > 0


@block
def switched(mode: str, value: Any) -> Generator[None, None, None]:
    """A block in which a mode of this thread has another value."""
    before = getattr(this_thread, mode)
    try:
        switch(mode, value)
        yield
    finally:
        try:
            switch(mode, before)
        except BaseException:
            switch(mode, before)
            raise


def switch_broadcast_warning(on: bool) -> None:
    """Look at the shapes of all operands, in all threads, or at none."""
    change = (1 if on else 0) - (1 if RARE.broadcasts else 0)
    with _lock:  # no call inside: an interrupt comes before all of it or after
        RARE.active += change
        RARE.broadcasts = on
        RARE.on = RARE.active > 0


class _Overrides:
    """``on`` where operations are overridden: by classes of the program, or by modes."""

    __slots__ = ("classes", "modes", "on")

    def __init__(self) -> None:
        self.on = False
        self.classes = False
        """Whether the program has classes that override, of which nobody knows when they go."""
        self.modes = 0
        """How many blocks of function modes are entered."""

    def meet(self) -> bool:
        """The program has a class that overrides; whether that is news."""
        before = self.classes
        self.classes = self.on = True
        return not before


OVERRIDES = _Overrides()


class _Streams:
    """``order`` once the program has chosen a stream: it keeps backward passes in their order."""

    __slots__ = ("order",)

    def __init__(self) -> None:
        self.order: Any = None


STREAMS = _Streams()


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
