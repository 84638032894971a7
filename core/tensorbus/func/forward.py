"""Transforms by forward mode: ``jvp``, and ``linearize``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.forward_ad import dual
from tensorbus.autograd.forward_level import Level
from tensorbus.autograd.grad_mode import enable_grad, is_grad_enabled
from tensorbus.autograd.transform_inputs import Inputs
from tensorbus.func.argnums import tensors_of, with_aux
from tensorbus.op_engine.batches import in_current_batches
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.row_handlers import handling
from tensorbus.utils._pytree import tree_flatten, tree_leaves


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """``func(*primals)``, and the product of its Jacobian with *tangents*.

    *tangents* have the structure and shapes of *primals*, the product those of the output. With
    *has_aux* *func* returns a pair, whose second part is the third result. It may be nested, and
    within ``grad`` and ``vmap``.

    RuntimeError for other structures or shapes, where *func* returns something else than tensors,
    and with *strict* where the output does not hang on the inputs, of which the product is zeros.

    >>> import tensorbus as torch
    >>> x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])
    >>> torch.func.jvp(lambda x: x**2, (x,), (v,))
    (tensor([1., 4.]), tensor([2., 0.]))

    Source: https://pytorch.org/docs/stable/generated/torch.func.jvp.html
    """
    call = "jvp(f, primals, tangents)"
    given, along = _checked(primals, tangents, call)
    level = Level()
    outer = Inputs([])
    try:
        with handling(level):
            pairs = zip(given, along, strict=True)
            duals = [dual(level, *map(in_current_batches, pair)) for pair in pairs]
            made = func(*tree_flatten(primals)[1].unflatten(duals))
            aux: Any = ()
            if has_aux:
                made, aux = with_aux(made, call)
            outputs, spec = tree_flatten(made)
            products = [_product(level, t, strict, call) for t in outputs]
    finally:
        level.close()
    outer.settle([*outputs, *products, *tree_leaves(aux)])
    product = spec.unflatten(products)
    return (made, product, aux) if has_aux else (made, product)


def _checked(primals: Any, tangents: Any, call: str) -> tuple[list[Tensor], list[Tensor]]:
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{call}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    (given, spec), (along, other) = tree_flatten(primals), tree_flatten(tangents)
    if spec != other:
        raise RuntimeError(
            f"{call}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {spec} and tangents with structure {other}"
        )
    for name, leaves in (("primals", given), ("tangents", along)):
        if not leaves:
            raise RuntimeError(f"{call}: Expected {name} to contain at least one Tensor.")
        for x in leaves:
            if not isinstance(x, Tensor):
                raise RuntimeError(
                    f"{call}: Expected {name} to only contain Tensors, got {type(x)}"
                )
    for name, leaves in (("primal", given), ("tangent", along)):
        for x in leaves:
            if not x._k.differentiable:
                raise ValueError(
                    f"Expected {name} to be floating point or complex, but got: {x._k.dtype}"
                )
    return given, along


def _product(level: Level, t: Any, strict: bool, call: str) -> Tensor:
    if not isinstance(t, Tensor):
        raise RuntimeError(
            f"{call}: expected f(*primals) to return only tensors, got unsupported type {type(t)}"
        )
    found = level.tangent(t)
    if found is None:
        if strict:
            raise RuntimeError(
                f"{call[:-1]}, strict=True): The output of f is independent of the inputs. This is "
                "not allowed with strict=True."
            )
        found = from_array(t._k.zeros(tuple(t._s)), t._k)
    return found


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """``func(*primals)``, and a function that multiplies with its Jacobian from the right.

    It gives what ``jvp`` gives, but *func* runs once for all products: what it recorded is
    transposed, and each product is a backward pass through that.

    RuntimeError where what the function gets does not have the structure, shapes and dtypes of
    *primals*.

    >>> import tensorbus as torch
    >>> output, push = torch.func.linearize(lambda x: x**2, torch.tensor([1.0, 2.0]))
    >>> push(torch.tensor([1.0, 0.0])), push(torch.tensor([0.0, 1.0]))
    (tensor([2., 0.]), tensor([0., 4.]))

    Source: https://pytorch.org/docs/stable/generated/torch.func.linearize.html
    """
    given, spec = tensors_of(primals)
    inputs = Inputs(given)
    try:
        with enable_grad():
            made = func(*spec.unflatten(inputs.tensors))
            outputs, out_spec = tree_flatten(made)
            recorded = [
                t
                for t in outputs
                if isinstance(t, Tensor) and t._k.differentiable and edge_of(t) is not None
            ]
            edges = [edge_of(t) for t in recorded]
            records = inputs.leads_out(edges)
            seeds = Inputs([from_array(t._k.zeros(tuple(t._s)), t._k) for t in recorded])
            back = inputs.gradients(edges, seeds.tensors, True, True)
            back_edges = [edge_of(t) for t in back]
    finally:
        inputs.close()
    seeds.close()
    inputs.settle(outputs)

    def push(*tangents: Any) -> Any:
        along, other = tree_flatten(tangents)
        if other != spec:
            raise RuntimeError(
                f"Expected the tangents {other} to have the same argspec as the primals {spec}"
            )
        for i, (v, t) in enumerate(zip(along, given, strict=True)):
            for what, mine, its in (("shape", v.shape, t.shape), ("dtype", v.dtype, t.dtype)):
                if mine != its:
                    raise RuntimeError(
                        f"tangent:{i} with {what} {mine} in flattened pytree doesn't match the "
                        f"{what} {its} of the corresponding primal."
                    )
        follows = is_grad_enabled() and (records or any(v.requires_grad for v in along))
        with enable_grad():
            products = iter(seeds.gradients(back_edges, along, follows, True))
        known = {id(t) for t in recorded}
        return out_spec.unflatten(
            next(products)
            if id(t) in known
            else from_array(t._k.zeros(tuple(t._s)), t._k)
            if isinstance(t, Tensor)
            else t
            for t in outputs
        )

    return made, push
