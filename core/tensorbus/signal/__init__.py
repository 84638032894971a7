"""Signals: the window functions of ``torch.signal.windows``.

>>> import tensorbus
>>> tensorbus.signal.windows.hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus.signal import windows

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)

__all__ = ["windows"]
