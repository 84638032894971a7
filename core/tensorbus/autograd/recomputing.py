"""Saved tensors that are not kept but computed again: what ``utils.checkpoint`` stands on.

While a function runs, hooks put a ``_Slot`` into the graph for each tensor that is saved, and
nothing else. When the backward pass wants the first of them, the function runs once more, and the
tensors that it saves now are put into the slots, in order; each is gone when it is read.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Generator
from typing import Any, Self

from tensorbus._base.leaving import Leaving
from tensorbus._base.modes import this_thread
from tensorbus._base.public_place import show_in
from tensorbus._base.warning import user_frame
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.engine import NUMBERED, PASSES
from tensorbus.autograd.grad_mode import enable_grad
from tensorbus.autograd.graph import saved_tensors_hooks
from tensorbus.autograd.packing import without_history

NUMBERED.on = True

_TIP = (
    "\n\nTip: pass `debug=True` to `torch.utils.checkpoint.checkpoint(...)`, or wrap the code in "
    "`with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):`, to see the operations that "
    "ran in the forward pass and again."
)


class CheckpointError(RuntimeError):
    """A function that was computed again did not save the tensors that it saved before."""


class _Stop(Exception):
    """All tensors that are wanted are computed: the rest of the function need not run."""


class _Slot:
    """Where a tensor, computed again, waits for the node that saved it; by backward pass."""

    __slots__ = ("__weakref__", "index", "values")

    def __init__(self, index: int):
        self.index = index
        self.values: dict[int, Tensor] = {}


def describe(t: Tensor) -> Any:
    """What must be the same of a tensor that is computed again."""
    return {"shape": t.shape, "dtype": t.dtype, "device": t.device}


_outside = itertools.count(-1, -1).__next__
"""Numbers for reads outside of a backward pass: each computes again."""


class _Groups(threading.local):
    current: GraphExecGroup | None = None


_groups = _Groups()


class GraphExecGroup(Leaving):
    """A block whose backward passes compute what a checkpoint left out once, for all of them.

    No two of them may want the same saved tensor. It concerns checkpoints with
    ``use_reentrant=False``. RuntimeError inside of another.

    >>> import tensorbus as torch
    >>> x, calls = torch.ones(2, requires_grad=True), []
    >>> def f(x):
    ...     calls.append(1)
    ...     return x.sin(), x.cos()
    >>> y, z = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)
    >>> with torch.utils.checkpoint.GraphExecGroup():
    ...     y.sum().backward(retain_graph=True)
    ...     z.sum().backward()
    >>> len(calls)
    2
    """

    def __init__(self) -> None:
        super().__init__()

    def within(self, outer: Callable[[], None]) -> Generator[Self, None, None]:
        if _groups.current is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {_groups.current}"
            )
        self.number = _outside()
        try:
            _groups.current = self
            yield self
        finally:
            self.close = outer
            _groups.current = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return _groups.current


class Frame:
    """One call of a function under a checkpoint.

    ``again`` runs the function once more. ``early_stop`` ends it when all is there; ``check`` says
    what must be the same of each tensor (None: nothing); ``logs`` holds the operations of the two
    runs where these are wanted.
    """

    def __init__(
        self,
        again: Callable[[], Any],
        early_stop: bool,
        check: Callable[[Tensor], Any] | None,
        debug: bool,
    ) -> None:
        self.again = again
        self.early_stop = early_stop
        self.check = check
        self.slots: list[weakref.ref[_Slot]] = []
        self.facts: list[Any] = []
        self.passes: set[int] = set()
        self.logs: tuple[list[str], list[str]] | None = ([], []) if debug else None

    # -- the first run -------------------------------------------------------------------------
    def run(self, function: Callable[[], Any]) -> Any:
        """Run a function, of which the graph keeps slots alone."""
        with saved_tensors_hooks(self._pack, self._unpack):
            if self.logs is None:
                return function()
            return _logged(self.logs[0], function)

    def _pack(self, t: Tensor) -> _Slot:
        slot = _Slot(len(self.slots))
        self.slots.append(weakref.ref(slot))
        self.facts.append(None if self.check is None else self.check(t))
        return slot

    def _unpack(self, slot: _Slot) -> Tensor:
        group = _groups.current
        now = group.number if group is not None else PASSES.current[0] or _outside()
        if now not in self.passes:
            self.passes.add(now)
            try:
                self._compute(now)
            except CheckpointError as error:
                raise self._explained(error) from None
        elif now not in slot.values:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
                "unpacked once. If you are calling ctx.saved_tensors in backward, make sure to do "
                "so only once."
            )
        return slot.values.pop(now)

    # -- and again -----------------------------------------------------------------------------
    def _compute(self, now: int) -> None:
        facts: list[Any] = []

        def pack(t: Tensor) -> Tensor:
            i = len(facts)
            if i >= len(self.slots):
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than "
                    "during the original forward pass." + _TIP
                )
            facts.append(None if self.check is None else self.check(t))
            slot = self.slots[i]()
            kept = without_history(t)
            if slot is not None:
                slot.values[now] = kept
            if self.early_stop and len(facts) == len(self.slots):
                raise _Stop
            return kept

        try:
            with saved_tensors_hooks(pack, lambda kept: kept), enable_grad():
                if self.logs is None:
                    self.again()
                else:
                    self.logs[1].clear()
                    _logged(self.logs[1], self.again)
        except _Stop:
            pass
        self._compare(facts)

    def _compare(self, facts: list[Any]) -> None:
        if len(facts) != len(self.slots):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.slots)}\n"
                f"Number of tensors saved during recomputation: {len(facts)}." + _TIP
            )
        wrong = [
            f"tensor at position {i}:\nsaved metadata: {before}\nrecomputed metadata: {after}"
            for i, (slot, before, after) in enumerate(
                zip(self.slots, self.facts, facts, strict=True)
            )
            if slot() is not None and before != after
        ]
        if wrong:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                "different metadata than during the forward pass.\n" + "\n".join(wrong) + _TIP
            )

    def _explained(self, error: CheckpointError) -> CheckpointError:
        """The error, with the operations of both runs where they were written down."""
        if self.logs is None:
            return error
        first, second = ("\n".join(log) or "none" for log in self.logs)
        text = str(error).removesuffix(_TIP)
        return CheckpointError(
            f"{text}\n\nOperations that ran in the original forward:\n{first}\n\n"
            f"Operations that ran during recomputation:\n{second}"
        )


def _logged(log: list[str], function: Callable[[], Any]) -> Any:
    """Run a function, and write down the operations that it calls, with their lines."""
    before = this_thread.hear

    def hear(name: str, made: Any) -> None:
        shown = str(tuple(made.shape)) if isinstance(made, Tensor) else type(made).__name__
        frame = user_frame()
        log.append(f"{name} -> {shown}, {frame.f_code.co_filename}:{frame.f_lineno}")

    try:
        this_thread.hear = hear
        return function()
    finally:
        this_thread.hear = before


show_in(
    "tensorbus.utils.checkpoint",
    [("CheckpointError", CheckpointError), ("GraphExecGroup", GraphExecGroup)],
)
