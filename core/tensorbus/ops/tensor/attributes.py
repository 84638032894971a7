"""What a tensor says of itself: shape, type, device, layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from tensorbus._base import dtypes, formats
from tensorbus._base.device_types import OF_PYTORCH
from tensorbus._base.formats import channels_last_rank, check_format
from tensorbus._base.modes import InferenceCell
from tensorbus._base.size import Size
from tensorbus._device.device import device as Device
from tensorbus._dispatch.batching import plain_device
from tensorbus._tensor.tensor import PERMUTED, Tensor, version_of
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.public import public
from tensorbus.rows.layouts import contiguous_strides, fastest_first, in_format, suggested_format


def attribute(get: Callable[[Tensor], Any]) -> None:
    """Publish a property of tensors under the function's name."""
    METHODS[get.__name__] = property(get)


@attribute
def shape(self: Tensor) -> Size:
    """The sizes, as a ``Size``."""
    return self._s


@attribute
def dtype(self: Tensor) -> dtypes.dtype:
    """The type of the elements."""
    return self._k.dtype


@attribute
def device(self: Tensor) -> Device:
    """Where the elements are."""
    return plain_device(self._k.device)


@attribute
def ndim(self: Tensor) -> int:
    """The number of dimensions."""
    return len(self._s)


@attribute
def _version(self: Tensor) -> int:
    """How often its storage was written."""
    if type(self._c) is InferenceCell:
        raise RuntimeError("Inference tensors do not track version counter.")
    return version_of(self)


@attribute
def itemsize(self: Tensor) -> int:
    """Bytes of an element."""
    return self._k.dtype.itemsize


@attribute
def nbytes(self: Tensor) -> int:
    """Bytes of all elements."""
    return self._k.dtype.itemsize * self._s.numel()


@attribute
def is_cpu(self: Tensor) -> bool:
    """Whether it is on the CPU."""
    return self._k.device.type == "cpu"


@attribute
def is_cuda(self: Tensor) -> bool:
    """Whether it is on a device of type ``cuda``."""
    return self._k.device.type == "cuda"


@attribute
def is_meta(self: Tensor) -> bool:
    """Whether it is on the device ``meta``: it has a shape, a dtype and strides, and no values."""
    return self._k.device.type == "meta"


def _is_on(kind: str) -> Callable[[Tensor], bool]:
    def get(self: Tensor) -> bool:
        return self._k.device.type == kind

    get.__name__ = f"is_{kind}"
    get.__doc__ = f"Whether it is on a device of type ``{kind}``."
    return get


for _kind in OF_PYTORCH:
    attribute(_is_on(_kind))


@attribute
def layout(self: Tensor) -> formats.layout:
    """How its elements are kept: ``strided``."""
    return formats.strided


@attribute
def is_mkldnn(self: Tensor) -> bool:
    """Whether it is in a layout of a vendor's library, which no tensor is."""
    return False


@attribute
def is_sparse(self: Tensor) -> bool:
    """Whether its layout is sparse."""
    return False


@public(function=False)
def dense_dim(self: Tensor) -> int:
    """How many dimensions are dense: all, where the layout is strided."""
    return len(self._s)


@public(function=False)
def sparse_dim(self: Tensor) -> int:
    """How many dimensions are sparse: none, where the layout is strided."""
    return 0


@attribute
def is_sparse_csr(self: Tensor) -> bool:
    """Whether its layout is that of compressed sparse rows."""
    return False


@attribute
def is_quantized(self: Tensor) -> bool:
    """Whether it is quantised."""
    return False


@attribute
def names(self: Tensor) -> tuple[None, ...]:
    """The names of the dimensions, which have none."""
    return (None,) * len(self._s)


@attribute
def _base(self: Tensor) -> Tensor | None:
    """The tensor it is a view of, or None."""
    return None if self._b is PERMUTED else self._b


@public(function=False)
def _is_view(self: Tensor) -> bool:
    """Whether it shares the memory of another tensor that it was made from."""
    return self._b is not None and self._b is not PERMUTED


@overload
def size(self: Tensor, dim: None = None) -> Size: ...
@overload
def size(self: Tensor, dim: int) -> int: ...
@public(function=False)
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or one size."""
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


@overload
def stride(self: Tensor, dim: None = None) -> tuple[int, ...]: ...
@overload
def stride(self: Tensor, dim: int) -> int: ...
@public(function=False)
def stride(self: Tensor, dim: int | None = None) -> Any:
    """The strides in elements, or one of them."""
    row_major = self._b is None
    strides = contiguous_strides(self._s) if row_major else tuple(self._k.strides(self._a))
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
def const_data_ptr(self: Tensor) -> int:
    """The address of the first element, for reading alone.

    >>> import tensorbus
    >>> x = tensorbus.zeros(2)
    >>> x.const_data_ptr() == x.data_ptr()
    True
    """
    return data_ptr(self)


@public(function=False)
def element_size(self: Tensor) -> int:
    """Bytes of an element."""
    return self._k.dtype.itemsize


@public(function=False)
def is_contiguous(self: Tensor, *, memory_format: Any = None) -> bool:
    """Whether its elements lie in a memory format without gaps; row-major if none is given."""
    if memory_format is not None:
        check_format("is_contiguous", memory_format)
        if channels_last_rank(memory_format):
            return in_format(memory_format, tuple(self._s), tuple(self._k.strides(self._a)))
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
    index = self._k.device.index
    return -1 if index is None else index


@public(method=False)
def is_tensor(obj: Any) -> bool:
    """Whether it is a Tensor."""
    return isinstance(obj, Tensor)


@public(function=False)
def dim_order(self: Tensor, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
    """The dimensions from the outermost in memory to the innermost.

    With *ambiguity_check*, RuntimeError where sizes or strides leave several orders: for True any,
    for a list of memory formats where not exactly one of them is the tensor's.

    >>> import tensorbus
    >>> tensorbus.ones(2, 3, 4, 5).to(memory_format=tensorbus.channels_last).dim_order()
    (0, 2, 3, 1)
    """
    several = ambiguity_check if isinstance(ambiguity_check, list) else []
    if several is not ambiguity_check and not isinstance(ambiguity_check, bool):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if not all(isinstance(format, formats.memory_format) for format in several):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    shape, strides = tuple(self._s), tuple(self._k.strides(self._a))
    unclear = len(set(strides)) < len(shape) or 0 in strides or (1 in shape and len(shape) > 1)
    if ambiguity_check and unclear and sum(in_format(f, shape, strides) for f in several) != 1:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given "
            "memory formats."
        )
    if suggested_format(shape, strides) is not formats.contiguous_format:
        return (0, *range(2, len(shape)), 1)
    if in_format(formats.contiguous_format, shape, strides):
        return tuple(range(len(shape)))
    return tuple(reversed(fastest_first(shape, [list(strides)])))
