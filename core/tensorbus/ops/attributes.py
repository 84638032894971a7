"""What a tensor tells of itself: shape, type, place, layout."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor import PERMUTED, Tensor, version_of
from tensorbus.ops.dims import wrap_dim
from tensorbus.ops.public import METHODS, public

METHODS["shape"] = property(lambda self: self._s, doc="The extents, as a ``Size``.")
METHODS["dtype"] = property(lambda self: self._k.dtype, doc="The type of the elements.")
METHODS["device"] = property(lambda self: self._k.device, doc="Where the elements are.")
METHODS["ndim"] = property(lambda self: len(self._s), doc="The number of dimensions.")
METHODS["_version"] = property(version_of, doc="How often its storage was written.")
METHODS["itemsize"] = property(lambda self: self._k.dtype.itemsize, doc="Bytes of an element.")
METHODS["nbytes"] = property(
    lambda self: self._k.dtype.itemsize * self._s.numel(), doc="Bytes of all elements."
)
METHODS["is_cpu"] = property(lambda self: self._k.device.type == "cpu", doc="Whether on the CPU.")
METHODS["is_cuda"] = property(lambda self: self._k.device.type == "cuda", doc="Whether on CUDA.")
METHODS["is_sparse"] = property(lambda self: False, doc="Whether its layout is sparse.")
METHODS["is_quantized"] = property(lambda self: False, doc="Whether it is quantised.")
METHODS["names"] = property(lambda self: (None,) * len(self._s), doc="Names of dimensions.")
METHODS["_base"] = property(
    lambda self: None if self._b is PERMUTED else self._b,
    doc="The tensor it is a view of, or None.",
)
METHODS["_is_view"] = lambda self: self._b is not None and self._b is not PERMUTED


@public(function=False)
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or one extent."""
    if dim is None:
        return self._s
    return self._s[_named_dim(self, dim)]


def _named_dim(x: Tensor, dim: int) -> int:
    if not x._s:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, len(x._s))


@public(function=False, aliases=("ndimension",))
def dim(self: Tensor) -> int:
    """The number of dimensions."""
    return len(self._s)


@public(aliases=("nelement",))
def numel(input: Tensor) -> int:
    """The number of elements."""
    return input._s.numel()


@public(function=False)
def stride(self: Tensor, dim: int | None = None) -> Any:
    """The strides in elements, or one of them."""
    strides = tuple(self._k.layout(self._a)[2])
    return strides if dim is None else strides[_named_dim(self, dim)]


@public(function=False)
def storage_offset(self: Tensor) -> int:
    """Where in its storage the first element lies, in elements."""
    return self._k.layout(self._a)[1]


@public(function=False)
def data_ptr(self: Tensor) -> int:
    """The address of the first element."""
    return self._k.backend.data_ptr(self._a)


@public(function=False)
def element_size(self: Tensor) -> int:
    """Bytes of an element."""
    return self._k.dtype.itemsize


@public(function=False)
def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Whether it is row-major without gaps."""
    return self._b is None or self._k.is_contiguous(self._a)


@public()
def is_floating_point(input: Tensor) -> bool:
    """Whether its dtype is float16, bfloat16, float32 or float64."""
    return input._k.dtype.is_floating_point


@public()
def is_complex(input: Tensor) -> bool:
    """Whether its dtype is complex."""
    return input._k.dtype.is_complex


@public(function=False)
def get_device(self: Tensor) -> int:
    """The device's index; -1 on the CPU."""
    return -1 if self._k.device.type == "cpu" else self._k.index


@public(method=False)
def is_tensor(obj: Any) -> bool:
    """Whether it is a Tensor."""
    return isinstance(obj, Tensor)
