"""The device type that checkpoints keep random numbers for: a setting without effect."""

from __future__ import annotations


class DefaultDeviceType:
    """The device type whose random state PyTorch keeps where no argument says one: no effect here.

    All devices share one stream, so it is kept whatever this says.

    >>> from tensorbus.utils.checkpoint import DefaultDeviceType
    >>> DefaultDeviceType.get_device_type()
    'cuda'
    """

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Keep a name that ``get_device_type`` gives."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """What was set last; ``cuda`` at first, as in PyTorch."""
        return DefaultDeviceType._default_device_type
