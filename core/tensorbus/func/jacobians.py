"""Jacobians and Hessians of functions, whole."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.func.argnums import Argnums, checked, chosen, replaced, tensors_of
from tensorbus.func.forward import jvp
from tensorbus.func.reverse import vjp
from tensorbus.ops.creation.factories import zeros_like
from tensorbus.ops.joining.joining import stack
from tensorbus.utils._pytree import tree_flatten


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
        rows = []
        for i, t in enumerate(outputs):

            def pull(seed: Tensor, i: int = i) -> list[Tensor]:
                cotangents = [*zeros[:i], seed, *zeros[i + 1 :]]
                return tree_flatten(found[1](spec.unflatten(cotangents)))[0]

            inputs, in_spec = tree_flatten(primals)
            each = _for_each(pull, t, len(inputs))
            blocks = [
                (stack(part) if part else x.new_zeros((0, *x.shape))).reshape(*t.shape, *x.shape)
                for part, x in zip(each, inputs, strict=True)
            ]
            tree = in_spec.unflatten(blocks)
            rows.append(tree[0] if isinstance(numbers, int) else tree)
        made = spec.unflatten(rows)
        return (made, found[2]) if has_aux else made

    return jacobian


def _for_each(
    function: Callable[[Tensor], Sequence[Tensor]], like: Tensor, count: int
) -> list[list[Tensor]]:
    """What *function* gives for each unit vector of the shape of *like*, result by result."""
    found: list[list[Tensor]] = [[] for _ in range(count)]
    for i in range(like.numel()):
        unit = zeros_like(like).reshape(-1)
        unit[i] = 1.0
        for part, t in zip(found, function(unit.view(like.shape)), strict=True):
            part.append(t)
    return found


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
        found: list[Any] = []

        def partial(*leaves: Any) -> Any:
            return func(*replaced(args, numbers, in_spec.unflatten(leaves)), **kwargs)

        columns: list[list[Tensor]] = []
        for i, x in enumerate(inputs):
            zeros = [zeros_like(t) for t in inputs]

            def push(unit: Tensor, i: int = i, zeros: list[Tensor] = zeros) -> list[Tensor]:
                along = (*zeros[:i], unit, *zeros[i + 1 :])
                found[:] = jvp(partial, tuple(inputs), along, has_aux=has_aux)
                return tree_flatten(found[1])[0]

            if not found:
                push(zeros[i])
            outputs = tree_flatten(found[0])[0]
            each = _for_each(push, x, len(outputs))
            columns.append(
                [
                    (stack(part, -1) if part else t.new_zeros((*t.shape, 0))).reshape(
                        *t.shape, *x.shape
                    )
                    for part, t in zip(each, outputs, strict=True)
                ]
            )
        spec = tree_flatten(found[0])[1]
        made = spec.unflatten(in_spec.unflatten(blocks) for blocks in zip(*columns, strict=True))
        return (made, found[2]) if has_aux else made

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
