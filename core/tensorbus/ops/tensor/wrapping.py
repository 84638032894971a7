"""Tensors of classes with ``__torch_dispatch__``: with values of their own, or with none."""

from __future__ import annotations

import functools
from typing import Any

from tensorbus._base import dtypes, registered
from tensorbus._base.formats import strided
from tensorbus._base.size import size_of
from tensorbus._device import defaults
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import Tensor, dispatches, new, order_mark
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.override import as_subclass
from tensorbus.rows.layouts import contiguous_strides, empty_in_layout


def make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:
    """An object of a subclass of Tensor over the memory of *data*, without its history."""
    made = as_subclass(data.detach(), cls)
    return made.requires_grad_() if require_grad else made


def make_wrapper_subclass(
    cls: type,
    size: Any,
    strides: Any = None,
    storage_offset: Any = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: Any = None,
) -> Any:
    """An object of a class with ``__torch_dispatch__`` that has a shape, a dtype and no values."""
    if not dispatches(cls):
        raise RuntimeError(f"{cls.__name__} must define __torch_dispatch__")
    shape = tuple(size)
    d = dtypes.get_default_dtype()
    if dtype is not None:
        d = dtypes.checked(dtype, "_make_wrapper_subclass")
    claimed = kind_of(defaults.get_default_device() if device is None else Device(device), d)
    k = _without_values(claimed)
    t: Any = new(cls)
    given = contiguous_strides(shape) if strides is None else tuple(strides)
    t._a, t._k, t._s = empty_in_layout(k, shape, given), k, size_of(shape)
    t._c = t._e = None
    t._b = order_mark(k, t._a)
    t.__dict__["_claimed"] = claimed
    registered.adopt_dispatching(t)
    return t.requires_grad_() if requires_grad else t


@functools.cache
def _without_values(kind: Kind) -> Kind:
    """A kind beside *kind* with the same device and dtype, whose arrays are shapes alone."""
    return Kind(kind.device, kind.dtype, kind_of(Device("meta"), kind.dtype).backend)


METHODS["_make_subclass"] = staticmethod(make_subclass)
METHODS["_make_wrapper_subclass"] = staticmethod(make_wrapper_subclass)
