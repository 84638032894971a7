"""Loop nests as kernels: pointwise, or with reductions, which softmax, norms and losses have.

One work item has one index of the axes that no reduction folds, and goes along the folded ones in
as many rounds as reductions hang on one another, and once more for results that have these axes.
Where elements that are folded lie far apart and results side by side, it has a tile of these.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from tensorbus.plugin.kernel_language.array import StridedArray, row_major
from tensorbus.plugin.kernel_language.axes import Declined
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.loops import PLANS_KEPT, LoopNest, Operand, Plan
from tensorbus.plugin.kernel_language.nest_text import NestText, terms_of
from tensorbus.plugin.kernel_language.reduce import LANES, PIECE
from tensorbus.plugin.kernel_language.types import compute_type
from tensorbus.plugin.nest import Affine, Gathered, Nest


class _Launch(NamedTuple):
    """How a nest is launched for arrays of certain shapes and strides."""

    plan: Plan
    shapes: list[tuple[int, ...]]
    """Those of the results."""
    offsets: list[int]
    """For each read, where its first element lies from that of the array."""
    rest: tuple[int, ...]
    tiled: bool


class CompiledNest:
    """The kernel of a nest whose reductions all fold the same axes; ``Declined`` for others."""

    def __init__(self, device: Device, nest: Nest):
        self._device, self._nest = device, nest
        text = NestText(nest)
        self._plain = self._loops(text, text.body())
        self._reads, self._folded, self._kept = text.reads, text.folded, text.kept
        self._gathered = list(text.gathered)
        self._launches: dict[Any, _Launch] = {}

    def _loops(self, text: NestText, body: str) -> LoopNest:
        """The loops, shared by all nests of one text."""
        stores = self._nest.stores
        operands = [Operand(f"out{i}", s.dtype, written=True) for i, s in enumerate(stores)]
        operands += [Operand(f"p{i}", r.dtype) for i, r in enumerate(text.reads)]
        extras = [("GLOBAL i64 *", "fault")] if text.gathered else []
        for array, d in text.gathered:
            extras += [("i64", f"size{array}_{d}"), ("i64", f"step{array}_{d}")]
        extras += [("i64", f"n{r}") for r in range(len(text.folded))]
        for operand, axes in zip(operands, text.axes_of_operands(), strict=True):
            if {*axes} & {*text.folded}:
                extras += [("i64", f"{operand.name}_k{r}") for r in range(len(text.folded))]
        if text.tile is not None:
            operands.append(Operand("tile", stores[0].dtype))
            extras += [("i64", "n_tile"), *[("i64", f"{o.name}_t") for o in operands[:-1]]]
        extras += [(compute_type(d), f"c{i}") for i, d in enumerate(self._nest.numbers)]
        key = ("nest", tuple(operands), body, tuple(extras), text.helpers, bool(text.folded))
        if key not in self._device.made:
            name = "k_rows" if text.folded else "k_graph"
            self._device.made[key] = LoopNest(
                self._device, name, operands, body, extras, text.helpers, not text.folded
            )
        found: LoopNest = self._device.made[key]
        return found

    @property
    def folds(self) -> bool:
        """Whether it has reductions."""
        return bool(self._folded)

    def is_left(self, sizes: dict[str, int]) -> bool:
        """Whether kernels of single ops, which cut long lines into pieces, are faster here.

        *sizes* has the numbers that the names of sizes stand for.
        """
        items, each = (
            prod(size_of(self._nest.box[a], sizes) for a in axes)
            for axes in (self._kept, self._folded)
        )
        return items < 2 * self._device.dialect.units and each > PIECE

    def __call__(
        self,
        arrays: list[StridedArray],
        numbers: list[Any],
        given: list[StridedArray | None],
        sizes: dict[str, int],
    ) -> list[StridedArray]:
        """The results.

        *given* has for each result an array to write to or None, *sizes* the numbers that the names
        of sizes stand for.
        """
        key = (
            *[(x.shape, x.strides) for x in arrays],
            *[None if x is None else x.strides for x in given],
            *sizes.values(),
        )
        if key not in self._launches:
            if len(self._launches) > PLANS_KEPT:
                self._launches.clear()
            self._launches[key] = self._launch(arrays, given, sizes)
        plan, shapes, offsets, rest, tiled = self._launches[key]
        results = [
            self._device.new(shape, s.dtype) if x is None else x
            for x, shape, s in zip(given, shapes, self._nest.stores, strict=True)
        ]
        where: list[Any] = []
        for x in results:
            where += (x.buffer, x.offset)
        for read, offset in zip(self._reads, offsets, strict=True):
            x = arrays[read.array]
            where += (x.buffer, x.offset + offset)
        if tiled:
            where += (results[0].buffer, 0)
        fault = [self._device.fault_words().buffer] if self._gathered else []
        plan.launch(plan.size, *where, *plan.layout, *fault, *rest, *numbers)
        return results

    def _launch(
        self,
        arrays: list[StridedArray],
        given: list[StridedArray | None],
        sizes: dict[str, int],
    ) -> _Launch:
        box = self._sizes(arrays, sizes)
        kept, folded = [box[a] for a in self._kept], [box[a] for a in self._folded]
        shapes, steps, offsets = [], [], []
        for each, x in zip(self._nest.stores, given, strict=True):
            shapes.append(tuple(1 if a is None else box[a] for a in each.axes))
            strides = row_major(shapes[-1])[0] if x is None else x.strides
            steps.append(_steps([((a, 1),) if a is not None else () for a in each.axes], strides))
        for read in self._reads:
            strides = arrays[read.array].strides
            steps.append(_steps(terms_of(read), strides))
            known = [i.offset if isinstance(i, Affine) else 0 for i in read.index]
            offsets.append(sum(n * s for n, s in zip(known, strides, strict=True)))
        rest = []
        for array, d in self._gathered:
            rest += [arrays[array].shape[d], arrays[array].strides[d]]
        rest += folded
        for found in steps:
            if found.keys() & {*self._folded}:
                rest += [found.get(a, 0) for a in self._folded]
        if self._is_tiled(kept, steps):
            last = self._kept[-1]
            strides = tuple(found.get(last, 0) for found in steps)
            text = NestText(self._nest, tuple(s if s in (0, 1) else None for s in strides))
            loops = self._loops(text, text.body())
            box = [*kept[:-1], -(-kept[-1] // LANES)]
            outer = [(*[s.get(a, 0) for a in self._kept[:-1]], 0) for s in steps]
            plan = loops.plan(tuple(box), (*outer, (*[0] * (len(box) - 1), 1)))
            return _Launch(plan, shapes, offsets, (*rest, kept[-1], *strides), True)
        plan = self._plain.plan(
            tuple(kept), tuple(tuple(s.get(a, 0) for a in self._kept) for s in steps)
        )
        return _Launch(plan, shapes, offsets, tuple(rest), False)

    def _is_tiled(self, kept: list[int], steps: list[dict[int, int]]) -> bool:
        """Whether results lie side by side, what is folded does not, and there are enough.

        Without reductions: whether indices are checked.
        """
        dialect = self._device.dialect
        if not dialect.tiles or not kept or kept[-1] < LANES:
            return False
        side = self._kept[-1]
        if not self._folded:  # an index that each item of its own checks keeps it from vectors
            return bool(self._gathered)
        along = self._folded[-1]
        across = [s for s in steps[len(self._nest.stores) :] if along in s and side in s]
        many = prod(kept) // LANES >= dialect.units
        return many and bool(across) and all(s[side] == 1 and abs(s[along]) > 1 for s in across)

    def _sizes(self, arrays: list[StridedArray], sizes: dict[str, int]) -> list[int]:
        """The size of each axis."""
        found: dict[int, int] = {}
        for read in self._reads:
            for d, index in enumerate(read.index):
                if isinstance(index, Gathered):
                    continue
                if index.offset == 0 and len(index.terms) == 1 and index.terms[0][1] == 1:
                    found.setdefault(index.terms[0][0], arrays[read.array].shape[d])
        return [found[a] if a in found else size_of(n, sizes) for a, n in enumerate(self._nest.box)]


def size_of(size: int | str, sizes: dict[str, int]) -> int:
    """The number that a size of a graph stands for; ``Declined`` where nothing tells it."""
    if isinstance(size, int):
        return size
    if size in sizes:
        return sizes[size]
    parts = size.split("*")
    if any(part not in sizes and not part.isdigit() for part in parts):
        raise Declined
    return prod(int(part) if part.isdigit() else sizes[part] for part in parts)


def _steps(index: list[tuple[tuple[int, int], ...]], strides: tuple[int, ...]) -> dict[int, int]:
    """How far apart the elements of an array lie along each axis."""
    found: dict[int, int] = {}
    for terms, stride in zip(index, strides, strict=True):
        for axis, factor in terms:
            found[axis] = found.get(axis, 0) + factor * stride
    return found
