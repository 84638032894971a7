"""The derivative of an op along tangents of its operands: from its row's rules for gradients.

A rule is linear in the gradient: it multiplies with the transpose of the Jacobian. Of a pointwise
op the Jacobian is its own transpose, and the rule itself is applied to the tangent. Of any other
the rule is transposed once more: it is run on a gradient of zeros that records, and the
backward pass of that is the product with the Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._tensor.tensor import Tensor, from_array, same_memory, wrap_like
from tensorbus.autograd import engine
from tensorbus.autograd.grad_mode import enable_grad, is_grad_enabled
from tensorbus.autograd.node import Node, next_sequence
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.mixed_operands import promoted
from tensorbus.op_engine.row_handlers import Proceed
from tensorbus.rows.registry import DOMAINS, Row, rule_arguments

Pairs = list[tuple[Tensor, Tensor]]
Found = tuple[Any, Pairs]
"""What an op gave, and the tangent of each of its results that has one."""


def in_parts(row: Row, arguments: tuple[Any, ...]) -> Callable[[], Any] | None:
    """The op as calls of others; None where it is one node with the operands as they are.

    What these compute on the way is kept by their nodes, and has tangents as well.
    """
    first = arguments[0][0] if row.arguments[0] in row.sequences else arguments[0]
    if row.form == "binary":
        if not isinstance(first, Tensor) or not _fits(first._k, arguments[1]):
            return lambda: promoted(row, *arguments)
    elif not isinstance(first, Tensor):
        return None
    k = first._k
    lowest, highest = DOMAINS[row.domain]
    if row.outside is not None and not lowest <= k.dtype.category <= highest:
        outside = row.outside
        return lambda: outside(*arguments)
    composite = row.composite
    if composite is None or row.rules or row.form != "general" or row.result != "same":
        return None
    return lambda: composite(k.T, *arguments)


def _fits(k: Any, other: Any) -> bool:
    return other._k is k if isinstance(other, Tensor) else type(other) in k.number_types


# -- pointwise ops ---------------------------------------------------------------------------
def directly(
    row: Row, arguments: tuple[Any, ...], proceed: Proceed, tangents: dict[int, Tensor]
) -> Found | None:
    """The op and its tangents by the rules themselves; None where they are not such."""
    if row.form not in ("unary", "binary") or row.result != "same" or not row.rules:
        return None
    k = arguments[0]._k
    if k.is_complex and not row.holomorphic:
        return None
    out = proceed(row, arguments)
    if not isinstance(out, Tensor) or out._k is not k:
        return (out, []) if out is NotImplemented else None
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
        total = _zeros(out)
    return out, [(out, total)]


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
    """The edge of a tensor that stands for an operand of one call, whose gradient it passes on."""

    __slots__ = ("e0", "operand")
    arity = 1
    e0: Any
    operand: Tensor | None

    def run(self, g: Any) -> tuple[Any, ...]:
        return self.e0, g

    run_t = run


def stood_for(t: Tensor) -> Tensor | None:
    """The operand that a tensor stands for, whose tangents are its own."""
    return t._e.operand if type(t._e) is OperandBackward0 else None


def _zeros(t: Tensor) -> Tensor:
    return from_array(t._k.zeros(tuple(t._s)), t._k)


def _with_edge(t: Tensor, stands: bool = False) -> Tensor:
    """Another tensor of the same memory and version, with an edge of its own."""
    made = same_memory(t)
    n = OperandBackward0()
    n.q, n.k, n.h, n.e0 = next_sequence(), t._k, None, None
    n.operand = t if stands else None
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
            made = own[id(x)] = _with_edge(x, stands=True)
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
    return made, found


def _products(results: list[Any], edges: dict[Any, Tensor], followed: bool) -> Pairs:
    """The tangent of each result that may have one: zeros where no rule leads to it.

    *edges* are those of the operands, with their tangents.
    """
    outs = [t for t in results if isinstance(t, Tensor) and t._k.differentiable]
    seeds = [_with_edge(_zeros(t)) for t in outs]
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
            product = _zeros(t)
        elif not isinstance(product, Tensor):
            product = k.as_array(product) if not product.shape else product
            if any(_same_memory(product, k, x) for x in edges.values()):
                product = k.clone(product)
            product = wrap_like(product, k, None)
        found.append((t, product))
    return found


def _same_memory(array: Any, k: Any, t: Tensor) -> bool:
    return array is t._a or bool(k.layout(array)[0] == t._k.layout(t._a)[0])
