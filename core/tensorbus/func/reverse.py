"""Transforms by backward passes: ``grad``, ``grad_and_value``, ``vjp``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.grad_mode import enable_grad, is_grad_enabled
from tensorbus.autograd.transform_inputs import Inputs
from tensorbus.func.argnums import Argnums, checked, chosen, replaced, tensors_of, with_aux
from tensorbus.op_engine.history import edge_of
from tensorbus.utils._pytree import tree_flatten, tree_leaves


def grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of *func*, which returns one number.

    *argnums* says with respect to which of the arguments: for a tuple the gradients are a tuple;
    an argument may be a tree of tensors, and its gradient is one like it. With *has_aux* both
    functions return a pair, whose second part is taken as it is. Tensors that *func* uses besides
    are constants; where they, or the arguments, require gradients outside, so does the result. What
    *func* computes in ``no_grad`` is constant too; a ``no_grad`` around the call only says that
    the result does not require gradients.

    RuntimeError where *func* returns something else than a tensor of no dimensions.

    >>> import tensorbus as torch
    >>> torch.func.grad(torch.sin)(torch.tensor(0.0))
    tensor(1.)
    >>> torch.func.grad(torch.func.grad(lambda x: x**3))(torch.tensor(2.0))
    tensor(12.)

    Source: https://pytorch.org/docs/stable/generated/torch.func.grad.html
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of *func*, and what *func* returns.

    It is as ``grad``; with *has_aux* it returns ``(gradient, (output, aux))``.

    >>> import tensorbus as torch
    >>> torch.func.grad_and_value(lambda x: (x**2).sum())(torch.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))

    Source: https://pytorch.org/docs/stable/generated/torch.func.grad_and_value.html
    """

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        call = "grad_and_value(f)(*args)"
        numbers = checked(argnums, len(args))
        given, spec = tensors_of(chosen(args, numbers))
        inputs = Inputs(given)
        aux: Any = ()
        try:
            with enable_grad():
                made = func(*replaced(args, numbers, spec.unflatten(inputs.tensors)), **kwargs)
                if has_aux:
                    made, aux = with_aux(made, call)
                seed = _seed(made, call)
                edges = [edge_of(made)]
                records = inputs.leads_out(edges)
                found = inputs.gradients(edges, [seed], records, False)
        finally:
            inputs.close()
        inputs.settle([*found, made, *tree_leaves(aux)])
        gradient = spec.unflatten(found)
        return gradient, ((made, aux) if has_aux else made)

    return gradient_and_value


def _seed(made: Any, call: str) -> Tensor:
    """The gradient of one number, 1; RuntimeError where *made* is not one."""
    if not isinstance(made, Tensor):
        raise RuntimeError(f"{call}: Expected f(*args) to return a Tensor, got {type(made)}")
    if made._s:
        raise RuntimeError(
            f"{call}: Expected f(*args) to return a scalar Tensor, got tensor with "
            f"{len(made._s)} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )
    k = made._k
    if k.is_complex:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {k.dtype}"
        )
    return from_array(k.full((), 1), k)


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """``func(*primals)``, and a function that multiplies with its Jacobian from the left.

    That takes a tree of tensors like the output, and gives a tuple with a tree for each of the
    primals. With *has_aux* *func* returns a pair, whose second part is the third result.

    RuntimeError where *func* returns something else than tensors, or where what the function
    gets does not have the structure and shapes of the output.

    >>> import tensorbus as torch
    >>> output, pull = torch.func.vjp(lambda x, y: x * y, torch.tensor(2.0), torch.tensor(3.0))
    >>> pull(torch.tensor(1.0))
    (tensor(3.), tensor(2.))

    Source: https://pytorch.org/docs/stable/generated/torch.func.vjp.html
    """
    given, spec = tensors_of(primals)
    inputs = Inputs(given)
    aux: Any = ()
    try:
        with enable_grad():
            made = func(*spec.unflatten(inputs.tensors))
            if has_aux:
                made, aux = with_aux(made, "vjp(f, *primals)")
            outputs, out_spec = tree_flatten(made)
            for x in outputs:
                if not isinstance(x, Tensor):
                    raise RuntimeError(
                        "vjp(f, *primals): expected f(*primals) to return only tensors, got "
                        f"unsupported type {type(x)}"
                    )
            for x in tree_leaves(aux):
                if not isinstance(x, Tensor):
                    raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
            edges = [edge_of(t) for t in outputs]
            records = inputs.leads_out(edges)
    finally:
        inputs.close()
    inputs.settle([*outputs, *tree_leaves(aux)])

    def pull(
        cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> tuple[Any, ...]:
        seeds, seed_spec = tree_flatten(cotangents)
        if seed_spec != out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {seed_spec}, primal output: {out_spec}"
            )
        for i, (g, t) in enumerate(zip(seeds, outputs, strict=True)):
            _check_seed(i, g, t)
        fitted = [g if g._k is t._k else g.to(t.dtype) for g, t in zip(seeds, outputs, strict=True)]
        wanted = is_grad_enabled() if create_graph is None else create_graph
        follows = wanted and (records or any(g.requires_grad for g in fitted))
        with enable_grad():
            found = inputs.gradients(edges, fitted, follows, retain_graph)
        made: tuple[Any, ...] = spec.unflatten(found)
        return made

    return (made, pull, aux) if has_aux else (made, pull)


def _check_seed(i: int, g: Any, t: Tensor) -> None:
    if not isinstance(g, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g._s != t._s:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {g._s} and output[{i}] has a "
            f"shape of {t._s}."
        )
