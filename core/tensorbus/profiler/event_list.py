"""The events of a profile as a list that adds them up and shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorbus.profiler.events import FunctionEvent, FunctionEventAvg, add_usage
from tensorbus.profiler.recording import Record, Recorder
from tensorbus.profiler.tables import table
from tensorbus.profiler.traces import write_stacks, write_trace
from tensorbus.profiler.units import memory_text

STEP = "ProfilerStep#"
"""How the labels of a profile's steps begin."""
_USER_SCOPE = 7
"""The scope of what a program labels, by PyTorch's numbers."""


class EventList(list[Any]):
    """A list of events, or of averages of events.

    >>> import tensorbus as torch
    >>> from tensorbus.profiler import profile
    >>> x = torch.ones(2)
    >>> with profile() as p:
    ...     _ = x + x, x * x, x + 1
    >>> [(average.key, average.count) for average in p.key_averages()]
    [('aten::add', 2), ('aten::mul', 1)]
    """

    def __init__(
        self,
        events: Iterable[Any] = (),
        *,
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
    ):
        super().__init__(events)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops

    def __str__(self) -> str:
        return self.table()

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
        """The events as a table, a row each.

        *sort_by* names an attribute, the largest value first: ``cpu_time_total``, ``count``...
        *row_limit* is the number of rows, -1 for all. The lines below the table say how many
        kernels were launched on each device other than the host; what is launched there runs on
        when the host's clock has stopped, so times are those of the launches.
        """
        return table(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            widths=(max_src_column_width, max_name_column_width, max_shapes_column_width),
            header=header,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
            top_level_only=top_level_events_only,
            time_unit=time_unit,
            footer=self._devices_text(),
        )

    def _devices_text(self) -> list[str]:
        return [
            f"{device}: {launches} launches, {memory_text(written)} written "
            "(the times are those of the launches on the host)"
            for device, (launches, written) in self.device_usage().items()
            if device != "cpu"
        ]

    def device_usage(self) -> dict[str, tuple[int, int]]:
        """How many kernels were launched on each device, and how many bytes they wrote."""
        found: dict[str, tuple[int, int]] = {}
        for event in self:
            add_usage(found, event.usage)
        return found

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events of each name added up.

        They are kept apart by the shapes of their operands, by their *group_by_stack_n* innermost
        lines of the program, and by their overload's name where that is wanted.
        """
        groups: dict[tuple[Any, ...], FunctionEventAvg] = {}
        for event in self:
            key: tuple[Any, ...] = (event.key, event.is_user_annotation)
            if group_by_input_shapes:
                key += (str(event.input_shapes),)
            if group_by_stack_n > 0:
                key += tuple(event.stack[:group_by_stack_n])
            if group_by_overload_name:
                key += (event.overload_name,)
            groups.setdefault(key, FunctionEventAvg()).add(event)
        for average in groups.values():
            average.stack = (average.stack or [])[: max(0, group_by_stack_n)]
            if not group_by_input_shapes:
                average.input_shapes = ""
        return self._of(groups.values())

    def total_average(self) -> FunctionEventAvg:
        """All events added up, under the name Total."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of the events' own times, in microseconds."""
        return float(sum(event.self_cpu_time_total for event in self))

    @property
    def supported_export_stacks_metrics(self) -> list[str]:
        """What ``export_stacks`` may count."""
        return ["self_cpu_time_total"]

    def export_chrome_trace(self, path: str) -> None:
        """Write the events into a file that Perfetto and Chrome show."""
        write_trace(path, self, {}, 0)

    def export_stacks(self, path: str, metric: str) -> None:
        """Write the stacks of the events with their own times, a line each, for flame graphs."""
        if metric not in self.supported_export_stacks_metrics:
            raise ValueError(
                f"metric should be one of: {self.supported_export_stacks_metrics}, got {metric!r}"
            )
        write_stacks(path, self, metric)

    def _of(self, events: Iterable[Any]) -> EventList:
        return EventList(
            events,
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )


def events_of(recorder: Recorder, first_id: int, base: int) -> list[FunctionEvent]:
    """The events of what was recorded, with times in microseconds after *base* nanoseconds."""
    made: dict[Record, FunctionEvent] = {}
    for id, record in enumerate(recorder.records, first_id):
        step = record.annotation and record.name.startswith(STEP)
        event = FunctionEvent(
            id,
            f"{STEP[:-1]}*" if step else record.name,
            1,
            (record.start - base) / 1000,
            (record.end - base) / 1000,
            fwd_thread=0,
            input_shapes=record.shapes,
            stack=record.stack,
            scope=_USER_SCOPE if record.annotation else 0,
            cpu_memory_usage=record.memory or 0,
            sequence_nr=record.sequence,
            flops=record.flops,
            trace_name=record.name,
            is_user_annotation=record.annotation,
        )
        event.args = record.args
        if record.launches:
            event.usage = {str(record.device): (record.launches, record.written)}
        made[record] = event
        if record.parent is not None:
            parent = made[record.parent]
            parent.append_cpu_child(event)
            event.set_cpu_parent(parent)
    for record in reversed(recorder.records):  # those inside come before
        if record.memory is None:
            event = made[record]
            event.cpu_memory_usage = sum(child.cpu_memory_usage for child in event.cpu_children)
    return list(made.values())
