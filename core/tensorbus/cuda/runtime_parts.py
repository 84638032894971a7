"""Parts of CUDA's runtime that programs name and no backend offers: they say so when used.

What has a true answer without the runtime gives it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

from tensorbus import accelerator
from tensorbus._base.public_place import show_in
from tensorbus.cuda.memory import mem_get_info

_TYPE = "cuda"


def _refuse(name: str, what: str, instead: str = "") -> NoReturn:
    told = f": {instead}" if instead else ""
    raise NotImplementedError(f"torch.cuda.{name}: no backend offers {what}{told}")


# -- graphs -----------------------------------------------------------------------------------
_GRAPHS = "graphs of a stream's work"
_EAGER = "run the function itself, whose kernels are launched one by one"


class CUDAGraph:
    """A recorded piece of a stream's work. NotImplementedError: no backend records any."""

    def __init__(self, keep_graph: bool = False) -> None:
        _refuse("CUDAGraph", _GRAPHS, _EAGER)


class graph:
    """A context that records a ``CUDAGraph``. NotImplementedError: no backend records any."""

    def __init__(self, cuda_graph: Any, *args: Any, **kwargs: Any) -> None:
        _refuse("graph", _GRAPHS, _EAGER)

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...


def graph_pool_handle() -> Any:
    """What graphs would share memory by. NotImplementedError: no backend records any."""
    _refuse("graph_pool_handle", _GRAPHS, _EAGER)


def make_graphed_callables(callables: Any, sample_args: Any, *args: Any, **kwargs: Any) -> Any:
    """Functions as graphs. NotImplementedError: no backend records any; use the functions."""
    _refuse("make_graphed_callables", _GRAPHS, _EAGER)


# -- memory -----------------------------------------------------------------------------------
_OWN = "an allocator that programs reach into"
_FIGURES = "memory_stats() and mem_get_info() tell what is in use"


class MemPool:
    """A pool of memory of a program's own. NotImplementedError: no backend offers any."""

    def __init__(self, allocator: Any = None, *args: Any, **kwargs: Any) -> None:
        _refuse("MemPool", "pools of memory of a program's own")


def use_mem_pool(pool: Any, device: Any = None) -> Any:
    """A context that allocates from a pool. NotImplementedError: there are no ``MemPool``s."""
    _refuse("use_mem_pool", "pools of memory of a program's own")


class CUDAPluggableAllocator:
    """An allocator in a program's shared library. NotImplementedError: no backend takes one."""

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        _refuse("CUDAPluggableAllocator", "a place for allocators of programs")


def change_current_allocator(allocator: Any) -> None:
    """Allocate by another allocator. NotImplementedError: no backend takes one."""
    _refuse("change_current_allocator", "a place for allocators of programs")


def get_allocator_backend() -> str:
    """Which allocator is used: ``native``, the backend's own.

    >>> import tensorbus
    >>> tensorbus.cuda.get_allocator_backend()
    'native'
    """
    return "native"


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Bytes as a pointer. NotImplementedError: allocate a tensor, and take its ``data_ptr()``."""
    _refuse("caching_allocator_alloc", _OWN, "allocate a tensor, and take its data_ptr()")


def caching_allocator_delete(mem_ptr: int) -> None:
    """Free a pointer. NotImplementedError: memory is freed with the tensor that has it."""
    _refuse("caching_allocator_delete", _OWN, "memory is freed with the tensor that has it")


def caching_allocator_enable(value: bool = True) -> None:
    """Keep freed memory for later tensors, as is done; NotImplementedError for False.

    >>> import tensorbus as torch
    >>> torch.cuda.caching_allocator_enable(True)
    """
    if not value:
        _refuse("caching_allocator_enable(False)", "an allocator that keeps nothing")


def caching_allocator_disabled() -> Any:
    """A context without kept memory. NotImplementedError: ``empty_cache()`` gives it back."""
    _refuse(
        "caching_allocator_disabled", "an allocator that keeps nothing", "empty_cache() frees it"
    )


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> list[dict[str, Any]]:
    """The allocator's segments. NotImplementedError: ``memory_stats`` has what is known."""
    _refuse("memory_snapshot", _OWN, _FIGURES)


def get_per_process_memory_fraction(device: Any = None) -> float:
    """How much of a device's memory this process may take: 1.0, for there is no limit.

    >>> import tensorbus
    >>> tensorbus.cuda.get_per_process_memory_fraction()
    1.0
    """
    return 1.0


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Limit how much of a device's memory this process takes; NotImplementedError below 1.0.

    TypeError for what is no float, ValueError for one below 0 or above 1.

    >>> import tensorbus as torch
    >>> torch.cuda.set_per_process_memory_fraction(1.0)
    """
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    if fraction < 1:
        _refuse("set_per_process_memory_fraction", "a limit of memory", _FIGURES)


def host_memory_stats() -> OrderedDict[str, int]:
    """Figures of pinned memory: none, for no backend allocates any.

    >>> import tensorbus
    >>> dict(tensorbus.cuda.host_memory_stats())
    {}
    """
    return OrderedDict()


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """``host_memory_stats`` with a dict for each part of a name: empty."""
    return {}


def reset_peak_host_memory_stats() -> None:
    """Let the peaks of pinned memory begin again; there is none.

    >>> import tensorbus as torch
    >>> torch.cuda.reset_peak_host_memory_stats()
    """


def reset_accumulated_host_memory_stats() -> None:
    """Let what pinned memory was allocated be counted anew; there is none.

    >>> import tensorbus as torch
    >>> torch.cuda.reset_accumulated_host_memory_stats()
    """


def device_memory_used(device: Any = None) -> int:
    """Bytes of a device's memory in use, by all processes; RuntimeError without a device."""
    free, total = mem_get_info(device)
    return total - free


# -- the device -------------------------------------------------------------------------------
class GreenContext:
    """A part of a device's processors. NotImplementedError: no backend divides devices."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("GreenContext", "parts of a device")

    @staticmethod
    def create(*args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: no backend divides devices."""
        _refuse("GreenContext", "parts of a device")


def check_error(res: int) -> None:
    """RuntimeError for a code of CUDA's runtime that is not 0, for success.

    >>> import tensorbus
    >>> tensorbus.cuda.check_error(0)
    """
    if int(res) != 0:
        raise RuntimeError(f"CUDA error: the runtime returned the code {int(res)}")


def current_blas_handle() -> int:
    """A library's handle. NotImplementedError: it is the backend's own."""
    _refuse("current_blas_handle", "the handles of libraries that it uses")


def current_solver_handle() -> int:
    """A library's handle. NotImplementedError: it is the backend's own."""
    _refuse("current_solver_handle", "the handles of libraries that it uses")


def list_gpu_processes(device: Any = None) -> str:
    """The processes on a device: a text that says that no backend tells them.

    RuntimeError where there is no device.
    """
    name = accelerator.get_device_name(_TYPE if device is None else device)
    return f"GPU: {name}\nno backend tells which processes use it"


_SENSORS = "sensors of a device"
_ASK = "ask the driver's own program"


def utilization(device: Any = None) -> int:
    """How busy a device is. NotImplementedError: no backend tells."""
    _refuse("utilization", _SENSORS, _ASK)


def memory_usage(device: Any = None) -> int:
    """How busy a device's memory is. NotImplementedError: no backend tells."""
    _refuse("memory_usage", _SENSORS, _ASK)


def temperature(device: Any = None) -> int:
    """How hot a device is. NotImplementedError: no backend tells."""
    _refuse("temperature", _SENSORS, _ASK)


def power_draw(device: Any = None) -> int:
    """How much power a device takes. NotImplementedError: no backend tells."""
    _refuse("power_draw", _SENSORS, _ASK)


def clock_rate(device: Any = None) -> int:
    """How fast a device's clock is. NotImplementedError: no backend tells."""
    _refuse("clock_rate", _SENSORS, _ASK)


__all__ = [
    name
    for name, value in tuple(globals().items())
    if getattr(value, "__module__", "") == __name__ and not name.startswith("_")
]

show_in("tensorbus.cuda", [(_n, globals()[_n]) for _n in __all__])
