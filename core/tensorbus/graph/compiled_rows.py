"""The door for compositions and derivatives: what a plugin's ``compile`` makes of one runs in its
place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tensorbus._base import registered
from tensorbus._dispatch.kinds import Kind
from tensorbus.graph.asking import Compile, ask
from tensorbus.graph.passes import simplified
from tensorbus.graph.recording import array_of, record, recording_device
from tensorbus.graph.sizes import Term, generalised
from tensorbus.plugin.graph import Graph, NumberType, TensorType, Value
from tensorbus.rows import raw_views
from tensorbus.rows.registry import Row, of_same_device

Entry = Callable[..., Any]

KEPT = 512
"""How many calls of different shapes and parameters a row remembers on each kind."""
COMPOSED_CALLS = 2
"""How many calls are composed before a kernel is compiled: most programs call an op a few times or
very often, and a compiler takes as long as thousands of calls."""


@registered.compiled_composition.provide
def compiled_composition(kind: Kind, row: Row, compose: Entry, asked: list[Compile]) -> Entry:
    """An entry that runs a compiled kernel where a plugin has one, else *compose*."""
    registered.composition_compiles()
    roles = tuple(row.operands.get(name) for name in row.arguments)
    several = bool(row.outputs)
    callee = Callee(row.name, roles, lambda F, *args: getattr(F, row.name)(*args), several)
    return Compiled(kind, callee, compose, asked)


class Callee(NamedTuple):
    """What is compiled: a row, or one of its derivatives."""

    name: str
    """What users are told it is."""
    roles: tuple[str | None, ...]
    """What each argument is: the dtype of an operand, as in ``Row.operands``; ``"shape"`` of a
    tuple of sizes; None of any other parameter."""
    run: Callable[..., Any]
    """``run(F, *arguments)``."""
    several: bool = False
    """Whether it gives a tuple of results."""


class Compiled:
    """Something composed on a kind: its kernels by the shapes and parameters of its calls."""

    __slots__ = ("_asked", "_by_call", "_by_pattern", "_callee", "_compose", "_kind", "_seen")

    def __init__(self, kind: Kind, callee: Callee, compose: Entry, asked: list[Compile]):
        self._kind, self._callee, self._compose, self._asked = kind, callee, compose, asked
        self._by_call: dict[Any, Entry] = {}
        self._by_pattern: dict[Any, tuple[Entry, list[Term]] | None] = {}
        self._seen: dict[Any, int] = {}

    def __call__(self, *args: Any, out: Any = None) -> Any:
        key = tuple([x.shape if hasattr(x, "shape") else _constant(x) for x in args])
        try:
            found = self._by_call.get(key)
        except TypeError:  # a sequence of tensors
            return self._composed(args, out)
        if found is None:
            found = self._found(key, args)
        r = found(*args, out=out)
        return self._composed(args, out) if r is NotImplemented else r

    def _composed(self, args: tuple[Any, ...], out: Any) -> Any:
        return self._compose(*args) if out is None else self._compose(*args, out=out)

    def _found(self, key: Any, args: tuple[Any, ...]) -> Entry:
        shapes = [x.shape for x in args if hasattr(x, "shape")]
        if not shapes or any(0 in shape for shape in shapes):
            found = _declined
        else:
            call = _Call(self._kind, self._callee, args)
            if call.pattern not in self._by_pattern and not self._often(call.pattern):
                return _declined
            found = self._entry(call)
        if len(self._by_call) >= KEPT:
            self._by_call.clear()
        self._by_call[key] = found
        return found

    def _often(self, pattern: Any) -> bool:
        """Whether calls of a pattern have come so often that a kernel is worth it."""
        if len(self._seen) >= KEPT:
            self._seen.clear()
        self._seen[pattern] = self._seen.get(pattern, 0) + 1
        return self._seen[pattern] > COMPOSED_CALLS

    def _entry(self, call: _Call) -> Entry:
        """The kernel for a call, as it is called with the row's arguments."""
        if call.pattern not in self._by_pattern:
            if len(self._by_pattern) >= KEPT:
                self._by_pattern.clear()
            self._by_pattern[call.pattern] = self._compiled(call)
        made = self._by_pattern[call.pattern]
        if made is None:
            return _declined
        kernel, terms = made
        numbers = tuple(term.at(call.sizes) for term in terms)
        at, several = call.at, self._callee.several
        number_of = self._kind.number_of

        def entry(*args: Any, out: Any = None) -> Any:
            given = [x if hasattr(x, "shape") else number_of(x) for x in map(args.__getitem__, at)]
            if out is not None and not several:
                out = (out,)
            return kernel(*given, *numbers, out=out)

        return entry

    def _compiled(self, call: _Call) -> tuple[Entry, list[Term]] | None:
        try:
            graph, terms = generalised(call.record_at, len(call.sizes))
        except Exception:  # whatever a composition does with arrays that have no values
            return None
        graph = simplified(graph)
        if _copies(graph):
            return None
        for compile in self._asked:
            kernel = ask(compile, graph, self._kind.index, self._callee.name)
            if kernel is not None:
                return _suited(self._kind, graph, kernel), terms
        return None


def _constant(x: Any) -> Any:
    """The key of a parameter: -0.0 is not 0.0, nor 1-0j 1+0j, nor True 1."""
    return x.__class__, x if x and x.__class__ is not complex else repr(x)


def _declined(*args: Any, out: Any = None) -> Any:
    return NotImplemented


def _copies(graph: Graph) -> bool:
    """Whether an output is an input, or a view of one: copies have a door of their own."""
    there = set(graph.inputs)
    for node in graph.nodes:
        if node.op in raw_views.DEFAULTS and node.args[0] in there:
            there.update(node.outputs)
    return not there.isdisjoint(graph.outputs)


def _suited(kind: Kind, graph: Graph, kernel: Entry) -> Entry:
    """A compiled kernel that takes any layouts, of a backend whose traits may say otherwise."""
    traits = kind.backend.traits
    if traits.strided_out and not traits.contiguous_inputs:
        return kernel
    inputs = [kind.of(value.type.dtype) for value in graph.inputs]
    outputs = [kind.of(value.type.dtype) for value in graph.outputs]

    def entry(*given: Any, out: tuple[Any, ...] | None = None) -> Any:
        if traits.contiguous_inputs:
            pairs = zip(inputs, given, strict=True)
            given = tuple(k.contiguous(x) if hasattr(x, "shape") else x for k, x in pairs)
        if out is None:
            return kernel(*given)
        targets = list(zip(outputs, out, strict=True))
        if traits.strided_out or all(x is None or k.is_contiguous(x) for k, x in targets):
            return kernel(*given, out=out)
        made = kernel(*given)
        if made is NotImplemented:
            return made
        results = made if len(outputs) > 1 else (made,)
        written = tuple(
            r if x is None else k.copy_(x, k.as_array(r))
            for r, (k, x) in zip(results, targets, strict=True)
        )
        return written if len(outputs) > 1 else written[0]

    return entry


class _Call:
    """What is called with what: a pattern of sizes, and how to record it for any sizes of it."""

    def __init__(self, kind: Kind, callee: Callee, args: tuple[Any, ...]):
        self._kind, self._callee, self._args = kind, callee, args
        self._sizes: dict[int, int] = {}
        self._shapes: dict[int, tuple[int, ...]] = {}
        """By argument: its sizes, each by a number that tells it apart, or 1."""
        self.at: list[int] = []
        """Which arguments are the kernel's."""
        pattern: list[Any] = []
        for i, (x, role) in enumerate(zip(args, callee.roles, strict=True)):
            if hasattr(x, "shape"):
                self._shapes[i] = self._symbols(x.shape)
                self.at.append(i)
                pattern.append(self._shapes[i])
            elif role == "shape" and x is not None:
                self._shapes[i] = self._symbols(x)
                pattern.append(("shape", self._shapes[i]))
            elif role is not None and x is not None:
                self._shapes[i] = ()
                self.at.append(i)
                pattern.append("number")
            else:
                pattern.append(_constant(x))
        self.sizes = tuple(self._sizes)
        self.pattern = tuple(pattern)

    def _symbols(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """1 for a size of 1, and below it for each other one."""
        sizes = self._sizes
        return tuple(1 if n == 1 else -sizes.setdefault(n, len(sizes)) for n in shape)

    def record_at(self, sizes: tuple[int, ...]) -> Any:
        """The recording for arrays of these sizes."""
        here = recording_device(self._kind).kind(self._kind.dtype)
        args = list(self._args)
        inputs = []
        for i, symbols in self._shapes.items():
            shape = tuple(1 if n == 1 else sizes[-n] for n in symbols)
            if i not in self.at:
                args[i] = shape
                continue
            d = of_same_device(here, self._callee.roles[i] or "same").dtype
            number = not hasattr(args[i], "shape")
            value = Value(NumberType(d) if number else TensorType(d, shape), f"x{i}")
            inputs.append(value)
            args[i] = array_of(value)
        return record(lambda: self._callee.run(here, *args), inputs)
