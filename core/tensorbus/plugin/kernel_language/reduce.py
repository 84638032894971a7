"""Reductions: one work item per result, in two stages where results are few."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtypes import BOOL, FLOAT, HALVES, dtype
from tensorbus.plugin.kernel_language.array import StridedArray, row_major
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.layout import merge
from tensorbus.plugin.kernel_language.loops import PLANS_KEPT, LoopNest, Operand, Plan
from tensorbus.plugin.kernel_language.types import cast, compute_type, load, store, unsigned

# A piece of a cut reduction has at least so many elements.
PIECE = 512
# Floats are added up in blocks of so many, and these with compensation: the error stays below
# that of a pairwise sum over blocks of 128.
BLOCK = 1024
LANES = 16

EMPTY = {"sum": 0, "prod": 1, "any": False, "all": True, "mean": float("nan")}


class Reduction:
    """A fold of *source* elements into *target* ones."""

    def __init__(self, device: Device, op: str, source: dtype, target: dtype):
        self.device = device
        self.op = op
        self.source = source
        self.target = target
        self.nests: dict[tuple[int, bool], LoopNest] = {}
        self.plans: dict[Any, tuple[tuple[int, ...], Plan, tuple[int, ...]]] = {}

    @staticmethod
    def of(device: Device, op: str, source: dtype, target: dtype) -> Reduction:
        """The reduction of that kind, made once for each device."""
        key = ("reduction", op, source, target)
        found = device.made.get(key)
        if found is None:
            found = device.made[key] = Reduction(device, op, source, target)
        return found

    def __call__(
        self, x: StridedArray, dims: tuple[int, ...], out: StridedArray | None = None
    ) -> StridedArray:
        key = (x.shape, x.strides, dims, None if out is None else out.strides)
        found = self.plans.get(key)
        if found is not None:
            kept, plan, rest = found
            if out is None:
                out = self.device.new(kept, self.target)
            plan.launch(plan.size, out.buffer, out.offset, x.buffer, x.offset, *plan.layout, *rest)
            return out
        reduced = frozenset(dims)
        kept = tuple(n for d, n in enumerate(x.shape) if d not in reduced)
        if out is None:
            out = self.device.new(kept, self.target)
        if 0 in kept:
            return out
        sizes = [x.shape[d] for d in dims]
        if 0 in sizes:
            return self._empty(out)
        keep = tuple(s for d, s in enumerate(x.strides) if d not in reduced)
        inner, (steps,) = merge(sizes, (tuple(x.strides[d] for d in dims),))
        inner, steps = inner or (1,), steps or (0,)
        results, count = row_major(kept)[1], row_major(inner)[1]
        units = self.device.dialect.units
        pieces = min(inner[0], 16 * units // results, count // PIECE)
        if results >= 2 * units or pieces < 2:
            if len(self.plans) > PLANS_KEPT:
                self.plans.clear()
            plan, rest = self._run(x, out, kept, keep, inner, steps, inner[0], 1, count)
            self.plans[key] = (kept, plan, rest)
            return out
        chunk = -(-inner[0] // pieces)
        pieces = -(-inner[0] // chunk)
        partial = dtypes.float32 if self.target in HALVES else self.target
        parts = self.device.new((*kept, pieces), partial)
        stage = self._towards(partial)
        shape, strides = (*kept, pieces), (*keep, chunk * steps[0])
        stage._run(x, parts, shape, strides, inner, steps, chunk, pieces)
        self._join(x, parts, out, kept, keep, steps, count)
        return out

    def _towards(self, target: dtype) -> Reduction:
        op = "sum" if self.op == "mean" else self.op
        return Reduction.of(self.device, op, self.source, target)

    def _join(
        self,
        x: StridedArray,
        parts: StridedArray,
        out: StridedArray,
        kept: tuple[int, ...],
        keep: tuple[int, ...],
        steps: tuple[int, ...],
        count: int,
    ) -> None:
        pieces = parts.shape[-1]
        last = Reduction.of(self.device, self.op, parts.dtype, self.target)
        last._run(parts, out, kept, parts.strides[:-1], (pieces,), (1,), pieces, 1, count)

    def _empty(self, out: StridedArray) -> StridedArray:
        if self.op not in EMPTY:
            raise ValueError(
                f"{self.op} of no elements has no value: give it at least one element "
                "along the reduced dimensions"
            )
        self.device.backend.copy_(out, self.target, EMPTY[self.op], None)
        return out

    def fold_pieces(
        self,
        x: StridedArray,
        parts: StridedArray,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        n: int,
        step: int,
        chunk: int,
    ) -> None:
        """Fold pieces of *chunk* of the *n* elements of each line into row-major *parts*."""
        self._run(x, parts, shape, strides, (n,), (step,), chunk, shape[-1])

    def _run(
        self,
        x: StridedArray,
        out: StridedArray,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        inner: tuple[int, ...],
        steps: tuple[int, ...],
        chunk: int,
        pieces: int,
        count: int = 1,
    ) -> tuple[Plan, tuple[int, ...]]:
        """One work item folds *inner* elements, or one of *pieces* of *chunk* rows of them.

        A mean is divided by *count*.
        """
        unit = steps[-1] == 1
        plan = self._nest(len(inner), unit).plan(shape, (out.strides, strides))
        sizes = (*inner, *(steps[:-1] if unit else steps))
        if self.op == "mean":
            sizes = (*sizes, count)
        rest = (chunk, pieces, *sizes)
        plan.launch(plan.size, out.buffer, out.offset, x.buffer, x.offset, *plan.layout, *rest)
        return plan, rest

    def _nest(self, rank: int, unit: bool) -> LoopNest:
        found = self.nests.get((rank, unit))
        if found is None:
            extras = [("i64", "chunk"), ("i64", "pieces")]
            extras += [("i64", f"n{r}") for r in range(rank)]
            extras += [("i64", f"k{r}") for r in range(rank - 1 if unit else rank)]
            if self.op == "mean":
                extras.append((compute_type(self.target), "count"))
            found = self.nests[rank, unit] = LoopNest(
                self.device,
                f"k_{self.op}",
                [Operand("out", self.target, written=True), Operand("x", self.source)],
                self._body(rank, unit),
                extras,
            )
        return found

    def _body(self, rank: int, unit: bool) -> str:
        start, fold, end = self._fold("k_last")
        # With pieces, the result is row-major and its last dimension counts them.
        code = (
            "i64 first = out_i % pieces * chunk, rows = n0 - first < chunk ? n0 - first : chunk;\n"
        )
        code += start
        last = rank - 1
        code += f"i64 k_last = {'1' if unit else f'k{last}'};\n"
        offset = "x_i"
        for r in range(last):
            size = "rows" if r == 0 else f"n{r}"
            code += f"for (i64 r{r} = 0; r{r} < {size}; r{r}++) {{\n"
            offset += f" + r{r} * k{r}"
        code += f"i64 at = {offset}, n_last = {'rows' if rank == 1 else f'n{last}'};\n{fold}"
        return code + "}" * last + end

    def _value(self, i: str) -> str:
        return cast(load(self.source, "x", i), self.source, self.target)

    def _fold(self, step: str) -> tuple[str, str, str]:
        """C before the loops, within them (over n_last elements from ``at``), and after them."""
        target = self.target
        t = compute_type(target)
        if self.op in ("sum", "mean") and target.category == FLOAT:
            lane, tail = self._value(f"at + (q + u) * {step}"), self._value(f"at + q * {step}")
            start = f"{t} acc = 0, rest = 0;\n"
            fold = f"""
            for (i64 r = 0; r < n_last; r += {BLOCK}) {{
                i64 e = n_last - r < {BLOCK} ? n_last : r + {BLOCK}, q = r;
                {t} lane[{LANES}];
                for (int u = 0; u < {LANES}; u++) lane[u] = 0;
                for (; q + {LANES} <= e; q += {LANES})
                    for (int u = 0; u < {LANES}; u++) lane[u] += {lane};
                for (; q < e; q++) lane[0] += {tail};
                for (int w = {LANES // 2}; w; w /= 2)
                    for (int u = 0; u < w; u++) lane[u] += lane[u + w];
                {t} v = lane[0], s = acc + v;
                rest += fabs(acc) >= fabs(v) ? (acc - s) + v : (v - s) + acc;
                acc = s;
            }}
            """
            total = "(fabs(rest) < INFINITY ? acc + rest : acc)"
            end = store(target, "out", "out_i", total + " / count" * (self.op == "mean"))
            return start, fold, end
        u = unsigned(t)
        first, update = {
            "sum": ("0", f"acc = ({t})(({u})acc + ({u})v);"),
            "prod": ("1", f"acc = ({t})(({u})acc * ({u})v);"),
            "any": ("0", "acc |= v;"),
            "all": ("1", "acc &= v;"),
            "amax": (load(self.source, "x", "x_i"), "acc = v > acc || v != v ? v : acc;"),
            "amin": (load(self.source, "x", "x_i"), "acc = v < acc || v != v ? v : acc;"),
        }[self.op]
        if self.op == "prod" and target.category == FLOAT:
            update = "acc *= v;"
        if target.category == BOOL:
            update = {"sum": "acc |= v;", "prod": "acc &= v;"}.get(self.op, update)
        value = self._value(f"at + r * {step}")
        fold = f"for (i64 r = 0; r < n_last; r++) {{ {t} v = {value}; {update} }}\n"
        return f"{t} acc = {first};\n", fold, store(target, "out", "out_i", "acc")


class ArgReduction(Reduction):
    """``argmax`` and ``argmin``: the index of the first best value, NaN above all."""

    def __init__(self, device: Device, op: str, source: dtype):
        super().__init__(device, op, source, dtypes.int64)
        self.joins: LoopNest | None = None

    def __call__(
        self, x: StridedArray, dims: tuple[int, ...], out: StridedArray | None = None
    ) -> StridedArray:
        if not x.shape:
            # A 0-dim array has one element, at 0.
            out = self.device.new((), dtypes.int64) if out is None else out
            self.device.backend.copy_(out, dtypes.int64, 0, None)
            return out
        return super().__call__(x, dims, out)

    def _towards(self, target: dtype) -> Reduction:
        return self

    def _better(self) -> str:
        sign = ">" if self.op == "argmax" else "<"
        return f"v {sign} best || (v != v && best == best)"

    def _fold(self, step: str) -> tuple[str, str, str]:
        t = compute_type(self.source)
        start = f"i64 index = 0; {t} best = {load(self.source, 'x', 'x_i')};\n"
        value = load(self.source, "x", f"at + r * {step}")
        fold = f"""
        for (i64 r = 1; r < n_last; r++) {{
            {t} v = {value};
            if ({self._better()}) {{ best = v; index = r; }}
        }}
        """
        return start, fold, store(dtypes.int64, "out", "out_i", "first + index")

    def _join(
        self,
        x: StridedArray,
        parts: StridedArray,
        out: StridedArray,
        kept: tuple[int, ...],
        keep: tuple[int, ...],
        steps: tuple[int, ...],
        count: int,
    ) -> None:
        if self.joins is None:
            t = compute_type(self.source)
            body = f"""
            i64 index = parts[parts_i];
            {t} best = {load(self.source, "x", "x_i + index * step")};
            for (i64 r = 1; r < pieces; r++) {{
                i64 other = parts[parts_i + r];
                {t} v = {load(self.source, "x", "x_i + other * step")};
                if ({self._better()}) {{ best = v; index = other; }}
            }}
            out[out_i] = index;
            """
            operands = [
                Operand("out", dtypes.int64, written=True),
                Operand("parts", dtypes.int64),
                Operand("x", self.source),
            ]
            extras = [("i64", "pieces"), ("i64", "step")]
            self.joins = LoopNest(self.device, f"k_{self.op}_join", operands, body, extras)
        plan = self.joins.plan(kept, (out.strides, parts.strides[:-1], keep))
        plan.launch(plan.size, out.buffer, out.offset, parts.buffer, parts.offset, x.buffer,
                    x.offset, *plan.layout, parts.shape[-1], steps[0])  # fmt: skip
