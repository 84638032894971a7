"""The inputs of a function that a transform differentiates: leaves inside, and what comes after.

While the function runs, its inputs are leaves that require gradients. When it has returned, their
nodes lead on to what the caller's tensors were made from, so that the results of the transform can
be differentiated themselves, by the inputs and by whatever else the function has used. Results that
lead to nothing that requires gradients outside do not require them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tensorbus._base.registered import tensor_replaced
from tensorbus._tensor.tensor import PERMUTED, Tensor, from_array, same_memory
from tensorbus.autograd import engine
from tensorbus.autograd.grad_mode import is_grad_enabled
from tensorbus.autograd.node import AccumulateGrad, Node, next_sequence
from tensorbus.op_engine.batches import in_current_batches, lifting_rows
from tensorbus.op_engine.history import edge_of, requires_grad


class InputBackward0(Node):
    """What the node of an input becomes after the function: it leads on to the caller's tensor.

    Its one slot is that of ``AccumulateGrad``, so that it can take its place.
    """

    __slots__ = ("leaf",)
    arity = 1
    leaf: Any

    def edges(self) -> tuple[Any, ...]:
        return (self.leaf,)

    def run(self, g: Any) -> tuple[Any, ...]:
        return self.leaf, g

    run_t = run


class Inputs:
    """The tensors that a function gets in the place of those that it is differentiated by."""

    def __init__(self, given: Sequence[Tensor]):
        self.recording = is_grad_enabled()
        given = [in_current_batches(t) for t in given]
        self._behind = [edge_of(t) if self.recording else None for t in given]
        self.tensors = [_leaf(t) for t in given]
        self.edges: list[Any] = [t._e for t in self.tensors]

    def close(self) -> None:
        """The function has returned: the inputs are leaves no more."""
        for t, node, behind in zip(self.tensors, self.edges, self._behind, strict=True):
            if type(node) is AccumulateGrad:
                other: Any = node
                other.__class__ = InputBackward0
                other.leaf = behind
                if behind is None:
                    t._e = None

    def leads_out(self, edges: Iterable[Any]) -> bool:
        """Whether what the caller differentiates can be reached from some edges."""
        if not self.recording:
            return False
        seen: set[Any] = set()
        own = dict(zip(self.edges, self._behind, strict=True))
        stack = [e for e in edges if e is not None]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if node in own:
                if own[node] is not None:
                    stack.append(own[node])
            elif type(node) is AccumulateGrad:
                return True
            else:
                stack.extend(e for e in node.edges() if e is not None)
        return False

    def settle(self, tensors: Iterable[Any]) -> None:
        """Let go of histories that lead nowhere, when the function has returned."""
        for t in tensors:
            if isinstance(t, Tensor) and requires_grad(t) and not self.leads_out([edge_of(t)]):
                t._e = None
                if isinstance(t._b, Tensor):
                    t._b = PERMUTED

    def gradients(
        self, outputs: Sequence[Any], seeds: Sequence[Tensor], create_graph: bool, keep: bool
    ) -> list[Tensor]:
        """Those of the inputs, from those of the outputs' edges; zeros for what does not matter."""
        pairs = [(e, g) for e, g in zip(outputs, seeds, strict=True) if e is not None]
        with lifting_rows([g for _, g in pairs], [e.k for e, _ in pairs]):
            tensors = engine.as_tensors(create_graph)
            roots = [(e, g if tensors else g._a) for e, g in pairs]
            found = engine.run(roots, keep or create_graph, create_graph, set(self.edges))
        made = []
        for t, edge in zip(self.tensors, self.edges, strict=True):
            g = found.get(edge)
            if g is None:
                g = from_array(t._k.zeros(tuple(t._s)), t._k)
            elif not create_graph:
                g = engine.own(t._k, g)
            made.append(g)
        return made


def _leaf(t: Tensor) -> Tensor:
    """A leaf in the memory of a tensor."""
    made = same_memory(t)
    tensor_replaced(made, t)
    made.requires_grad_()
    made._e.q = next_sequence()
    return made
