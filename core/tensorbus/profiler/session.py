"""A profile's recording, however it is spelled: begun and ended, perhaps more than once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from tensorbus.profiler.event_list import EventList, events_of
from tensorbus.profiler.modules import watch_modules
from tensorbus.profiler.recording import Options, Recorder, pause, resume, start, stop
from tensorbus.profiler.traces import write_trace
from tensorbus.utils.hooks import RemovableHandle


class Session:
    """What one profile has recorded so far: the last cycle, or all of them with *keep*."""

    def __init__(self, options: Options, keep: bool):
        self.options = options
        self.events: EventList | None = None
        self._keep = keep
        self._recorder: Recorder | None = None
        self._hooks: list[RemovableHandle] = []
        self._base = 0
        self._epoch = 0

    def begin(self) -> None:
        """Record this thread from now on; what a warm-up recorded is dropped."""
        if self._recorder is not None:
            self._end()
        self._recorder = Recorder(self.options)
        try:
            start(self._recorder)
        except RuntimeError:
            self._recorder = None
            raise
        if self.options.modules:
            watch_modules(self._hooks)
        if self._base == 0 or not self._keep:
            self._base, self._epoch = self._recorder.begun, time.time_ns()

    def end(self) -> None:
        """Record no longer, and make events of what was recorded."""
        recorder = self._end()
        before = list(self.events or ()) if self._keep else []
        self.events = EventList(
            before + events_of(recorder, len(before) + 1, self._base),
            profile_memory=self.options.memory,
            with_flops=self.options.flops,
        )

    def _end(self) -> Recorder:
        recorder = self._recorder
        if recorder is None:
            raise RuntimeError("Can't disable the profiler when it's not running")
        self.abandon()
        return recorder

    def abandon(self) -> None:
        """Record no longer, whatever was begun or ended before."""
        if self._recorder is not None:
            for hook in self._hooks:
                hook.remove()
            stop(self._recorder)
            self._hooks, self._recorder = [], None

    def let(self, recorded: bool) -> None:
        """Whether what happens from now on is recorded, while it is running."""
        if self._recorder is not None:
            (resume if recorded else pause)(self._recorder)

    @property
    def running(self) -> bool:
        """Whether it records now."""
        return self._recorder is not None

    def finished(self) -> EventList:
        """The events; AssertionError before there are any."""
        if self.events is None or self.running:
            raise AssertionError("Profiler didn't finish running")
        return self.events

    def write_trace(self, path: Any, notes: Mapping[str, Any]) -> None:
        """Write the events for Chrome and Perfetto."""
        options = self.options
        flags = {
            "record_shapes": int(options.shapes),
            "profile_memory": int(options.memory),
            "with_stack": int(options.stack),
            "with_flops": int(options.flops),
            "with_modules": int(options.modules),
        }
        write_trace(path, self.finished(), {**flags, **notes}, self._epoch)
