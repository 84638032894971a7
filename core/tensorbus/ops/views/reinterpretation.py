"""The same bytes as another dtype; complex numbers and their parts."""

from __future__ import annotations

from typing import Any

from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.size import size_of
from tensorbus._tensor.tensor import PERMUTED, Tensor, new
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.public import public


@public(method=False)
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor's real and imaginary parts, in a new last dimension of 2."""
    if not input._k.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return core("view_as_real")(input)


def view_dtype(x: Tensor, d: Any) -> Tensor:
    """The same bytes as another dtype; the last dimension takes the difference in size."""
    k = x._k.of(d)
    _, offset, strides = x._k.layout(x._a)
    old, size = x._k.dtype.itemsize, d.itemsize
    if old == size:
        shape, new_strides, new_offset = tuple(x._s), tuple(strides), offset
    else:
        if not x._s:
            raise RuntimeError("self.dim() cannot be 0 to view a tensor as a dtype of another size")
        if strides[-1] != 1 or (x._s[-1] * old) % size:
            raise RuntimeError(
                "the last dimension must be contiguous and its bytes divisible by the new dtype's "
                f"size to view {x._k.dtype} as {d}"
            )
        shape = (*x._s[:-1], x._s[-1] * old // size)
        new_strides = (*(s * old // size for s in strides[:-1]), 1)
        new_offset = offset * old // size
    array = k.backend.as_strided(x._a, shape, new_strides, new_offset, x._k.dtype, d)
    return _other_dtype(x, array, k)


def _other_dtype(x: Tensor, array: Any, k: Any) -> Tensor:
    o = new(Tensor)
    if x._c is None:
        x._c = [0]
    o._a, o._k, o._s, o._c, o._e = array, k, size_of(array.shape), x._c, None
    o._b = PERMUTED
    return o


@public(method=False)
@autocasts("cpu float32")
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs in the last dimension as complex numbers, sharing memory."""
    k = input._k
    if k.dtype.name not in ("float16", "float32", "float64"):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {scalar_name(k.dtype)}"
        )
    if not input._s:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input._s[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    _, offset, strides = k.layout(input._a)
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in strides[:-1]) or offset % 2:
        raise RuntimeError(
            "Tensor must have strides and a storage offset divisible by 2 for all but its last "
            "dimension"
        )
    return core("view_as_complex")(input)
