"""``torch.autograd.profiler``: the older spelling of ``torch.profiler``, and small helpers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from typing import Any, ClassVar, NoReturn

from tensorbus._base.leaving import Leaving
from tensorbus._base.public_place import show_in
from tensorbus._base.warning import warn_user
from tensorbus.profiler.event_list import EventList
from tensorbus.profiler.events import FunctionEvent, FunctionEventAvg
from tensorbus.profiler.labels import record_function
from tensorbus.profiler.recording import Options
from tensorbus.profiler.session import Session

__all__ = [
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "parse_nvprof_trace",
    "profile",
    "record_function",
]


class profile(Leaving):
    """Record what this thread does inside the block; ``tensorbus.profiler.profile`` has more.

    With ``enabled=False`` nothing is recorded. The keywords are those of the newer class; times
    of devices are not measured, so *use_cuda* and *use_device* have no effect, and a warning says
    so.

    >>> import tensorbus as torch
    >>> x = torch.ones(2)
    >>> with torch.autograd.profiler.profile() as p:
    ...     _ = x + x
    >>> p.function_events[0].name
    'aten::add'
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: Any = None,
    ):
        self.enabled = enabled
        self.entered = False
        if enabled and (use_cuda or use_device not in (None, "cpu")):
            warn_user(
                f"{use_device or 'cuda'} can't be profiled: what devices take is not measured, "
                "and what is launched on them is timed on the host"
            )
        options = Options(record_shapes, profile_memory, with_stack, with_flops, with_modules)
        self._session = Session(options, acc_events)

    def within(self, outer: Callable[[], None]) -> Generator[profile | None, None, None]:
        if not self.enabled:
            yield None
            return
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        try:
            self.entered = True
            self._session.begin()
            yield self
        finally:
            self.close = outer
            try:
                if self._session.running:
                    self._session.end()
            finally:
                self._session.abandon()

    def __repr__(self) -> str:
        if self._session.events is None:
            return "<unfinished torch.autograd.profile>"
        return repr(self._session.events)

    def __str__(self) -> str:
        return repr(self) if self._session.events is None else str(self._session.events)

    @property
    def function_events(self) -> EventList:
        """The events; AssertionError before the block has ended."""
        return self._session.finished()

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table, a row each; see ``EventList.table``."""
        return self.function_events.table(
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
        )

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events of each name added up; see ``EventList.key_averages``."""
        return self.function_events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self) -> FunctionEventAvg:
        """All events added up."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of the events' own times, in microseconds."""
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as JSON for Perfetto and Chrome; compressed for a *path* in ``.gz``."""
        self._session.write_trace(path, {})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks with their own times, a line each, for flame graphs."""
        if not self._session.options.stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)


class _Emitting(Leaving):
    """A block for which another profiler would have to listen."""

    listener: str

    def __init__(self, enabled: bool = True, record_shapes: bool = False):
        self.enabled = enabled
        self.record_shapes = record_shapes

    def within(self, outer: Callable[[], None]) -> Generator[Any, None, None]:
        if self.enabled:
            raise RuntimeError(
                f"{type(self).__name__}: no ranges for {self.listener} are emitted here; use "
                "tensorbus.profiler.profile, or enabled=False"
            )
        yield None


class emit_nvtx(_Emitting):
    """NVTX ranges, which are not emitted here: RuntimeError when it is entered and *enabled*.

    >>> from tensorbus.autograd.profiler import emit_nvtx
    >>> with emit_nvtx(enabled=False):
    ...     pass
    """

    listener = "NVTX"


class emit_itt(_Emitting):
    """ITT ranges, which are not emitted here: RuntimeError when it is entered and *enabled*.

    >>> from tensorbus.autograd.profiler import emit_itt
    >>> with emit_itt(enabled=False):
    ...     pass
    """

    listener = "ITT"


def load_nvprof(path: str) -> NoReturn:
    """Refuse: databases of nvprof are not read here.

    >>> from tensorbus.autograd.profiler import load_nvprof
    >>> load_nvprof("old.db")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    RuntimeError: load_nvprof('old.db'): databases of nvprof are not read here; ...
    """
    raise RuntimeError(
        f"load_nvprof({path!r}): databases of nvprof are not read here; tensorbus.profiler writes "
        "and shows its own profiles"
    )


def parse_nvprof_trace(path: str) -> NoReturn:
    """Refuse, as ``load_nvprof`` does."""
    load_nvprof(path)


class EnforceUnique:
    """Raises where a key comes twice.

    >>> from tensorbus.autograd.profiler import EnforceUnique
    >>> unique = EnforceUnique()
    >>> unique.see("a")
    >>> unique.see("a")
    Traceback (most recent call last):
        ...
    RuntimeError: duplicate key: ('a',)
    """

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def see(self, *key: Hashable) -> None:
        """Note a key; RuntimeError where it was noted before."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """The number of the step that a program is in, when several count their steps.

    >>> from tensorbus.autograd.profiler import KinetoStepTracker
    >>> KinetoStepTracker.init_step_count("loader")
    >>> KinetoStepTracker.increment_step("loader") - KinetoStepTracker.current_step()
    0
    >>> KinetoStepTracker.erase_step_count("loader")
    True
    """

    _current_step = 0
    _steps: ClassVar[dict[str, int]] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Let *requester* count from the present step."""
        cls._steps[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget what *requester* counted; whether there was anything."""
        return cls._steps.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of *requester*; the present step, which is the highest of all counts."""
        if requester not in cls._steps:
            cls.init_step_count(requester)
        cls._steps[requester] += 1
        cls._current_step = max(cls._current_step, *cls._steps.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The present step."""
        return cls._current_step


class MemRecordsAcc:
    """Records of memory, to be found by the interval in which they happened.

    Each has a method ``start_ns``.

    >>> from tensorbus.autograd.profiler import MemRecordsAcc
    >>> list(MemRecordsAcc([]).in_interval(0, 10))
    []
    """

    def __init__(self, mem_records: Sequence[tuple[Any, bool]]):
        self._records = sorted(mem_records, key=lambda r: r[0].start_ns())

    def in_interval(self, start_us: float, end_us: float) -> Generator[Any, None, None]:
        """The records from *start_us* to *end_us*."""
        for record in self._records:
            if start_us * 1000 <= record[0].start_ns() <= end_us * 1000:
                yield record


show_in(__name__, [(n, globals()[n]) for n in __all__ if n != "record_function"])
