"""Scans: one work item per line; few long lines are cut, and the pieces' totals scanned first."""

from __future__ import annotations

from tensorbus._base import dtypes
from tensorbus._base.dtypes import BOOL, FLOAT, HALVES, dtype
from tensorbus.plugin.kernel_language.array import StridedArray, row_major
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.layout import Strides
from tensorbus.plugin.kernel_language.loops import LoopNest, Operand
from tensorbus.plugin.kernel_language.reduce import Reduction
from tensorbus.plugin.kernel_language.types import cast, compute_type, load, store, unsigned

TOTALS = {"cumsum": "sum", "cumprod": "prod", "cummax": "amax", "cummin": "amin"}
PIECE = 1024


class Scan:
    """A running fold of *source* elements along one dimension, in *target*."""

    def __init__(self, device: Device, op: str, source: dtype, target: dtype):
        self.device = device
        self.op = op
        self.source = source
        self.target = target
        self.partial = dtypes.float32 if target in HALVES else target
        self.nests: dict[bool, LoopNest] = {}

    @staticmethod
    def of(device: Device, op: str, source: dtype, target: dtype) -> Scan:
        """The scan of that kind, made once for each device."""
        key = ("scan", op, source, target)
        found = device.made.get(key)
        if found is None:
            found = device.made[key] = Scan(device, op, source, target)
        return found

    def __call__(self, x: StridedArray, dim: int, out: StridedArray | None = None) -> StridedArray:
        device = self.device
        if out is None:
            out = device.new(x.shape, self.target)
        if 0 in x.shape:
            return out
        if x.shape:
            n, kx, ko = x.shape[dim], x.strides[dim], out.strides[dim]
        else:
            n, kx, ko = 1, 0, 0
        kept = (*x.shape[:dim], *x.shape[dim + 1 :])
        sx = (*x.strides[:dim], *x.strides[dim + 1 :])
        so = (*out.strides[:dim], *out.strides[dim + 1 :])
        units = device.dialect.units
        lines = row_major(kept)[1]
        if lines >= 2 * units or n < 2 * PIECE:
            plan = self._nest(False).plan(kept, (so, sx))
            plan.launch(plan.size, out.buffer, out.offset, x.buffer, x.offset, *plan.layout,
                        n, ko, kx)  # fmt: skip
            return out
        pieces = min(n // PIECE, 16 * units // lines)
        chunk = -(-n // pieces)
        self._pieces(x, out, kept, so, sx, n, ko, kx, chunk)
        return out

    def _pieces(
        self, x: StridedArray, out: StridedArray, kept: tuple[int, ...], so: Strides, sx: Strides,
        n: int, ko: int, kx: int, chunk: int,
    ) -> None:  # fmt: skip
        device, pieces = self.device, -(-n // chunk)
        shape = (*kept, pieces)
        parts = device.new(shape, self.partial)
        totals = Reduction.of(device, TOTALS[self.op], self.source, self.partial)
        totals.fold_pieces(x, parts, shape, (*sx, chunk * kx), n, kx, chunk)
        parts = Scan.of(device, self.op, self.partial, self.partial)(parts, len(kept))
        strides = ((*so, chunk * ko), (*sx, chunk * kx), parts.strides)
        plan = self._nest(True).plan(shape, strides)
        plan.launch(plan.size, out.buffer, out.offset, x.buffer, x.offset, parts.buffer, 0,
                    *plan.layout, n, ko, kx, chunk, pieces)  # fmt: skip

    def _nest(self, cut: bool) -> LoopNest:
        found = self.nests.get(cut)
        if found is None:
            operands = [Operand("out", self.target, written=True), Operand("x", self.source)]
            extras = [("i64", "n"), ("i64", "ko"), ("i64", "kx")]
            if cut:
                operands.append(Operand("parts", self.partial))
                extras += [("i64", "chunk"), ("i64", "pieces")]
            found = self.nests[cut] = LoopNest(
                self.device, f"k_{self.op}", operands, self._body(cut), extras
            )
        return found

    def _body(self, cut: bool) -> str:
        t = compute_type(self.target)
        u = unsigned(t)
        first = cast(load(self.source, "x", "x_i"), self.source, self.target)
        update = {
            "cumsum": f"({t})(({u})acc + ({u})v)",
            "cumprod": f"({t})(({u})acc * ({u})v)",
            "cummax": "v > acc || v != v ? v : acc",
            "cummin": "v < acc || v != v ? v : acc",
        }[self.op]
        if self.target.category == FLOAT:
            update = {"cumsum": "acc + v", "cumprod": "acc * v"}.get(self.op, update)
        elif self.target.category == BOOL:
            update = {"cumsum": "acc | v", "cumprod": "acc & v"}.get(self.op, update)
        if self.op in ("cummax", "cummin"):
            # What is NaN stays so: no comparison with it holds.
            update = f"acc != acc ? acc : ({update})" if self.target.category == FLOAT else update
        value = cast(load(self.source, "x", "x_i + r * kx"), self.source, self.target)
        code = f"i64 from = 1; {t} acc = {first};\n"
        if cut:
            code = f"""
            i64 piece = parts_i % pieces, from = piece == 0;
            if (n - piece * chunk < chunk) n -= piece * chunk; else n = chunk;
            {t} acc = piece ? parts[parts_i - 1] : {first};
            """
            code += f"if (from) {{ {store(self.target, 'out', 'out_i', 'acc')} }}\n"
        else:
            code += store(self.target, "out", "out_i", "acc")
        return (
            code
            + f"""
        for (i64 r = from; r < n; r++) {{
            {t} v = {value};
            acc = {update};
            {store(self.target, "out", "out_i + r * ko", "acc")}
        }}
        """
        )
