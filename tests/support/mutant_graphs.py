"""Compiled kernels made wrong, each in a way that kernels of graphs go wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from graph_interpreter import Interpreter  # type: ignore[import-not-found]

from tensorbus import discovery
from tensorbus.plugin import PRIMITIVES, VIEWS, Backend, Graph, Kernel, TensorType

CPU: Any = type(discovery.backend("cpu"))
Mutation = Callable[[Graph, Kernel], Kernel]


class Compiling(CPU):  # type: ignore[misc]
    """The device cpu with its primitives, and a compiler that runs graphs op by op, changed by a
    mutation.
    """

    def __init__(self, mutate: Mutation = lambda graph, kernel: kernel):
        super().__init__()
        self.mutate = mutate

    def kernel(self, op: str, dtype: Any, index: int) -> Any:
        return super().kernel(op, dtype, index) if op in (*PRIMITIVES, *VIEWS) else None

    def compile(self, graph: Graph, index: int) -> Any:
        return self.mutate(graph, Interpreter(self).compile(graph, index))


def given(change: Callable[..., Any]) -> Mutation:
    """A kernel that computes with ``change(*inputs)``."""

    def mutate(graph: Graph, kernel: Kernel) -> Kernel:
        return lambda *inputs, out=None: kernel(*change(*inputs), out=out)

    return mutate


def made(change: Callable[[Any], Any]) -> Mutation:
    """A kernel whose first result ``change(result)`` replaces."""

    def mutate(graph: Graph, kernel: Kernel) -> Kernel:
        def call(*inputs: Any, out: Any = None) -> Any:
            found = kernel(*inputs)
            results = list(found) if isinstance(found, tuple) else [found]
            results[0] = change(np.array(results[0]))
            if out is None:
                return tuple(results) if isinstance(found, tuple) else results[0]
            for target, value in zip(out, results, strict=True):
                target[...] = value
            return out if len(out) > 1 else out[0]

        return call

    return mutate


def _in_its_own_order(*inputs: Any) -> list[Any]:
    """Arrays read as if they were row-major from their first element on."""

    def read(x: Any) -> Any:
        if not isinstance(x, np.ndarray) or x.flags.c_contiguous:
            return x
        low = min(x.strides[d] * (n - 1) for d, n in enumerate(x.shape) if x.strides[d] < 0 or n)
        if low < 0:
            return x[tuple(slice(None, None, -1) for _ in x.shape)].copy().reshape(x.shape)
        return np.resize(np.lib.stride_tricks.as_strided(x, (1,), (x.itemsize,)), x.shape)

    return [read(x) for x in inputs]


def _down_the_columns(*inputs: Any) -> list[Any]:
    """Operands of fewer dimensions repeated along the wrong one."""
    most = max(inputs, key=np.ndim)
    return [
        np.resize(np.repeat(x, most.shape[0]), most.shape)
        if np.ndim(x) == 1 and np.ndim(most) == 2 and len(x) == most.shape[1]
        else x
        for x in inputs
    ]


def _last_wrong(r: Any) -> Any:
    if r.size:
        last = r[(-1,) * r.ndim]
        r[(-1,) * r.ndim] = ~last if r.dtype == bool else last + r.dtype.type(1)
    return r


def _finite(r: Any) -> Any:
    return np.clip(r, np.finfo(r.dtype).min, np.finfo(r.dtype).max) if r.dtype.kind == "f" else r


def _one_element_wrong(r: Any) -> Any:
    return _last_wrong(r) if r.size == 1 else r


def _keyed_by_ops() -> Mutation:
    """One kernel for all graphs of the same ops, whatever their numbers and dimensions."""
    known: dict[Any, Kernel] = {}

    def mutate(graph: Graph, kernel: Kernel) -> Kernel:
        key = tuple(n.op for n in graph.nodes), tuple(v.type for v in graph.inputs)
        return known.setdefault(key, kernel)

    return mutate


def _sizes_of_the_first_call(graph: Graph, kernel: Kernel) -> Kernel:
    """Computes as many elements as the first operands had."""
    count: list[int] = []

    def call(*inputs: Any, out: Any = None) -> Any:
        found = kernel(*inputs, out=out)
        first = found[0] if isinstance(found, tuple) else found
        count[:] = count or [np.size(first)]
        if np.size(first) > count[0]:
            first.reshape(-1)[count[0] :] = 0
        if np.size(first) < count[0] and np.ndim(first):
            first[...] = np.flip(first)
        return found

    return call


def _numbers_of_the_first_call(graph: Graph, kernel: Kernel) -> Kernel:
    numbers: list[Any] = []

    def call(*inputs: Any, out: Any = None) -> Any:
        numbers[:] = numbers or [x if np.isscalar(x) else None for x in inputs]
        kept = [x if n is None else n for x, n in zip(inputs, numbers, strict=True)]
        return kernel(*kept, out=out)

    return call


class _Skipping(CPU):  # type: ignore[misc]
    """A backend whose largest element is never NaN."""

    def kernel(self, op: str, dtype: Any, index: int) -> Any:
        own = super().kernel(op, dtype, index)
        if op == "amax" and dtype.is_floating_point:
            return lambda x, dims, out=None: np.fmax.reduce(x, axis=dims)
        return own


def _nan_lost_in_amax(graph: Graph, kernel: Kernel) -> Kernel:
    found: Kernel = Interpreter(_Skipping()).compile(graph, 0)
    return found


def _of_wrong_dtype(graph: Graph, kernel: Kernel) -> Kernel:
    def call(*inputs: Any, out: Any = None) -> Any:
        found = kernel(*inputs, out=out)
        return found if out is not None or isinstance(found, tuple) else found.astype(np.float64)

    return call


def _keeps_dimensions(graph: Graph, kernel: Kernel) -> Kernel:
    """Reductions keep their dimension, with size 1."""
    reduces = any(
        isinstance(v.type, TensorType) and len(v.type.shape) < 2 for v in graph.outputs
    ) and any(n.op in ("sum", "amax") for n in graph.nodes)

    def call(*inputs: Any, out: Any = None) -> Any:
        found = kernel(*inputs, out=out)
        return found[..., None] if reduces and out is None else found

    return call


def _ignores_out(graph: Graph, kernel: Kernel) -> Kernel:
    return lambda *inputs, out=None: kernel(*inputs)


def _writes_to_its_input(graph: Graph, kernel: Kernel) -> Kernel:
    def call(*inputs: Any, out: Any = None) -> Any:
        found = kernel(*inputs, out=out)
        if out is None and isinstance(inputs[0], np.ndarray) and inputs[0].flags.writeable:
            inputs[0][...] = inputs[0] + inputs[0].dtype.type(1)
        return found

    return call


def _declines_when_it_has_written(graph: Graph, kernel: Kernel) -> Kernel:
    def call(*inputs: Any, out: Any = None) -> Any:
        found = kernel(*inputs, out=out)
        return found if out is None else NotImplemented

    return call


def _unsteady(graph: Graph, kernel: Kernel) -> Kernel:
    calls = itertools.count()

    def call(*inputs: Any, out: Any = None) -> Any:
        found = kernel(*inputs, out=out)
        if out is None and not isinstance(found, tuple) and found.dtype.kind == "f":
            with np.errstate(all="ignore"):
                found = found * found.dtype.type(1 + 2e-7 * (next(calls) % 2))
        return found

    return call


GRAPHS: dict[str, tuple[Callable[[], Mutation], str]] = {
    # name: the mutation, and the case whose subject it breaks; none of these has arrays of one
    # element, which are graphs of their own
    "strides-are-not-used": (lambda: given(_in_its_own_order), "pointwise-layouts"),
    "broadcasts-the-wrong-way": (lambda: given(_down_the_columns), "pointwise"),
    "last-element": (lambda: made(_last_wrong), "pointwise"),
    "stale-parameters": (_keyed_by_ops, "parameters"),
    "sizes-baked-in": (lambda: _sizes_of_the_first_call, "pointwise"),
    "numbers-baked-in": (lambda: _numbers_of_the_first_call, "numbers"),
    "nan-lost-in-amax": (lambda: _nan_lost_in_amax, "largest-special"),
    "negative-zero-lost": (lambda: made(lambda r: r + r.dtype.type(0)), "pointwise-special"),
    "infinity-lost": (lambda: made(_finite), "pointwise-special"),
    "one-element": (lambda: made(_one_element_wrong), ""),
    "wrong-dtype": (lambda: _of_wrong_dtype, "pointwise"),
    "wrong-shape": (lambda: _keeps_dimensions, "numbers"),
    "ignores-out": (lambda: _ignores_out, "pointwise-out"),
    "writes-to-its-input": (lambda: _writes_to_its_input, "pointwise"),
    "declines-when-it-has-written": (lambda: _declines_when_it_has_written, "pointwise-out"),
    "not-deterministic": (lambda: _unsteady, "pointwise"),
}


def mutant(name: str) -> Backend:
    """The device whose compiled kernels are wrong in that way."""
    made: Backend = Compiling(GRAPHS[name][0]())
    return made
