"""Calls of hooks during a backward pass: what they are given, and what they may return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base import registered
from tensorbus._tensor.sparse_array import SparseArray
from tensorbus._tensor.tensor import Tensor, wrap_like
from tensorbus.autograd.node import AccumulateGrad, Node
from tensorbus.autograd.several_results import Gradients
from tensorbus.op_engine.casting import to_kind


def run_node(node: Node, g: Any, create_graph: bool) -> tuple[Any, ...]:
    """Edges and gradients, in turn, of any node, with the hooks that it has."""
    if node.h is not None:
        return run_hooked(node, tensor_hooks(node, g, create_graph), create_graph)
    return node.run_t(g) if create_graph else node.run(g)


def run_hooked(node: Node, g: Any, create_graph: bool) -> tuple[Any, ...]:
    """Edges and gradients, in turn, of a node with hooks: those before it, the node, those after.

    Without a gradient (None) only nodes run that make something of it.
    """
    g = _node_hooks(node, g, create_graph)
    if g is None and not node.takes_none:
        pairs = tuple(v for edge in node.edges() for v in (edge, None))
    else:
        pairs = node.run_t(g) if create_graph else node.run(g)
    pairs = _post_hooks(node, g, pairs, create_graph)
    # An edge to which nothing goes is none.
    return tuple(v for e, x in _in_pairs(pairs) for v in ((None, None) if x is None else (e, x)))


def tensor_hooks(node: Node, g: Any, create_graph: bool) -> Any:
    """The gradient after the hooks of the tensor that *node* made, which may keep it, too."""
    assert node.h is not None
    if isinstance(g, Gradients):
        return g  # the hooks of each result are at its own edge
    g = _array(node, g, create_graph)
    for hook in node.h.at("tensor"):
        given = _as_tensor(node.hook_kind, g, create_graph)
        made = hook(given)
        if made is not None:
            g = _checked(hook, given, made, create_graph)
    for hook in node.h.at("retain"):
        hook(_as_tensor(node.hook_kind, g, create_graph))
    return g


def leaf_hooks(edge: AccumulateGrad, g: Any, create_graph: bool) -> Any:
    """The gradient that a leaf gets, after the hooks of the leaf and of its edge."""
    g = in_grad_dtype(edge, g, create_graph)
    return _node_hooks(edge, tensor_hooks(edge, g, create_graph), create_graph)


def in_grad_dtype(edge: AccumulateGrad, g: Any, create_graph: bool) -> Any:
    """The gradient that arrives at a leaf, in the dtype that the leaf wants for it."""
    kind = edge.hook_kind
    if kind.dtype is edge.k.dtype:
        return g
    t = _as_tensor(edge.k, _array(edge, g, create_graph), create_graph)
    if edge.k.is_complex and not kind.is_complex:
        t = t.real
    made = to_kind(t, kind)
    return made if create_graph else made._a


def _node_hooks(node: Node, g: Any, create_graph: bool) -> Any:
    assert node.h is not None
    for hook in node.h.at("pre"):
        given = _of_results(node, g, create_graph)
        made = hook(given)
        if made is not None:
            values = _all_checked(hook, given, made, create_graph)
            several = isinstance(g, Gradients)
            g = Gradients({i: values[i] for i in g}) if several else values[0]
    return g


def _of_results(node: Node, g: Any, create_graph: bool) -> tuple[Any, ...]:
    """The gradient of each result as a tensor, or None."""
    if not isinstance(g, Gradients):
        return (_as_tensor(node.hook_kind, g, create_graph),)
    kinds = enumerate(node.result_kinds())
    return tuple(_as_tensor(kind, g.get(i), create_graph) for i, kind in kinds)


def _post_hooks(node: Node, g: Any, pairs: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    assert node.h is not None
    for hook in node.h.at("post"):
        pairs = tuple(
            v
            for e, x in _in_pairs(pairs)
            for v in (e, x if e is None else _array(e, x, create_graph))
        )
        given = tuple(
            None if e is None else _as_tensor(e.k, x, create_graph) for e, x in _in_pairs(pairs)
        )
        given += (None,) * node.numbers
        made = hook(given, _of_results(node, g, create_graph))
        if made is not None:
            values = _all_checked(hook, given, made, create_graph)
            pairs = tuple(v for e, x in zip(pairs[::2], values, strict=False) for v in (e, x))
    return pairs


def after_accumulation(edge: AccumulateGrad, leaf: Tensor, g: Any, create_graph: bool) -> None:
    """Call the hooks of a leaf whose ``.grad`` was updated."""
    assert edge.h is not None
    for hook in edge.h.at("post_accumulate"):
        made = hook(leaf)
        if isinstance(made, Tensor):
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        if made is not None:
            raise _no_tensor(made)
    _post_hooks(edge, g, (), create_graph)


def _in_pairs(pairs: tuple[Any, ...]) -> Any:
    return zip(pairs[::2], pairs[1::2], strict=True)


def _array(node: Any, g: Any, create_graph: bool) -> Any:
    """The gradient, as an array that hooks may write into where it is a host's scalar."""
    return g if create_graph or g is None or g.shape else node.k.as_array(g)


def _as_tensor(kind: Any, g: Any, create_graph: bool) -> Any:
    if create_graph or g is None:
        return g
    if isinstance(g, SparseArray):
        return registered.sparse_tensor(g)
    return wrap_like(g, getattr(kind, "dense", kind), None)


def _all_checked(
    hook: Callable[..., Any], given: tuple[Any, ...], made: Any, create_graph: bool
) -> list[Any]:
    if not isinstance(made, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(made).__name__}'")
    if len(made) != len(given):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(made)}, "
            f"but expected {len(given)})"
        )
    return [
        None if value is None else _checked(hook, before, value, create_graph)
        for before, value in zip(given, made, strict=True)
    ]


def _checked(hook: Callable[..., Any], given: Any, made: Any, create_graph: bool) -> Any:
    """What a hook returned instead of a gradient, which must be like the gradient."""
    if given is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(made, Tensor):
        raise _no_tensor(made)
    if made._k is not given._k:
        raise RuntimeError(
            f"hook '{_name(hook)}' has changed the type of value (was {given.type()} got "
            f"{made.type()})"
        )
    if made._s != given._s:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")
    return made if create_graph else made._a


def _no_tensor(made: Any) -> TypeError:
    return TypeError(f"expected Variable, but hook returned '{type(made).__name__}'")


def _name(hook: Callable[..., Any]) -> str:
    return getattr(hook, "__name__", "<unknown>")
