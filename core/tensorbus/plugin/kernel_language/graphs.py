"""Graphs as kernels: one loop nest, or a few with other kernels between them."""

from __future__ import annotations

from math import prod
from typing import Any

from tensorbus._base import dtypes
from tensorbus.plugin.backend import Kernel
from tensorbus.plugin.graph import Graph, Node, NumberType, TensorType, Value
from tensorbus.plugin.kernel_language.array import StridedArray
from tensorbus.plugin.kernel_language.axes import MOVES, Declined
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.in_place import in_place
from tensorbus.plugin.kernel_language.loops import PLANS_KEPT
from tensorbus.plugin.kernel_language.lowering import CallStep, NestStep, Shape, Step, lower
from tensorbus.plugin.kernel_language.move import VIEW_KERNELS, contiguous, copy, reshape
from tensorbus.plugin.kernel_language.nests import CompiledNest, size_of
from tensorbus.plugin.kernel_language.vector_maths import POLYNOMIALS
from tensorbus.plugin.primitives import PRIMITIVE_TABLE


def compile_graph(device: Device, graph: Graph) -> Kernel | None:
    """The kernel of a graph; None where it would launch no fewer kernels than its ops do."""
    if len(graph.nodes) < 2 or any(map(_of_numbers, graph.nodes)) or _slows(device, graph):
        return None
    if graph.writes:
        return in_place(device, graph)
    found: list[GraphKernel] = []
    for long_rows in (False, True):
        made = _made(device, graph, long_rows, stored=False)
        found += [made] if made else []
        if made and made.picks:
            made = _made(device, graph, long_rows, stored=True)
            found += [made] if made else []
    if len(found) < 2:
        return found[0] if found else None

    def kernel(*inputs: Any, out: Any = None) -> Any:
        for each in found:
            r = each(*inputs, out=out)
            if r is not NotImplemented:
                return r
        return NotImplemented

    return kernel


def _slows(device: Device, graph: Graph) -> bool:
    """Whether a function of float64 that the compiler has for vectors would share a loop with one
    for which it leaves them. Apart, the first is many times faster."""
    scalar = device.dialect.polynomials
    ops = {node.op for node in graph.nodes if node.outputs[0].type.dtype is dtypes.float64}
    return bool(ops & scalar) and not ops.isdisjoint(POLYNOMIALS - scalar)


def _of_numbers(node: Node) -> bool:
    """Whether an op has numbers alone: once for the array, where a loop computed it each time."""
    values = [x for x in node.args if isinstance(x, Value)]
    return bool(values) and all(isinstance(x.type, NumberType) for x in values)


def _made(device: Device, graph: Graph, long_rows: bool, stored: bool) -> GraphKernel | None:
    try:
        steps = lower(graph, long_rows, stored)
        launches = sum(_launches(step) for step in steps)
        if launches >= sum(node.op not in MOVES and node.op != "slice" for node in graph.nodes):
            return None
        return GraphKernel(device, graph, steps)
    except Declined:
        return None


def _launches(step: Step) -> bool:
    return isinstance(step, NestStep) or step.node.op not in (*VIEW_KERNELS, "same")


class GraphKernel:
    """Runs the steps of a graph; ``Declined`` where a step has no kernel."""

    def __init__(self, device: Device, graph: Graph, steps: list[Step]):
        self._device, self._graph = device, graph
        self._outputs = graph.outputs
        self._steps: list[Any] = []
        for step in steps:
            if isinstance(step, NestStep):
                self._steps.append((CompiledNest(device, step.nest), step))
            else:
                self._steps.append((_kernel_of(device, step.node), step))
        self._folds = [n for n, _ in self._steps if isinstance(n, CompiledNest) and n.folds]
        self.picks = [pick for step in steps if isinstance(step, NestStep) for pick in step.picks]
        self._only = len(steps) == 1 and _results_of(steps[0]) == graph.outputs
        self._left: dict[Any, bool] = {}
        """By the inputs' sizes: whether the call is left to other kernels."""
        self._symbols = [
            (n, i, d)
            for i, value in enumerate(graph.inputs)
            if isinstance(value.type, TensorType)
            for d, n in enumerate(value.type.shape)
            if isinstance(n, str) and n.isidentifier()
        ]
        self._given_sizes = [
            (value.name, i)
            for i, value in enumerate(graph.inputs)
            if isinstance(value.type, NumberType) and value.type.dtype is dtypes.int64
        ]

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        sizes = {n: inputs[i].shape[d] for n, i, d in self._symbols}
        for n, i in self._given_sizes:
            sizes.setdefault(n, inputs[i])
        if (self._folds or self.picks) and self._is_left(sizes):
            return NotImplemented
        given = [None] * len(self._outputs) if out is None else list(out)
        env = dict(zip(self._graph.inputs, inputs, strict=True))
        for kernel, step in self._steps:
            if isinstance(step, CallStep):
                node = step.node
                env[node.outputs[0]] = kernel(*[_argument(x, env, sizes) for x in node.args])
                continue
            results = kernel(
                [env[v] for v in step.arrays],
                [env[v] for v in step.numbers],
                given if self._only else [None] * len(step.results),
                sizes,
            )
            env |= zip(step.results, results, strict=True)
        results = self._results(env, given)
        return results[0] if len(results) == 1 else tuple(results)

    def _is_left(self, sizes: dict[str, int]) -> bool:
        """Whether other kernels are faster: known before anything is computed.

        These are those of single ops, and where more elements are picked than there are, a kernel
        that computes each of them once.
        """
        key = tuple(sizes.values())
        if key not in self._left:
            if len(self._left) > PLANS_KEPT:
                self._left.clear()
            self._left[key] = any(nest.is_left(sizes) for nest in self._folds) or any(
                _count(made, sizes) > _count(of, sizes) for made, of in self.picks
            )
        return self._left[key]

    def _results(
        self, env: dict[Value, Any], given: list[StridedArray | None]
    ) -> list[StridedArray]:
        """An array of its own for each output, in *given* where there is one."""
        found: list[StridedArray] = []
        for value, out in zip(self._outputs, given, strict=True):
            x = env[value]
            if out is None and any(x is other for other in found):
                out = self._device.new(x.shape, x.dtype)
            if out is not None and out is not x:
                copy(self._device, out, x)
                x = out
            found.append(x)
        return found


def _results_of(step: Step) -> tuple[Value, ...]:
    return step.results if isinstance(step, NestStep) else ()


def _count(shape: Shape, sizes: dict[str, int]) -> int:
    return prod(size_of(n, sizes) for n in shape)


def _argument(x: Any, env: dict[Value, Any], sizes: dict[str, int], nested: bool = False) -> Any:
    if isinstance(x, Value):
        return env[x]
    if isinstance(x, tuple):
        return tuple(_argument(each, env, sizes, True) for each in x)
    return size_of(x, sizes) if nested and isinstance(x, str) else x


def _kernel_of(device: Device, node: Node) -> Any:
    """What computes an op that is no part of a nest."""
    if node.op == "same":
        return lambda x: x
    if node.op == "view":
        return lambda x, shape: _viewed(device, x, shape)
    if node.op in VIEW_KERNELS:
        return VIEW_KERNELS[node.op]
    primitive = PRIMITIVE_TABLE.get(node.op)
    if primitive is None:
        raise Declined
    kinds = list(primitive.operands.values())
    operands = [x for x in node.args if isinstance(x, Value)]
    own = [x for x, kind in zip(operands, kinds, strict=False) if kind == "same"]
    kernel = device.backend.kernel(node.op, own[0].type.dtype, device.index) if own else None
    if kernel is None:
        raise Declined
    return kernel


def _viewed(device: Device, x: StridedArray, shape: tuple[int, ...]) -> StridedArray:
    try:
        return reshape(x, shape)
    except ValueError:  # no view has that shape
        return reshape(contiguous(device, x), shape)
