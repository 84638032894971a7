"""Graphs that write into their inputs: one launch for an element's new values in all of them."""

from __future__ import annotations

import dataclasses
from typing import Any

from tensorbus.plugin.backend import Kernel
from tensorbus.plugin.graph import Graph, TensorType
from tensorbus.plugin.kernel_language.axes import FOLDS, GATHERS, MOVES, Declined
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.lowering import NestStep, lower
from tensorbus.plugin.kernel_language.nests import CompiledNest


def in_place(device: Device, graph: Graph) -> Kernel | None:
    """The kernel of pointwise ops over arrays of one shape whose outputs are all written.

    Its nest computes all new values of an element before it stores one. None for any other graph.
    """
    targets = dict(graph.writes)
    shapes = {v.type.shape for v in graph.inputs if isinstance(v.type, TensorType)}
    if any(node.op in (*FOLDS, *GATHERS, *MOVES) for node in graph.nodes):
        return None
    if len(shapes) != 1 or len(targets) != len(graph.outputs):
        return None
    try:
        steps = lower(graph)
        (step,) = steps
        if not isinstance(step, NestStep) or not {*graph.outputs} <= {*step.results}:
            return None
        # A value that is written twice is stored twice.
        stores = [step.nest.stores[step.results.index(value)] for value in graph.outputs]
        nest = CompiledNest(device, dataclasses.replace(step.nest, stores=tuple(stores)))
    except (Declined, ValueError):
        return None
    written = [targets[i] for i in range(len(graph.outputs))]
    position = {value: i for i, value in enumerate(graph.inputs)}
    arrays = [position[v] for v in step.arrays]
    numbers = [position[v] for v in step.numbers]

    def kernel(*inputs: Any, out: Any = None) -> Any:
        if out is not None:
            return NotImplemented
        given = [inputs[i] for i in written]
        results = nest([inputs[i] for i in arrays], [inputs[i] for i in numbers], given, {})
        return results[0] if len(results) == 1 else tuple(results)

    return kernel
