"""Where the threads of one group meet: arrays laid out for the others, and messages."""

from __future__ import annotations

import threading
import uuid
from collections import deque
from typing import Any

import numpy as np

from tensorbus.plugin import CommContext, CommError, CommTimeout, PeerLost, dtype
from tensorbus.plugin.wire import Deadline

Message = tuple[int, dtype, np.ndarray]
"""Its sender, its dtype, its elements."""

_gathering: dict[str, Hub] = {}
"""Hubs to which not all ranks have come: one may send and leave before another comes."""
_lock = threading.Lock()


class Hub:
    """What one group meets over, shared by the comms of all its ranks."""

    def __init__(self, size: int):
        self.changed = threading.Condition()
        self.messages: dict[tuple[int, int], deque[Message]] = {}
        self.left: set[int] = set()
        self.came = 0
        self._rounds: dict[int, list[Any]] = {}
        self._turns: list[int] = [0] * size

    def meet(self, context: CommContext, item: Any, deadline: Deadline) -> list[Any]:
        """Lay *item* out and return what all ranks laid out, when all have."""
        with self.changed:
            self._turns[context.rank] += 1
            turn = self._turns[context.rank]
            shown = self._rounds.setdefault(turn, [None] * context.size)
            shown[context.rank] = item
            self.changed.notify_all()
            while min(self._turns) < turn:
                late = [r for r, p in enumerate(self._turns) if p < turn]
                for rank in late:
                    if rank in self.left:
                        raise PeerLost(f"{context.peer(rank)} has left", [context.ranks[rank]])
                self.wait(context, late, deadline)
            # All are here, so all have read what was laid out the time before.
            self._rounds.pop(turn - 1, None)
            return shown

    def wait(self, context: CommContext, late: list[int], deadline: Deadline) -> None:
        """Wait for a change; ``CommTimeout`` naming *late*."""
        if context.rank in self.left:
            raise CommError("the group was destroyed while an operation was running")
        try:
            self.changed.wait(deadline.left())
        except TimeoutError:
            names = ", ".join(context.peer(r) for r in late) or "any rank"
            ranks = [context.ranks[r] for r in late]
            raise CommTimeout(f"{names} did not come in time", ranks) from None


def hub_of(context: CommContext) -> Hub:
    """The hub of a context's group: the first rank makes it, the store gives it to the others."""
    if context.store is None:
        raise CommError("the local comm needs a store, where its ranks find each other")
    with _lock:
        key = context.store.compare_set("local", "", uuid.uuid4().hex).decode()
        hub = _gathering.get(key)
        if hub is None:
            hub = _gathering[key] = Hub(context.size)
        hub.came += 1
        if hub.came == context.size:
            del _gathering[key]
        return hub
