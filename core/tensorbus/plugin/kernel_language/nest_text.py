"""Loop nests as C text."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

from tensorbus.plugin.kernel_language.axes import Declined
from tensorbus.plugin.kernel_language.expressions import Expressions
from tensorbus.plugin.kernel_language.folds import EACH, FoldText, fold_text
from tensorbus.plugin.kernel_language.reduce import BLOCK, LANES
from tensorbus.plugin.kernel_language.types import compute_type, load, store
from tensorbus.plugin.nest import Apply, Expression, Fold, Nest, Number, Read

# So many elements are added up before the sum is joined to that of the others with compensation.
TILED_BLOCK = 128


class NestText:
    """The body of a nest's loops; ``Declined`` for a nest that they do not do."""

    def __init__(self, nest: Nest, tile: tuple[int | None, ...] | None = None):
        """*tile*: for each operand the stride of the last kept axis, None for any but 0 and 1."""
        self.nest = nest
        self.tile = tile
        self.reads: list[Read] = []
        self._slots: dict[Any, str] = {}
        self._expressions = Expressions()
        self._axes: dict[Expression, frozenset[int]] = {}
        self._rounds: dict[Expression, int] = {}
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
        return stores + [[a for i in r.index for a, _ in i.terms] for r in self.reads]

    @property
    def helpers(self) -> str:
        """The functions that the body calls."""
        return self._expressions.helpers

    def _visit(self, e: Expression) -> None:
        """Note the axes of an expression, and behind how many rounds it is known."""
        parts = _parts(e, into_folds=True)
        axes = frozenset(a for part in parts for a in self._axes[part])
        rounds = max((self._rounds[part] for part in parts), default=0)
        if isinstance(e, Read):
            axes = frozenset(a for i in e.index for a, _ in i.terms)
            key = (e.array, e.index)
            if key not in self._slots:
                self._slots[key] = f"p{len(self.reads)}"
                self.reads.append(e)
        elif isinstance(e, Fold):
            axes -= {*e.axes}
            rounds += 1
            self._folds.append(e)
        self._axes[e], self._rounds[e] = axes, rounds

    def _is_inner(self, e: Expression) -> bool:
        return not self._axes[e].isdisjoint(self.folded)

    def body(self) -> str:
        """The C text."""
        outer: dict[Expression, str] = {}
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
            name = self._named(each.value, outer, outer, lines, lines)
            stored = store(each.dtype, f"out{i}", self._at(f"out{i}", False), name)
            last += f"{self._every}{stored}\n"
        code += "".join(lines) + last
        return code + self._stores(inner, outer) if inner else code

    @property
    def _every(self) -> str:
        """What stands before a statement for each result."""
        return "" if self.tile is None else EACH

    def _round(self, folds: list[Fold], outer: dict[Expression, str], n: int) -> str:
        """A loop along the folded axes that computes these reductions.

        The last axis goes in blocks, and these in lanes, so that compilers may use vectors.
        """
        before: list[str] = []
        within: list[str] = []
        parts: list[FoldText] = []
        local: dict[Expression, str] = {}
        for k, fold in enumerate(folds):
            value = self._named(fold.value, local, outer, within, before)
            text = fold_text(
                fold.op, f"a{n}_{k}", value, fold.value.dtype, fold.dtype, self.tile is not None
            )
            within.append(text.update)
            parts.append(text)
            outer[fold] = text.name
        last = len(self.folded) - 1
        body = "".join(within)
        length = BLOCK if self.tile is None else TILED_BLOCK
        block = (
            f"for (i64 b = 0; b < n{last}; b += {length}) {{\n"
            f"i64 e = n{last} - b < {length} ? n{last} : b + {length}, q = b;\n"
            + "".join(p.start for p in parts)
        )
        if self.tile is None:
            block += f"for (; q + {LANES} <= e; q += {LANES}) {EACH}{{\n"
            block += f"i64 r{last} = q + u;\n{body}}}\n"
            block += f"for (int u = 0; q < e; q++) {{\ni64 r{last} = q;\n{body}}}\n"
        else:
            block += f"for (; q < e; q++) {EACH}{{\ni64 r{last} = q;\n{body}}}\n"
        block += "".join(p.end for p in parts) + "}\n"
        for r in reversed(range(last)):
            block = f"for (i64 r{r} = 0; r{r} < n{r}; r{r}++) {{\n{block}}}\n"
        declared = "".join(p.before for p in parts)
        return "".join(before) + declared + block + "".join(p.after for p in parts)

    def _stores(self, outputs: list[int], outer: dict[Expression, str]) -> str:
        before: list[str] = []
        within: list[str] = []
        local: dict[Expression, str] = {}
        for i in outputs:
            each = self.nest.stores[i]
            name = self._named(each.value, local, outer, within, before)
            within.append(store(each.dtype, f"out{i}", self._at(f"out{i}", True), name) + "\n")
        body = "".join(within)
        if self.tile is not None:
            body = f"{EACH}{{\n{body}}}\n"
        for r in reversed(range(len(self.folded))):
            body = f"for (i64 r{r} = 0; r{r} < n{r}; r{r}++) {{\n{body}}}\n"
        return "".join(before) + body

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

    def _named(
        self,
        e: Expression,
        local: dict[Expression, str],
        outer: dict[Expression, str],
        lines: list[str],
        before: list[str],
    ) -> str:
        """The name of an expression's value, after the lines that compute it.

        What has no folded axis is computed outside of the loop, in *before*, once for all loops.
        """
        for part in _in_order([e], into_folds=False):
            inner = self._is_inner(part)
            names = local if inner else outer
            if part not in names:
                names[part] = self._made(part, ChainMap(local, outer), lines if inner else before)
        return local[e] if self._is_inner(e) else outer[e]

    def _made(self, e: Expression, names: Mapping[Expression, str], lines: list[str]) -> str:
        """The name of an expression whose parts have names."""
        if isinstance(e, Number):
            return f"c{e.number}"
        inner = self._is_inner(e)
        if isinstance(e, Read):
            slot = self._slots[e.array, e.index]
            text = load(e.dtype, slot, self._at(slot, inner))
        else:
            assert isinstance(e, Apply)
            given = {x: names[x] for x in _parts(e, into_folds=False)}
            text = self._expressions.of(e, given)
        made = f"{'inner' if inner else 'outer'}{self._expressions.count()}"
        if inner or self.tile is None:
            lines.append(f"{compute_type(e.dtype)} {made} = {text};\n")
            return made
        lines.append(f"{compute_type(e.dtype)} {made}[{LANES}];\n{EACH}{made}[u] = {text};\n")
        return f"{made}[u]"


def _parts(e: Expression, into_folds: bool) -> list[Expression]:
    """The expressions that one is made of."""
    if isinstance(e, Fold):
        return [e.value] if into_folds else []
    return [x for x in e.args if isinstance(x, Expression)] if isinstance(e, Apply) else []


def _in_order(roots: list[Expression], into_folds: bool) -> list[Expression]:
    """All expressions that some are made of, each behind its parts."""
    found: dict[Expression, None] = {}
    waiting = [(e, False) for e in reversed(roots)]
    while waiting:
        e, ready = waiting.pop()
        if ready:
            found[e] = None
        elif e not in found:
            waiting.append((e, True))
            waiting += [(x, False) for x in reversed(_parts(e, into_folds))]
    return list(found)
