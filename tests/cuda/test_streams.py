"""Streams of the device ``cuda``: what goes into which, in what order; events; memory figures."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace

import cupy
import pytest
from cuda_host.counting import watching_streams

import tensorbus as torch
from tensorbus import cuda


@pytest.fixture(autouse=True)
def default_again() -> Iterator[None]:
    yield
    for index in range(cuda.device_count()):
        assert cuda.current_stream(index) == cuda.default_stream(index), "a block did not end"
    assert cuda.current_device() == 0


def launched(seen: list[tuple[str, int, int]]) -> set[int]:
    return {stream for what, stream, _ in seen if what == "launch"}


def test_kernels_and_copies_go_into_the_current_stream():
    x = torch.ones(5, device="cuda")
    s, t = cuda.Stream(), cuda.Stream(priority=-1)
    assert (s.priority, t.priority, s == t) == (0, -1, False)
    with watching_streams() as seen:
        y = x + 1
        with cuda.stream(s):
            y = y * 2
            with t:
                assert cuda.current_stream() == t
                y = y.cumsum(0) @ x
            y.tolist()
        y = y - 1
    ran = [stream for what, stream, _ in seen if what == "launch"]
    assert {0, s.cuda_stream, t.cuda_stream} == set(ran)
    assert ran[0] == ran[-1] == 0
    assert ("copy", s.cuda_stream, 0) in seen


def test_an_exception_leaves_the_stream_before():
    with pytest.raises(ZeroDivisionError), cuda.stream(cuda.Stream()):
        raise ZeroDivisionError
    s = cuda.Stream()
    with s, s:  # the same one twice
        assert cuda.current_stream() == s


def test_each_thread_has_a_current_stream():
    s, seen = cuda.Stream(), []
    with s:
        other = threading.Thread(target=lambda: seen.append(cuda.current_stream()))
        other.start()
        other.join()
    assert seen == [cuda.default_stream()]


def test_events_make_the_order():
    s, t = cuda.Stream(), cuda.Stream()
    with watching_streams() as seen:
        t.wait_stream(s)
        e = s.record_event()
        assert isinstance(e, cuda.Event) and isinstance(e, torch.Event) and e.query()
        e.wait(t)
    (_, _, first), (_, _, second) = [entry for entry in seen if entry[0] == "record"]
    assert seen == [
        ("record", s.cuda_stream, first), ("wait", t.cuda_stream, first),
        ("record", s.cuda_stream, second), ("wait", t.cuda_stream, second),
    ]  # fmt: skip


def test_times_between_events():
    begin, end = (cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    torch.ones(1000, device="cuda").exp()
    end.record()
    end.synchronize()
    assert begin.elapsed_time(end) > 0
    with pytest.raises(ValueError, match="enable_timing=True"):
        cuda.Event().elapsed_time(end)
    with pytest.raises(ValueError, match="must be recorded"):
        cuda.Event(enable_timing=True).elapsed_time(end)


def test_a_stream_of_another_device():
    s = cuda.Stream(device=1)
    assert s.device == torch.device("cuda:1")
    with watching_streams() as seen, cuda.stream(s):
        assert cuda.current_device() == 1
        x = torch.ones(3, device="cuda") + 1
        assert x.device == s.device
    assert launched(seen) == {s.cuda_stream}
    event = cuda.Event()
    event.record(s)
    with pytest.raises(RuntimeError, match="does not match recording stream's device 0"):
        event.record(cuda.default_stream(0))


def test_streams_of_cupy_and_of_others():
    native = cupy.cuda.Stream(non_blocking=True)
    s = cuda.ExternalStream(native.ptr)
    assert s == cuda.get_stream_from_external(native.ptr) == torch.Stream(
        stream_id=native.ptr, device_index=0, device_type="cuda"
    )  # fmt: skip
    with watching_streams() as seen, s:
        torch.ones(3, device="cuda") + 1
    assert launched(seen) == {native.ptr}
    with native:
        assert cuda.current_stream() == s
    assert s.__cuda_stream__() == (0, native.ptr) and s._as_parameter_.value == native.ptr


def test_a_backward_pass_waits_for_the_streams_of_the_forward_pass():
    s = cuda.Stream()
    with s:
        x = torch.ones(3, device="cuda", requires_grad=True)
        y = (x * x).sum()
    seed = torch.ones((), device="cuda")
    with watching_streams() as seen:
        y.backward(seed)
    first = next(i for i, entry in enumerate(seen) if entry[0] == "launch")
    waits = [(i, stream) for i, (what, stream, _) in enumerate(seen) if what == "wait"]
    assert any(i < first and stream == 0 for i, stream in waits), "it does not wait"
    assert any(i > first and stream == s.cuda_stream for i, stream in waits), "memory is used early"
    assert x.grad.tolist() == [2, 2, 2]


def test_an_index_fault_belongs_to_its_stream():
    x, i = torch.arange(3, device="cuda"), torch.tensor([0, 7], device="cuda")
    s = cuda.Stream()
    with s:
        x[i]
    assert (x + 1).tolist() == [1, 2, 3]
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        s.synchronize()
    with s:
        x[i]
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        cuda.synchronize()
    cuda.synchronize()


def test_memory_lives_as_long_as_the_work_of_a_recorded_stream(backend):
    s, before = cuda.Stream(), cuda.memory_allocated()
    x = torch.ones(1000, device="cuda")
    x.record_stream(s)
    del x
    assert cuda.memory_allocated() > before
    s.synchronize()
    assert cuda.memory_allocated() == before


def test_memory_figures():
    cuda.synchronize()
    cuda.reset_peak_memory_stats()
    cuda.reset_accumulated_memory_stats()
    before = cuda.memory_allocated()
    x, y = (torch.empty(1 << 18, device="cuda") for _ in range(2))
    del y
    size = 1 << 20
    assert cuda.memory_allocated() == before + size
    assert cuda.max_memory_allocated() == before + 2 * size
    stats = cuda.memory_stats()
    assert stats["allocated_bytes.all.allocated"] == 2 * size
    assert stats["allocated_bytes.all.freed"] == size
    assert cuda.max_memory_reserved() >= cuda.memory_reserved() >= cuda.memory_allocated()
    nested = cuda.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"]["peak"] == cuda.max_memory_allocated()
    del x
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == before
    free, total = cuda.mem_get_info()
    assert 0 < free <= total
    assert "Allocated memory" in cuda.memory_summary()
    with pytest.warns(FutureWarning, match="renamed to `torch.cuda.memory_reserved`"):
        assert cuda.memory_cached() == cuda.memory_reserved()


def test_what_cuda_says_is_an_accelerator_error(monkeypatch):
    def fail() -> None:
        raise cupy.cuda.runtime.CUDARuntimeError(2)

    s = cuda.Stream()
    monkeypatch.setattr(s._own, "native", SimpleNamespace(synchronize=fail))
    with pytest.raises(torch.AcceleratorError, match="device cuda:0 failed: cudaErrorMemory"):
        s.synchronize()


def test_peers():
    assert cuda.can_device_access_peer(0, 1)
    with pytest.raises(AssertionError, match="Invalid peer device id"):
        cuda.can_device_access_peer(0, 2)


def test_sync_debug_mode():
    x = torch.ones(2, device="cuda")
    assert cuda.get_sync_debug_mode() == 0
    try:
        cuda.set_sync_debug_mode("warn")
        with pytest.warns(UserWarning, match="called a synchronizing CUDA operation"):
            assert x.tolist() == [1, 1]
        cuda.set_sync_debug_mode(2)
        y = x + 1
        cuda.synchronize()
        with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation"):
            y.tolist()
        with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
            cuda.set_sync_debug_mode("loud")
    finally:
        cuda.set_sync_debug_mode(0)
    assert y.tolist() == [2, 2]


def test_the_device_module_and_generators():
    assert torch.get_device_module("cuda:1") is cuda
    assert cuda.default_generators == (torch.default_generator,) * 2
    assert torch.accelerator.current_stream() == cuda.current_stream()
    torch.accelerator.set_stream(cuda.Stream())
    torch.accelerator.set_stream(cuda.default_stream())
