"""Asking about devices of any type: are there some, how many, which is current, wait for them."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from tensorbus import discovery
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.leaving import block
from tensorbus._base.page import show_pages as _show_pages
from tensorbus._device.defaults import accelerator_type
from tensorbus._device.device import device as Device
from tensorbus._dispatch import memory_stats as _memory
from tensorbus._dispatch import streams as _streams
from tensorbus._dispatch.kinds import current_index, set_current_index
from tensorbus.plugin.backend import Backend, Capabilities

__path__: list[str] = []  # paths of PyTorch lie below it: pytorch_paths.py

if TYPE_CHECKING:
    from collections import OrderedDict


def current_accelerator(check_available: bool = False) -> Device | None:
    """The accelerator of this program, without an index; None where there is only the CPU.

    That is the type of the default device, or else of a device that can be used here and computes
    beside the host's processor: ``cuda`` before others.

    >>> import tensorbus
    >>> device = tensorbus.accelerator.current_accelerator() or tensorbus.device("cpu")
    """
    type = accelerator_type()
    return None if type is None or (check_available and not device_count(type)) else Device(type)


def _type(type: str | None) -> str:
    found = type or accelerator_type()
    if found is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return found


def is_available(type: str | None = None) -> bool:
    """Whether a device of this type can be used here, None: an accelerator; never raises.

    >>> import tensorbus
    >>> tensorbus.accelerator.is_available("cpu")
    True
    """
    return device_count(type) > 0


def device_count(type: str | None = None) -> int:
    """How many devices of this type can be used here; 0 where plugin or library is missing.

    Without *type* the accelerator's devices are counted: 0 where there is none.
    """
    type = type or accelerator_type()
    try:
        return 0 if type is None else discovery.backend(type).device_count()
    except RuntimeError:
        return 0


def current_device_index() -> int:
    """The index of the accelerator that is current; ``RuntimeError`` where there is none."""
    return current_index(_type(None))


def set_device_index(device: Any) -> None:
    """Make an accelerator current, by its index or as a device; RuntimeError for one not here."""
    set_device(_index(device))


current_device_idx, set_device_idx = current_device_index, set_device_index


def current_device(type: str) -> int:
    """The index that a device of this type without one means."""
    return current_index(Device(type).type)


def set_device(device: Any) -> None:
    """Make a device the current one of its type; RuntimeError where there is no such device."""
    d = Device(device)
    count = discovery.backend(d.type).device_count()
    index = d.index or 0
    if index >= count:
        raise RuntimeError(
            f"invalid device {d}: this machine has {count} device(s) of type {d.type}"
        )
    set_current_index(d.type, index)


def synchronize(device: Any = None) -> None:
    """Wait for a device's work, None: the current accelerator's; raises what went wrong there."""
    backend, index = _found(_index(device))
    backend.synchronize(index)


def empty_cache(type: str | None = None) -> None:
    """Give cached memory back to the devices of a type, None: the accelerator's."""
    discovery.backend(_type(type)).empty_cache()


def empty_host_cache() -> None:
    """Give cached pinned memory back to the host: there is none, for no backend allocates any.

    >>> import tensorbus
    >>> tensorbus.accelerator.empty_host_cache()
    """


def current_stream(device: Any = None) -> _streams.Stream:
    """The stream that this thread's work for a device goes into, None: the current accelerator.

    RuntimeError where there is no accelerator.
    """
    stream: _streams.Stream = _streams.current_stream(_index(device))
    return stream


def set_stream(stream: _streams.Stream) -> None:
    """Make a stream this thread's current one of its device, and that device the current one."""
    _streams.set_stream(stream)


class Graph:
    """A recorded piece of a device's work. NotImplementedError: no backend records any.

    RuntimeError where there is no accelerator.
    """

    def __init__(self, keep_graph: bool = False, *, pool: Any = None) -> None:
        raise NotImplementedError(
            f"torch.accelerator.Graph: the backend of {_type(None)!r} offers no graphs of a "
            "stream's work: run the function itself"
        )


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """Figures of a device's memory by PyTorch's names, None: the current accelerator's.

    Those that the backend knows: ``allocated_bytes.all.current``, ``.peak``, ``.allocated`` and
    ``.freed``, ``reserved_bytes.all.current`` and ``.peak``.
    """
    backend, index = _found(_index(device))
    return _memory.figures(backend, index)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors took of a device; 0 where the backend does not say.

    Since the program began, or since ``reset_peak_memory_stats``.
    """
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Any = None) -> int:
    """Bytes that this process holds of a device, with what is kept for later tensors.

    0 where the backend does not say.
    """
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that this process held of a device; 0 where the backend does not say.

    Since the program began, or since ``reset_peak_memory_stats``.
    """
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks of ``memory_stats`` begin again, at what is in use now."""
    _memory.reset_peaks(*_found(_index(device)))


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Let ``memory_stats`` count anew what was allocated and freed."""
    _memory.reset_accumulated(*_found(_index(device)))


def get_memory_info(device: Any = None) -> tuple[int, int]:
    """The bytes that are free on a device, and all that it has, None: the current accelerator.

    RuntimeError where the backend does not say.
    """
    return _memory.free_and_total(*_found(_index(device)))


def memory_allocated(device: Any = None) -> int:
    """Bytes in use on a device by this process, None: the current accelerator.

    0 where the backend does not say.
    """
    backend, index = _found(_index(device))
    return backend.memory_allocated(index) or 0


def get_device_name(device: Any) -> str:
    """What the device is called."""
    return capabilities(device).name


def capabilities(device: Any) -> Capabilities:
    """What the device is and can do, as its plugin tells; RuntimeError where there is none.

    >>> import tensorbus
    >>> tensorbus.accelerator.capabilities("cpu").name == tensorbus.accelerator.get_device_name(
    ...     "cpu"
    ... )
    True
    """
    backend, index = _found(device)
    return backend.capabilities(index)


def get_device_capability(device: Any = None) -> dict[str, Any]:
    """What a device can do, None: the current accelerator: ``{"supported_dtypes": {...}}``.

    >>> import tensorbus
    >>> capability = tensorbus.accelerator.get_device_capability("cpu")
    >>> tensorbus.float32 in capability["supported_dtypes"]
    True
    """
    return {"supported_dtypes": set(capabilities(_index(device)).dtypes)}


@block
def device_index(device: int | None) -> Generator[None]:
    """A context in which the accelerator of this index is current; None changes nothing."""
    type = None if device is None else _type(None)
    before = 0 if type is None else current_index(type)
    try:
        if device is not None:
            set_device_index(device)
        yield
    finally:
        if type is not None:
            try:
                set_current_index(type, before)
            except BaseException:
                set_current_index(type, before)
                raise


def _index(device: Any) -> Any:
    """The device that is meant, where None means the current accelerator."""
    return _type(None) if device is None else device


def _found(device: Any) -> tuple[Backend, int]:
    d = Device(device)
    index = current_index(d.type) if d.index is None else d.index
    return discovery.backend(d.type), index


_show_pages(__name__, [*globals().items()])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
