"""Loops around the text of a graph, built by a C compiler and called over NumPy's arrays."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tensorbus.plugin import Graph, TensorType
from tensorbus_c_graphs.source import TYPES, body_of

LEAST = int(os.environ.get("C_GRAPHS_LEAST", "4096"))
"""Results of fewer elements are left to NumPy: a call takes as long as these. The suite's arrays
are smaller, so that it is run with 0."""
FLAGS = (
    "-O3 -march=native -fno-math-errno -fno-trapping-math -ffp-contract=off -shared -fPIC -w"
).split()
SOURCE = """#include <math.h>
void run(long rank, const long *shape, const long *steps, char **at) {{
    long index[64] = {{0}};
    {strides}
    for (;;) {{
        {pointers}
        if ({dense}) {{ {fixed} {loop} }} else {{ {loop} }}
        long d = rank - 2;
        for (; d >= 0; d--) {{
            for (long k = 0; k < {count}; k++) at[k] += steps[k * rank + d];
            if (++index[d] < shape[d]) break;
            for (long k = 0; k < {count}; k++) at[k] -= steps[k * rank + d] * shape[d];
            index[d] = 0;
        }}
        if (d < 0) return;
    }}
}}
"""
"""The last dimension is the inner loop, once more for elements that lie side by side."""


def source(body: str, types: list[str]) -> str:
    """The C function for operands of these types, the result last."""
    *inputs, last = range(len(types))
    loads = [f"{types[k]} x{k} = *({types[k]} *)(p{k} + i * s{k});" for k in inputs]
    store = f"*({types[last]} *)(p{last} + i * s{last}) = result;"
    steps = "\n".join(["for (long i = 0; i < shape[rank - 1]; i++) {", *loads, body, store, "}"])
    each = range(len(types))
    return SOURCE.format(
        count=len(types),
        loop=steps,
        strides=" ".join(f"long s{k} = steps[{k} * rank + rank - 1];" for k in each),
        pointers=" ".join(f"char *p{k} = at[{k}];" for k in each),
        dense=" && ".join(f"s{k} == sizeof({types[k]})" for k in each),
        fixed=" ".join(f"const long s{k} = sizeof({types[k]});" for k in each),
    )


class Folder:
    """A private folder with what was compiled, as long as the process lives."""

    def __init__(self, compiler: str):
        self.compiler = compiler
        self._folder = tempfile.TemporaryDirectory(prefix="tensorbus-c-graphs-")
        self._built: dict[str, Any] = {}

    def built(self, text: str) -> Any:
        """The function ``run`` of a text, which is compiled once."""
        if text not in self._built:
            # A folder of its own: two threads may compile at once.
            stem = Path(tempfile.mkdtemp(dir=self._folder.name)) / "kernel"
            stem.with_suffix(".c").write_text(text)
            command = [self.compiler, *FLAGS, f"{stem}.c", "-o", f"{stem}.so", "-lm"]
            subprocess.run(command, check=True, capture_output=True)
            self._built[text] = ctypes.CDLL(f"{stem}.so").run
        return self._built[text]


class Pointwise:
    """The kernel of one graph."""

    def __init__(self, graph: Graph, folder: Folder):
        body = body_of(graph)
        output = graph.outputs[0].type
        assert isinstance(output, TensorType)
        self.shapes = [getattr(value.type, "shape", ()) for value in graph.inputs]
        self.result, self.dtype = output.shape, np.dtype(output.dtype.name)
        self.dtypes = [np.dtype(value.type.dtype.name) for value in graph.inputs]
        types = [TYPES[value.type.dtype] for value in (*graph.inputs, *graph.outputs)]
        self.run = folder.built(source(body, types))

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        sizes: dict[Any, int] = {1: 1}
        for names, x in zip(self.shapes, inputs, strict=True):
            sizes |= zip(names, np.shape(x), strict=True)
        shape = tuple(sizes[n] for n in self.result)
        if np.prod(shape) < LEAST:
            return NotImplemented
        made = np.empty(shape, self.dtype) if out is None else out[0]
        arrays = [np.asarray(x, d) for x, d in zip(inputs, self.dtypes, strict=True)]
        if all(a.shape == shape and a.flags.c_contiguous for a in (*arrays, made)):
            self._run([a.reshape(-1) for a in (*arrays, made)])
        else:
            self._run([*(np.broadcast_to(a, shape) for a in arrays), made])
        return made

    def _run(self, arrays: list[Any]) -> None:
        steps = [s for a in arrays for s in a.strides]
        long, rank = ctypes.c_long, arrays[-1].ndim
        self.run(
            long(rank),
            (long * rank)(*arrays[-1].shape),
            (long * len(steps))(*steps),
            (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays)),
        )
