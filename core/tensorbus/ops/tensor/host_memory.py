"""Tensors over memory that the host has already: arrays, buffers, other libraries' arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus._base import dlpack as capsules
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus._base.dtypes import get_default_dtype
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.options import Options, as_leaf, check_flag, checked_dtype
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.from_data import (
    from_numpy,
    over_bytes,
    over_numpy,
    tensor,
    warn_of_read_only,
)
from tensorbus.ops.tensor.dlpack import from_dlpack


@public(method=False)
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-dim tensor over the memory of an object with Python's buffer protocol.

    *count* elements are taken from byte *offset* on, all that follow where it is negative.
    ValueError where these are not there or the bytes do not divide; a read-only buffer gives one
    UserWarning in a program, and writes to the tensor are errors.

    >>> import tensorbus
    >>> tensorbus.frombuffer(bytearray([1, 0, 2, 0]), dtype=tensorbus.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    d = checked_dtype("frombuffer", dtype)
    if d is None:
        raise TypeError("frombuffer(): argument 'dtype' must be torch.dtype, not None")
    made = _over_buffer(buffer, d, count, offset)
    return as_leaf(made, check_flag("frombuffer", "requires_grad", requires_grad))


def _over_buffer(buffer: Any, d: Dtype, count: int, offset: int) -> Tensor:
    try:
        memory = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not memory.c_contiguous:
        raise RuntimeError("could not retrieve buffer from object: its memory has gaps")
    size, n = d.itemsize, memory.nbytes
    if not n or not count:
        raise ValueError(f"both buffer length ({n}) and count ({count}) must not be 0")
    if not 0 <= offset < n:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({n} bytes) minus 1"
        )
    if count < 0 and (n - offset) % size:
        raise ValueError(
            f"buffer length ({n - offset} bytes) after offset ({offset} bytes) must be a multiple "
            f"of element size ({size})"
        )
    if count > 0 and count * size > n - offset:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({n} bytes)"
        )
    if memory.readonly:
        warn_of_read_only("buffer")
    count = (n - offset) // size if count < 0 else count
    # Bytes from the offset on, so that the tensor's own storage begins there.
    return over_bytes(np.frombuffer(memory, np.uint8, count * size, offset), d, (count,), (1,))


@public(method=False)
def as_tensor(data: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor, sharing memory where nothing has to change."""
    if dtype is None and device is None and isinstance(data, Tensor):
        return data
    options = Options("as_tensor", {"dtype": dtype, "device": device}, ("dtype", "device"))
    if isinstance(data, np.ndarray):
        data = from_numpy(data)
    elif _has_dlpack(data):
        data = from_dlpack(data)
    if isinstance(data, Tensor):
        return to_kind(data, options.kind(like=data))
    return tensor(data, dtype=dtype, device=device)


def _has_dlpack(data: Any) -> bool:
    return hasattr(data, "__dlpack__") and not isinstance(data, (Tensor, np.generic))


@public(method=False)
def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Anything that has numbers as a tensor, sharing memory where that is possible.

    Tensors, NumPy arrays, arrays and capsules of DLPack and objects with Python's buffer protocol
    (in *dtype*, or the default dtype) are shared unless dtype or device change; numbers and
    sequences are copied. *copy* True always copies, False is a ValueError where a copy is needed.
    *requires_grad* is that of a tensor given, unless it is named: then a leaf that is shared has it
    from then on.

    >>> import tensorbus
    >>> x = tensorbus.zeros(2)
    >>> tensorbus.asarray(x) is x, tensorbus.asarray([1, 2], dtype=tensorbus.float32)
    (True, tensor([1., 2.]))
    """
    options = Options("asarray", {"dtype": dtype, "device": device}, ("dtype", "device"))
    shared = _shared(obj, options.dtype, copy)
    if shared is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        made = tensor(obj, dtype=options.dtype, device=options.device)
    else:
        made = _fitted(shared, options, copy)
        if made.requires_grad and requires_grad is False:
            made = made.requires_grad_(False) if made.is_leaf else made.detach()
    return as_leaf(made, bool(requires_grad) and not made.requires_grad)


def _shared(obj: Any, d: Dtype | None, copy: bool | None) -> Tensor | None:
    """A tensor over the object's own memory, or None where it has none to share."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.generic):
        if copy is False:
            raise RuntimeError(
                "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray."
            )
        return from_numpy(np.array(obj))
    if isinstance(obj, np.ndarray):
        if copy and obj.dtype.isnative:
            return over_numpy(obj)
        return from_numpy(obj)
    if capsules.is_capsule(obj) or _has_dlpack(obj):
        return from_dlpack(obj)
    try:
        memoryview(obj)
    except TypeError:
        return None
    return _over_buffer(obj, d or get_default_dtype(), -1, 0)


def _fitted(made: Tensor, options: Options, copy: bool | None) -> Tensor:
    """The tensor in the dtype and on the device asked for, copied as *copy* says."""
    k = options.kind(like=made)
    if k is made._k:
        return core("clone")(made) if copy else made
    if copy is False:
        if k.dtype is not made._k.dtype:
            raise ValueError(
                f"can't alias tensor with dtype '{made._k.dtype}' into dtype '{k.dtype}'."
            )
        raise ValueError(f"can't alias tensor from device '{made._k.device}' to '{k.device}'.")
    return to_kind(made, k)


def _cuda_array_interface(self: Tensor) -> Any:
    """What libraries for such GPUs read an array by: address, shape, strides, type."""
    if self._k.device.type != "cuda" or not hasattr(self._a, "__cuda_array_interface__"):
        raise AttributeError(
            "Can't get __cuda_array_interface__ on non-CUDA tensor type: "
            f"{self.type()} If CUDA data is required use tensor.cuda() to copy tensor to device "
            "memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients "
            "aren't required, use var.detach() to get Variable that doesn't require grad."
        )
    return self._a.__cuda_array_interface__


METHODS["__cuda_array_interface__"] = property(_cuda_array_interface)
