"""Edges of the recorded graph: what gradients may be taken of and for, instead of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tensorbus._base.public_place import show_in
from tensorbus._base.size import Size
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import AccumulateGrad, Node, shown
from tensorbus.autograd.several_results import result_edge
from tensorbus.op_engine.history import edge_of


class GradientEdge(NamedTuple):
    """Where a gradient arrives: a node, and which of its outputs.

    ``get_gradient_edge`` makes one of a tensor; ``autograd.grad`` and ``backward`` take it instead
    of the tensor, which need not be kept then.

    >>> import tensorbus as torch
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> node = (x * x).grad_fn
    >>> edge = torch.autograd.graph.GradientEdge(node, 0)
    >>> torch.autograd.grad(edge, x, torch.ones(1))
    (tensor([6.]),)
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge at which the gradient of *tensor* arrives.

    RuntimeError where the tensor requires no gradients.

    >>> import tensorbus as torch
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> edge = torch.autograd.graph.get_gradient_edge(x * x)
    >>> torch.autograd.grad(edge, x)
    (tensor([6.]),)

    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.get_gradient_edge
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    edge = edge_of(tensor)
    return GradientEdge(shown(edge), edge.position, _Owner(edge, tensor._s))


class _Owner:
    """What an edge remembers of its tensor: the node knows neither the shape nor that edge."""

    __slots__ = ("edge", "size")

    def __init__(self, edge: Node, size: Size):
        self.edge = edge
        self.size = size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Owner) and other.edge is self.edge

    def __hash__(self) -> int:
        return hash(self.edge)


def node_of(t: Tensor | GradientEdge, roots: Sequence[tuple[Any, Any]] = ()) -> Any:
    """Where the gradient of a tensor or an edge arrives in the graph; None where nowhere.

    That of one of several results is looked for in the graph behind *roots*.
    """
    if isinstance(t, Tensor):
        return edge_of(t)
    if isinstance(t.ownership_token, _Owner):
        return t.ownership_token.edge
    kinds = t.node.result_kinds()
    if not 0 <= t.output_nr < len(kinds):
        raise RuntimeError(
            f"GradientEdge: {t.node.name()} has {len(kinds)} outputs, but output_nr is "
            f"{t.output_nr}"
        )
    if len(kinds) == 1:
        return t.node
    seen: set[Any] = set()
    stack = [node for node, _ in roots]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            if node is not t.node and node.operation() is t.node and node.position == t.output_nr:
                return node
            stack.extend(node.edges())
    return result_edge(t.node, t.output_nr, kinds[t.output_nr])


def shape_of(t: Tensor | GradientEdge) -> Size | None:
    """The shape of a tensor or of what an edge was made of; None where nobody knows it."""
    if isinstance(t, Tensor):
        return t._s
    if isinstance(t.ownership_token, _Owner):
        return t.ownership_token.size
    leaf = t.node.variable if isinstance(t.node, AccumulateGrad) else None
    return None if leaf is None else leaf._s


show_in(
    "tensorbus.autograd.graph",
    [(x.__name__, x) for x in (GradientEdge, get_gradient_edge)],
)
