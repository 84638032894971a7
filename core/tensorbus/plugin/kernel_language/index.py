"""``take gather put scatter``: loops that read one operand's index in *dim* from another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtypes import FLOAT, HALVES, INTEGER, dtype
from tensorbus.plugin.kernel_language.array import StridedArray, row_major
from tensorbus.plugin.kernel_language.device import FAULT, Device
from tensorbus.plugin.kernel_language.layout import Strides, expand_strides
from tensorbus.plugin.kernel_language.loops import LoopNest, Operand
from tensorbus.plugin.kernel_language.move import converted, copy
from tensorbus.plugin.kernel_language.types import compute_type, load, raw, store, unsigned

_EXTRAS = [("GLOBAL i64 *", "fault"), ("i64", "size"), ("i64", "stride"), ("i64", "dim")]


def _along(x: StridedArray, dim: int) -> tuple[int, int, Strides]:
    """(size, stride of *dim*, all strides with 0 there); a 0-dim array has one element."""
    if not x.shape:
        return 1, 0, ()
    return x.shape[dim], x.strides[dim], (*x.strides[:dim], 0, *x.strides[dim + 1 :])


def _index(wrap: bool, at: str) -> str:
    """C that leaves a valid index in ``index`` or keeps a fault and runs *otherwise*."""
    wrapped = "if (index < 0) index += size;" if wrap else ""
    return f"i64 given = {at}, index = given; {wrapped}\n"


def _gather_nest(device: Device, d: dtype, wrap: bool) -> LoopNest:
    key = ("gather", d, wrap)
    nest = device.made.get(key)
    if nest is None:
        body = f"""
        {_index(wrap, "i[i_i]")}
        if (index < 0 || index >= size) {{
            fault_at(fault, given, dim, size);
            out[out_i] = 0;
        }} else out[out_i] = x[x_i + index * stride];
        """
        operands = [Operand("out", d, written=True), Operand("x", d), Operand("i", dtypes.int64)]
        nest = device.made[key] = LoopNest(device, "k_gather", operands, body, _EXTRAS, FAULT)
    return nest


def gather_kernels(device: Device, d: dtype) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """``take(x, dim, i, wrap)`` and ``gather(x, dim, i)``."""

    def run(
        x: StridedArray, dim: int, i: StridedArray, shape: tuple[int, ...], steps: Strides,
        wrap: bool,
    ) -> StridedArray:  # fmt: skip
        out = device.new(shape, d)
        if 0 in shape:
            return out
        size, stride, rest = _along(x, dim)
        plan = _gather_nest(device, raw(d), wrap).plan(shape, (out.strides, rest, steps))
        plan.launch(plan.size, out.buffer, 0, x.buffer, x.offset, i.buffer, i.offset,
                    *plan.layout, device.fault_words().buffer, size, stride, dim)  # fmt: skip
        return out

    def take(x: StridedArray, dim: int, i: StridedArray, wrap: bool = False) -> StridedArray:
        shape = (*x.shape[:dim], *i.shape, *x.shape[dim + 1 :])
        steps = (*[0] * dim, *i.strides, *[0] * (len(x.shape) - dim - 1))
        return run(x, dim, i, shape, steps, bool(wrap))

    def gather(x: StridedArray, dim: int, i: StridedArray) -> StridedArray:
        return run(x, dim, i, i.shape, i.strides, False)

    return take, gather


def _combine(op: str, d: dtype) -> str:
    """The C value that joins ``old`` and ``v``."""
    t = compute_type(d)
    if op == "set":
        return "v"
    if op == "amax":
        return "v > old || v != v ? v : old"
    if op == "amin":
        return "v < old || v != v ? v : old"
    sign = "+" if op == "add" else "*"
    if d.category == FLOAT:
        return f"old {sign} v"
    u = unsigned(t)
    return f"({t})(({u})old {sign} ({u})v)"


def _atomic(op: str, d: dtype) -> str:
    """C that joins ``v`` into ``out[at]`` while other work items may do the same."""
    t, value = compute_type(d), _combine(op, d)
    bits = 64 if d.itemsize == 8 else 32
    word = f"u{bits}"
    if d.itemsize >= 4:
        read, written = f"({t})was", f"({word})made"
        if d.category == FLOAT:
            read, written = f"FLOAT{bits}(was)", f"BITS{bits}(made)"
        word_of = f"GLOBAL {word} *w = (GLOBAL {word} *)(out + at);"
    else:
        # The element's word holds its neighbours too: they are written back as they were found.
        mask = f"{2**d.bits - 1}u"
        read = f"({t})(was >> shift)"
        written = f"(was & ~({mask} << shift)) | (((u32)made & {mask}) << shift)"
        word_of = f"""u32 shift = (u32)(at % {4 // d.itemsize}) * {d.bits};
        GLOBAL u32 *w = (GLOBAL u32 *)out + at / {4 // d.itemsize};"""
    return f"""
    {word_of}
    {word} now = *w, was;
    do {{
        was = now;
        {t} old = {read}, made = {value};
        now = CAS{bits}(w, was, {written});
    }} while (now != was);
    """


class Scatter:
    """``put`` and ``scatter`` of one dtype: a loop over the elements written."""

    def __init__(self, device: Device, d: dtype):
        self.device = device
        self.dtype = d

    def run(
        self,
        out: StridedArray,
        dim: int,
        i: StridedArray,
        shape: tuple[int, ...],
        steps: Strides,
        src: Any,
        op: str,
        wrap: bool,
    ) -> StridedArray:
        if 0 in shape:
            return out
        device, d = self.device, self.dtype
        if op != "set" and (d in HALVES or not d.computes):
            whole = d.category == INTEGER
            if d is dtypes.uint64 and op in ("amax", "amin"):
                raise NotImplementedError(
                    f"writes by index with '{op}' are not implemented for uint64, which is for "
                    "storage: convert it to int64 first"
                )
            target = dtypes.int64 if whole else dtypes.float32
            wide = converted(device, out, target)
            if isinstance(src, StridedArray):
                src = converted(device, src, target)
            Scatter(device, target).run(wide, dim, i, shape, steps, src, op, wrap)
            if whole:
                copy(device, out, wide)
                return out
            return self._rounded(out, wide)
        is_array = isinstance(src, StridedArray)
        if op == "set" and is_array:
            d = raw(d)
        size, stride, rest = _along(out, dim)
        strides = [rest, steps]
        arguments = [out.buffer, out.offset, i.buffer, i.offset]
        if is_array:
            strides.append(expand_strides(src.shape, src.strides, shape))
            arguments += [src.buffer, src.offset]
        last = [device.fault_words().buffer, size, stride, dim]
        if not is_array:
            last.append(src)
        count = shape[dim] if shape else 1
        if self._by_lines(row_major(shape)[1] // count, count, op):
            # One work item for each line along dim: no two write to one element.
            along = [s[dim] if s else 0 for s in strides[1:]]
            strides = [(*s[:dim], *s[dim + 1 :]) for s in strides]
            shape = (*shape[:dim], *shape[dim + 1 :])
            plan = self._nest(d, op, wrap, is_array, True).plan(shape, tuple(strides))
            last += [count, *along]
        else:
            plan = self._nest(d, op, wrap, is_array, False).plan(shape, tuple(strides))
        plan.launch(plan.size, *arguments, *plan.layout, *last)
        return out

    def _rounded(self, out: StridedArray, wide: StridedArray) -> StridedArray:
        """Write the float32 numbers that have changed: a NaN elsewhere keeps its bits."""
        key = ("rounded", self.dtype)
        nest = self.device.made.get(key)
        if nest is None:
            d = self.dtype
            body = f"f32 v = w[w_i]; if (BITS32(v) != BITS32({load(d, 'out', 'out_i')})) "
            operands = [Operand("out", d, written=True), Operand("w", dtypes.float32)]
            nest = LoopNest(
                self.device, "k_rounded", operands, body + f"{{ {store(d, 'out', 'out_i', 'v')} }}"
            )
            self.device.made[key] = nest
        plan = nest.plan(out.shape, (out.strides, wide.strides))
        plan.launch(plan.size, out.buffer, out.offset, wide.buffer, wide.offset, *plan.layout)
        return out

    def _by_lines(self, lines: int, count: int, op: str) -> bool:
        dialect, d = self.device.dialect, self.dtype
        if count == 1 or lines >= 2 * dialect.units:
            return True
        if op == "set":
            return False
        return d.itemsize == 8 and not dialect.atomics64

    def _nest(self, d: dtype, op: str, wrap: bool, is_array: bool, lines: bool) -> LoopNest:
        key = ("scatter", d, op, wrap, is_array, lines)
        nest = self.device.made.get(key)
        if nest is None:
            operands = [Operand("out", d, written=True), Operand("i", dtypes.int64)]
            extras = list(_EXTRAS)
            t = compute_type(d)
            if is_array:
                operands.append(Operand("src", d))
            else:
                extras.append((t, "v"))
            if lines:
                extras += [("i64", "count"), ("i64", "ki")] + [("i64", "ks")] * is_array
            body = self._body(d, op, wrap, is_array, lines)
            nest = LoopNest(self.device, "k_scatter", operands, body, extras, FAULT)
            self.device.made[key] = nest
        return nest

    def _body(self, d: dtype, op: str, wrap: bool, is_array: bool, lines: bool) -> str:
        step = " + r * ks" if lines else ""
        value = f"{compute_type(d)} v = {load(d, 'src', f'src_i{step}')};" if is_array else ""
        if lines or op == "set":
            old = "" if op == "set" else f"{compute_type(d)} old = {load(d, 'out', 'at')};"
            write = old + store(d, "out", "at", _combine(op, d))
        else:
            write = _atomic(op, d)
        code = f"""
        {_index(wrap, "i[i_i + r * ki]" if lines else "i[i_i]")}
        if (index < 0 || index >= size) fault_at(fault, given, dim, size);
        else {{ i64 at = out_i + index * stride; {value} {write} }}
        """
        return f"for (i64 r = 0; r < count; r++) {{ {code} }}" if lines else code


def scatter_kernels(device: Device, d: dtype) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """``put(out, dim, i, src, op, wrap)`` and ``scatter(out, dim, i, src, op)``."""
    made = Scatter(device, d)

    def put(
        out: StridedArray, dim: int, i: StridedArray, src: Any, op: str = "set", wrap: bool = False
    ) -> StridedArray:
        shape = (*out.shape[:dim], *i.shape, *out.shape[dim + 1 :])
        steps = (*[0] * dim, *i.strides, *[0] * (len(out.shape) - dim - 1))
        return made.run(out, dim, i, shape, steps, src, op, bool(wrap))

    def scatter(
        out: StridedArray, dim: int, i: StridedArray, src: Any, op: str = "set"
    ) -> StridedArray:
        return made.run(out, dim, i, i.shape, i.strides, src, op, False)

    return put, scatter
