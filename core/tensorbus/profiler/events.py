"""Events of a finished profile, and their averages."""

from __future__ import annotations

from typing import Any

from tensorbus._base.warning import warn_user
from tensorbus.profiler.activities import DeviceType
from tensorbus.profiler.units import time_text


class Interval:
    """A span of time in microseconds."""

    def __init__(self, start: float, end: float):
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """How long it lasts, in microseconds."""
        return self.end - self.start


def _older(name: str, please: str) -> None:
    now = name.replace("cuda", "device")
    end = "." if please == "Use" else ","
    warn_user(f"`{name}` is deprecated{end} {please} `{now}` instead.", FutureWarning)


class Times:
    """What events and averages have in common: how their times are read and shown.

    Nothing measures the time that devices take, so their times are 0.
    """

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total = 0.0
    self_device_time_total = 0.0
    device_memory_usage = 0
    self_device_memory_usage = 0
    use_device: str | None = None

    @property
    def cpu_time(self) -> float:
        """The mean time of a call, in microseconds."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """The mean time of a call on a device: 0, for it is not measured."""
        return 0.0

    @property
    def cuda_time(self) -> float:
        """The older name of ``device_time``, which warns so."""
        _older("cuda_time", "please use")
        return self.device_time

    @property
    def cpu_time_str(self) -> str:
        """``cpu_time`` with its unit."""
        return time_text(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """``cpu_time_total`` with its unit."""
        return time_text(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """``self_cpu_time_total`` with its unit."""
        return time_text(self.self_cpu_time_total)

    @property
    def device_time_str(self) -> str:
        """``device_time`` with its unit."""
        return time_text(self.device_time)

    @property
    def device_time_total_str(self) -> str:
        """``device_time_total`` with its unit."""
        return time_text(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        """``self_device_time_total`` with its unit."""
        return time_text(self.self_device_time_total)

    usage: dict[str, tuple[int, int]]

    @property
    def launches(self) -> int:
        """How many kernels were launched, on all devices."""
        return sum(launches for launches, _ in self.usage.values())

    @property
    def written(self) -> int:
        """How many bytes these kernels wrote."""
        return sum(written for _, written in self.usage.values())


def add_usage(total: dict[str, tuple[int, int]], more: dict[str, tuple[int, int]]) -> None:
    """Add the launches and bytes on each device."""
    for device, (launches, written) in more.items():
        before = total.get(device, (0, 0))
        total[device] = before[0] + launches, before[1] + written


class FunctionEvent(Times):
    """One call: of an op, of a node in a backward pass, or of a block with a label.

    ``usage`` says for each device how many kernels it launched there itself, and how many bytes
    they wrote; the events inside have their own.

    >>> from tensorbus.autograd.profiler import FunctionEvent
    >>> event = FunctionEvent(1, "block", thread=1, start_us=0.0, end_us=1500.0)
    >>> event.cpu_time_str
    '1.500ms'
    """

    count = 1

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str | None = None,
        fwd_thread: int | None = None,
        input_shapes: list[Any] | None = None,
        stack: list[str] | None = None,
        scope: int = 0,
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        device_type: DeviceType = DeviceType.CPU,
        device_index: int = 0,
        device_resource_id: int | None = None,
        is_legacy: bool = False,
        flops: int | None = None,
        trace_name: str | None = None,
        is_user_annotation: bool = False,
    ):
        self.id = id
        self.name = name
        self.trace_name = trace_name or name
        self.overload_name = overload_name or ""
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.input_shapes = input_shapes or []
        self.stack = stack or []
        self.scope = scope
        self.use_device = use_device
        self.cpu_memory_usage = cpu_memory_usage
        self.device_memory_usage = device_memory_usage
        self.is_async = is_async
        self.is_remote = is_remote
        self.sequence_nr = sequence_nr
        self.node_id = node_id
        self.device_type = device_type
        self.device_index = device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.is_legacy = is_legacy
        self.flops = flops
        self.is_user_annotation = is_user_annotation
        self.kernels: list[Any] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.usage: dict[str, tuple[int, int]] = {}
        self.args: str | None = None

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add an event that ran inside this one."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Say which event it ran inside."""
        self.cpu_parent = parent

    @property
    def key(self) -> str:
        """The name under which averages gather it."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """How long it took, in microseconds."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The same without the events inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def cuda_time_total(self) -> float:
        """The older name of ``device_time_total``, which warns so."""
        _older("cuda_time_total", "Use")
        return self.device_time_total

    @property
    def self_cuda_time_total(self) -> float:
        """The older name of ``self_device_time_total``, which warns so."""
        _older("self_cuda_time_total", "Use")
        return self.self_device_time_total

    @property
    def self_cpu_memory_usage(self) -> int:
        """The bytes that it allocated itself."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} device_type={self.device_type} "
            f"cpu_time={self.cpu_time_str} start_us={self.time_range.start:.3f} "
            f"end_us={self.time_range.end:.3f} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"usage={self.usage} seq_nr={self.sequence_nr}>"
        )


_SUMS = (
    "count", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage",
)  # fmt: skip


class FunctionEventAvg(Times):
    """Events of one name, added up: their count and the sums of their times and bytes."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.node_id = -1
        self.is_async = self.is_remote = self.is_legacy = self.is_user_annotation = False
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.usage: dict[str, tuple[int, int]] = {}
        self.flops = 0
        self.input_shapes: list[Any] | str | None = None
        self.overload_name = ""
        self.stack: list[str] | None = None
        self.scope: int | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type = DeviceType.CPU

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add an event, or what others were added up to; itself."""
        if self.key is None:
            for name in ("key", "node_id", "input_shapes", "overload_name", "stack", "scope"):
                setattr(self, name, getattr(other, name))
            self.cpu_parent = other.cpu_parent
            self.device_type = other.device_type
            self.use_device = other.use_device
            self.is_user_annotation = other.is_user_annotation
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        add_usage(self.usage, other.usage)
        return self

    def __iadd__(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} usage={self.usage}>"
        )
