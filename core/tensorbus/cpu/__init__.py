"""``tensorbus.cpu``: the questions that PyTorch programs ask about the host as a device."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.public_place import show_in as _show_in

__all__ = [
    "Stream",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


class Stream:
    """A queue of the host, which has one alone: what is called is done when the call returns.

    >>> import tensorbus
    >>> tensorbus.cpu.Stream() is tensorbus.cpu.current_stream()
    False
    """

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Return: nothing is left to wait for."""


_STREAM = Stream()


def current_device() -> str:
    """The name of the host as a device.

    >>> import tensorbus
    >>> tensorbus.cpu.current_device()
    'cpu'
    """
    return "cpu"


def current_stream(device: Any = None) -> Stream:
    """The host's queue.

    >>> import tensorbus
    >>> tensorbus.cpu.current_stream().priority
    -1
    """
    return _STREAM


def stream(stream: Any) -> AbstractContextManager[None]:
    """A block that changes nothing: the host has one queue.

    >>> import tensorbus
    >>> with tensorbus.cpu.stream(tensorbus.cpu.Stream()):
    ...     tensorbus.ones(1)
    tensor([1.])
    """
    return nullcontext()


def device_count() -> int:
    """How many hosts there are.

    >>> import tensorbus
    >>> tensorbus.cpu.device_count()
    1
    """
    return 1


def is_available() -> bool:
    """Whether the host can compute.

    >>> import tensorbus
    >>> tensorbus.cpu.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Whether the host is ready.

    >>> import tensorbus
    >>> tensorbus.cpu.is_initialized()
    True
    """
    return True


def set_device(device: Any) -> None:
    """Nothing happens: there is one host.

    >>> import tensorbus
    >>> tensorbus.cpu.set_device("cpu")
    """


def synchronize(device: Any = None) -> None:
    """Return: what was called on the host is done.

    >>> import tensorbus
    >>> tensorbus.cpu.synchronize()
    """


_show_in(__name__, [(n, globals()[n]) for n in __all__])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
