"""Runs graphs with the kernels of a backend whose arrays are NumPy's, op by op."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import (
    POINTWISE,
    Backend,
    Block,
    Graph,
    NumberType,
    Overlay,
    Value,
    dtype,
    int64,
)

VIEWS = {
    "view": lambda x, shape: x.reshape(shape),
    "permute": np.transpose,
    "expand": np.broadcast_to,
    "unsqueeze": np.expand_dims,
    "select": lambda x, dim, i: x.take(i, dim),
    "slice": lambda x, dim, start, stop, step: x[
        (slice(None),) * dim + (slice(start, stop, step),)
    ],
}


class Interpreter(Overlay):
    """Compiles a graph into calls of the backend's own kernels, one by one."""

    name = "interpreter"

    def __init__(self, backend: Backend):
        self.backend = backend

    def compile(self, graph: Graph, index: int) -> Any:
        if any(node.op == "conv2d" for node in graph.nodes):
            return None

        def kernel(*inputs: Any, out: Any = None) -> Any:
            results = self.run(graph, inputs)
            for made, written in graph.writes:
                inputs[written][...] = results[made]
            if out is None:
                return results[0] if len(results) == 1 else results
            for made, target in zip(results, out, strict=True):
                target[...] = made
            return out[0] if len(out) == 1 else out

        return kernel

    def run(
        self, block: Block, inputs: Any, outer: dict[Value, Any] | None = None
    ) -> tuple[Any, ...]:
        """The outputs of a block for these inputs."""
        known = {**(outer or {}), **dict(zip(block.inputs, inputs, strict=True))}
        sizes: dict[str, int] = {}
        for value, array in zip(block.inputs, inputs, strict=True):
            pairs = zip(getattr(value.type, "shape", ()), np.shape(array), strict=False)
            sizes |= {n: m for n, m in pairs if isinstance(n, str) and n.isidentifier()}
            if isinstance(value.type, NumberType) and value.type.dtype is int64:
                sizes.setdefault(value.name, array)

        def of(x: Any, nested: bool = False) -> Any:
            if isinstance(x, tuple):
                return tuple(of(each, True) for each in x)
            if nested and isinstance(x, str):
                return eval(x, {}, sizes)
            return known[x] if isinstance(x, Value) else x

        for node in block.nodes:
            args = [of(x) for x in node.args]
            known |= zip(node.outputs, self.results(node, args, known), strict=True)
        return tuple(known[v] for v in block.outputs)

    def results(self, node: Any, args: list[Any], known: dict[Value, Any]) -> tuple[Any, ...]:
        operands = [a for a in node.args if isinstance(a, Value)]
        if node.op == "if":
            return self.run(node.blocks[0 if args[0] else 1], (), known)
        if node.op == "loop":
            (count, go, *carried), done = args, 0
            while (go is None or go) and (count is None or done < count):
                go, *carried = self.run(node.blocks[0], (done, *carried), known)
                done += 1
            return tuple(carried)
        if node.body is not None:
            return self.run(node.body, [known[v] for v in operands])
        if node.op == "cast":
            made = self.backend.empty(np.shape(args[0]), args[1], 0)
            self.backend.copy_(made, args[1], args[0], operands[0].type.dtype)
            return (made,)
        if node.op in VIEWS:
            return (VIEWS[node.op](np.asarray(args[0]), *args[1:]),)
        same = operands[node.op == "where" :]
        d = (same or operands or node.outputs)[0].type.dtype
        if node.op in POINTWISE:
            numbers = (bool, int, float, complex)
            args = [self.backend.scalar(a, d) if isinstance(a, numbers) else a for a in args]
        args = [self.backend.dtype(a) if isinstance(a, dtype) else a for a in args]
        return (np.asarray(self.backend.kernel(node.op, d, 0)(*args)),)
