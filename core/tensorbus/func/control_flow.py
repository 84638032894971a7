"""``cond`` and ``while_loop``: branches and loops on tensors, run as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.utils._pytree import tree_flatten, tree_leaves, tree_unflatten


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()
) -> Any:
    """Call ``true_fn(*operands)`` or ``false_fn(*operands)``, as *pred* says.

    *pred* is a number or a tensor of one element; *operands* is a tuple or list of tensors, nested
    as a tree where *pred* is a tensor. Where *pred* differs among the elements of a ``vmap``, both
    functions run, and each element gets its own; the results must have the same structure then.

    RuntimeError for a tensor of several elements, for what cannot be called, for other operands.

    >>> import tensorbus as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.cond(x.sum() > 2, lambda x: x * 10, lambda x: -x, (x,))
    tensor([10., 20.])

    Source: https://pytorch.org/docs/stable/generated/torch.cond.html
    """
    if isinstance(pred, (bool, int, float)):
        return (true_fn if pred else false_fn)(*operands)
    if not isinstance(pred, Tensor):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if pred._s.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all(
        isinstance(t, Tensor) for t in tree_leaves(operands)
    ):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists "
            f"of tensor leaves, but got {operands}."
        )
    if pred._k.inner is None:
        return (true_fn if pred else false_fn)(*operands)
    return _of_both(pred, true_fn(*operands), false_fn(*operands))


def _of_both(pred: Tensor, yes: Any, no: Any) -> Any:
    """For each element of a batch what its branch gave."""
    (ours, spec), (theirs, other) = tree_flatten(yes), tree_flatten(no)
    if spec != other:
        raise RuntimeError(
            f"cond: the branches must return the same structure, but true_fn returned {spec} and "
            f"false_fn {other}"
        )
    truth = pred.reshape(()).bool()
    where = FUNCTIONS["where"]
    return tree_unflatten([where(truth, a, b) for a, b in zip(ours, theirs, strict=True)], spec)


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any
) -> Any:
    """Call ``body_fn`` on what it returned before, while ``cond_fn`` of that is true.

    *carried_inputs*, which the first calls get as arguments, is a tuple or list of tensors and
    ints, nested as a tree; *body_fn* returns the same structure. Gradients flow through.

    RuntimeError for what cannot be called, for other inputs, and where the structure changes.

    >>> import tensorbus as torch
    >>> torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, torch.ones(2)))
    (3, tensor([8., 8.]))

    Source: https://pytorch.org/docs/stable/generated/torch.while_loop.html
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)) or not all(
        isinstance(t, (Tensor, int)) for t in tree_leaves(carried_inputs)
    ):
        raise RuntimeError(
            "Expect carried_inputs to be a tuple of possibly nested dict/list/tuple that only "
            f"consists of tensor or int leaves, but got {carried_inputs}."
        )
    carried = tuple(carried_inputs)
    spec = tree_flatten(carried)[1]
    while cond_fn(*carried):
        made = body_fn(*carried)
        carried = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        found = tree_flatten(carried)[1]
        if found != spec:
            raise RuntimeError(
                f"while_loop: body_fn must return the structure of carried_inputs, {spec}, but "
                f"returned {found}"
            )
    return carried
