"""Streams and events: on devices without them, over a backend that tells what it was asked, and on
``opencl``, which runs several queues at once."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.interrupts.injector import Injector

import tensorbus as torch
from tensorbus import discovery
from tensorbus._base.modes import STREAMS
from tensorbus._dispatch import kinds, streams
from tensorbus.plugin import Event, Stream

CPU = type(discovery.backend("cpu"))


class LoggedStream(Stream):
    def __init__(self, index: int, number: int, log: list[Any]):
        self.index, self.number, self.log = index, number, log

    def handle(self) -> int:
        return self.number

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        self.log.append(("synchronize", self.number))

    def wait_event(self, event: Event) -> None:
        self.log.append(("wait", self.number, event.stream))


class LoggedEvent(Event):
    stream = None

    def __init__(self, index: int):
        self.index = index

    def record(self, stream: Any) -> None:
        self.stream = stream.number

    def query(self) -> bool:
        return True

    def synchronize(self) -> None: ...

    def elapsed_time(self, end: Event) -> float:
        return 1.5


class Logged(CPU):
    """Two devices on the host, with streams that say what is asked of them."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Any] = []
        self.made = 1
        self.defaults = [LoggedStream(i, 0, self.log) for i in range(2)]
        self.current = threading.local()

    def device_count(self) -> int:
        return 2

    def default_stream(self, index: int) -> Stream:
        return self.defaults[index]

    def current_stream(self, index: int) -> Stream:
        return self.current.__dict__.get(str(index), self.defaults[index])

    def set_stream(self, stream: Stream) -> None:
        self.current.__dict__[str(stream.index)] = stream

    def new_stream(self, index: int, priority: int = 0) -> Stream:
        self.made += 1
        return LoggedStream(index, self.made, self.log)

    def new_event(self, index: int, timing: bool = False, interprocess: bool = False) -> Any:
        return None if interprocess else LoggedEvent(index)

    def memory_stats(self, index: int) -> dict[str, int]:
        return {"allocated": 5, "allocated_peak": 9, "allocated_total": 20}


@pytest.fixture
def logged() -> Iterator[Any]:
    with discovery.plugged(Logged()) as name:
        yield SimpleNamespace(name=name, backend=discovery.backend(name))
    STREAMS.order = None


# -- devices without streams -------------------------------------------------------------------
def test_the_cpu_has_one_queue_and_no_events():
    stream, event = torch.Stream("cpu", priority=-1), torch.Event("cpu", enable_timing=True)
    assert repr(stream) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0"
    assert repr(event) == "torch.Event device_type=cpu, device_index=-1, event_flag=1, event_id=0"
    assert stream == torch.Stream(device="cpu") and hash(stream) == hash(torch.Stream("cpu"))
    assert (stream.device, stream.device_index) == (torch.device("cpu"), -1)
    assert stream.query() and event.query() and not stream.is_capturing()
    stream.synchronize()
    event.synchronize()
    stream.wait_event(event)
    event.wait()
    with stream as entered:
        assert entered is stream
    calls: list[Callable[[], Any]] = [
        event.record, stream.record_event, lambda: stream.wait_stream(torch.Stream("cpu")),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(RuntimeError, match="^cpu backend doesn't support events.$"):
            call()
    with pytest.raises(RuntimeError, match="doesn't support getting stream native handle"):
        stream.native_handle  # noqa: B018
    with pytest.raises(ValueError, match="with argument 'enable_timing=True'"):
        event.elapsed_time(torch.Event("cpu"))
    with pytest.raises(ValueError, match="must be recorded before calculating elapsed time"):
        event.elapsed_time(event)


def test_what_a_stream_and_an_event_are_refused():
    for make in (torch.Stream, torch.Event):
        with pytest.raises(RuntimeError, match="device type at start of device string: foo"):
            make("foo")
    with pytest.raises(RuntimeError, match="takes no streams of other libraries"):
        torch.Stream(stream_id=7, device_index=0, device_type="cpu")
    x = torch.ones(1)
    with pytest.raises(NotImplementedError, match="device type 'cpu' has one queue alone"):
        x.record_stream(torch.Stream("cpu"))
    with pytest.raises(RuntimeError, match="the tensor is on cpu"):
        x.record_stream(torch.Stream("meta"))
    with pytest.raises(TypeError, match=r"argument 'stream' must be torch.Stream, not int"):
        x.record_stream(3)


@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without CUDA")
def test_cuda_without_a_device():
    cuda = torch.cuda
    assert cuda.memory_allocated() == cuda.max_memory_allocated() == cuda.memory_reserved() == 0
    assert cuda.max_memory_reserved() == 0 and cuda.memory_stats() == {}
    assert cuda.memory_stats_as_nested_dict() == {} and cuda.default_generators == ()
    assert (cuda.get_arch_list(), cuda.get_gencode_flags()) == ([], "")
    assert (cuda.has_half, cuda.has_magma) == (True, False)
    assert cuda._initialized is False
    assert not cuda.is_current_stream_capturing()
    cuda.set_stream(None)
    with cuda.stream(None) as nothing, cuda.StreamContext(None):
        assert nothing is None
    calls: list[Callable[[], Any]] = [
        cuda.Stream, cuda.Event, cuda.current_stream, cuda.default_stream, cuda.mem_get_info,
        cuda.get_sync_debug_mode, lambda: cuda.set_sync_debug_mode(1), cuda.reset_peak_memory_stats,
        lambda: cuda.ExternalStream(0), lambda: cuda.can_device_access_peer(0, 1),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(RuntimeError, match="cuda"):
            call()
    with pytest.warns(FutureWarning, match="has been renamed to `torch.cuda.memory_reserved`"):
        assert cuda.memory_cached() == 0


def test_the_modules_of_devices():
    assert torch.get_device_module("cpu") is torch.get_device_module(torch.device("cpu"))
    assert torch.get_device_module("cpu") is torch.cpu
    assert torch.get_device_module("cuda:0") is torch.cuda
    with pytest.raises(RuntimeError, match="Invalid value of device '3', expect torch.device"):
        torch.get_device_module(3)


# -- what a backend is asked -------------------------------------------------------------------
def test_blocks_choose_a_stream_and_its_device(logged):
    backend, name = logged.backend, logged.name
    s, t = torch.Stream(f"{name}:1"), torch.Stream(name)
    assert s != t and repr(s).endswith("device_index=1, stream_id=2")
    with s, streams.StreamContext(t):
        assert backend.current_stream(0) is t._own and backend.current_stream(1) is s._own
        assert kinds.current_index(name) == 0
        with s, s:
            assert kinds.current_index(name) == 1
            assert torch.accelerator.current_stream(name) == s
    assert backend.current_stream(0) is backend.defaults[0]
    assert backend.current_stream(1) is backend.defaults[1] and kinds.current_index(name) == 0
    with pytest.raises(RuntimeError, match="this machine has 2 device"):
        torch.Stream(f"{name}:5")


def test_events_of_other_devices_are_refused(logged):
    event = torch.Event(logged.name, enable_timing=True)
    event.record()
    assert event.elapsed_time(event) == 1.5 and event.event_id
    with pytest.raises(RuntimeError, match="Event device 0 does not match recording stream's"):
        event.record(torch.Stream(f"{logged.name}:1"))
    with pytest.raises(RuntimeError, match="does not match recording stream's device type cpu"):
        event.record(torch.Stream("cpu"))
    with pytest.raises(RuntimeError, match="does not match blocking stream's device type cpu"):
        event.wait(torch.Stream("cpu"))
    with pytest.raises(RuntimeError, match="no events for several processes"):
        torch.Event(logged.name, interprocess=True).record()
    with pytest.raises(RuntimeError, match="was not made with interprocess=True"):
        event.ipc_handle()


def test_a_backward_pass_is_between_waits_of_all_streams(logged):
    s = torch.Stream(logged.name)
    x = torch.ones(2, device=logged.name, requires_grad=True)
    with s:
        y = (x * x).sum()
    logged.backend.log.clear()
    x.register_hook(lambda g: logged.backend.log.append("gradient"))
    y.backward()
    number = s.stream_id
    log = logged.backend.log
    assert (log[0], log[-1]) == (("wait", 0, number), ("wait", number, 0)) and "gradient" in log
    del s, y
    gc.collect()
    logged.backend.log.clear()
    (x * x).sum().backward()
    assert logged.backend.log == ["gradient"], "a stream that is gone is waited for"


def test_figures_of_memory(logged):
    accelerator, name = torch.accelerator, logged.name
    assert accelerator.memory_stats(name) == {
        "allocated_bytes.all.allocated": 20, "allocated_bytes.all.current": 5,
        "allocated_bytes.all.freed": 15, "allocated_bytes.all.peak": 9,
    }  # fmt: skip
    assert accelerator.max_memory_allocated(name) == 9
    assert accelerator.memory_reserved(name) == accelerator.max_memory_reserved(name) == 0
    accelerator.reset_accumulated_memory_stats(name)
    accelerator.reset_peak_memory_stats(name)
    stats = accelerator.memory_stats(name)
    assert stats["allocated_bytes.all.allocated"] == stats["allocated_bytes.all.freed"] == 0
    with pytest.raises(RuntimeError, match="does not tell how much of its memory is free"):
        accelerator.get_memory_info(name)


def test_an_interrupt_leaves_the_stream_and_the_device_before(logged):
    s = torch.Stream(f"{logged.name}:1")

    def run() -> None:
        with s, s, streams.StreamContext(torch.Stream(logged.name)):
            torch.accelerator.current_stream(logged.name)

    def seen() -> Any:
        current = [logged.backend.current_stream(i).handle() for i in range(2)]
        return current, kinds.current_index(logged.name), streams._entered.leave.__name__

    run()
    before, counter = seen(), Injector()
    assert not counter.run(run)
    assert counter.count > 50
    for at in range(counter.count):
        injector = Injector(at)
        assert injector.run(run), injector.place
        assert seen() == before, injector.place


# -- a device that runs several queues at once ---------------------------------------------------
on_opencl = pytest.mark.parametrize("device", ["opencl"], indirect=True)


def slow(x: Any) -> Any:
    """*x* + 8, after a while: the next kernel of another queue would be sooner."""
    for _ in range(8):
        x = x + 1
    return x


@on_opencl
def test_streams_of_opencl_wait_where_they_are_told_to(device):
    x = torch.zeros(1_000_000, device=device)
    a, b = torch.Stream(device), torch.Stream(device)
    a.wait_stream(torch.accelerator.current_stream(device))
    begin, end = (torch.Event(device, enable_timing=True) for _ in range(2))
    with a:
        begin.record()
        y = slow(x)
        end.record()
    end.wait(b)
    with b:
        assert (slow(y) == 16).all()
    assert end.query() and begin.elapsed_time(end) > 0
    assert torch.Stream(stream_id=a.stream_id, device_index=0, device_type=device) == a


@on_opencl
def test_gradients_of_a_pass_in_another_stream_than_the_forward_pass(device):
    s = torch.Stream(device)
    with s:
        x = torch.ones(1_000_000, device=device, requires_grad=True)
        y = slow(x) * x
    # The seed is computed here, the rest reads what s computes.
    y.backward(torch.ones(1_000_000, device=device))
    assert (x.grad == 10).all()


@on_opencl
def test_the_streams_of_a_device_come_round(device):
    made = [torch.Stream(device) for _ in range(33)]
    assert len(set(made)) == 32


@on_opencl
def test_what_the_driver_says_is_an_accelerator_error(device, monkeypatch):
    import pyopencl as cl

    class Failing:
        def finish(self) -> None:
            raise cl.RuntimeError("clFinish failed: OUT_OF_RESOURCES")

    s = torch.Stream(device)
    monkeypatch.setattr(s._own, "queue", Failing())
    for wait in (s.synchronize, lambda: torch.accelerator.synchronize(device)):
        with pytest.raises(torch.AcceleratorError, match="device opencl:0 failed: clFinish failed"):
            wait()


@on_opencl
def test_a_queue_of_the_program_s_own(device):
    import pyopencl as cl

    default = torch.accelerator.current_stream(device)
    theirs = cl.CommandQueue.from_int_ptr(default.native_handle, retain=True)
    queue = cl.CommandQueue(theirs.context)
    s = torch.Stream(stream_id=queue.int_ptr, device_index=0, device_type=device)
    with s:
        assert slow(torch.zeros(1000, device=device)).sum().item() == 8000
        assert s.record_event() is not None
    s.synchronize()
    foreign = cl.CommandQueue(cl.Context([theirs.device]))
    with pytest.raises(RuntimeError, match="must run in order, and belong to the context"):
        torch.Stream(stream_id=foreign.int_ptr, device_index=0, device_type=device)
