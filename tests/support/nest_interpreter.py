"""Loop nests by NumPy, over the whole box at once, as a reference for generators."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin.nest import Affine, Apply, Fold, Nest, Number, Read

APPLIED = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "abs": np.abs,
    "exp": np.exp, "log": np.log, "neg": np.negative, "maximum": np.maximum, "where": np.where,
    "ne": np.not_equal,
}  # fmt: skip
FOLDED = {"sum": np.sum, "prod": np.prod, "amax": np.amax, "amin": np.amin}


class NestInterpreter:
    """Runs a nest, in float64 where it computes in floats.

    *faults* has (value, dimension, size) of each index that was outside.
    """

    def __init__(self, nest: Nest, arrays: list[np.ndarray], numbers: list[Any], box: list[int]):
        self.nest, self.numbers, self.box = nest, numbers, box
        self.arrays = [x.astype(float) if x.dtype.kind == "f" else x for x in arrays]
        self.faults: list[tuple[int, int, int]] = []

    def run(self) -> list[np.ndarray]:
        """What each store stores."""
        found = []
        for store in self.nest.stores:
            value = np.broadcast_to(self.of(store.value), self.box)
            kept = [a for a in store.axes if a is not None]
            gone = tuple(a for a in range(len(self.box)) if a not in kept)
            line = value[tuple(0 if a in gone else slice(None) for a in range(len(self.box)))]
            line = line.transpose([sorted(kept).index(a) for a in kept])
            shape = [1 if a is None else self.box[a] for a in store.axes]
            found.append(line.reshape(shape).astype(store.dtype.name))
        return found

    def axis(self, a: int) -> np.ndarray:
        """The coordinate of each point of the box along an axis."""
        return np.arange(self.box[a]).reshape([-1 if b == a else 1 for b in range(len(self.box))])

    def index(self, index: Any, n: int) -> tuple[Any, Any]:
        """The index of a dimension of *n*, and whether it is inside."""
        if isinstance(index, Affine):
            return sum((self.axis(a) * f for a, f in index.terms), np.array(index.offset)), True
        given = self.of(index.value)
        wrapped = np.where((given < 0) & index.wrap, given + n, given)
        inside = (wrapped >= 0) & (wrapped < n)
        self.faults += [(int(v), index.dim, n) for v in given[~inside].flat]
        return np.where(inside, wrapped, 0), inside

    def of(self, e: Any) -> Any:
        """An expression at all points; along axes that it does not have its size is 1."""
        if isinstance(e, Number):
            return np.array(self.numbers[e.number])
        if isinstance(e, Read):
            x = self.arrays[e.array]
            pairs = [self.index(i, n) for i, n in zip(e.index, x.shape, strict=True)]
            inside = np.all(np.broadcast_arrays(*[ok for _, ok in pairs]), axis=0)
            if 0 in x.shape:
                return np.zeros(inside.shape, x.dtype)
            return np.where(inside, x[tuple(i for i, _ in pairs)], 0).astype(x.dtype)
        if isinstance(e, Fold):
            value = np.asarray(self.of(e.value))
            value = value.reshape((1,) * (len(self.box) - value.ndim) + value.shape)
            shape = [n if a in e.axes else value.shape[a] for a, n in enumerate(self.box)]
            return FOLDED[e.op](np.broadcast_to(value, shape), axis=e.axes, keepdims=True)
        assert isinstance(e, Apply)
        args = [self.of(x) if isinstance(x, (Read, Number, Apply, Fold)) else x for x in e.args]
        if e.op == "cast":
            return np.asarray(args[0]).astype(float if e.dtype.category == 2 else e.dtype.name)
        return APPLIED[e.op](*args)
