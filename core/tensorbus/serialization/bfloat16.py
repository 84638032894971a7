"""bfloat16 from files, for devices that lack it: files of such weights are common."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus._dispatch.kinds import kind_of


def offers(device: Any, dtype: Any) -> bool:
    """Whether tensors of *dtype* can live on *device*."""
    try:
        kind_of(device, dtype)
    except TypeError:
        return False
    return True


def widened(data: np.ndarray) -> np.ndarray:
    """The bytes of bfloat16 numbers as those of the equal float32 numbers."""
    return (data.view(np.uint16).astype(np.uint32) << 16).view(np.uint8)
