"""Grids, products and choices of vectors' elements; operands brought to one shape."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.size import Size
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.public import public
from tensorbus.rows.layouts import broadcast_shapes as broadcast


def _listed(tensors: tuple[Any, ...]) -> list[Tensor]:
    """Tensors given one by one or as one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        return list(tensors[0])
    return list(tensors)


def _alone(name: str, tensors: tuple[Any, ...]) -> list[Tensor]:
    """Tensors given one by one: some functions take no sequence of them."""
    check_tensors(name, 1, **{f"tensors[{i}]": t for i, t in enumerate(tensors)})
    return list(tensors)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that all broadcast to; a number is a shape of one dimension.

    RuntimeError where there is none, ValueError for a negative size.

    >>> import tensorbus
    >>> tensorbus.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    for s in shapes:
        if not isinstance(s, (int, tuple, list)):
            raise RuntimeError(
                "Input shapes should be of type ints, a tuple of ints, or a list of ints, got "
                f"{type(s).__name__}"
            )
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    common = [1] * max((len(s) for s in given), default=0)
    for i, shape in enumerate(given):
        for d in range(-1, -1 - len(shape), -1):
            n = shape[d]
            if n < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if n not in (1, common[d]):
                if common[d] != 1:
                    raise RuntimeError(
                        f"Attempting to broadcast a dimension of length {n} at {d}! Mismatching "
                        f"argument at index {i} had {shape}; but expected shape should be "
                        f"broadcastable to {common}"
                    )
                common[d] = n
    return Size(common)


@public(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded, without a copy, to the shape that they broadcast to."""
    given = _alone("broadcast_tensors", tensors)
    shape = broadcast(*(tuple(t._s) for t in given))
    return tuple(core("expand")(t, tuple(shape)) for t in given)


@public(method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of all points of a grid, one tensor for each of the given vectors.

    ``indexing="ij"`` (the default): the dimensions follow the vectors; ``"xy"``: the first two are
    exchanged. The results share memory with the vectors.

    >>> import tensorbus
    >>> tensorbus.meshgrid(tensorbus.arange(2), tensorbus.arange(3), indexing="ij")[1]
    tensor([[0, 1, 2],
            [0, 1, 2]])
    """
    given = _listed(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in given:
        if len(t._s) > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got one of shape "
                f"{list(t._s)}"
            )
        if t._k.dtype is not given[0]._k.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if t._k.device is not given[0]._k.device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    if indexing is None:
        warn_user(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            'argument; it is "ij" now.'
        )
    swapped = indexing == "xy" and len(given) > 1
    if swapped:
        given[:2] = given[1::-1]
    shape = tuple(t._s.numel() for t in given)
    grids = []
    for d, t in enumerate(given):
        line = core("view")(t, (1,) * d + (shape[d],) + (1,) * (len(shape) - d - 1))
        grids.append(core("expand")(line, shape))
    if swapped:
        grids[:2] = grids[1::-1]
    return tuple(grids)


@public(method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of one element of each vector, as rows."""
    given = _alone("cartesian_prod", tensors)
    for t in given:
        if len(t._s) != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t._s)}")
    if len(given) == 1:
        return given[0]
    from tensorbus.ops.joining.joining import stack

    return stack([g.reshape(-1) for g in meshgrid(*given, indexing="ij")], 1)


@public(method=False)
@composed(node="StackBackward0")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of *r* elements of a vector, as rows, in the vector's order."""
    check_tensors("combinations", input=input)
    if len(input._s) != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input._s)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    import itertools

    from tensorbus.ops.creation.from_data import tensor

    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = [i for choice in choose(range(input._s[0]), r) for i in choice]
    index = tensor(chosen, dtype=dtypes.int64, device=input._k.device)
    return input.index_select(0, index).reshape(len(chosen) // r, r)


@public(method=False)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of a vector's elements as columns, the highest first unless *increasing*."""
    check_tensors("vander", x=x)
    if len(x._s) != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x._s[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    return _powers(x, n, increasing)


def _powers(x: Tensor, n: int, increasing: bool) -> Tensor:
    """x ** 0, x ** 1, ... as a new last dimension."""
    from tensorbus.ops.creation.ranges import arange

    powers = arange(n, device=x._k.device)
    if not increasing:
        powers = powers.flip(0)
    if x._k.dtype.category <= dtypes.INTEGER:
        x = x.long()
    return x.unsqueeze(-1) ** powers.to(x._k.dtype)


@public(name="linalg_vander", function=False, method=False)
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Powers 0, 1, ... N - 1 of a vector's elements as columns; leading dimensions are batches.

    >>> import tensorbus
    >>> tensorbus.linalg.vander(tensorbus.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    check_tensors("linalg_vander", x=x)
    if x._k.dtype in (dtypes.bool, dtypes.float16):
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{scalar_name(x._k.dtype)}"
        )
    n = (x._s[-1] if x._s else 1) if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _powers(x if x._s else x.reshape(1), n, True)


def _at_least(rank: int, tensors: tuple[Any, ...]) -> Any:
    given = _listed(tensors)
    made = tuple(_with_rank(t, rank) for t in given)
    alone = len(tensors) == 1 and isinstance(tensors[0], Tensor)
    return made[0] if alone else made


def _with_rank(x: Tensor, rank: int) -> Tensor:
    if len(x._s) >= rank:
        return x
    if rank == 3 and len(x._s) == 2:
        return x.unsqueeze(2)
    if rank == 3 and len(x._s) == 1:
        return x.unsqueeze(0).unsqueeze(2)
    while len(x._s) < rank:
        x = x.unsqueeze(0)
    return x


@public(method=False)
def atleast_1d(*tensors: Any) -> Any:
    """The tensors, those of no dimension as vectors of one element."""
    return _at_least(1, tensors)


@public(method=False)
def atleast_2d(*tensors: Any) -> Any:
    """The tensors, those of fewer than two dimensions as matrices of one row."""
    return _at_least(2, tensors)


@public(method=False)
def atleast_3d(*tensors: Any) -> Any:
    """The tensors, those of fewer than three dimensions with new ones of size 1."""
    return _at_least(3, tensors)


@public(method=False)
@composed(node="BlockDiagBackward0")
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
    listed = _alone("block_diag", tensors)
    given = [_with_rank(t, 2) for t in listed]
    for i, t in enumerate(given):
        if len(t._s) > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{i} has {len(t._s)} dimensions"
            )
    from tensorbus.ops.creation.factories import zeros

    out = zeros(
        (sum(t._s[0] for t in given), sum(t._s[1] for t in given)),
        dtype=result_type(*listed),
        device=given[0]._k.device,
    )
    row = column = 0
    for t in given:
        rows, columns = t._s
        out[row : row + rows, column : column + columns] = t
        row, column = row + rows, column + columns
    return out
