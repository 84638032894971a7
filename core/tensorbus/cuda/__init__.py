"""``tensorbus.cuda``: the questions that PyTorch programs ask about devices of type ``cuda``."""

from __future__ import annotations

import dataclasses as _dataclasses
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any

from tensorbus import accelerator
from tensorbus import random as _random
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.dtypes import bfloat16 as _bfloat16
from tensorbus._base.errors import OutOfMemoryError as OutOfMemoryError
from tensorbus._base.leaving import block as _block
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.cuda.memory import empty_cache as empty_cache
from tensorbus.cuda.memory import max_memory_allocated as max_memory_allocated
from tensorbus.cuda.memory import max_memory_cached as max_memory_cached
from tensorbus.cuda.memory import max_memory_reserved as max_memory_reserved
from tensorbus.cuda.memory import mem_get_info as mem_get_info
from tensorbus.cuda.memory import memory_allocated as memory_allocated
from tensorbus.cuda.memory import memory_cached as memory_cached
from tensorbus.cuda.memory import memory_reserved as memory_reserved
from tensorbus.cuda.memory import memory_stats as memory_stats
from tensorbus.cuda.memory import memory_stats_as_nested_dict as memory_stats_as_nested_dict
from tensorbus.cuda.memory import memory_summary as memory_summary
from tensorbus.cuda.memory import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from tensorbus.cuda.memory import reset_max_memory_allocated as reset_max_memory_allocated
from tensorbus.cuda.memory import reset_max_memory_cached as reset_max_memory_cached
from tensorbus.cuda.memory import reset_peak_memory_stats as reset_peak_memory_stats
from tensorbus.cuda.streams import Event as Event
from tensorbus.cuda.streams import ExternalStream as ExternalStream
from tensorbus.cuda.streams import Stream as Stream
from tensorbus.cuda.streams import StreamContext as StreamContext
from tensorbus.cuda.streams import current_stream as current_stream
from tensorbus.cuda.streams import default_stream as default_stream
from tensorbus.cuda.streams import get_stream_from_external as get_stream_from_external
from tensorbus.cuda.streams import set_stream as set_stream
from tensorbus.cuda.streams import stream as stream
from tensorbus.cuda.sync_debug import get_sync_debug_mode as get_sync_debug_mode
from tensorbus.cuda.sync_debug import set_sync_debug_mode as set_sync_debug_mode
from tensorbus.ops.creation.typed_constructors import DeviceNamespace as _DeviceNamespace
from tensorbus.ops.tensor.device_handles import free_received as _free_received

_TYPE = "cuda"

has_half = True
"""Whether devices take float16: all do."""
has_magma = False
"""Whether the library MAGMA is used: it is not."""


def _device(device: Any) -> Any:
    if device is None:
        return _TYPE
    return f"{_TYPE}:{device}" if isinstance(device, int) else device


def is_available() -> bool:
    """Whether a CUDA device can be used here; never raises."""
    return accelerator.is_available(_TYPE)


def device_count() -> int:
    """How many CUDA devices can be used here."""
    return accelerator.device_count(_TYPE)


def current_device() -> int:
    """The index of the current CUDA device."""
    return accelerator.current_device(_TYPE)


def set_device(device: Any) -> None:
    """Make a CUDA device the current one."""
    accelerator.set_device(_device(device))


def synchronize(device: Any = None) -> None:
    """Wait for a CUDA device's work."""
    accelerator.synchronize(_device(device))


def get_device_name(device: Any = None) -> str:
    """What a CUDA device is called."""
    return accelerator.get_device_name(_device(device))


@_block
def device(device: Any) -> Generator[None]:
    """A context in which a CUDA device is the current one; None and negative ones change nothing.

    >>> import tensorbus
    >>> with tensorbus.cuda.device(None):
    ...     pass
    """
    chosen = device is not None and not (isinstance(device, int) and device < 0)
    before = current_device() if chosen else 0
    try:
        if chosen:
            set_device(device)
        yield
    finally:
        if chosen:
            try:
                set_device(before)
            except BaseException:
                set_device(before)
                raise


def device_of(obj: Any) -> Any:
    """``device`` of a tensor's device, where that is a CUDA device; else it changes nothing."""
    return device(obj.device if getattr(obj, "is_cuda", False) else None)


@_dataclasses.dataclass(frozen=True)
class _Properties:
    """What a device is; ``major`` and ``minor`` are its compute capability."""

    name: str
    major: int
    minor: int
    total_memory: int


def get_device_properties(device: Any = None) -> _Properties:
    """Name, compute capability and bytes of memory of a CUDA device."""
    found = accelerator.capabilities(_device(device))
    major, minor = get_device_capability(device)
    return _Properties(found.name, major, minor, found.memory_total or 0)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a CUDA device, major and minor."""
    details = accelerator.capabilities(_device(device)).details
    major, _, minor = details.get("compute capability", "0.0").partition(".")
    return int(major), int(minor)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current CUDA device takes bfloat16.

    >>> import tensorbus
    >>> tensorbus.cuda.is_bf16_supported() in (False, True)
    True
    """
    return is_available() and _bfloat16 in accelerator.capabilities(_TYPE).dtypes


def is_tf32_supported() -> bool:
    """Whether the current CUDA device has TF32, from compute capability 8.0 on.

    >>> import tensorbus
    >>> tensorbus.cuda.is_tf32_supported() in (False, True)
    True
    """
    return is_available() and get_device_capability() >= (8, 0)


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether kernels of one CUDA device can read the memory of another.

    AssertionError for a device that is not here; RuntimeError where there is no CUDA device.
    """
    pair = [accelerator._found(_device(d))[1] for d in (device, peer_device)]
    for index, which in zip(pair, ("device", "peer device"), strict=True):
        if index >= device_count():
            raise AssertionError(f"Invalid {which} id")
    peers = accelerator.capabilities(f"{_TYPE}:{pair[0]}").details.get("peers", "")
    return str(pair[1]) in peers.split(",")


def get_arch_list() -> list[str]:
    """The architectures that kernels were compiled for beforehand: none, they are when needed.

    >>> import tensorbus
    >>> tensorbus.cuda.get_arch_list()
    []
    """
    return []


def get_gencode_flags() -> str:
    """The compiler's options for ``get_arch_list``: none.

    >>> import tensorbus
    >>> tensorbus.cuda.get_gencode_flags()
    ''
    """
    return ""


def is_current_stream_capturing() -> bool:
    """Whether a graph records what is put into the current stream: none does so yet.

    >>> import tensorbus
    >>> tensorbus.cuda.is_current_stream_capturing()
    False
    """
    return False


def is_initialized() -> bool:
    """Whether CUDA's state is set up: it is as soon as there is a device, without a step.

    >>> import tensorbus
    >>> tensorbus.cuda.is_initialized() == tensorbus.cuda.is_available()
    True
    """
    return is_available()


def init() -> None:
    """Set CUDA's state up: RuntimeError where there is no device."""
    accelerator.capabilities(_TYPE)


def ipc_collect() -> None:
    """Give memory back that no other process uses any more; sending a tensor does so too."""
    init()
    _free_received()


# -- random numbers: one stream for all devices ----------------------------------------------
def manual_seed(seed: int) -> None:
    """Seed the stream, which all devices share."""
    _random.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the stream, which all devices share."""
    _random.manual_seed(seed)


def seed() -> None:
    """Seed the stream, which all devices share, from the system's entropy."""
    _random.seed()


def seed_all() -> None:
    """Seed the stream, which all devices share, from the system's entropy."""
    _random.seed()


def initial_seed() -> int:
    """The seed of the stream, which all devices share.

    >>> import tensorbus
    >>> tensorbus.cuda.initial_seed() == tensorbus.initial_seed()
    True
    """
    return _random.initial_seed()


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of the stream, which all devices share, as a uint8 tensor."""
    return _random.get_rng_state()


def get_rng_state_all() -> list[Any]:
    """The state of the stream, once for each CUDA device."""
    return [_random.get_rng_state() for _ in range(device_count())]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Go on from a state of the stream, which all devices share."""
    _random.set_rng_state(new_state)


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Go on from the states that ``get_rng_state_all`` gave, of which all are one."""
    for state in new_states:
        _random.set_rng_state(state)


_show_pages(__name__, [*globals().items()])

if TYPE_CHECKING:
    default_generators: tuple[_random.Generator, ...]
    _initialized: bool
else:
    _types = _DeviceNamespace(_TYPE)

    def _others(name: str) -> Any:
        from tensorbus.cuda import runtime_parts

        return getattr(runtime_parts if name in runtime_parts.__all__ else _types, name, None)

    _rest = _attributes(__name__, None, _others)

    def __getattr__(name: str) -> Any:
        if name == "default_generators":  # all devices share one
            return (_random.default_generator,) * device_count()
        if name == "_initialized":  # reversible nets ask it before they keep states of streams
            return is_initialized()
        return _rest(name)
