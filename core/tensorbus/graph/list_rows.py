"""Rows over lists where no kernel takes the lists whole: one member of each after the other.

A member's composition is recorded once. A plugin that compiles makes one kernel of it; else it
becomes straight-line Python over the kind, which writes in place, by pieces that stay in the cache.
Where ``set_fusion`` allows neither, it is composed, and its results are copied.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from operator import is_
from typing import Any

from tensorbus._base import registered
from tensorbus._dispatch.fusion import get_fusion
from tensorbus._dispatch.kinds import Kind
from tensorbus.graph.asking import Compile, ask
from tensorbus.graph.compiled_rows import COMPOSED_CALLS, KEPT
from tensorbus.graph.recording import array_of, record, recording_device
from tensorbus.graph.sizes import generalised
from tensorbus.graph.straight_line import straight_line
from tensorbus.plugin.graph import Block, NumberType, TensorType, Value
from tensorbus.rows.registry import Row

Shape = tuple[int, ...]

_AT_ONCE = 24
"""How many pieces the arrays of a member and its buffers have together, while they are stepped:
some megabytes, which caches hold. With fewer, calls cost more than a nearer cache saves."""


@registered.list_composition.provide
class ListRow:
    """The entry of a row of form ``list`` on a kind."""

    __slots__ = ("_asked", "_kind", "_lists", "_numbers", "_row", "_steps")

    def __init__(self, kind: Kind, row: Row, asked: list[Compile]):
        self._kind, self._row, self._asked = kind, row, asked
        self._lists = len(row.tensors)
        self._numbers = self._lists + len(row.numbers)
        self._steps: dict[Any, _Step] = {}

    def __call__(self, *args: Any) -> None:
        lists, parameters = args[: self._lists], args[self._numbers :]
        key = (*map(bool, lists), *parameters)
        step = self._steps.get(key)
        if step is None:
            named = dict(zip(self._row.arguments[self._numbers :], parameters, strict=True))
            given = [bool(each) for each in lists]
            step = self._steps[key] = _Step(self._kind, self._row, given, named, self._asked)
        members = zip(*[each for each in lists if each], strict=True)
        step.run(members, args[self._lists : self._numbers])


class _Step:
    """A row with its parameters, and those of its lists that have members."""

    def __init__(
        self, kind: Kind, row: Row, given: list[bool], parameters: dict[str, Any],
        asked: list[Compile],
    ):  # fmt: skip
        self._kind, self._row, self._parameters, self._asked = kind, row, parameters, asked
        self._names = [name for name, some in zip(row.tensors, given, strict=True) if some]
        self._written = [i for i, name in enumerate(self._names) if name in row.written]
        self._runs = 0
        self._constants: tuple[tuple[Any, ...], list[Any]] = (None,) * len(row.numbers), []
        """The numbers of the last run, and what stands for them: most are the same in the next."""
        self._compiled: dict[Shape, Callable[..., Any] | None] = {}
        self._ways: dict[Shape, Callable[..., Any]] = {}
        self._emits = get_fusion()
        if not self._emits:
            return
        self._step = straight_line(kind, self._record_at((101,)), self._written)
        # What lies in the cache at once: the operands and the buffers.
        most = _AT_ONCE * kind.backend.traits.piece
        self._piece = most // (len(self._names) + self._step.buffers)

    def run(self, members: Any, numbers: tuple[float, ...]) -> None:
        """The step of each member."""
        before, constants = self._constants
        if not all(map(is_, numbers, before)):
            constants = list(map(self._kind.const, numbers))
            self._constants = numbers, constants
        self._runs += 1
        compiles = self._asked and self._runs > COMPOSED_CALLS
        ways = self._ways
        for arrays in members:
            shape = arrays[0].shape
            way = ways.get(shape)
            if way is None:
                way = self._way_of(tuple(shape))
            if compiles:
                kernel = self._kernel(tuple(shape))
                if kernel is not None and kernel(*arrays, *numbers) is not NotImplemented:
                    continue
            way(*arrays, *constants)

    def _way_of(self, shape: Shape) -> Callable[..., Any]:
        if len(self._ways) >= KEPT:
            self._ways.clear()
        way: Callable[..., Any]
        if not self._emits:
            way = self._composed
        elif not shape and self._kind.scalar_results:
            way = self._point
        elif self._piece and math.prod(shape) >= 2 * self._piece:
            way = self._by_pieces
        else:
            way = self._step.run
        self._ways[shape] = way
        return way

    def _composed(self, *operands: Any) -> None:
        kind, named = self._kind, [*self._names, *self._row.numbers]
        results = self._results(kind, dict(zip(named, operands, strict=True)))
        for i, made in zip(self._written, results, strict=True):
            kind.copy_(operands[i], kind.as_array(made))

    def _results(self, F: Any, given: dict[str, Any]) -> tuple[Any, ...]:
        """What the composition gives for the operands and numbers of one member, by name."""
        row = self._row
        assert row.composite is not None
        given = {**dict.fromkeys(row.tensors), **self._parameters, **given}
        results = row.composite(F, *[given[name] for name in row.arguments])
        return tuple(x for x in results if x is not None)

    def _point(self, *operands: Any) -> None:
        """Arrays without dimensions, of which kernels would make numbers of the host."""
        n, kind = len(self._names), self._kind
        self._step.run(*[kind.view(a, (1,)) for a in operands[:n]], *operands[n:])

    def _by_pieces(self, *operands: Any) -> None:
        n, size, kind = len(self._names), self._piece, self._kind
        arrays, numbers = operands[:n], operands[n:]
        if not all(map(kind.is_contiguous, arrays)):
            self._step.run(*operands)
            return
        count = math.prod(arrays[0].shape)
        flat = [kind.view(a, (count,)) for a in arrays]
        buffers: tuple[Any, ...] = ()
        for start in range(0, count, size):
            stop = min(start + size, count)
            part = [kind.slice(a, 0, start, stop, 1) for a in flat]
            if stop - start < size:
                buffers = ()
            buffers = self._step.run(*part, *numbers, *buffers)

    # -- compiled ----------------------------------------------------------------------------
    def _kernel(self, shape: Shape) -> Callable[..., Any] | None:
        pattern = tuple(n if n < 2 else -1 for n in shape)
        if pattern not in self._compiled:
            self._compiled[pattern] = self._compile(pattern)
        return self._compiled[pattern]

    def _compile(self, pattern: Shape) -> Callable[..., Any] | None:
        """The kernel of one member, of as many dimensions and with the same sizes of 1."""
        if 0 in pattern:
            return None

        def record_at(sizes: Shape) -> Block:
            left = iter(sizes)
            return self._record_at(tuple(next(left) if n < 0 else n for n in pattern))

        graph, _ = generalised(record_at, pattern.count(-1))
        graph = dataclasses.replace(graph, writes=tuple(enumerate(self._written)))
        index, name = self._kind.index, self._row.name
        kernels = (ask(compile, graph, index, name) for compile in self._asked)
        found = next((kernel for kernel in kernels if kernel is not None), None)
        traits = self._kind.backend.traits
        if found is None or (traits.strided_out and not traits.contiguous_inputs):
            return found
        return self._of_contiguous(found)

    def _of_contiguous(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel that leaves the calls with arrays of other layouts."""
        is_contiguous, n = self._kind.is_contiguous, len(self._names)

        def entry(*given: Any) -> Any:
            return kernel(*given) if all(map(is_contiguous, given[:n])) else NotImplemented

        return entry

    def _record_at(self, shape: Shape) -> Block:
        """The graph of one member's composition, for arrays of a shape."""
        row, d = self._row, self._kind.dtype
        here = recording_device(self._kind).kind(d)
        inputs = [Value(TensorType(d, shape), name) for name in self._names]
        inputs += [Value(NumberType(d), name) for name in row.numbers]
        arrays = {value.name: array_of(value) for value in inputs}
        return record(lambda: self._results(here, arrays), inputs)
