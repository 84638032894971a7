"""``vmap``: a function of one element runs once for a whole batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorbus._base.modes import this_thread
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.batches import (
    depth_of,
    differs,
    enter,
    in_batch,
    in_current_batches,
    leave,
)
from tensorbus.ops.joining.joining import cat
from tensorbus.ops.views.dimension_order import movedim
from tensorbus.ops.views.shape import expand
from tensorbus.ops.views.splitting import split
from tensorbus.utils._pytree import TreeSpec, tree_flatten

Dims = Any
"""An int, None, or a tree of such."""


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that computes *func* for each element of a batch, all of them at once.

    *in_dims* says along which dimension each argument of *func* is a batch: an int for all, or a
    tree of ints like the arguments; what has None there is the same for every element, and so are
    keyword arguments. *func* sees tensors without that dimension, and returns a tensor or a tree of
    tensors. The results have the dimension at *out_dims*, in the same forms; with None there a
    result must be the same for every element, and comes back as it is. At most *chunk_size*
    elements are computed at once.

    Random numbers raise RuntimeError unless *randomness* is ``"same"`` (each element draws the
    numbers that a single one would) or ``"different"`` (each its own: the first draw gives
    the elements the numbers that a loop over them would give).

    ValueError for dimensions that do not fit the arguments or results, sizes that differ, and
    results that are no tensors. RuntimeError where *func* reads a value (``item``, ``if``, shapes
    that hang on values), and where it writes what differs among the elements into a tensor that is
    the same for all.

    >>> import tensorbus as torch
    >>> torch.vmap(torch.dot)(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.ones(2, 2))
    tensor([3., 7.])
    >>> torch.vmap(torch.dot, in_dims=(1, None))(torch.ones(2, 3), torch.tensor([1.0, 2.0]))
    tensor([3., 3., 3.])
    """
    if randomness not in ("error", "same", "different"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", None) or repr(func)

    def call(*args: Any, **kwargs: Any) -> Any:
        inputs = _Inputs(name, in_dims, args)
        outputs = _Outputs(name, out_dims)
        step = inputs.size if chunk_size is None else chunk_size
        if step >= inputs.size:
            return outputs.tree(_run(func, inputs, inputs.values, kwargs, randomness, outputs))
        parts = [
            _run(func, inputs, values, kwargs, randomness, outputs)
            for values in inputs.chunks(step)
        ]
        return outputs.tree(
            [
                made[0] if dim is None else cat(made, dim)
                for dim, made in zip(outputs.dims, zip(*parts, strict=True), strict=True)
            ]
        )

    return functools.wraps(func)(call) if hasattr(func, "__name__") else call


class _Inputs:
    """The arguments of a call: the leaves of their tree, and the mapped dimension of each."""

    def __init__(self, name: str, in_dims: Dims, args: tuple[Any, ...]):
        call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
        if not isinstance(in_dims, (int, tuple)):
            raise ValueError(
                f"{call}expected `in_dims` to be int or a (potentially nested) tuple matching the "
                f"structure of inputs, got: {type(in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you "
                "are trying to vmap over a function with no inputs. The latter is unsupported."
            )
        self.values, self.spec = tree_flatten(args)
        dims = _spread(in_dims, self.spec)
        if dims is None:
            raise ValueError(
                f"{call}in_dims is not compatible with the structure of `inputs`. in_dims has "
                f"structure {tree_flatten(in_dims)[1]} but inputs has structure {self.spec}."
            )
        self.dims = [
            _checked(call, dim, value) for dim, value in zip(dims, self.values, strict=True)
        ]
        mapped = zip(self.values, self.dims, strict=True)
        sizes = [value.shape[dim] for value, dim in mapped if dim is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if len(set(sizes)) > 1:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got "
                f"sizes {sizes} for the mapped dimension"
            )
        self.size: int = sizes[0]

    def chunks(self, step: int) -> list[list[Any]]:
        """The leaves for each part of the batch."""
        parts = -(-self.size // step)
        split_up = [
            [value] * parts if dim is None else split(value, step, dim)
            for value, dim in zip(self.values, self.dims, strict=True)
        ]
        return [list(part) for part in zip(*split_up, strict=True)]


def _spread(dims: Dims, spec: TreeSpec) -> list[Any] | None:
    """The dimension for each leaf, from a tree that may end sooner; None where it does not fit."""
    if dims is None or isinstance(dims, int):
        return [dims] * spec.num_leaves
    leaves, own = tree_flatten(dims)
    if own.is_leaf():
        return leaves if spec.is_leaf() else None
    if own.type is not spec.type or own.context != spec.context:
        return None
    if own.num_children != spec.num_children:
        return None
    found: list[Any] = []
    parts = dims.values() if hasattr(dims, "values") else dims
    for part, child in zip(parts, spec.children(), strict=True):
        made = _spread(part, child)
        if made is None:
            return None
        found += made
    return found


def _checked(call: str, dim: Any, value: Any) -> int | None:
    """The dimension of a leaf along which it is mapped, not negative; ValueError."""
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{call}Got in_dim={dim} for an input but in_dim must be either an integer dimension "
            "or None."
        )
    if not isinstance(value, Tensor):
        raise ValueError(
            f"{call}Got in_dim={dim} for an input but the input is of type {type(value)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    rank = value.dim()
    if not -rank <= dim < rank:
        raise ValueError(
            f"{call}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
            f"{rank} so expected in_dim to satisfy -{rank} <= in_dim < {rank}."
        )
    return dim % rank


class _Outputs:
    """The results of a call: where the leaves of their tree get the batch, and that tree."""

    def __init__(self, name: str, out_dims: Dims):
        self.name, self.out_dims = name, out_dims
        self.dims: list[Any] = []
        self.spec: TreeSpec | None = None
        if any(dim is not None and type(dim) is not int for dim in tree_flatten(out_dims)[0]):
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
                "python collection of ints representing where in the outputs the vmapped "
                "dimension should appear."
            )

    def leaves(self, result: Any) -> list[Any]:
        """The leaves of what the function returned."""
        found, self.spec = tree_flatten(result)
        out_dims = self.out_dims
        if self.spec.is_leaf() and type(out_dims) is tuple and len(out_dims) == 1:
            out_dims = out_dims[0]
        dims = _spread(out_dims, self.spec)
        if dims is None:
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={self.out_dims})(<inputs>): out_dims is not "
                f"compatible with the structure of `outputs`. out_dims has structure "
                f"{tree_flatten(self.out_dims)[1]} but outputs has structure {self.spec}."
            )
        self.dims = dims
        return found

    def outside(self, value: Any, dim: int | None, size: int, depth: int) -> Any:
        """A leaf as the caller sees it, with the batch at a dimension."""
        inside = isinstance(value, Tensor) and depth_of(value) == depth
        if dim is None:
            if inside and differs(value):
                raise ValueError(
                    f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when "
                    "out_dim is None"
                )
            return leave(value)[0] if inside else value
        if not isinstance(value, Tensor):
            raise ValueError(
                f"vmap({self.name}, ...): `{self.name}` must only return Tensors, got type "
                f"{type(value)}. Did you mean to set out_dims= to None for output?"
            )
        value = leave(value) if inside else expand(value.unsqueeze(0), (size, *value.shape))
        return movedim(value, 0, dim) if dim else value

    def tree(self, leaves: list[Any]) -> Any:
        """The results in the tree that the function returned."""
        assert self.spec is not None
        return self.spec.unflatten(leaves)


def _run(
    func: Callable[..., Any],
    inputs: _Inputs,
    values: list[Any],
    kwargs: dict[str, Any],
    randomness: str,
    outputs: _Outputs,
) -> list[Any]:
    """The leaves of the results for (a part of) the batch."""
    mapped = zip(values, inputs.dims, strict=True)
    size = next(value.shape[dim] for value, dim in mapped if dim is not None)
    depth = len(this_thread.batches) + 1
    given = [
        value if dim is None else enter(movedim(in_current_batches(value), dim, 0), size)
        for value, dim in zip(values, inputs.dims, strict=True)
    ]
    with in_batch(size, randomness):
        made = outputs.leaves(func(*inputs.spec.unflatten(given), **kwargs))
    return [
        outputs.outside(value, dim, size, depth)
        for value, dim in zip(made, outputs.dims, strict=True)
    ]
