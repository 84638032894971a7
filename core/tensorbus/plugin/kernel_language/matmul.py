"""Matrix products: register blocks of float32 vectors, else one work item per result."""

from __future__ import annotations

from collections.abc import Callable

from tensorbus._base import dtypes
from tensorbus._base.dtypes import BOOL, FLOAT, HALVES, dtype
from tensorbus._base.size import broadcast_shapes
from tensorbus.plugin.kernel_language.array import StridedArray
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.layout import expand_strides
from tensorbus.plugin.kernel_language.loops import LoopNest, Operand
from tensorbus.plugin.kernel_language.move import as_halves, fill
from tensorbus.plugin.kernel_language.types import cast, compute_type, load, store, unsigned

# Rows and vectors of columns that one work item keeps in registers.
ROWS, COLUMNS = 4, 4
# From these sizes on the second matrix is copied block by block before the product.
PACK_ROWS = 64
PACK_ELEMENTS = 1 << 16


def matmul_kernel(device: Device, source: dtype) -> Callable[..., StridedArray]:
    """``matmul(a, b, dtype, out=None)`` on operands of *source*."""
    nests: dict[dtype, LoopNest] = {}
    blocked: dict[tuple[int, int], LoopNest] = {}
    width = device.dialect.vector

    def matmul(
        a: StridedArray, b: StridedArray, target: dtype, out: StridedArray | None = None
    ) -> StridedArray:
        (m, k), n = a.shape[-2:], b.shape[-1]
        batch = a.shape[:-2]
        if batch != b.shape[:-2]:
            batch = tuple(broadcast_shapes(batch, b.shape[:-2]))
        if out is None:
            out = device.new((*batch, m, n), target)
        if 0 in out.shape:
            return out
        if k == 0:
            fill(device, out, 0)
            return out
        if target in HALVES and source is not target:
            halves = matmul_kernel(device, target)
            return halves(as_halves(device, a, target), as_halves(device, b, target), target, out)
        floats = source is target is dtypes.float32
        if floats and n >= width and k >= 4 and out.strides[-1] == 1:
            _blocked(a, b, out, batch)
            return out
        nest = nests.get(target)
        if nest is None:
            nest = nests[target] = _simple(device, source, target)
        shape = (*batch, m, n)
        sa = (*expand_strides(a.shape[:-2], a.strides[:-2], batch), a.strides[-2], 0)
        sb = (*expand_strides(b.shape[:-2], b.strides[:-2], batch), 0, b.strides[-1])
        plan = nest.plan(shape, (out.strides, sa, sb))
        plan.launch(plan.size, out.buffer, out.offset, a.buffer, a.offset, b.buffer, b.offset,
                    *plan.layout, k, a.strides[-1], b.strides[-2])  # fmt: skip
        return out

    def _blocked(
        a: StridedArray, b: StridedArray, out: StridedArray, batch: tuple[int, ...]
    ) -> None:
        (m, k), n = a.shape[-2:], b.shape[-1]
        rows, columns = min(m, ROWS), min(n // width, COLUMNS)
        nest = blocked.get((rows, columns))
        if nest is None:
            nest = blocked[rows, columns] = _register_blocks(device, rows, columns)
        tiles = (*batch, -(-n // (width * columns)), -(-m // rows))
        kb, panel = b.strides[-2], 0
        if b.strides[-1] != 1 or (m >= PACK_ROWS and k * n >= PACK_ELEMENTS):
            b = _packed(device, b, width * columns)
            kb, panel = width * columns, b.strides[-3]
        steps = expand_strides(b.shape[:-3], b.strides[:-3], batch) if panel else expand_strides(
            b.shape[:-2], b.strides[:-2], batch)  # fmt: skip
        so = (*out.strides[:-2], 0, 0)
        sa = (*expand_strides(a.shape[:-2], a.strides[:-2], batch), 0, 0)
        st = (*[0] * len(batch), tiles[-1], 1)
        plan = nest.plan(tiles, (st, so, sa, (*steps, 0, 0)))
        plan.launch(plan.size, out.buffer, 0, out.buffer, out.offset, a.buffer, a.offset, b.buffer,
                    b.offset, *plan.layout, tiles[-1], m, n, k, a.strides[-2], a.strides[-1],
                    kb, panel, out.strides[-2])  # fmt: skip

    return matmul


def _packed(device: Device, b: StridedArray, wide: int) -> StridedArray:
    """(..., panels, K, wide): blocks of columns, each in one piece of memory.

    Large products read a block many times over; rows that lie a power of two apart would push
    each other out of the cache. The last block ends with the matrix, as in ``_register_blocks``.
    """
    nest = device.made.get(("pack", wide))
    if nest is None:
        f32 = dtypes.float32
        body = f"""
        i64 c = panel_i < n - {wide} ? panel_i : n - {wide};
        for (i64 r = 0; r < {wide}; r++) out[out_i + r] = b[b_i + (c + r) * step];
        """
        operands = [Operand("out", f32, written=True), Operand("b", f32), Operand("panel", f32)]
        extras = [("i64", "n"), ("i64", "step")]
        nest = device.made["pack", wide] = LoopNest(device, "k_pack", operands, body, extras)
    k, n = b.shape[-2:]
    batch = tuple(1 if s == 0 else m for m, s in zip(b.shape[:-2], b.strides[:-2], strict=True))
    panels = -(-n // wide)
    out = device.new((*batch, panels, k, wide), dtypes.float32)
    plan = nest.plan(
        (*batch, panels, k),
        (out.strides[:-1], (*b.strides[:-2], 0, b.strides[-2]), (*[0] * len(batch), wide, 0)),
    )
    plan.launch(plan.size, out.buffer, 0, b.buffer, b.offset, b.buffer, 0, *plan.layout, n,
                b.strides[-1])  # fmt: skip
    return out


def _simple(device: Device, source: dtype, target: dtype) -> LoopNest:
    t = compute_type(target)
    x = cast(load(source, "a", "a_i + r * ka"), source, target)
    y = cast(load(source, "b", "b_i + r * kb"), source, target)
    if target.category == FLOAT:
        update = f"acc += {x} * {y};"
    elif target.category == BOOL:
        update = f"acc |= {x} & {y};"
    else:
        u = unsigned(t)
        update = f"acc = ({t})(({u})acc + ({u}){x} * ({u}){y});"
    body = f"{t} acc = 0;\nfor (i64 r = 0; r < k; r++) {{ {update} }}\n"
    operands = [Operand("out", target, written=True), Operand("a", source), Operand("b", source)]
    extras = [("i64", "k"), ("i64", "ka"), ("i64", "kb")]
    body += store(target, "out", "out_i", "acc")
    return LoopNest(device, "k_matmul", operands, body, extras)


def _register_blocks(device: Device, height: int, breadth: int) -> LoopNest:
    """One work item per block of *height* rows and *breadth* vectors of the result.

    The last blocks are moved back to end with the matrix: what they share with their neighbours
    is computed twice, to the same values. ``tile``'s index is the block's number, not an offset.
    """
    width = device.dialect.vector
    wide = width * breadth
    rows, columns = range(height), range(breadth)
    body = f"""
    i64 r0 = tile_i % tiles * {height}, c0 = tile_i / tiles * {wide};
    if (r0 > m - {height}) r0 = m - {height};
    if (c0 > n - {wide}) c0 = n - {wide};
    GLOBAL const f32 *pb = b + b_i + (panel ? tile_i / tiles * panel : c0);
    """
    for i in rows:
        body += f"GLOBAL const f32 *a{i} = a + a_i + (r0 + {i}) * am;\n"
        body += "".join(f"VECTOR s{i}_{j} = SPLAT(0.0f);\n" for j in columns)
    body += "for (i64 r = 0; r < k; r++) {\n"
    body += "".join(f"VECTOR b{j} = VLOAD(pb + {j * width});\n" for j in columns)
    for i in rows:
        body += f"{{ VECTOR v = SPLAT(a{i}[r * ak]);"
        body += "".join(f" s{i}_{j} = MULADD(v, b{j}, s{i}_{j});" for j in columns) + "}\n"
    body += "pb += bk;\n}\nGLOBAL f32 *po = out + out_i + r0 * om + c0;\n"
    for i in rows:
        body += "".join(f"VSTORE(po + {i} * om + {j * width}, s{i}_{j});\n" for j in columns)
    f32 = dtypes.float32
    operands = [
        Operand("tile", f32),
        Operand("out", f32, written=True),
        Operand("a", f32),
        Operand("b", f32),
    ]
    names = ("tiles", "m", "n", "k", "am", "ak", "bk", "panel", "om")
    extras = [("i64", name) for name in names]
    return LoopNest(device, "k_matmul_blocks", operands, body, extras)
