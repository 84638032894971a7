"""A group of ranks: its comms, the order of its operations, and what became of it."""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable
from typing import Any, ClassVar

from tensorbus import discovery
from tensorbus._dispatch.kinds import Kind
from tensorbus.distributed import choice, debug
from tensorbus.distributed.errors import DistBackendError, DistNetworkError
from tensorbus.distributed.store import PrefixStore, Store
from tensorbus.distributed.work import Lane, Work
from tensorbus.distributed.world import World, current
from tensorbus.plugin.comm import HOST, Comm, CommContext, CommError

_LANES = 256
"""Lanes of messages beyond which those that are idle are forgotten."""


class ProcessGroup:
    """Ranks that communicate with each other. Made by ``init_process_group`` and ``new_group``."""

    def __init__(
        self,
        world: World,
        name: str,
        ranks: tuple[int, ...],
        rank: int,
        backends: dict[str, str],
        timeout: float,
        store: Store | None,
        secret: bytes = b"",
        options: dict[str, str] | None = None,
        parent: ProcessGroup | None = None,
        description: str = "",
    ):
        self._world, self._name, self._rank, self.ranks = world, name, rank, ranks
        self._backends, self.timeout, self._store = backends, timeout, store
        self._secret, self._options, self._parent = secret, options or {}, parent
        self.group_desc = description or ("default_pg" if parent is None else "undefined")
        self._comms: dict[str, Comm] = {}
        self.routes: dict[Kind, tuple[Comm, bool]] = {}
        self._lock = threading.RLock()
        self._lane = Lane(f"tensorbus-{name}")
        self._lanes: dict[tuple[str, int | None, int], Lane] = {}
        self._given = 0
        self.done = 0
        """The number of the last collective that ended."""
        self.running: tuple[int, str] | None = None
        self.failure: DistBackendError | None = None
        self.failed = threading.Event()
        self._left: dict[int, int] = {}
        self._dead: dict[int, str] = {}
        self.splits = 0
        """How often it was split, the same on all its ranks."""
        self._destroyed = False

    # -- what it is --------------------------------------------------------------------------
    def rank(self) -> int:
        """This process's rank within the group."""
        return self._rank

    def size(self) -> int:
        """How many ranks the group has."""
        return len(self.ranks)

    def name(self) -> str:
        """The name of the comm for host memory."""
        return self.backend_name()

    @property
    def group_name(self) -> str:
        """The group's own name, the same on all its ranks."""
        return self._name

    @property
    def me(self) -> int:
        """This process's global rank."""
        return self.ranks[self._rank]

    def __repr__(self) -> str:
        return f"<ProcessGroup {self._name!r} rank {self._rank} of {len(self.ranks)}>"

    # -- comms -------------------------------------------------------------------------------
    def backend_name(self, device_type: str = "cpu") -> str:
        """The name of the comm for a device type."""
        table = self._backends
        found = table.get(device_type) or table.get(choice.ANY) or table.get(HOST)
        if found is None and not any(d == "cpu" for d in table) and table:
            raise ValueError(
                f"no comm was named for device {device_type!r}, only "
                f"{', '.join(f'{d}:{n}' for d, n in table.items())}: name one in "
                f"init_process_group(backend=...)"
            )
        if found is None and device_type != "cpu" and not table.get("cpu"):
            found = choice.for_device(device_type)
        return found or table.get("cpu") or choice.for_host()

    def comm_for(self, device_type: str) -> Comm:
        """The comm that moves tensors of a device type."""
        return self.comm(self.backend_name(device_type))

    def comm(self, name: str) -> Comm:
        """The group's comm of that name or alias, connected on first use."""
        if name not in self._comms:
            name = discovery.comm_spec(name).name
        with self._lock:
            found = self._comms.get(name)
            if found is None:
                self.check()
                found = self._comms[name] = self._open(name)
                for rank in list(self._left):
                    found.peer_left(self.ranks.index(rank))
                for rank, text in list(self._dead.items()):
                    self._tell_death(found, rank, text)
            return found

    def prepare(self, timeout: float) -> None:
        """Open the comms that were named: all ranks of the group do, within *timeout* seconds."""
        for name in choice.needed(self._backends) or [self.backend_name()]:
            try:
                self.comm(name).prepare(timeout)
            except CommError as e:
                self._explain(e)
                raise self.told(e) from e

    def _open(self, name: str) -> Comm:
        make = discovery.comm(name)
        store = self._store
        if store is None and discovery.comm_spec(name).needs_store:
            raise RuntimeError(
                f"the comm {name!r} needs a store: give init_process_group an init_method or store="
            )
        parent = self._parent._comms.get(name) if self._parent is not None else None
        context = CommContext(
            name=f"{self._name}/{name}",
            rank=self._rank,
            ranks=self.ranks,
            timeout=self.timeout,
            store=None if store is None else PrefixStore(f"group/{self._name}/{name}", store),
            secret=self._secret,
            parent=parent,
            options=self._options,
        )
        try:
            return make(context)
        except CommError as e:
            raise self.told(e) from e

    # -- running operations ------------------------------------------------------------------
    def check(self) -> None:
        """Raise why the group can't be used."""
        if self.failure is not None:
            raise DistBackendError(
                f"[rank {self.me}] {self.failure} (the group can't be used any more: call "
                f"destroy_process_group() and start the job again)",
                self.failure.ranks,
            )
        if self._destroyed:
            raise ValueError(
                f"process group {self._name!r} was destroyed: make it again, or call "
                f"init_process_group"
            )

    def collective(
        self, call: str, body: Callable[[float], Any], shown: debug.Shown, async_op: bool
    ) -> Work | None:
        """Run a collective in its turn; *body* gets the time-out in seconds."""
        self.check()
        with self._lock:
            self._given += 1
            number = self._given

        def run() -> Any:
            self.check()
            self._check_left(number, call)
            self.running = (number, call)
            try:
                if debug.level():
                    debug.compare(self, number, call, shown)
                return body(self.timeout)
            except (CommError, DistNetworkError) as e:
                raise self._diagnose(e, number, call) from e
            except (KeyboardInterrupt, SystemExit):
                # Half of a stream may have been sent: nothing after it would be understood.
                self.fail(f"rank {self.me} was interrupted in {call} number {number}", (self.me,))
                raise
            finally:
                self.running, self.done = None, number

        title = f"[rank {self.me}] {call} number {number} of group {self._name!r}"
        if async_op:
            return self._lane.submit(Work(run, title))
        self._lane.run(run, title)
        return None

    def own_tag(self) -> int:
        """A tag for the messages of the next collective: users' tags are not negative."""
        return -1 - self._given

    def own_error(self, text: str, ranks: tuple[int, ...]) -> DistBackendError:
        """An error that does not end the group."""
        return DistBackendError(text, ranks)

    def object_key(self) -> bytes:
        """What signs the objects that this group's ranks send to each other."""
        if not self._secret:
            raise RuntimeError(
                "this group has no secret that its ranks could sign objects with: join it by "
                "init_process_group"
            )
        return hmac.digest(self._secret, f"objects of {self._name}".encode(), "sha256")

    def share(self, key: str, value: bytes) -> list[bytes]:
        """Each rank's value, through the store: for comms that cannot move host memory."""
        if self._store is None:
            raise RuntimeError("this group has no store")
        store = PrefixStore(f"shared/{self._name}/{key}", self._store)
        store.set(str(self._rank), value)
        return [store.get(str(rank)) for rank in range(self.size())]

    def message(
        self, call: str, peer: int | None, tag: int, body: Callable[[float], Any], async_op: bool
    ) -> Any:
        """Run a send or receive: those with one peer and tag keep their order."""
        self.check()
        with self._lock:
            if len(self._lanes) > _LANES:
                # A program may use a tag once and never again.
                self._lanes = {k: lane for k, lane in self._lanes.items() if not lane.idle()}
            lane = self._lanes.setdefault((call, peer, tag), Lane())

        def run() -> Any:
            self.check()
            try:
                return body(self.timeout)
            except (CommError, DistNetworkError) as e:
                self._explain(e)
                raise DistBackendError(f"[rank {self.me}] {call} failed: {e}", e.ranks) from e

        title = f"[rank {self.me}] {call}"
        if async_op:
            return lane.submit(Work(run, title))
        return lane.run(run, title)

    # -- failure -----------------------------------------------------------------------------
    def _explain(self, error: CommError | DistNetworkError) -> None:
        """Raise why the group is over, where that is behind the error of a comm or the store."""
        if self._world.monitor is not None:
            self._world.monitor.explain(self, error)
        self.check()

    def _diagnose(
        self, error: CommError | DistNetworkError, number: int, call: str
    ) -> DistBackendError:
        monitor = self._world.monitor
        if self.failure is None and monitor is not None:
            monitor.diagnose(self, error, number, call)
        if self.failure is None:
            self.fail(str(error), error.ranks)
        found = self.failure or DistBackendError(str(error), error.ranks)
        return DistBackendError(
            f"[rank {self.me}] {call} number {number} of group {self._name!r} failed: {found}",
            found.ranks,
        )

    def fail(self, text: str, ranks: tuple[int, ...]) -> None:
        """End the group: everything that runs in it, and comes later, raises this."""
        with self._lock:
            if self.failure is not None or self._destroyed:
                return
            self.failure = DistBackendError(text, ranks)
            comms = list(self._comms.values())
        self.failed.set()
        for comm in comms:
            comm.abort(CommError(text, ranks))

    def told(self, error: CommError) -> DistBackendError:
        """The error of a comm as users get it."""
        return DistBackendError(f"[rank {self.me}] {error}", error.ranks)

    def has_died(self, rank: int, text: str) -> None:
        """The member of that global rank ended without a word.

        It may have done all it had to do, and then what it sent is there for those who have not
        yet: a call that needs more of it fails by itself.
        """
        if rank in self._dead:
            return
        self._dead[rank] = text
        for comm in list(self._comms.values()):
            self._tell_death(comm, rank, text)

    def _tell_death(self, comm: Comm, rank: int, text: str) -> None:
        if not comm.peer_died(self.ranks.index(rank)):
            self.fail(text, (rank,))

    def has_left(self, rank: int, done: int) -> None:
        """The member of that global rank left after its collective number *done*."""
        if rank in self._left:
            return
        self._left[rank] = done
        for comm in list(self._comms.values()):
            comm.peer_left(self.ranks.index(rank))
        running = self.running
        if running is not None and running[0] > done:
            self.fail(self._left_text(rank, done), (rank,))

    def _check_left(self, number: int, call: str) -> None:
        for rank, done in self._left.items():
            if number > done:
                self.fail(self._left_text(rank, done), (rank,))
                self.check()

    def _left_text(self, rank: int, done: int) -> str:
        return (
            f"rank {rank} has left the job after its collective number {done}: it called "
            f"destroy_process_group() or ended, while other ranks go on"
        )

    def close(self) -> None:
        """Leave the group."""
        with self._lock:
            self._destroyed = True
            comms = list(self._comms.values())
        for comm in comms:
            comm.close()


class _Meta(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all ranks, None before ``init_process_group``."""
        return current().default


class group(metaclass=_Meta):
    """``group.WORLD`` is the group of all ranks."""


class GroupMember(metaclass=_Meta):
    """``GroupMember.WORLD`` is the group of all ranks.

    ``NON_GROUP_MEMBER`` is what ``new_group`` gives to a rank outside.
    """

    NON_GROUP_MEMBER: ClassVar[int] = -100
