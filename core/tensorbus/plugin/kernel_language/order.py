"""``argsort``: stable merge sort of (ordered key bits, index), in parallel pieces of a merge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtypes import FLOAT, dtype
from tensorbus.plugin.kernel_language.array import StridedArray, row_major, view
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.loops import LoopNest, Operand
from tensorbus.plugin.kernel_language.move import contiguous
from tensorbus.plugin.kernel_language.types import load

# What one work item sorts by itself, and what it writes of a merge.
PIECE = 16


def _key(d: dtype) -> str:
    """C for an unsigned number in the order of ``v``: NaN above all, -0 equal to 0."""
    bits = 64 if d.itemsize == 8 else 32
    top = f"((u{bits})1 << {bits - 1})"
    if d.category == FLOAT:
        raw = f"BITS{bits}(v + 0)"
        return f"v != v ? ~(u{bits})0 : ({raw} & {top}) ? ~{raw} : {raw} | {top}"
    return f"(u{bits})v ^ {top}" if d.is_signed else f"(u{bits})v"


_SORT = """
i64 n_here = n - keys_i % n, at = keys_i % n;
if (n_here > {PIECE}) n_here = {PIECE};
for (i64 r = 0; r < n_here; r++) {{
    {W} key = keys[keys_i + r];
    i64 q = r;
    for (; q && keys[keys_i + q - 1] > key; q--) {{
        keys[keys_i + q] = keys[keys_i + q - 1];
        order[keys_i + q] = order[keys_i + q - 1];
    }}
    keys[keys_i + q] = key;
    order[keys_i + q] = at + r;
}}
"""

# The two runs of a pair are cut where PIECE * k elements of their merge lie before the cut.
_MERGE = """
i64 s = keys_i % n, line = keys_i - s, pair = s / (2 * width) * (2 * width);
i64 na = n - pair < width ? n - pair : width, nb = n - pair - na < width ? n - pair - na : width;
GLOBAL const {W} *a = keys + line + pair, *b = a + na;
GLOBAL const i64 *ia = order + line + pair, *ib = ia + na;
i64 skip = s - pair, low = skip > nb ? skip - nb : 0, high = skip < na ? skip : na;
while (low < high) {{
    i64 middle = (low + high) / 2;
    if (a[middle] <= b[skip - 1 - middle]) low = middle + 1; else high = middle;
}}
i64 p = low, q = skip - low, count = na + nb - skip < {PIECE} ? na + nb - skip : {PIECE};
for (i64 r = 0; r < count; r++) {{
    bool left = q >= nb || (p < na && a[p] <= b[q]);
    to_keys[keys_i + r] = left ? a[p] : b[q];
    to_order[keys_i + r] = left ? ia[p] : ib[q];
    if (left) p++; else q++;
}}
"""


def argsort_kernel(device: Device, d: dtype) -> Callable[..., StridedArray]:
    """``argsort(x, dim)``: int64, ascending and stable."""
    word = dtypes.int64 if d.itemsize == 8 else dtypes.int32
    w = "u64" if d.itemsize == 8 else "u32"
    values = {"PIECE": PIECE, "W": w}
    prepare = LoopNest(
        device,
        "k_sort_keys",
        [Operand("out", word, written=True), Operand("x", d)],
        f"{'f64' if d is dtypes.float64 else 'f32'} v = {load(d, 'x', 'x_i')};"
        f"out[out_i] = {_key(d)};"
        if d.category == FLOAT
        else f"i64 v = {load(d, 'x', 'x_i')}; out[out_i] = {_key(d)};",
    )
    sort, merge = _nests(device, word, w, values)

    def argsort(x: StridedArray, dim: int) -> StridedArray:
        shape, strides = x.shape or (1,), x.strides or (1,)
        dim = dim if x.shape else 0
        moved = (*shape[:dim], *shape[dim + 1 :], shape[dim])
        keys, order = device.new(moved, word), device.new(moved, dtypes.int64)
        total, n = row_major(moved)[1], shape[dim]
        if total:
            steps = (*strides[:dim], *strides[dim + 1 :], strides[dim])
            plan = prepare.plan(moved, (keys.strides, steps))
            plan.launch(plan.size, keys.buffer, 0, x.buffer, x.offset, *plan.layout)
            keys, order = _sorted(keys, order, total // n, n)
        rank = len(moved)
        back = (*range(dim), rank - 1, *range(dim, rank - 1))
        result = view(order, tuple(moved[k] for k in back),
                      tuple(order.strides[k] for k in back), 0)  # fmt: skip
        if not x.shape:
            return view(order, (), (), 0)
        return result if result.flat else contiguous(device, result)

    def _sorted(keys: Any, order: Any, lines: int, n: int) -> tuple[Any, Any]:
        items = (lines, -(-n // PIECE))
        plan = sort.plan(items, ((n, PIECE),))
        plan.launch(plan.size, keys.buffer, 0, *plan.layout, order.buffer, n)
        width = PIECE
        if width < n:
            to_keys, to_order = device.new(keys.shape, word), device.new(keys.shape, dtypes.int64)
        while width < n:
            plan = merge.plan(items, ((n, PIECE),))
            plan.launch(plan.size, keys.buffer, 0, *plan.layout, order.buffer, to_keys.buffer,
                        to_order.buffer, n, width)  # fmt: skip
            keys, order, to_keys, to_order = to_keys, to_order, keys, order
            width *= 2
        return keys, order

    return argsort


def _nests(
    device: Device, word: dtype, w: str, values: dict[str, Any]
) -> tuple[LoopNest, LoopNest]:
    found = device.made.get(("sort", word))
    if found is None:
        keys = f"GLOBAL {w} *"
        sort = LoopNest(
            device,
            "k_sort",
            [Operand("words", word, written=True)],
            f"{keys}keys = ({keys})words; i64 keys_i = words_i;" + _SORT.format(**values),
            [("GLOBAL i64 *", "order"), ("i64", "n")],
        )
        merge = LoopNest(
            device,
            "k_merge",
            [Operand("words", word)],
            f"GLOBAL const {w} *keys = (GLOBAL const {w} *)words; i64 keys_i = words_i;"
            + _MERGE.format(**values),
            [("GLOBAL const i64 *", "order"), (keys, "to_keys"), ("GLOBAL i64 *", "to_order"),
             ("i64", "n"), ("i64", "width")],
        )  # fmt: skip
        found = device.made["sort", word] = (sort, merge)
    return found
