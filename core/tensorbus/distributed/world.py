"""What one rank knows of its job: usually a process is a rank, in tests a thread can be."""

from __future__ import annotations

import contextvars
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorbus.distributed.monitor import Monitor
    from tensorbus.distributed.process_group import ProcessGroup
    from tensorbus.distributed.store import Store


class World:
    """One rank's groups."""

    def __init__(self) -> None:
        self.default: ProcessGroup | None = None
        self.groups: dict[str, ProcessGroup] = {}
        self.made = 0
        """How many groups were made, the same on all ranks: the next one's name."""
        self.store: Store | None = None
        self.monitor: Monitor | None = None
        self.owns_store = False

    def default_group(self) -> ProcessGroup:
        """The group of all ranks; ValueError before ``init_process_group``."""
        if self.default is None:
            raise ValueError(
                "Default process group has not been initialized, "
                "please make sure to call init_process_group."
            )
        return self.default


_process = World()
_thread: contextvars.ContextVar[World | None] = contextvars.ContextVar("world", default=None)


def _forget() -> None:
    """A forked child is no rank: its parent is."""
    global _process
    _process = World()
    _thread.set(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def current() -> World:
    """The world of this thread, where it has one of its own, else the process's."""
    return _thread.get() or _process


def enter(world: World) -> contextvars.Token[World | None]:
    """Make *world* this thread's own."""
    return _thread.set(world)


def leave(token: contextvars.Token[World | None]) -> None:
    """Undo ``enter``."""
    _thread.reset(token)
