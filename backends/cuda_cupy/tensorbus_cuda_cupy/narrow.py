"""bfloat16: arrays hold its bits as int16, and one launch converts from and to float32."""

from __future__ import annotations

import cupy

from tensorbus.plugin import Array
from tensorbus.plugin.array_library.narrow import BFloat16
from tensorbus_cuda_cupy.texts import elementwise

_WIDENED = """
u32 bits = (u32)(unsigned short)x << 16;
y = *reinterpret_cast<const f32 *>(&bits);
"""
_ROUNDED = """
const f32 given = x;
u32 bits = *reinterpret_cast<const u32 *>(&given);
bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
y = (i16)(nan ? (bits >> 16 & 0x8000u) | 0x7fc0u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
"""


class DeviceBFloat16(BFloat16):
    """bfloat16 in a GPU's memory; a number is a NumPy scalar, which needs no memory there."""

    def widened(self, x: Array) -> Array:
        if not isinstance(x, cupy.ndarray):
            return super().widened(x)
        return elementwise("int16 x", "float32 y", _WIDENED, "tensorbus_widened")(x)

    def upper_half(self, x: Array) -> Array:
        return elementwise("float32 x", "int16 y", _ROUNDED, "tensorbus_rounded")(x)
