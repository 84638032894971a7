"""Dimensions in another order, without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorbus._base.errors import no_tensor
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import list_argument, wrap_dim
from tensorbus.op_engine.generate import shortcut
from tensorbus.op_engine.names import METHODS, Lazy
from tensorbus.op_engine.public import public
from tensorbus.rows.registry import row

Shape = tuple[int, ...]

_REVERSED = ((), (0,), (1, 0))
"""The dimensions of a matrix, and of what has fewer, in reverse order."""


@public(name="permute", method=False)
def _permute_function(input: Tensor, dims: Sequence[int]) -> Tensor:
    """The dimensions in another order, without a copy."""
    return permute(input, dims)


@public(function=False)
def permute(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """The dimensions in another order, without a copy."""
    given = list_argument("permute", "dims", args, dims)
    try:
        rank = len(input._s)
    except AttributeError:
        raise no_tensor("permute", input) from None
    if len(given) != rank:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {rank} is not equal "
            f"to len(dims) = {len(given)}"
        )
    order = tuple(wrap_dim(d, rank) for d in given)
    if len(set(order)) != rank:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return core("permute")(input, order)


def _swapped(rank: int, dim0: int, dim1: int) -> Shape:
    order = list(range(rank))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return tuple(order)


def _transpose_checked(x: Tensor, dim0: Any, dim1: Any) -> Tensor:
    """``transpose`` with dimensions that the kernel refused: PyTorch's error, or a 0-dim tensor."""
    rank = len(x._s)
    a, b = wrap_dim(dim0, rank), wrap_dim(dim1, rank)
    return core("permute")(x, _swapped(rank, a, b) if rank else ())


row(
    "transpose",
    "x:T, dim0, dim1",
    "view",
    doc="*x* with the dimensions *dim0* and *dim1* exchanged; they may count from the end.",
    composite=lambda F, x, dim0, dim1: F.permute(x, _swapped(len(x.shape), dim0, dim1)),
    x=lambda F, g, dim0, dim1: F.transpose(g, dim0, dim1),
    otherwise=_transpose_checked,
)


@public(method=False, aliases=("swapdims",))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged, without a copy."""
    return core("transpose")(input, dim0, dim1)


def _make_transpose() -> Any:
    first = ["    if x._b is not None:", "        return general(x, dim0, dim1)"]
    method = shortcut(
        "transpose", "x, dim0, dim1", first, "SIZES[r.shape]", general=core("transpose")
    )
    method.__name__ = method.__qualname__ = "transpose"
    method.__doc__ = "Two dimensions exchanged, without a copy."
    return method


for _name in ("transpose", "swapdims"):
    METHODS[_name] = Lazy(_name, _make_transpose)


@public()
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """``transpose`` under NumPy's name."""
    return transpose(input, axis0, axis1)


@public()
@composed(node="TBackward0")
def t(input: Tensor) -> Tensor:
    """A matrix transposed; tensors of fewer dimensions as they are."""
    rank = len(input._s)
    if rank > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")
    return core("permute")(input, _REVERSED[rank])


@public(aliases=("moveaxis",))
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Dimensions moved to other positions, the rest in their order."""
    rank = len(input._s)
    if isinstance(source, int) is not isinstance(destination, int):
        raise TypeError("movedim(): 'source' and 'destination' must both be ints or both be tuples")
    src = [wrap_dim(d, rank) for d in (source if isinstance(source, (tuple, list)) else (source,))]
    dst = [
        wrap_dim(d, rank)
        for d in (destination if isinstance(destination, (tuple, list)) else (destination,))
    ]
    if len(src) != len(dst):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({src} dims) should contain the "
            f"same number of dims as destination ({dst} dims)"
        )
    for name, dims in (("source", src), ("destination", dst)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    rest = iter(d for d in range(rank) if d not in src)
    order = tuple(src[dst.index(d)] if d in dst else next(rest) for d in range(rank))
    return core("permute")(input, order)


def _swapped_last(name: str, x: Tensor) -> Tensor:
    if len(x._s) == 1:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. "
            f"Got {len(x._s)}-D tensor."
        )
    return transpose(x, -2, -1) if x._s else x


def _reversed(x: Tensor) -> Tensor:
    """``x.T``: all dimensions in reverse order; deprecated but for matrices."""
    if len(x._s) != 2:
        warn_user(
            "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
            if not x._s
            else "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Write `x.mT` to transpose "
            "batches of matrices, or x.permute() with all dimensions in reverse order."
        )
        return core("permute")(x, tuple(reversed(range(len(x._s)))))
    return core("permute")(x, _REVERSED[2])


def _matrix_transpose(x: Tensor) -> Tensor:
    """``x.mT``: the last two dimensions exchanged."""
    return _swapped_last("mT", x)


def _matrix_adjoint(x: Tensor) -> Tensor:
    """``x.mH``: the last two dimensions exchanged, complex numbers conjugated."""
    return _swapped_last("mH", x).conj()


def _adjoint_matrix(x: Tensor) -> Tensor:
    """``x.H``: ``mH`` of a matrix."""
    if len(x._s) not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {len(x._s)}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if len(x._s) > 2 else "")
        )
    if not x._s:
        warn_user("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
        return x.conj()
    return _matrix_adjoint(x)


for _name, _get in {
    "T": _reversed, "mT": _matrix_transpose, "mH": _matrix_adjoint, "H": _adjoint_matrix
}.items():  # fmt: skip
    METHODS[_name] = property(_get)


@public()
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, complex numbers conjugated."""
    return _swapped_last("adjoint()", input).conj()
