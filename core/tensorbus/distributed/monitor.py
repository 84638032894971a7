"""Finds out who is at fault when an operation fails, so that every rank names the same one.

Each rank has a thread that waits for events in the store. An event says that a rank died (the
store publishes it when that rank's connection breaks), left, asks the others what they are doing
because an operation of its own timed out, or has found who is at fault.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from tensorbus.distributed.errors import DistBackendError, DistError, DistNetworkError
from tensorbus.distributed.store import Store
from tensorbus.plugin.comm import CommError, CommTimeout, PeerLost

if TYPE_CHECKING:
    from tensorbus.distributed.process_group import ProcessGroup
    from tensorbus.distributed.world import World

_EVENTS = "events"
_SERVER_LOST = "rank 0, which serves the store, died, hangs or was cut off"
_PATIENCE = 2.0
"""Seconds for other ranks to answer, and for better news than a broken connection."""


class Monitor:
    """The events of one rank's job."""

    def __init__(self, world: World, store: Store, rank: int, size: int):
        self._world, self._rank, self._size = world, rank, size
        self._store, self._asking, self._alive = store.clone(), store.clone(), store.clone()
        self._slice = self._store.wait_long()
        self._asking.set_patience(_PATIENCE)
        # From here on it is another connection that stands for this rank: nobody else uses it.
        last_will(self._alive, rank)
        store.last_will(_EVENTS, "")
        self._closed = False
        self._changed = threading.Condition()
        self._left: dict[int, dict[str, int]] = {}
        """What ranks that have left had done, by group."""
        self._dead: dict[int, str] = {}
        self._told: set[int] = set()
        self._lost = False
        """Whether the store is gone, so that nothing more will be heard."""
        self._thread = threading.Thread(target=self._listen, name="tensorbus-events", daemon=True)
        self._thread.start()

    # -- listening ---------------------------------------------------------------------------
    def _listen(self) -> None:
        number = 1
        while not self._closed:
            try:
                if self._store._wait([f"{_EVENTS}/{number}"], self._slice):
                    event = json.loads(self._store._read(f"{_EVENTS}/{number}"))
                    number += 1
                    self._handle(event)
            except DistNetworkError:
                if not self._closed:
                    self._server_lost()
                break
            except DistError:
                break  # the store was closed
            with self._changed:
                self._changed.notify_all()
        with self._changed:
            self._lost = True
            self._changed.notify_all()

    def _server_lost(self) -> None:
        if 0 not in self._left:
            self._died(0, _SERVER_LOST)

    def _handle(self, event: dict[str, Any]) -> None:
        kind, rank = event["kind"], event["rank"]
        if kind == "dead":
            self._died(rank, f"rank {rank} died or was cut off: it ended without leaving the job")
        elif kind == "left" and rank not in self._dead:
            self._left[rank] = event["done"]
            for each in list(self._world.groups.values()):
                self.tell(each)
            self._told.add(rank)
        elif kind == "ask":
            answer = self._state(event["group"])
            self._store.set(f"answers/{event['id']}/{self._rank}", json.dumps(answer))
        elif kind == "verdict":
            group = self._world.groups.get(event["group"])
            if group is not None:
                group.fail(event["text"], tuple(event["ranks"]))

    def tell(self, group: ProcessGroup) -> None:
        """Tell a group who has left or died; a new one, what came before it was there."""
        for rank, done in list(self._left.items()):
            if rank != self._rank and rank in group.ranks and group.group_name in done:
                group.has_left(rank, done[group.group_name])
        for rank, text in list(self._dead.items()):
            if rank in group.ranks:
                group.has_died(rank, text)

    def _died(self, rank: int, text: str) -> None:
        if rank == self._rank or rank in self._left:
            return
        self._dead[rank] = text
        for group in list(self._world.groups.values()):
            self.tell(group)
        self._told.add(rank)

    def has_told(self, rank: int) -> bool:
        """Whether the groups have been told that this rank has died or left."""
        return rank in self._told

    def check(self, ranks: Collection[int]) -> None:
        """``DistBackendError`` where one of these ranks has died or left."""
        for rank in ranks:
            if rank in self._dead:
                raise DistBackendError(f"[rank {self._rank}] {self._dead[rank]}", (rank,))
            if rank in self._left and rank != self._rank:
                raise DistBackendError(f"[rank {self._rank}] rank {rank} has left the job", (rank,))

    def _state(self, name: str) -> list[Any]:
        group = self._world.groups.get(name)
        if group is None:
            return [0, None]
        return [group.done, group.running]

    # -- diagnosis ---------------------------------------------------------------------------
    def diagnose(
        self, group: ProcessGroup, error: CommError | DistNetworkError, number: int, call: str
    ) -> None:
        """Find who is at fault and tell all; ``group.failure`` is set after it."""
        text, ranks = str(error), error.ranks
        try:
            if isinstance(error, CommTimeout):
                text, ranks = self._ask_all(group, error, number, call)
            else:
                text, ranks = self._find(group, error) or (text, ranks)
            self._tell_all(group, text, ranks)
        except DistError:
            known = 0 in self._dead or 0 in self._left
            if isinstance(error, CommTimeout) and known:
                text += " (rank 0, which served the store, had ended: nobody could be asked)"
            elif isinstance(error, CommTimeout) or not (ranks or known or self._rank == 0):
                text, ranks = _SERVER_LOST, (0,)
        group.fail(text, tuple(ranks))

    def explain(self, group: ProcessGroup, error: CommError | DistNetworkError) -> None:
        """A message could not be sent or received: that ends the group where its peer has died.

        Nothing comes of it where the peer has left in order.
        """
        found = self._find(group, error)
        if found is not None:
            with contextlib.suppress(DistError):
                self._tell_all(group, *found)
            group.fail(*found)

    def _tell_all(self, group: ProcessGroup, text: str, ranks: Sequence[int]) -> None:
        if group.failure is None:
            event = _event("verdict", self._rank, group=group.group_name, text=text, ranks=ranks)
            self._asking.publish(_EVENTS, event)

    def _find(
        self, group: ProcessGroup, error: CommError | DistNetworkError
    ) -> tuple[str, tuple[int, ...]] | None:
        """Who is at fault for a broken connection; None for another error, or where all live.

        The connection to the store may break before anybody has heard of a death, and its error
        names nobody.
        """
        if isinstance(error, PeerLost):
            return self._await_news(group, error.ranks)
        if isinstance(error, DistNetworkError) or isinstance(error.__cause__, DistNetworkError):
            found = self._await_news(group, (0,))
            if found is None and self._rank != 0 and 0 not in self._left:
                found = _SERVER_LOST, (0,)
            return found
        return None

    def _await_news(
        self, group: ProcessGroup, lost: tuple[int, ...]
    ) -> tuple[str, tuple[int, ...]] | None:
        """Who died, where it was that which broke the connections to the ranks *lost*.

        The rank at its other end may have closed it because of a third one. Then that rank's
        verdict comes, and ``group.failure`` has it.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    group.failure is not None
                    or self._lost
                    or any(r in self._dead or r in self._left for r in lost)
                ),
                _PATIENCE,
            )
            suspects = [r for r in lost if r in self._dead]
            if self._lost and not suspects and not any(r in self._left for r in lost):
                suspects = [r for r in self._dead if r in group.ranks]
            for rank in suspects:
                return self._dead[rank], (rank,)
        return None

    def _ask_all(
        self, group: ProcessGroup, error: CommError, number: int, call: str
    ) -> tuple[str, tuple[int, ...]]:
        ask = uuid.uuid4().hex
        self._asking.publish(_EVENTS, _event("ask", self._rank, group=group.group_name, id=ask))
        end = time.monotonic() + _PATIENCE
        silent, late = [], []
        for rank in group.ranks:
            key = f"answers/{ask}/{rank}"
            left = max(end - time.monotonic(), 0.01)
            if rank in self._dead or not self._asking._wait([key], left):
                silent.append(rank)
                continue
            done, running = json.loads(self._asking._read(key))
            if (running[0] if running else done) < number:
                late.append((rank, done))
        after = f"within {group.timeout:g} seconds"
        if silent:
            names = _names(silent)
            return f"{names} hangs or was cut off: no answer {after}", tuple(silent)
        if late:
            parts = "; ".join(f"rank {r} has ended number {done}" for r, done in late)
            ranks = [r for r, _ in late]
            return f"{_names(ranks)} did not call {call} number {number} {after} ({parts})", tuple(
                ranks
            )
        return f"{error} ({after}; every rank is in the operation)", error.ranks

    # -- leaving -----------------------------------------------------------------------------
    def publish_death(self) -> None:
        """Say that this rank is dead: for threads, whose end breaks no connection."""
        with contextlib.suppress(DistError):
            self._asking.publish(_EVENTS, _event("dead", self._rank))

    def leave(self, orderly: bool = True) -> None:
        """Say that this rank leaves, and stop listening."""
        done = {name: g.done for name, g in self._world.groups.items()}
        self._closed = True
        with contextlib.suppress(DistError):
            if orderly:
                self._asking.publish(_EVENTS, _event("left", self._rank, done=done))
                self._alive.last_will(_EVENTS, "")
                self._asking.add("gone", 1)
        for own in (self._store, self._asking, self._alive):
            if own.connected:
                own.close()

    def await_others(self, seconds: float) -> None:
        """Wait until all ranks that are alive have left: for the rank that serves the store."""
        end = time.monotonic() + seconds
        with contextlib.suppress(DistError):
            while self._world.store is not None and time.monotonic() < end:
                if int(self._world.store.add("gone", 0)) + len(self._dead) >= self._size:
                    return
                time.sleep(0.005)


def _event(kind: str, rank: int, **more: Any) -> str:
    return json.dumps({"kind": kind, "rank": rank, **more})


def last_will(store: Store, rank: int) -> None:
    """Let *store* tell the others when the connection of this rank breaks: from now on."""
    store.last_will(_EVENTS, _event("dead", rank))


def _names(ranks: list[int]) -> str:
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(str(r) for r in ranks)
