"""Edges of the recorded graph: what gradients may be taken of and for, instead of a tensor."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorbus._base.public_place import show_in
from tensorbus._base.size import Size
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import AccumulateGrad, Node
from tensorbus.op_engine.history import edge_of


class GradientEdge(NamedTuple):
    """Where a gradient arrives: a node, and which of its outputs.

    ``get_gradient_edge`` makes one of a tensor; ``autograd.grad`` and ``backward`` take it instead
    of the tensor, which need not be kept then.
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
    node = edge_of(tensor)
    return GradientEdge(node, 0, None if type(node) is AccumulateGrad else _Shape(tensor._s))


class _Shape:
    """What an edge remembers of its tensor: the node alone does not know the shape."""

    __slots__ = ("size",)

    def __init__(self, size: Size):
        self.size = size


def node_of(t: Tensor | GradientEdge) -> Any:
    """The node at which the gradient of a tensor or an edge arrives; None where there is none."""
    if isinstance(t, GradientEdge):
        if t.output_nr:
            raise RuntimeError(
                f"GradientEdge: {t.node.name()} has the output 0 alone, not {t.output_nr}"
            )
        return t.node
    return edge_of(t)


def shape_of(t: Tensor | GradientEdge) -> Size | None:
    """The shape of a tensor or of what an edge was made of; None where nobody knows it."""
    if isinstance(t, Tensor):
        return t._s
    if isinstance(t.ownership_token, _Shape):
        return t.ownership_token.size
    leaf = t.node.variable if isinstance(t.node, AccumulateGrad) else None
    return None if leaf is None else leaf._s


show_in(
    "tensorbus.autograd.graph",
    [(x.__name__, x) for x in (GradientEdge, get_gradient_edge)],
)
