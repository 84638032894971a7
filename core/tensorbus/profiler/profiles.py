"""``profile``: what a program does while it runs, as events, averages, tables and traces."""

from __future__ import annotations

import json
import os
import socket
import time
import uuid
from collections.abc import Callable, Generator, Iterable
from typing import Any

from tensorbus._base.leaving import Leaving
from tensorbus._base.warning import warn_user
from tensorbus.profiler.activities import ProfilerActivity, supported_activities
from tensorbus.profiler.event_list import STEP, EventList
from tensorbus.profiler.labels import record_function
from tensorbus.profiler.recording import Options
from tensorbus.profiler.schedules import ProfilerAction
from tensorbus.profiler.session import Session

_NONE, _WARMUP = ProfilerAction.NONE, ProfilerAction.WARMUP
_RECORD, _SAVE = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE


class profile(Leaving):
    """Record what this thread does inside the block: ops, nodes of backward passes, labels.

    The *activities* are what is watched; the host alone can be, and what it launches on devices
    is timed there. A *schedule* says what is done in which step, where the program calls ``step``
    after each; *on_trace_ready* is then called with the profile at the end of each cycle.
    Recorded besides times: with *record_shapes* the shapes of operands, with *profile_memory* the
    bytes of memory that results hold, with *with_stack* the lines of the program, with
    *with_flops* the floating point operations of matrix products, sums and products, with
    *with_modules* the calls of modules. With *acc_events* the events of all cycles are kept, else
    those of the last. AssertionError for no or other *activities*; RuntimeError where this thread
    is profiled already. *experimental_config* and *post_processing_timeout_s* have no effect.

    >>> import tensorbus as torch
    >>> from tensorbus.profiler import profile
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> with profile(record_shapes=True) as p:
    ...     _ = x * x
    >>> [(event.name, event.input_shapes) for event in p.events()]
    [('aten::mul', [[2, 2], [2, 2]])]

    Source: https://pytorch.org/docs/stable/profiler.html
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ):
        given = supported_activities() if activities is None else set(activities)
        if not given or not all(isinstance(a, ProfilerActivity) for a in given):
            raise AssertionError("No valid profiler activities found")
        if execution_trace_observer is not None:
            raise NotImplementedError(
                "execution_trace_observer: no traces of execution are made here; leave it out"
            )
        if use_cuda is not None:
            warn_user("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning)
        for activity in sorted(given - supported_activities(), key=lambda a: a.value):
            warn_user(
                f"{activity.name} can't be profiled: what devices take is not measured, and what "
                "is launched on them is timed on the host, under ProfilerActivity.CPU"
            )
        self.activities = given
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.schedule = schedule or _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.custom_trace_id_callback = custom_trace_id_callback
        self._step: record_function | None = None
        self._session: Session | None = None
        self._cycles = 0
        self._notes: dict[str, Any] = {}

    # -- the block ---------------------------------------------------------------------------
    def within(self, outer: Callable[[], None]) -> Generator[profile, None, None]:
        begun = False
        try:
            self.start()
            begun = True
            yield self
        finally:
            self.close = outer
            try:
                if begun:
                    self.stop()
            finally:
                if self._session is not None:
                    self._session.abandon()

    def start(self) -> None:
        """Begin, with what the schedule says of the first step."""
        self._go(_NONE, self.current_action)
        self._label()

    def stop(self) -> None:
        """End; where something was recorded it is ready now."""
        self._unlabel()
        self._go(self.current_action, None)

    def step(self) -> None:
        """Say that the next step of the program begins."""
        self._unlabel()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._go(before, self.current_action)
        self._label()

    def _label(self) -> None:
        if self.record_steps:
            self._step = record_function(f"{STEP}{self.step_num}")
            self._step.__enter__()

    def _unlabel(self) -> None:
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)

    def _go(self, before: ProfilerAction, now: ProfilerAction | None) -> None:
        recording = (_RECORD, _SAVE)
        if before is _SAVE or (before is _RECORD and now not in recording):
            if before is _RECORD and now is not None:
                warn_user(f"Incorrect schedule: RECORD followed by {now.name}")
            self.stop_trace()
            if self.on_trace_ready is not None and (before is _SAVE or now is None):
                self.on_trace_ready(self)
            before = _NONE
        if before is _WARMUP and now in (_NONE, None):
            if now is _NONE:
                warn_user("Incorrect schedule: WARMUP followed by NONE")
            self.start_trace()
            self.stop_trace()
        if now is _WARMUP and before is not _WARMUP:
            self.prepare_trace()
        if now in recording and before not in recording:
            self.start_trace()

    # -- recording ---------------------------------------------------------------------------
    def prepare_trace(self) -> None:
        """Begin a warm-up: what it records is dropped when the trace starts."""
        if self._session is None:
            options = Options(
                self.record_shapes,
                self.profile_memory,
                self.with_stack,
                self.with_flops,
                self.with_modules,
            )
            self._session = Session(options, self.acc_events)
        elif self._cycles and not self.acc_events:
            if self._cycles == 1:
                warn_user(
                    "Warning: Profiler clears events at the end of each cycle. Only events from "
                    "the current cycle will be reported. To keep events across cycles, set "
                    "acc_events=True."
                )
            self._session.events = None
        self._session.begin()

    def start_trace(self) -> None:
        """Record from now on."""
        if self._session is not None and self._session.running:
            self._session.begin()
        else:
            self.prepare_trace()

    def stop_trace(self) -> None:
        """Record no longer."""
        self._known("stopping trace").end()
        self._cycles += 1

    def _known(self, doing: str) -> Session:
        if self._session is None:
            raise AssertionError(f"Profiler must be initialized before {doing}")
        return self._session

    def toggle_collection_dynamic(
        self, enable: bool, activities: Iterable[ProfilerActivity]
    ) -> None:
        """Leave out what this thread does from now on, or record it again, inside the block.

        It has an effect where the host is among the *activities*, and while something is recorded.
        """
        if self._session is not None and ProfilerActivity.CPU in activities:
            self._session.let(enable)

    # -- what was recorded -------------------------------------------------------------------
    def events(self) -> EventList:
        """The events, in the order in which they began; AssertionError before there are any."""
        return self._known("accessing events").finished()

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events of each name added up; see ``EventList.key_averages``."""
        return (
            self._known("getting key averages")
            .finished()
            .key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)
        )

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Write the events as JSON for Perfetto and Chrome; compressed for a *path* in ``.gz``.

        *use_python_export* has no effect: traces are always written in Python.
        """
        session = self._known("exporting chrome trace")
        session.write_trace(path, {"trace_id": self.get_trace_id(), **self._notes})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks with their own times, a line each, for flame graphs."""
        session = self._known("exporting stacks")
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        session.finished().export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Refused, NotImplementedError: it needs to know when memory is freed, which nothing tells.

        Deprecated, and warns so. ``key_averages`` says what results hold, under *profile_memory*.
        """
        warn_user(
            "`export_memory_timeline` is deprecated and will be removed in a future version. "
            "Please use `torch.cuda.memory._record_memory_history` and "
            "`torch.cuda.memory._export_memory_snapshot` instead.",
            FutureWarning,
        )
        raise NotImplementedError(
            "export_memory_timeline: when memory is freed is not recorded, so there is no line to "
            "draw; profile(profile_memory=True) records what results hold, and key_averages() "
            "adds it up"
        )

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the trace, under a name."""
        self._notes[key] = str(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put a value into the trace, which is given as JSON; ValueError where it is none."""
        self._notes[key] = json.loads(value)

    preset_metadata_json = add_metadata_json

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Let *callback* give the name of the trace."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str:
        """The name of the trace."""
        if "trace_id" not in self.__dict__:
            make = self.custom_trace_id_callback
            self.trace_id = uuid.uuid4().hex.upper() if make is None else make()
        return self.trace_id


def _always(_: int) -> ProfilerAction:
    return _RECORD


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], None]:
    """What writes a trace into a folder that TensorBoard reads, for ``on_trace_ready``.

    The file's name begins with *worker_name*, of the machine and the process where it is None.
    *use_python_export* has no effect, as in ``profile.export_chrome_trace``.
    RuntimeError where the folder can't be made.

    >>> import os, tempfile
    >>> from tensorbus.profiler import profile, tensorboard_trace_handler
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with profile(on_trace_ready=tensorboard_trace_handler(folder, "me")):
    ...         pass
    ...     [name.split(".", 2)[0] for name in os.listdir(folder)]
    ['me']
    """

    def write(p: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"Can't create directory: {dir_name}") from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        end = ".gz" if use_gzip else ""
        name = f"{worker}.{time.time_ns()}.pt.trace.json{end}"
        p.export_chrome_trace(os.path.join(dir_name, name))

    return write
