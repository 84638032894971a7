"""A tensor's storage: shown, set, resized; subclasses of Tensor over it."""

from __future__ import annotations

from typing import Any

from tensorbus import storage as storages
from tensorbus._base.dtype_names import c_name
from tensorbus._base.formats import check_format
from tensorbus._tensor.tensor import PERMUTED, Tensor, bump, check_inference
from tensorbus.op_engine import override
from tensorbus.op_engine.dims import shape_argument
from tensorbus.op_engine.public import public
from tensorbus.rows.layouts import contiguous_strides


@public(function=False)
def untyped_storage(self: Tensor) -> storages.UntypedStorage:
    """The bytes that the tensor and all views of it share."""
    return storages.storage_of(self)


@public(function=False)
def storage(self: Tensor) -> storages.TypedStorage:
    """The elements that the tensor and all views of it share; a UserWarning at the first call."""
    storages.warn_typed()
    return storages.TypedStorage.over(untyped_storage(self), self._k.dtype)


@public(function=False)
def storage_type(self: Tensor) -> Any:
    """The class of the storages of this tensor's dtype: ``torch.FloatStorage``."""
    storages.warn_typed()
    return storages.LEGACY[self._k.dtype.legacy.replace("Tensor", "Storage")]


@public(function=False)
def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another shape; the first values in memory are kept as far as they fit."""
    check_format("resize_", memory_format)
    shape = shape_argument("resize_", "size", sizes)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"resize_(): sizes must not be negative, but got {list(shape)}")
    return storages.resize_(self, shape, memory_format)


@public(function=False)
def set_(
    self: Tensor,
    source: Any = None,
    storage_offset: int | None = None,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Make the tensor a view of another's storage: the same one, or by offset, size and strides."""
    if (storage_offset is None) != (size is None) or (size is None and stride is not None):
        raise TypeError(
            "set_() received an invalid combination of arguments: storage_offset and size are "
            "given together, and stride with both alone"
        )
    if isinstance(source, Tensor):
        made = source
        if made._k.dtype is not self._k.dtype:
            raise RuntimeError(
                f"Could not set tensor of type {c_name(made._k.dtype)} to a tensor of type "
                f"{c_name(self._k.dtype)}"
            )
        if size is not None:
            if not source.is_contiguous():
                raise RuntimeError("passed in tensor to be used as storage must be contiguous")
            offset = source.storage_offset() + (storage_offset or 0)
            made = _view_of(source.untyped_storage(), self, offset, size, stride)
    elif source is None:
        from tensorbus.ops.creation.factories import empty

        made = empty(0, dtype=self._k.dtype, device=self._k.device)
    else:
        if isinstance(source, storages.TypedStorage):
            if source.dtype is not self._k.dtype:
                raise RuntimeError(
                    f"Expected a Storage of type {self._k.dtype} or an UntypedStorage, but got "
                    f"type {source.dtype} for argument 1 'storage'"
                )
            source = source.untyped()
        n = source.nbytes() // self._k.dtype.itemsize
        made = _view_of(source, self, storage_offset or 0, (n,) if size is None else size, stride)
    check_inference(self)
    bump(self)  # and then no call, so that an interrupt comes before all of it or after
    self._a, self._k, self._s = made._a, made._k, made._s
    self._b = None if made._b is None else PERMUTED
    return self


def _view_of(storage: Any, x: Tensor, offset: Any, size: Any, stride: Any) -> Tensor:
    """A view of a storage in the dtype of *x*."""
    shape = tuple(size)
    strides = tuple(stride) if stride else contiguous_strides(shape)
    return storages.tensor_from_storage(storage, x._k.dtype, offset, shape, strides)


@public(function=False)
def record_stream(self: Tensor, stream: Any) -> None:
    """Keep the tensor's memory until what a stream has now is done, though the tensor is gone.

    For a tensor that was made in another stream. RuntimeError for what is no stream of the
    tensor's type of device, NotImplementedError where the device has no streams.
    """
    from tensorbus._dispatch import streams

    if not isinstance(stream, streams.Stream):
        raise TypeError(
            f"record_stream(): argument 'stream' must be torch.Stream, not {type(stream).__name__}"
        )
    device = self._k.device
    if device.type != stream.device_type:
        raise RuntimeError(
            f"record_stream(): the tensor is on {device}, and {stream} is of another type of device"
        )
    streams.record_stream(self._k.backend, self._a, stream)


@public(function=False)
def as_subclass(self: Tensor, cls: type) -> Any:
    """The same storage and history as an object of a subclass of Tensor."""
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(f"as_subclass(): {cls!r} is not a subclass of Tensor")
    return override.as_subclass(self, cls)


@public(function=False)
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same view of the same storage."""
    return (
        self._s == tensor._s
        and self._k.layout(self._a) == tensor._k.layout(tensor._a)
        and self._k.device is tensor._k.device
    )
