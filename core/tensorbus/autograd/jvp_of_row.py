"""The derivative of an op along tangents of its operands: from its row's rules for gradients.

A rule is linear in the gradient: it multiplies with the transpose of the Jacobian. Of a pointwise
op the Jacobian is its own transpose, and the rule itself is applied to the tangent. Of any other
the rule is transposed once more: it is run on a gradient of zeros that records, and the
backward pass of that is the product with the Jacobian.
"""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import PERMUTED, Tensor, from_array, wrap_like
from tensorbus.autograd import engine
from tensorbus.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad
from tensorbus.autograd.node import Node, next_sequence
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.row_handlers import Proceed
from tensorbus.rows.registry import Row, rule_arguments

Pairs = list[tuple[Tensor, Tensor]]
Found = tuple[Any, Pairs, Pairs]
"""What an op gave; the tangent of each of its results that has one, and of what its node keeps in
the place of operands."""


# -- pointwise ops ---------------------------------------------------------------------------
def directly(
    row: Row, arguments: tuple[Any, ...], proceed: Proceed, tangents: dict[int, Tensor]
) -> Found | None:
    """The op and its tangents by the rules themselves; None where they are not such."""
    if row.form not in ("unary", "binary") or row.result != "same" or not row.rules:
        return None
    operands = [x for x in arguments[: len(row.tensors)] if isinstance(x, Tensor)]
    k = operands[0]._k
    if any(x._k is not k for x in operands) or (k.is_complex and not row.holomorphic):
        return None
    out = proceed(row, arguments)
    if not isinstance(out, Tensor) or out._k is not k:
        return (out, [], []) if out is NotImplemented else None
    given = dict(zip(row.arguments, arguments, strict=False))
    total = None
    for name, rule in row.rules.items():
        x = given[name]
        tangent = tangents.get(id(x)) if isinstance(x, Tensor) else None
        if tangent is None:
            continue
        if tangent._s != out._s:
            tangent = core("expand")(tangent, tuple(out._s))
        needed = [_needed(need, given, out) for need in rule_arguments(rule)]
        part = rule(k.T, tangent, *needed)
        total = part if total is None else total + part
    if total is None:
        total = from_array(k.zeros(tuple(out._s)), k)
    return out, [(out, total)], []


def _needed(name: str, given: dict[str, Any], out: Tensor) -> Any:
    """What a rule wants under a name."""
    if name == "out":
        return out
    if name.endswith("_shape"):
        return given[name.removesuffix("_shape")]._s
    if name.endswith("_number"):
        x = given[name.removesuffix("_number")]
        return None if isinstance(x, Tensor) else x
    return given[name]


# -- all others ------------------------------------------------------------------------------
class OperandBackward0(Node):
    """Stands for an operand of one call: its gradient is that of the operand."""

    __slots__ = ("e0",)
    arity = 1
    e0: Any

    def run(self, g: Any) -> tuple[Any, ...]:
        return self.e0, g

    run_t = run


def _with_edge(t: Tensor) -> Tensor:
    """Another tensor of the same memory and version, with an edge of its own."""
    with no_grad():
        made = core("alias")(t)
    made._b = None if t._b is None else PERMUTED
    n = OperandBackward0()
    n.q, n.k, n.h, n.e0 = next_sequence(), t._k, None, None
    made._e = n
    return made


def transposed(
    row: Row, arguments: tuple[Any, ...], proceed: Proceed, tangents: dict[int, Tensor]
) -> Found:
    """The op and its tangents by two backward passes through what it records."""
    recording = is_grad_enabled()
    own: dict[int, Tensor] = {}
    behind: list[tuple[Any, Any]] = []

    def stand_in(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return type(x)([stand_in(t) for t in x])
        if not isinstance(x, Tensor):
            return x
        edge = edge_of(x) if recording else None
        if edge is None and id(x) not in tangents:
            return x
        if id(x) not in own:
            made = own[id(x)] = _with_edge(x)
            if edge is not None:
                behind.append((made._e, edge))
        return own[id(x)]

    given = tuple(
        stand_in(x) if name in row.tensors else x
        for name, x in zip(row.arguments, arguments, strict=True)
    )
    with enable_grad():
        made = proceed(row, given)
        results = list(made) if isinstance(made, tuple) else [made]
        edges = {t._e: to_kind(tangents[x], t._k) for x, t in own.items() if x in tangents}
        found = _products(results, edges, recording and bool(behind))
    # Only now, so that these passes did not walk on into what made the operands.
    for node, edge in behind:
        node.e0 = edge
    if not behind:
        for t in results:
            if isinstance(t, Tensor):
                t._e = None
    return made, found, [(t, tangents[x]) for x, t in own.items() if x in tangents]


def _products(results: list[Any], edges: dict[Any, Tensor], followed: bool) -> Pairs:
    """The tangent of each result that may have one: zeros where no rule leads to it.

    *edges* are those of the operands, with their tangents.
    """
    outs = [t for t in results if isinstance(t, Tensor) and t._k.differentiable]
    seeds = [_with_edge(from_array(t._k.zeros(tuple(t._s)), t._k)) for t in outs]
    roots = [(t._e, seed) for t, seed in zip(outs, seeds, strict=True) if t._e is not None]
    back = engine.run(roots, True, True, set(edges)) if roots else {}
    keep = followed or (is_grad_enabled() and any(t._e is not None for t in edges.values()))
    tensors = engine.as_tensors(keep)
    along = [
        (w._e, edges[edge] if tensors else edges[edge]._a)
        for edge, w in back.items()
        if w._e is not None
    ]
    forward = engine.run(along, False, keep, {t._e for t in seeds}) if along else {}
    found = []
    for t, seed in zip(outs, seeds, strict=True):
        product = forward.get(seed._e)
        k = t._k
        if product is None:
            product = from_array(k.zeros(tuple(t._s)), k)
        elif not isinstance(product, Tensor):
            product = k.as_array(product) if not product.shape else product
            if any(_same_memory(product, k, x) for x in edges.values()):
                product = k.clone(product)
            product = wrap_like(product, k, None)
        found.append((t, product))
    return found


def _same_memory(array: Any, k: Any, t: Tensor) -> bool:
    return array is t._a or bool(k.layout(array)[0] == t._k.layout(t._a)[0])
