"""``put`` and ``scatter`` with repeated indices, the same bits on every run.

For backends without the trait ``deterministic_scatter``, while the program asks for deterministic
algorithms: the indices are sorted, what goes to one place is joined by a tree whose shape depends
on the indices alone, and the kernel then writes each place once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.deterministic import DETERMINISTIC
from tensorbus.rows.registry import Row

Entry = Callable[..., Any]

_JOINS = {"add": "add", "mul": "mul", "amax": "maximum", "amin": "minimum"}


def ordered_writes(kind: Any, row: Row, kernel: Entry) -> Entry:
    """The entry of ``put`` or ``scatter`` that asks whether it must be deterministic."""
    whole_slices = row.name == "put"
    # Of integers and truth values every order gives the same, unless the last one wins.
    exact = kind.dtype.category < dtypes.FLOAT

    def entry(x: Any, dim: int, i: Any, src: Any, op: str, wrap: bool = False) -> Any:
        if not DETERMINISTIC.on or (exact and op != "set") or not _many(x, i, src):
            rest = (wrap,) if whole_slices else ()
            return kernel(x, dim, i, src, op, *rest)
        lines = _Lines(kind, x, dim, whole_slices)
        return lines.write(kernel, i, src, op, wrap)

    return entry


def _many(x: Any, i: Any, src: Any) -> bool:
    """Whether several values may go to one place that differ: a Python number is one value."""
    arrays = hasattr(src, "shape") and bool(x.shape and i.shape and src.shape)
    return arrays and 0 not in (*x.shape, *i.shape, *src.shape)


class _Lines:
    """What is written into, seen along the dimension that the indices count."""

    def __init__(self, kind: Any, x: Any, dim: int, whole_slices: bool):
        self.kind, self.x, self.dim, self.whole_slices = kind, x, dim, whole_slices
        self.axis = 0 if whole_slices else dim
        """The dimension of the indices that counts them."""
        self.n: int = x.shape[dim]

    def write(self, kernel: Entry, i: Any, src: Any, op: str, wrap: bool) -> Any:
        F, ints, dim, x = self.kind, self.kind.i64, self.dim, self.x
        self.read(F, self._thin(), i, wrap)  # faults before anything is written
        if wrap:
            i = ints.where(ints.lt(i, ints.const(0)), ints.add(i, ints.const(self.n)), i)
        count = i.shape[self.axis]
        order = ints.argsort(i, self.axis)  # stable: equals stay in the order of the call
        keys = self._along(ints, i, self.axis, order)
        values = self._along(F, F.expand(src, self._shape(count)), dim, order)
        if op != "set":
            values = self._joined(keys, values, count, op)
        # Only the last of equal indices writes; the others go to a place that is dropped.
        spare = self._last_of_equals(ints, keys, count)
        room = F.empty((*x.shape[:dim], self.n + 1, *x.shape[dim + 1 :]))
        part = F.slice(room, dim, 0, self.n, 1)
        F.copy_(part, x)
        rest = (False,) if self.whole_slices else ()
        if kernel(room, dim, spare, values, "set", *rest) is NotImplemented:
            return NotImplemented
        return F.copy_(x, part)

    def read(self, F: Any, x: Any, i: Any, wrap: bool = False) -> Any:
        """What *x* holds where *i* points: a slice for each index, or an element."""
        if self.whole_slices:
            return F.take(x, self.dim, i, wrap)
        return F.gather(x, self.dim, i)

    def _along(self, F: Any, x: Any, dim: int, order: Any) -> Any:
        return F.take(x, dim, order, False) if self.whole_slices else F.gather(x, dim, order)

    def _thin(self) -> Any:
        """Of *x* no more than faults need: one line, where the indices are the same for all."""
        x = self.x
        if self.whole_slices:
            for d in range(len(x.shape)):
                if d != self.dim and x.shape[d] != 1:
                    x = self.kind.slice(x, d, 0, 1, 1)
        return x

    def _shape(self, count: int) -> tuple[int, ...]:
        return (*self.x.shape[: self.dim], count, *self.x.shape[self.dim + 1 :])

    def _joined(self, keys: Any, values: Any, count: int, op: str) -> Any:
        """Each value joined with those before it that go to the same place, and what is there."""
        kind, dim = self.kind, self.dim
        # Half-width floats are joined in float32 and rounded once, as a kernel does it.
        narrow = kind.dtype.is_floating_point and kind.dtype.itemsize < 4
        F = kind.of(dtypes.float32) if narrow else kind
        if narrow:
            values = F.cast(values, kind)
        join = getattr(F, _JOINS[op])
        step = 1
        while step < count:
            same = self._equal(keys, step, count)
            before, here = (
                F.slice(values, dim, start, start + count - step, 1) for start in (0, step)
            )
            made = F.clone(values)
            F.copy_(F.slice(made, dim, step, count, 1), F.where(same, join(before, here), here))
            values, step = made, 2 * step
        there = self.read(kind, self.x, keys)
        if narrow:
            return kind.cast(join(F.cast(there, kind), values), F)
        return join(there, values)

    def _equal(self, keys: Any, step: int, count: int) -> Any:
        """Whether an index equals the one *step* places before, in a shape that broadcasts."""
        ints = self.kind.i64
        before, here = (
            ints.slice(keys, self.axis, start, start + count - step, 1) for start in (0, step)
        )
        same = ints.eq(before, here)
        if self.whole_slices:
            shape = [1] * len(self.x.shape)
            shape[self.dim] = count - step
            same = self.kind.bool.reshape(same, tuple(shape))
        return same

    def _last_of_equals(self, ints: Any, keys: Any, count: int) -> Any:
        """The sorted indices, each but the last of equals replaced by the size."""
        if count < 2:
            return keys
        before, after = (
            ints.slice(keys, self.axis, start, start + count - 1, 1) for start in (0, 1)
        )
        made = ints.clone(keys)
        chosen = ints.where(ints.eq(before, after), ints.const(self.n), before)
        ints.copy_(ints.slice(made, self.axis, 0, count - 1, 1), chosen)
        return made
