"""The names of ``amp`` for one type of device, which warn that they are the older ones."""

from __future__ import annotations

from tensorbus._base import dtypes
from tensorbus._base.warning import warn_user
from tensorbus.amp.autocast_mode import autocast as _autocast
from tensorbus.amp.grad_scaler import GradScaler as _GradScaler


def warn(device: str, name: str) -> None:
    """Say what replaces ``torch.DEVICE.amp.NAME``."""
    end = "'" if name.startswith("custom") else "', args..."
    start = f"device_type='{device}" if name.startswith("custom") else f"'{device}"
    warn_user(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use "
        f"`torch.amp.{name}({'args..., ' if name.startswith('custom') else ''}{start}{end})` "
        "instead.",
        FutureWarning,
    )


class autocast(_autocast):
    """``amp.autocast`` for the type of device in ``place``."""

    place: str

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype | None = None,
        cache_enabled: bool = True,
    ):
        warn(self.place, "autocast")
        if dtype is None:
            dtype = dtypes.bfloat16 if self.place == "cpu" else dtypes.float16
        super().__init__(self.place, dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """``amp.GradScaler`` for the type of device in ``place``."""

    place: str

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        warn(self.place, "GradScaler")
        super().__init__(
            self.place, init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
