"""Loop nests as C text."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorbus.plugin.kernel_language.axes import Declined
from tensorbus.plugin.kernel_language.device import FAULT, INDEX_AT
from tensorbus.plugin.kernel_language.expressions import Expressions
from tensorbus.plugin.kernel_language.folds import EACH, FoldText, fold_text
from tensorbus.plugin.kernel_language.reduce import BLOCK, LANES
from tensorbus.plugin.kernel_language.types import compute_type, load, store
from tensorbus.plugin.nest import (
    Affine,
    Apply,
    Expression,
    Fold,
    Gathered,
    Nest,
    Number,
    Read,
)

# So many elements are added up before the sum is joined to that of the others with compensation.
TILED_BLOCK = 128


@dataclass(frozen=True, slots=True)
class _Picked:
    """The gathered index of a dimension of an array, checked."""

    array: int
    d: int
    index: Gathered


_Part = Expression | _Picked


@dataclass(slots=True)
class _Loop:
    """The text of a loop along the folded axes."""

    before: list[str] = field(default_factory=list)
    """What has no folded axis is computed once, before the loop."""
    picks: list[str] = field(default_factory=list)
    """Reads at gathered indices have lanes of their own, so that the others keep vectors."""
    arrays: list[str] = field(default_factory=list)
    """What these lanes leave to the others."""
    within: list[str] = field(default_factory=list)
    picked: dict[_Part, str] = field(default_factory=dict)
    local: dict[_Part, str] = field(default_factory=dict)

    def lanes(self, every: str, at: str) -> str:
        """The text of some lanes, or of one; *at*: what each begins with."""
        body = f"{every}{{\n{at}{''.join(self.within)}}}\n"
        if not self.picks:
            return body
        return f"{{\n{''.join(self.arrays)}{every}{{\n{at}{''.join(self.picks)}}}\n{body}}}\n"


class NestText:
    """The body of a nest's loops; ``Declined`` for a nest that they do not do."""

    def __init__(self, nest: Nest, tile: tuple[int | None, ...] | None = None):
        """*tile*: for each operand the stride of the last kept axis, None for any but 0 and 1."""
        self.nest = nest
        self.tile = tile
        self.reads: list[Read] = []
        self.gathered: dict[tuple[int, int], None] = {}
        """The arrays and dimensions of gathered indices, whose sizes and strides are arguments."""
        self._slots: dict[Any, str] = {}
        self._expressions = Expressions()
        self._axes: dict[_Part, frozenset[int]] = {}
        self._rounds: dict[_Part, int] = {}
        self._folds: list[Fold] = []
        """The reductions, those that others hang on before these."""
        for e in _in_order([each.value for each in nest.stores], into_folds=True):
            self._visit(e)
        sets = {frozenset(fold.axes) for fold in self._folds}
        if len(sets) > 1 or nest.tiles or nest.packed or nest.schedule:
            raise Declined
        self.folded = sorted(sets.pop() if sets else ())
        wide = max(nest.stores, key=lambda s: len([a for a in s.axes if a is not None]))
        self.kept = [a for a in wide.axes if a is not None and a not in self.folded]
        self._check()

    def _check(self) -> None:
        """Each result has all axes that are kept, and all or none of those that are folded."""
        if {*self.kept, *self.folded} != {*range(len(self.nest.box))}:
            raise Declined
        for each in self.nest.stores:
            axes = [a for a in each.axes if a is not None]
            inner = {*axes} & {*self.folded}
            if len({*axes}) != len(axes) or {*axes} - inner != {*self.kept}:
                raise Declined
            if inner not in (set(), {*self.folded}) or not self._axes[each.value] <= {*axes}:
                raise Declined

    def axes_of_operands(self) -> list[list[int]]:
        """The axes of all outputs, then those of all reads."""
        stores = [[a for a in each.axes if a is not None] for each in self.nest.stores]
        return stores + [[a for terms in terms_of(r) for a, _ in terms] for r in self.reads]

    @property
    def helpers(self) -> str:
        """The functions that the body calls."""
        return (FAULT + INDEX_AT if self.gathered else "") + self._expressions.helpers

    def _visit(self, e: _Part) -> None:
        """Note the axes of an expression, and behind how many rounds it is known."""
        parts = _parts(e, into_folds=True)
        axes = frozenset(a for part in parts for a in self._axes[part])
        rounds = max((self._rounds[part] for part in parts), default=0)
        if isinstance(e, Read):
            axes |= frozenset(a for terms in terms_of(e) for a, _ in terms)
            key = (e.array, e.index)
            if key not in self._slots:
                self._slots[key] = f"p{len(self.reads)}"
                self.reads.append(e)
        elif isinstance(e, _Picked):
            self.gathered[e.array, e.d] = None
        elif isinstance(e, Fold):
            axes -= {*e.axes}
            rounds += 1
            self._folds.append(e)
        self._axes[e], self._rounds[e] = axes, rounds

    def _is_inner(self, e: _Part) -> bool:
        return not self._axes[e].isdisjoint(self.folded)

    def body(self) -> str:
        """The C text."""
        outer: dict[_Part, str] = {}
        code = ""
        if self.tile is not None:  # the last one ends with the results
            code = f"i64 first = tile_i * {LANES};\nif (first > n_tile - {LANES}) "
            code += f"first = n_tile - {LANES};\n"
        for n in range(1, max(self._rounds.values()) + 1):
            folds = [fold for fold in self._folds if self._rounds[fold] == n]
            code += self._round(folds, outer, n)
        lines: list[str] = []
        last = ""
        inner = []
        for i, each in enumerate(self.nest.stores):
            if {*each.axes} & {*self.folded}:
                inner.append(i)
                continue
            name = self._outside(each.value, outer, lines)
            stored = store(each.dtype, f"out{i}", self._at(f"out{i}", False), name)
            last += f"{self._every}{stored}\n"
        code += "".join(lines) + last
        return code + self._stores(inner, outer) if inner else code

    @property
    def _every(self) -> str:
        """What stands before a statement for each result."""
        return "" if self.tile is None else EACH

    def _round(self, folds: list[Fold], outer: dict[_Part, str], n: int) -> str:
        """A loop along the folded axes that computes these reductions.

        The last axis goes in blocks, and these in lanes, so that compilers may use vectors.
        """
        loop = _Loop()
        parts: list[FoldText] = []
        for k, fold in enumerate(folds):
            value = self._named(fold.value, loop, outer)
            text = fold_text(
                fold.op, f"a{n}_{k}", value, fold.value.dtype, fold.dtype, self.tile is not None
            )
            loop.within.append(text.update)
            parts.append(text)
            outer[fold] = text.name
        last = len(self.folded) - 1
        length = BLOCK if self.tile is None else TILED_BLOCK
        block = (
            f"for (i64 b = 0; b < n{last}; b += {length}) {{\n"
            f"i64 e = n{last} - b < {length} ? n{last} : b + {length}, q = b;\n"
            + "".join(p.start for p in parts)
        )
        if self.tile is None:
            block += self._in_lanes(loop)
        else:
            block += "for (; q < e; q++) " + loop.lanes(EACH, f"i64 r{last} = q;\n")
        block += "".join(p.end for p in parts) + "}\n"
        for r in reversed(range(last)):
            block = f"for (i64 r{r} = 0; r{r} < n{r}; r{r}++) {{\n{block}}}\n"
        declared = "".join(p.before for p in parts)
        return "".join(loop.before) + declared + block + "".join(p.after for p in parts)

    def _in_lanes(self, loop: _Loop) -> str:
        """A loop from ``q`` to ``e``."""
        r = f"i64 r{len(self.folded) - 1}"
        lanes = loop.lanes(EACH, f"{r} = q + u;\n")
        text = f"for (; q + {LANES} <= e; q += {LANES}) {lanes}"
        return text + "for (int u = 0; q < e; q++) " + loop.lanes("", f"{r} = q;\n")

    def _stores(self, outputs: list[int], outer: dict[_Part, str]) -> str:
        loop = _Loop()
        for i in outputs:
            each = self.nest.stores[i]
            name = self._named(each.value, loop, outer)
            stored = store(each.dtype, f"out{i}", self._at(f"out{i}", True), name)
            loop.within.append(f"{stored}\n")
        axes = len(self.folded)
        if loop.picks and self.tile is None:
            axes -= 1
            body = f"i64 q = 0, e = n{axes};\n{self._in_lanes(loop)}"
        else:
            body = loop.lanes(self._every, "")
        for r in reversed(range(axes)):
            body = f"for (i64 r{r} = 0; r{r} < n{r}; r{r}++) {{\n{body}}}\n"
        return "".join(loop.before) + body

    def _at(self, name: str, inner: bool) -> str:
        """The index of an operand's element."""
        at = f"{name}_i"
        if inner:
            at += "".join(f" + r{r} * {name}_k{r}" for r in range(len(self.folded)))
        if self.tile is not None:
            i = int(name.removeprefix("out").removeprefix("p"))
            unit = self.tile[i if name.startswith("out") else len(self.nest.stores) + i]
            at += {0: "", 1: " + first + u", None: f" + (first + u) * {name}_t"}[unit]
        return at

    def _outside(self, e: _Part, outer: dict[_Part, str], lines: list[str]) -> str:
        """The name of what has no folded axis, after the lines that compute it."""
        for part in _in_order([e], into_folds=False):
            if part not in outer:
                outer[part] = self._made(part, outer, lines)
        return outer[e]

    def _named(self, e: Expression, loop: _Loop, outer: dict[_Part, str]) -> str:
        """The name of an expression's value in a loop."""
        for part in _in_order([e], into_folds=False, leaf=self._stands_apart):
            if not self._is_inner(part):
                self._outside(part, outer, loop.before)
            elif part not in loop.local and self._stands_apart(part):
                loop.local[part] = self._apart(part, loop, outer)
            elif part not in loop.local:
                loop.local[part] = self._made(part, ChainMap(loop.local, outer), loop.within)
        return loop.local[e] if self._is_inner(e) else outer[e]

    def _stands_apart(self, e: _Part) -> bool:
        """Whether each lane of a loop reads at an index that it has to check."""
        return isinstance(e, Read) and any(map(self._is_inner, _parts(e, into_folds=False)))

    def _apart(self, e: _Part, loop: _Loop, outer: dict[_Part, str]) -> str:
        """The name of what lanes of their own have read."""
        for part in _in_order([e], into_folds=False):
            if not self._is_inner(part):
                self._outside(part, outer, loop.before)
            elif part not in loop.picked:
                loop.picked[part] = self._made(part, ChainMap(loop.picked, outer), loop.picks)
        assert isinstance(e, Read)
        name = loop.picked[e]
        loop.arrays.append(f"{compute_type(e.dtype)} {name}_of[{LANES}];\n")
        loop.picks.append(f"{name}_of[u] = {name};\n")
        return f"{name}_of[u]"

    def _made(self, e: _Part, names: Mapping[_Part, str], lines: list[str]) -> str:
        """The name of an expression whose parts have names."""
        if isinstance(e, Number):
            return f"c{e.number}"
        if isinstance(e, Read):
            text = self._read(e, names)
        elif isinstance(e, _Picked):
            given, size = names[e.index.value], f"size{e.array}_{e.d}"
            text = f"index_at(fault, {given}, {e.index.wrap:d}, {e.index.dim}, {size})"
        else:
            assert isinstance(e, Apply)
            text = self._expressions.of(e, {x: names[x] for x in _parts(e, into_folds=False)})
        inner, t = self._is_inner(e), "i64" if isinstance(e, _Picked) else compute_type(e.dtype)
        made = f"{'inner' if inner else 'outer'}{self._expressions.count()}"
        if inner or self.tile is None or self._is_one(e):
            lines.append(f"{t} {made} = {text};\n")
            return made
        lines.append(f"{t} {made}[{LANES}];\n{EACH}{made}[u] = {text};\n")
        return f"{made}[u]"

    def _is_one(self, e: _Part) -> bool:
        """Whether all results of a tile have the same value of an expression."""
        return not self._rounds[e] and self.kept[-1] not in self._axes[e]

    def _read(self, e: Read, names: Mapping[_Part, str]) -> str:
        slot = self._slots[e.array, e.index]
        along = {a for terms in terms_of(e) for a, _ in terms}
        at = self._at(slot, not along.isdisjoint(self.folded))
        picked = [part for part in _parts(e, into_folds=False) if isinstance(part, _Picked)]
        at += "".join(f" + {names[p]} * step{p.array}_{p.d}" for p in picked)
        text = load(e.dtype, slot, at)
        if not picked:
            return text
        outside = " || ".join(f"{names[p]} < 0" for p in picked)
        return f"{outside} ? ({compute_type(e.dtype)})0 : {text}"


def terms_of(read: Read) -> list[tuple[tuple[int, int], ...]]:
    """For each dimension the axes that its index goes along, with their factors."""
    return [i.terms if isinstance(i, Affine) else () for i in read.index]


def _parts(e: _Part, into_folds: bool) -> list[_Part]:
    """The expressions that one is made of."""
    if isinstance(e, Fold):
        return [e.value] if into_folds else []
    if isinstance(e, Read):
        return [_Picked(e.array, d, i) for d, i in enumerate(e.index) if isinstance(i, Gathered)]
    if isinstance(e, _Picked):
        return [e.index.value]
    return [x for x in e.args if isinstance(x, Expression)] if isinstance(e, Apply) else []


def _in_order(
    roots: Sequence[_Part], into_folds: bool, leaf: Callable[[_Part], bool] = lambda e: False
) -> list[_Part]:
    """All expressions that some are made of, each behind its parts; a *leaf*'s are left out."""
    found: dict[_Part, None] = {}
    waiting: list[tuple[_Part, bool]] = [(e, False) for e in reversed(roots)]
    while waiting:
        e, ready = waiting.pop()
        if ready:
            found[e] = None
        elif e not in found:
            waiting.append((e, True))
            parts = [] if leaf(e) else _parts(e, into_folds)
            waiting += [(x, False) for x in reversed(parts)]
    return list(found)
