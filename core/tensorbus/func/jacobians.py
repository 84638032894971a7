"""Jacobians and Hessians of functions, whole."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.func.argnums import Argnums, checked, chosen, replaced, tensors_of
from tensorbus.func.forward import jvp
from tensorbus.func.reverse import vjp
from tensorbus.func.vmap import vmap
from tensorbus.op_engine.signatures import hide_private
from tensorbus.ops.creation.factories import eye, zeros_like
from tensorbus.utils._pytree import tree_flatten


@hide_private
def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of *func*, computed row by row: by backward passes.

    It is the tree of *func*'s outputs, with a tree of the chosen arguments for each: a tensor
    of the output's shape followed by the argument's. With *has_aux* both functions return a
    pair. *chunk_size* bounds how many rows are computed at once.

    RuntimeError where *func* returns something else than floating-point or complex tensors.

    >>> import tensorbus as torch
    >>> torch.func.jacrev(lambda x: x**2)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])

    Source: https://pytorch.org/docs/stable/generated/torch.func.jacrev.html
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        numbers = checked(argnums, len(args))

        def partial(*inputs: Any) -> Any:
            given = inputs[0] if isinstance(numbers, int) else inputs
            return func(*replaced(args, numbers, given), **kwargs)

        given = chosen(args, numbers)
        primals = (given,) if isinstance(numbers, int) else given
        found = vjp(partial, *primals, has_aux=has_aux)
        outputs, spec = tree_flatten(found[0])
        for t in outputs:
            if not t._k.differentiable:
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                    f"Tensor with dtype {t.dtype}"
                )
        zeros = [zeros_like(t) for t in outputs]
        inputs, in_spec = tree_flatten(primals)
        rows = []
        for i, t in enumerate(outputs):

            def pull(seed: Tensor, i: int = i) -> tuple[Tensor, ...]:
                cotangents = [*zeros[:i], seed, *zeros[i + 1 :]]
                return tuple(tree_flatten(found[1](spec.unflatten(cotangents)))[0])

            if t.numel():
                each = vmap(pull, chunk_size=chunk_size)(*_units([t]))
            else:
                each = tuple(x.new_zeros((0, *x.shape)) for x in inputs)
            tree = in_spec.unflatten(
                part.reshape(*t.shape, *x.shape) for part, x in zip(each, inputs, strict=True)
            )
            rows.append(tree[0] if isinstance(numbers, int) else tree)
        made = spec.unflatten(rows)
        return (made, found[2]) if has_aux else made

    return jacobian


def _units(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The unit vectors of the space of all elements, along a first dimension."""
    sizes = [t.numel() for t in tensors]
    found, start = [], 0
    for t, n in zip(tensors, sizes, strict=True):
        units = eye(sum(sizes), dtype=t.dtype, device=t.device)
        found.append(units[:, start : start + n].reshape(sum(sizes), *t.shape))
        start += n
    return found


def _columns(batch: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    """The block of a Jacobian for each input, from products with all unit vectors."""
    last = batch.movedim(0, -1)
    shape = batch.shape[1:]
    if not batch.shape[0]:
        return [batch.new_zeros((*shape, *x.shape)) for x in inputs]
    parts = last.split([x.numel() for x in inputs], -1)
    return [part.reshape(*shape, *x.shape) for part, x in zip(parts, inputs, strict=True)]


def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """A function that gives the Jacobian of *func*, computed column by column: by forward mode.

    It is as that of ``jacrev``, and cheaper where there are fewer inputs than outputs.

    >>> import tensorbus as torch
    >>> torch.func.jacfwd(lambda x: x**2)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])

    Source: https://pytorch.org/docs/stable/generated/torch.func.jacfwd.html
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        numbers = checked(argnums, len(args))
        given = chosen(args, numbers)
        inputs, in_spec = tensors_of(given)
        shown: list[Any] = []

        def push(*tangents: Tensor) -> tuple[Tensor, ...]:
            def partial(*leaves: Any) -> Any:
                return func(*replaced(args, numbers, in_spec.unflatten(leaves)), **kwargs)

            found = jvp(partial, tuple(inputs), tangents, has_aux=has_aux)
            products, spec = tree_flatten(found[1])
            aux, aux_spec = tree_flatten(found[2] if has_aux else ())
            shown[:] = spec, aux, aux_spec
            return (*products, *(x for x in aux if isinstance(x, Tensor)))

        if any(x.numel() for x in inputs):
            made = vmap(push, randomness=randomness)(*_units(inputs))
        else:
            made = tuple(t.new_zeros((0, *t.shape)) for t in push(*map(zeros_like, inputs)))
        spec, aux, aux_spec = shown
        count = spec.num_leaves
        blocks = [in_spec.unflatten(_columns(t, inputs)) for t in made[:count]]
        if not has_aux:
            return spec.unflatten(blocks)
        rest = iter(made[count:])
        others = [next(rest)[0] if isinstance(x, Tensor) else x for x in aux]
        return spec.unflatten(blocks), aux_spec.unflatten(others)

    return jacobian


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that gives the Hessian of *func*: forward mode over backward passes.

    For each output its shape is that of the argument twice, behind the output's.

    >>> import tensorbus as torch
    >>> torch.func.hessian(lambda x: x[0] ** 2 * x[1])(torch.tensor([1.0, 2.0]))
    tensor([[4., 2.],
            [2., 0.]])

    Source: https://pytorch.org/docs/stable/generated/torch.func.hessian.html
    """
    return jacfwd(jacrev(func, argnums), argnums)
