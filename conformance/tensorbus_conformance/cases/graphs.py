"""Level 0: kernels of whole graphs, as a plugin's ``compile`` makes them, called as tensorbus does.

The graphs are small and fixed, and their values such that the exact ones have one answer. A plugin
may decline any of them: then the case is not supported.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from tensorbus import discovery, get_fusion
from tensorbus.graph.reading import read
from tensorbus.plugin import Graph, NumberType, TensorType
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.layouts import LAYOUTS
from tensorbus_conformance.trial import Placed, Trial, Unsupported

Reference = Callable[..., Any]


@dataclass(frozen=True)
class Program:
    """A graph, and what it is over NumPy in double precision."""

    text: str
    reference: Reference
    ulp: float = 0.0
    """The error allowed of each element of the magnitude of the result; 0: exact."""
    pointwise: bool = False
    """Whether ``out=`` may be an input."""
    special: bool = True
    """Whether NaN, infinities and zeros may be among the values."""


def _softmax(x: np.ndarray) -> np.ndarray:
    r = np.exp(x - x.max(1, keepdims=True))
    return np.asarray(r / r.sum(1, keepdims=True))


PROGRAMS = {
    "pointwise": Program(
        """def graph(x: float32[s0, s1], y: float32[s1]):
    v0: float32[s0, s1] = mul(x, y)
    v1: bool[s0, s1] = lt(v0, x)
    v2: float32[s0, s1] = where(v1, v0, x)
    v3: float32[s0, s1] = mul(v2, -0.5)
    return v3""",
        lambda x, y: np.where(x * y < x, x * y, x) * -0.5,
        pointwise=True,
    ),
    "integers": Program(
        """def graph(x: int32[s0, s1], y: int32[s0, 1]):
    v0: int32[s0, s1] = mul(x, y)
    v1: int32[s0, s1] = add(v0, 2147483647)
    v2: int32[s0, s1] = bitwise_and(v1, x)
    return v2""",
        lambda x, y: (x * y + np.int32(2147483647)) & x,
        pointwise=True,
        special=False,
    ),
    "casts": Program(
        """def graph(x: float32[s0, s1], y: int32[s0, 1]):
    v0: float32[s0, 1] = cast(y, float32)
    v1: float32[s0, s1] = mul(x, v0)
    v2: int32[s0, s1] = cast(v1, int32)
    return v2""",
        lambda x, y: np.trunc(x * y).astype(np.int32),
        special=False,
    ),
    "halves": Program(
        """def graph(x: float16[s0, s1], y: float16[s1]):
    v0: float32[s0, s1] = cast(x, float32)
    v1: float32[s1] = cast(y, float32)
    v2: float32[s0, s1] = mul(v0, v1)
    v3: float16[s0, s1] = cast(v2, float16)
    return v3""",
        lambda x, y: x * y,
        pointwise=True,
    ),
    "results": Program(
        """def graph(x: float32[s0, s1], y: float32[s1]):
    v0: float32[s0, s1] = mul(x, y)
    v1: float32[s0, s1] = add(v0, x)
    return v0, v1""",
        lambda x, y: (x * y, x * y + x),
        special=False,
    ),
    "numbers": Program(
        """def graph(x: float32[s0, s1], n: float32):
    v0: float32[s0] = sum(x, (1,), float32)
    v1: float32[s0] = div(v0, n)
    v2: float32[s0, 1] = unsqueeze(v1, 1)
    v3: float32[s0, s1] = sub(x, v2)
    v4: float32[s0, s1] = mul(v3, v3)
    v5: float32[s0] = sum(v4, (1,), float32)
    v6: float32[s0] = div(v5, n)
    return v6""",
        lambda x, n: ((x - x.sum(1, keepdims=True) / n) ** 2).sum(1) / n,
        ulp=64,
    ),
    "rows": Program(
        """def graph(x: float32[s0, s1]):
    v0: float32[s0] = amax(x, (1,))
    v1: float32[s0, 1] = unsqueeze(v0, 1)
    v2: float32[s0, s1] = sub(x, v1)
    v3: float32[s0, s1] = exp(v2)
    v4: float32[s0] = sum(v3, (1,), float32)
    v5: float32[s0, 1] = unsqueeze(v4, 1)
    v6: float32[s0, s1] = div(v3, v5)
    return v6""",
        _softmax,
        ulp=64,
    ),
    "largest": Program(
        """def graph(x: float32[s0, s1]):
    v0: float32[s0] = amax(x, (1,))
    v1: float32[s0, 1] = unsqueeze(v0, 1)
    v2: float32[s0, s1] = sub(x, v1)
    return v2""",
        lambda x: x - x.max(1, keepdims=True),
    ),
    "columns": Program(
        """def graph(x: float32[s0, s1], y: float32[s1]):
    v0: float32[s0, s1] = mul(x, y)
    v1: float32[s1] = sum(v0, (0,), float32)
    v2: float32[s1] = mul(v1, y)
    return v2""",
        lambda x, y: (x * y).sum(0) * y,
    ),
    "picked": Program(
        """def graph(x: float32[s0, s1], y: float32[s1], i: int64[s0]):
    v0: float32[s0, s1] = mul(x, y)
    v1: float32[s0, s1] = sub(v0, 0.5)
    v2: float32[s0, s0] = take(v1, 1, i, True)
    v3: float32[s0, s0] = mul(v2, 2.0)
    return v3""",
        lambda x, y, i: 2 * (x * y - 0.5)[:, i],
    ),
    "distances": Program(
        """def graph(x: float32[s0, s1], i: int64[s0]):
    v0: float32[s0] = amax(x, (1,))
    v1: float32[s0, 1] = unsqueeze(v0, 1)
    v2: float32[s0, s1] = sub(x, v1)
    v3: int64[s0] = mul(i, -1)
    v4: float32[s0, s0] = take(v2, 1, v3, True)
    v5: float32[s0, s0] = mul(v4, 2.0)
    return v5""",
        lambda x, i: 2 * (x - x.max(1, keepdims=True))[:, -i],
    ),
}
LARGE = {"s0": 130, "s1": 70}
SIZES = (
    {"s0": 5, "s1": 7},
    {"s0": 3, "s1": 20},
    {"s0": 40, "s1": 33},
    {"s0": 2, "s1": 1500},
    LARGE,
)


def cases() -> Iterator[Case]:
    for name, program in PROGRAMS.items():
        graph = read(program.text)
        dtypes = tuple(dict.fromkeys(v.type.dtype for n in graph.nodes for v in n.outputs))
        of = graph.inputs[0].type.dtype.name
        checks = {"": _sizes, "-layouts": _layouts, "-out": _out}
        checks |= {"-special": _special} if program.special else {}
        for suffix, check in checks.items():
            yield Case(
                f"L0/compile/{of}/{name}{suffix}",
                "compile",
                functools.partial(check, program),
                dtypes,
            )
    yield Case("L0/compile/float32/parameters", "compile", _parameters, (formats.FLOAT32,))


def compiled(graph: Graph, t: Trial) -> Callable[..., Any]:
    """What the plugins compile of a graph."""
    asked = discovery.compilers(t.backend) if get_fusion() else []
    if not asked:
        raise Unsupported("the device compiles nothing, or fusion is off")
    for compile in asked:
        kernel = compile(graph, t.index)
        if kernel is not None:
            return kernel
    raise Unsupported("the device declines this graph")


class Call:
    """A kernel with operands of some sizes, and what it has to give."""

    def __init__(
        self, program: Program, graph: Graph, sizes: dict[str, int], t: Trial,
        layout: str = "contiguous", special: bool = False,
    ):  # fmt: skip
        self.program, self.t = program, t
        self.operands: list[Any] = []
        hosts: list[Any] = []
        self.types = [v.type for v in graph.outputs if isinstance(v.type, TensorType)]
        self.shapes = [tuple(_size(n, sizes) for n in type.shape) for type in self.types]
        for position, value in enumerate(graph.inputs):
            if isinstance(value.type, NumberType):
                hosts.append(np.float64(sizes["s1"]))
                self.operands.append(float(sizes["s1"]))
                continue
            shape = tuple(_size(n, sizes) for n in value.type.shape)
            host = _drawn(shape, value.type.dtype, position)
            if special and position == 0:
                _mark(host)
            if layout == "expanded" and shape[0] > 1:
                host = np.broadcast_to(host[:1], shape)
            self.operands.append(t.place(host, value.type.dtype, layout))
            whole = value.type.dtype in formats.INTS
            hosts.append(host if whole else host.astype(np.float64))
        with np.errstate(all="ignore"):
            found = program.reference(*hosts)
        self.wanted = list(found) if isinstance(found, tuple) else [found]

    def run(self, kernel: Callable[..., Any], out: tuple[Placed, ...] | None = None) -> list[Any]:
        """The results; Unsupported where the kernel declines late."""
        found = self.t.compiled(kernel, self.operands, out)
        if found is NotImplemented:
            self.t.untouched(*(x for x in (*self.operands, *(out or ())) if isinstance(x, Placed)))
            raise Unsupported("the kernel declines these operands")
        several = len(self.wanted) > 1
        if several and (not isinstance(found, tuple) or len(found) != len(self.wanted)):
            raise Mismatch(f"the kernel returned {found!r}, expected {len(self.wanted)} arrays")
        return list(found) if several else [found]

    def check(self, results: list[Any]) -> list[np.ndarray]:
        """Fresh results have their shape, dtype and values."""
        arrays = [x for x in self.operands if isinstance(x, Placed)]
        read = [
            self.t.result(r, type.dtype, shape, arrays)
            for r, type, shape in zip(results, self.types, self.shapes, strict=True)
        ]
        self.judge(read)
        self.t.untouched(*arrays)
        return read

    def judge(self, read: list[np.ndarray]) -> None:
        """Values are the reference's."""
        for got, want, type in zip(read, self.wanted, self.types, strict=True):
            if not self.program.ulp:
                self.t.exact(got, np.asarray(want), type.dtype)
                continue
            finite = np.where(np.isfinite(want), want, 0)
            scale = np.abs(finite).max(initial=0.0) * np.ones_like(want)
            tolerance = self.program.ulp * 2 * formats.unit_roundoff(type.dtype) * scale
            self.t.near(got, np.asarray(want), tolerance, type.dtype)


def _size(n: int | str, sizes: dict[str, int]) -> int:
    return sizes[n] if isinstance(n, str) else n


def _drawn(shape: tuple[int, ...], d: Dtype, position: int) -> np.ndarray:
    """Whole and half numbers without 0, so small that products and sums of them are exact."""
    found = values.rng("graph", shape, position).integers(1, 7, shape)
    found *= values.rng("sign", shape, position).choice([-1, 1], shape)
    whole = d in formats.INTS
    return found.astype(np.int32) if whole else found / np.float32(2)


def _mark(host: np.ndarray) -> None:
    """Rows with each of the values that kernels lose, first, last and in between."""
    marks = [np.nan, np.inf, -np.inf, -0.0, 0.0]
    for row, mark in enumerate(marks):
        host[row % len(host), (0, -1, host.shape[1] // 2)[row % 3]] = mark


# -- checks ----------------------------------------------------------------------------------
def _tried(attempts: Iterable[Callable[[], None]]) -> None:
    """Unsupported where the kernel declines all of them; some it may leave to others."""
    declined: list[Unsupported] = []
    ran = 0
    for attempt in attempts:
        try:
            attempt()
            ran += 1
        except Unsupported as reason:
            declined.append(reason)
    if not ran:
        raise declined[0]


def _sizes(program: Program, t: Trial) -> None:
    graph = read(program.text)
    kernel = compiled(graph, t)

    def attempt(sizes: dict[str, int]) -> None:
        call = Call(program, graph, sizes, t)
        first, again = (call.check(call.run(kernel)) for _ in range(2))
        if any(a.tobytes() != b.tobytes() for a, b in zip(first, again, strict=True)):
            raise Mismatch("two calls with equal operands gave different bits")

    _tried(functools.partial(attempt, sizes) for sizes in (*SIZES, SIZES[0]))


def _layouts(program: Program, t: Trial) -> None:
    graph = read(program.text)
    kernel = compiled(graph, t)

    def attempt(sizes: dict[str, int], layout: str) -> None:
        call = Call(program, graph, sizes, t, layout)
        call.check(call.run(kernel))

    layouts = [x for x in LAYOUTS if x != "reversed" or t.traits.negative_strides]
    _tried(functools.partial(attempt, *each) for each in product((SIZES[0], LARGE), layouts))


def _special(program: Program, t: Trial) -> None:
    graph = read(program.text)
    kernel = compiled(graph, t)

    def attempt(sizes: dict[str, int]) -> None:
        call = Call(program, graph, sizes, t, special=True)
        call.check(call.run(kernel))

    _tried(functools.partial(attempt, sizes) for sizes in SIZES)


def _out(program: Program, t: Trial) -> None:
    graph = read(program.text)
    kernel = compiled(graph, t)

    def attempt(sizes: dict[str, int], layout: str) -> None:
        call = Call(program, graph, sizes, t)
        made = zip(call.shapes, call.types, strict=True)
        outs = tuple(t.place(_drawn(s, type.dtype, 9), type.dtype, layout) for s, type in made)
        if layout == "contiguous" and program.pointwise:
            outs = (call.operands[0],)  # in place
        for got, out in zip(call.run(kernel, outs), outs, strict=True):
            if t.backend.layout(got, out.dtype) != t.backend.layout(out.array, out.dtype):
                raise Mismatch("the kernel returned another array than out")
        call.judge([t.written(out) for out in outs])
        written = {id(out) for out in outs}
        t.untouched(*(x for x in call.operands if id(x) not in written))

    layouts = ("contiguous", "strided", "transposed", "offset")
    _tried(functools.partial(attempt, *each) for each in product((SIZES[0], LARGE), layouts))


def _parameters(t: Trial) -> None:
    """Graphs that differ in a number, a dimension or a comparison alone."""
    shape = "def graph(x: float32[s0, s0]):\n    v0: float32[s0, s0] = mul(x, {0})\n"
    pointwise = shape + "    v1: float32[s0, s0] = add(v0, {1})\n    return v1"
    along = (
        shape + "    v1: float32[s0] = sum(v0, ({1},), float32)\n"
        "    v2: float32[s0] = add(v1, 1.0)\n    return v2"
    )
    chosen = [
        (pointwise, 0.5, 1.0), (pointwise, 0.5, 2.0), (pointwise, 1.5, 1.0), (pointwise, -0.5, 1.0),
        (along, 0.5, 0), (along, 0.5, 1), (along, 2.0, 1),
    ]  # fmt: skip
    declined = 0
    for text, factor, other in chosen:
        reference = functools.partial(_scaled, factor, other, text is along)
        program = Program(text.format(factor, other), reference)
        graph = read(program.text)
        try:
            kernel = compiled(graph, t)
        except Unsupported:
            declined += 1
            continue
        call = Call(program, graph, {"s0": 6}, t)
        call.check(call.run(kernel))
    if declined == len(chosen):
        raise Unsupported("the device compiles none of these graphs")


def _scaled(factor: float, other: float, along: bool, x: np.ndarray) -> np.ndarray:
    return np.asarray((x * factor).sum(int(other)) + 1 if along else x * factor + other)
