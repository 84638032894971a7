"""``arange`` and ``random_bits``."""

from __future__ import annotations

from collections.abc import Callable

from tensorbus._base import dtypes
from tensorbus._base.dtypes import FLOAT, dtype
from tensorbus.plugin.kernel_language.array import StridedArray
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.loops import LoopNest, Operand
from tensorbus.plugin.kernel_language.move import wrap
from tensorbus.plugin.kernel_language.types import cast_for_store, store

# Philox4x64-10: multipliers and Weyl constants of Salmon et al., "Parallel random numbers: as
# easy as 1, 2, 3" (2011).
_PHILOX = """
u64 block = (u64)(out_i / 4);
u64 x0 = c0 + block, x1 = c1, x2 = c2, x3 = c3;
if (x0 < block && ++x1 == 0 && ++x2 == 0) ++x3;
for (int round = 0; round < 10; round++) {
    u64 h0 = MULHI((u64)0xD2E7470EE14C6C93UL, x0), l0 = (u64)0xD2E7470EE14C6C93UL * x0;
    u64 h1 = MULHI((u64)0xCA5A826395121157UL, x2), l1 = (u64)0xCA5A826395121157UL * x2;
    x0 = h1 ^ x1 ^ key0;
    x2 = h0 ^ x3 ^ key1;
    x1 = l1;
    x3 = l0;
    key0 += (u64)0x9E3779B97F4A7C15UL;
    key1 += (u64)0xBB67AE8584CAA73BUL;
}
out[out_i] = (i64)x0;
if (out_i + 1 < n) out[out_i + 1] = (i64)x1;
if (out_i + 2 < n) out[out_i + 2] = (i64)x2;
if (out_i + 3 < n) out[out_i + 3] = (i64)x3;
"""


def random_bits_kernel(device: Device, d: dtype) -> Callable[..., StridedArray]:
    """``random_bits(key, offset, n)``: int64 words of Philox4x64-10."""
    extras = [("u64", name) for name in ("key0", "key1", "c0", "c1", "c2", "c3")]
    nest = LoopNest(
        device,
        "k_philox",
        [Operand("out", dtypes.int64, written=True)],
        _PHILOX,
        [*extras, ("i64", "n")],
    )

    def random_bits(key: tuple[int, int], offset: int, n: int) -> StridedArray:
        out = device.new((n,), dtypes.int64)
        if n:
            plan = nest.plan((-(-n // 4),), ((4,),))
            counter = [offset >> (64 * k) & 0xFFFFFFFFFFFFFFFF for k in range(4)]
            plan.launch(plan.size, out.buffer, 0, *plan.layout, *key, *counter, n)
        return out

    return random_bits


def arange_kernel(device: Device, d: dtype) -> Callable[..., StridedArray]:
    """``arange(n, start, step, dtype)``: start + i * step in int64 or the widest float."""

    def arange(n: int, start: int | float, step: int | float, target: dtype) -> StridedArray:
        out = device.new((n,), target)
        floats = target.category == FLOAT or isinstance(start, float) or isinstance(step, float)
        wide = dtypes.int64
        if floats:
            wide = dtypes.float64 if device.dialect.float64 else dtypes.float32
        key = ("arange", wide, target)
        nest = device.made.get(key)
        if nest is None:
            t = "i64" if not floats else "f64" if wide is dtypes.float64 else "f32"
            value = "start + out_i * step"
            if not floats:
                value = "(i64)((u64)start + (u64)out_i * (u64)step)"
            body = f"{t} v = {value};" + store(
                target, "out", "out_i", cast_for_store("v", wide, target)
            )
            nest = LoopNest(device, "k_arange", [Operand("out", target, written=True)], body,
                            [(t, "start"), (t, "step")])  # fmt: skip
            device.made[key] = nest
        if n:
            plan = nest.plan((n,), ((1,),))
            plan.launch(plan.size, out.buffer, 0, *plan.layout, wrap(start, wide), wrap(step, wide))
        return out

    return arange
