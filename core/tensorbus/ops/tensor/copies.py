"""Copies and other tensors over the same storage: ``clone``, ``detach``, ``data``, pickles."""

from __future__ import annotations

import copy
from builtins import type as class_of
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus import storage as storages
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus._base.formats import check_format, preserve_format
from tensorbus._base.modes import RARE, InferenceCell, in_inference
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import kind_of
from tensorbus._tensor.tensor import (
    PERMUTED,
    Tensor,
    attributes_of,
    from_array,
    same_memory,
    shared,
)
from tensorbus.autograd.node import AccumulateGrad
from tensorbus.op_engine.casting import clone_in_format
from tensorbus.op_engine.composed import lay_out
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.public import public
from tensorbus.op_engine.row_handlers import DETACHMENT, handled, seen
from tensorbus.ops.tensor.attributes import is_contiguous
from tensorbus.ops.tensor.gradients import requires_grad_
from tensorbus.ops.tensor.host_values import host_read
from tensorbus.rows.layouts import contiguous_strides, is_dense


@public(function=False)
def contiguous(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor if its elements lie in a memory format without gaps, else a copy that does.

    Row-major where no format is given. RuntimeError where the format is for tensors of another
    rank, or is ``preserve_format``.

    >>> import tensorbus
    >>> x = tensorbus.zeros(2, 3, 4, 5)
    >>> x.contiguous(memory_format=tensorbus.channels_last).stride()
    (60, 1, 15, 3)
    """
    if memory_format is None:
        return self if self._b is None or self._k.is_contiguous(self._a) else core("clone")(self)
    if is_contiguous(self, memory_format=memory_format):
        return self
    if memory_format is preserve_format:
        raise RuntimeError(
            "preserve memory format is unsupported by the contiguous operator: name the format "
            "that the elements shall have"
        )
    return clone_in_format(self, memory_format)


@public()
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy, which gradients flow through; dense tensors keep their order of dimensions.

    A memory format says another order. RuntimeError where it is for tensors of another rank.
    """
    if memory_format is not None:
        check_format("clone", memory_format)
        return clone_in_format(input, memory_format)
    b = input._b
    if b is None or (b is not PERMUTED and 1 not in input._s and input._k.is_contiguous(input._a)):
        return core("clone")(input)
    return clone_in_format(input, None)


@public()
def detach(input: Tensor) -> Tensor:
    """The same storage and versions without the history."""
    if RARE.on and seen(input):
        return handled(DETACHMENT, (input,), lambda row, given: detach(*given))
    return same_memory(input)


@public(function=False)
def detach_(self: Tensor) -> Tensor:
    """Forget the history."""
    if type(self._c) is InferenceCell or in_inference():
        return self
    if self._b is not None and self._b is not PERMUTED:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
            "function in torch/optim/optimizer.py as the solution."
        )
    if class_of(self._e) is AccumulateGrad:
        requires_grad_(self, False)
    self._e = None
    return self


def _data(self: Tensor) -> Tensor:
    """The same storage without history, and with versions of its own."""
    t = shared(self)
    t._c = self._c if type(self._c) is InferenceCell else None
    return t


def _set_data(self: Tensor, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {class_of(value).__name__}")
    if self._e is not None and not value._k.differentiable:
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
        )
    base = None if value._k.is_contiguous(value._a) else PERMUTED
    leaf = class_of(self._e) is AccumulateGrad
    # No call from here on, so that an interrupt comes before all of it or after.
    self._a, self._k, self._s, self._b = value._a, value._k, value._s, base
    if leaf:
        self._e.k = value._k


METHODS["data"] = property(_data, _set_data)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf's copy on a storage of its own; views that were copied with it share that."""
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    made = memo[id(self)] = _on_copied_storage(self, memo)
    if self._e is not None:
        made.requires_grad_()
    if self.grad is not None:
        made._g = copy.deepcopy(self.grad, memo)
    made.__dict__.update(copy.deepcopy(attributes_of(self), memo))
    return made


def _on_copied_storage(self: Tensor, memo: dict[Any, Any]) -> Tensor:
    """The same view of a copy of the storage; tensors that shared theirs share the copy."""
    key, offset, strides = self._k.layout(self._a)
    key = "storage", self._k.device, key
    if key not in memo:
        storage = storages.storage_of(self)
        memo[key] = storage, storage.clone()  # the old one is kept so that its key stays its own
    return storages.tensor_from_storage(
        memo[key][1], self._k.dtype, offset, tuple(self._s), tuple(strides)
    )


METHODS["__deepcopy__"] = _deepcopy


def _copy(self: Tensor) -> Tensor:
    """``copy.copy``: a leaf over the same storage, with the same attributes."""
    made = detach(self)
    made.__dict__.update(attributes_of(self))
    return requires_grad_(made) if self.requires_grad else made


METHODS["__copy__"] = _copy


def _reduce(self: Tensor, protocol: Any) -> Any:
    wanted, own = self.requires_grad, attributes_of(self) or None
    shape, strides = tuple(self._s), tuple(self._k.strides(self._a))
    repeated = [d for d, (n, s) in enumerate(zip(shape, strides, strict=True)) if n > 1 and not s]
    if repeated:
        once = detach(self)
        for d in repeated:
            once = once.narrow(d, 0, 1)
        return _unpickle_repeated, (*_reduce(once, protocol)[:2], wanted, shape), own
    if self._b is None or not is_dense(shape, strides):
        strides = contiguous_strides(shape)
    if not self._k.has_values:
        return _unpickle_empty, (self._k.dtype, self._k.device, wanted, shape, strides), own
    return _unpickle, (host_read(self), self._k.dtype, self._k.device, wanted, strides), own


def _unpickle_empty(
    d: Dtype, device: Device, requires_grad: bool, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Tensor:
    k = kind_of(device, d)
    t = from_array(k.empty(shape), k)
    lay_out(t, strides)
    return requires_grad_(t) if requires_grad else t


def _unpickle(
    host: np.ndarray, d: Dtype, device: Device, requires_grad: bool, strides: Any = None
) -> Tensor:
    k = kind_of(device, d)
    t = from_array(k.from_host(host), k)
    if strides is not None:
        lay_out(t, strides)
    return requires_grad_(t) if requires_grad else t


def _unpickle_repeated(
    make: Callable[..., Tensor], args: Any, requires_grad: bool, shape: tuple[int, ...]
) -> Tensor:
    """A tensor whose elements stand in memory once and in *shape* more often."""
    t = detach(make(*args).expand(shape))
    return requires_grad_(t) if requires_grad else t


METHODS["__reduce_ex__"] = _reduce


def _set_state(self: Tensor, state: dict[str, Any]) -> None:
    """Take the attributes that a pickle has besides the values.

    >>> import copy, tensorbus
    >>> x = tensorbus.ones(2)
    >>> x.__setstate__({"tag": 1})
    >>> copy.copy(x).tag
    1
    """
    if not isinstance(state, dict):
        raise TypeError(f"__setstate__(): expected a dict of attributes, not {class_of(state)}")
    self.__dict__.update(state)


METHODS["__setstate__"] = _set_state
