"""How values leave a tensor: Python numbers, lists, NumPy arrays, text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus._base.warning import warn_once
from tensorbus._dispatch.batching import UNDECIDED, reworded
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import is_grad_enabled
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.from_data import over_numpy
from tensorbus.ops.views.splitting import unbind


def host_read(t: Tensor) -> np.ndarray:
    """The values in a NumPy array: the one call where a program waits for a device."""
    return t._k.to_host(t._a)


@public(function=False)
def item(self: Tensor) -> Any:
    """The value of a tensor of one element as a Python number."""
    if self._s.numel() != 1:
        raise RuntimeError(
            f"a Tensor with {self._s.numel()} elements cannot be converted to Scalar"
        )
    try:
        self = _readable(self)
        host = host_read(self)
    except NotImplementedError:
        raise RuntimeError(
            f"Tensor.item() cannot be called on {self._k.device.type} tensors"
        ) from None
    return _plain(host, self._k.dtype).item()


def _readable(t: Tensor) -> Tensor:
    """The tensor in a dtype of which the host can read the values."""
    d = t._k.dtype
    return t if d.computes or d.widened() is d else to_kind(t.detach(), t._k.of(d.widened()))


def _plain(host: np.ndarray, d: Dtype) -> np.ndarray:
    """bfloat16 bits as float32 values; everything else as it is."""
    if d.name != "bfloat16":
        return host
    return (host.astype(np.uint32) << 16).view(np.float32)


@public(function=False)
def tolist(self: Tensor) -> Any:
    """The values as nested lists, or as a number."""
    self = _readable(self)
    return _plain(host_read(self), self._k.dtype).tolist()


@public(function=False)
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """A NumPy array over the tensor's memory; *force* copies where that needs a way out."""
    if force:
        return self.detach().cpu().numpy()
    if self.requires_grad and is_grad_enabled():
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    if self._k.device.type != "cpu":
        raise TypeError(
            f"can't convert {self._k.device} device type tensor to numpy. Use Tensor.cpu() to copy "
            "the tensor to host memory first."
        )
    d = self._k.dtype
    if d.widened() is not d:
        raise TypeError(f"Got unsupported ScalarType {scalar_name(d)}")
    shared = self._k.backend.view_host(self._a, self._k.dtype)
    return host_read(self) if shared is None else shared


def _array(self: Tensor, dtype: Any = None, copy: Any = None) -> np.ndarray:
    """The elements for NumPy: those of ``numpy.asarray(input)`` share the tensor's memory."""
    return np.array(numpy(self), dtype, copy=copy)


def _array_wrap(
    self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False
) -> Tensor:
    """What a NumPy function of a tensor returns: a tensor."""
    return over_numpy(np.asarray(array))


METHODS["__array__"] = _array
METHODS["__array_wrap__"] = _array_wrap
METHODS["__array_priority__"] = 1000


def _bool(self: Tensor) -> bool:
    n = self._s.numel()
    if n != 1:
        raise RuntimeError(
            "Boolean value of Tensor with no values is ambiguous"
            if n == 0
            else "Boolean value of Tensor with more than one value is ambiguous"
        )
    try:
        return bool(item(self))
    except RuntimeError as error:
        raise reworded(error, UNDECIDED) from None


def _one_number(self: Tensor) -> Any:
    if self._s.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return item(self)


def _without_history(self: Tensor) -> Any:
    """The one number, with a program's first UserWarning where a history is lost."""
    if self.requires_grad and is_grad_enabled():
        warn_once(
            "a scalar of what requires grad",
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
            "behavior.\nConsider using tensor.detach() first.",
        )
    return _one_number(self)


def _real_number(value: Any, type: str) -> Any:
    """A number without its imaginary part; RuntimeError where that is not 0."""
    if not isinstance(value, complex):
        return value
    if value.imag:
        raise RuntimeError(f"value cannot be converted to type {type} without overflow")
    return value.real


def _index(self: Tensor) -> int:
    if self._k.dtype.category > dtypes.INTEGER or self._s.numel() != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(self))


def _len(self: Tensor) -> int:
    if not self._s:
        raise TypeError("len() of a 0-d tensor")
    return self._s[0]


def _iterate(self: Tensor) -> Iterator[Tensor]:
    if not self._s:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self))


def _contains(self: Tensor, value: Any) -> bool:
    if not isinstance(value, (Tensor, bool, int, float, complex, np.number, np.bool_)):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(value)}."
        )
    return bool((self == value).any().item())


def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    from tensorbus.ops.tensor.printing import tensor_str

    return tensor_str(self)


def _format(self: Tensor, spec: str) -> str:
    if not self._s and type(self) is Tensor and self._k.has_values:
        return format(item(self), spec)
    return object.__format__(self, spec)


METHODS.update(
    __bool__=_bool,
    __index__=_index,
    __int__=lambda self: int(_real_number(_one_number(self), "int64_t")),
    __float__=lambda self: float(_real_number(_without_history(self), "double")),
    __complex__=lambda self: complex(_without_history(self)),
    __len__=_len,
    __iter__=_iterate,
    __repr__=_repr,
    __format__=_format,
    __hash__=lambda self: id(self),
    __contains__=_contains,
)
for _name, _doc in {
    "__bool__": "Whether the one element is not zero; RuntimeError for more elements.",
    "__index__": "The one element as an int; TypeError where its dtype is not of integers.",
    "__int__": "The one element as an int.",
    "__float__": "The one element as a float.",
    "__complex__": "The one element as a complex.",
    "__len__": "The size of the first dimension; TypeError where there is none.",
    "__iter__": "The slices of the first dimension, one after another.",
    "__contains__": "Whether an element is equal to a number or to a tensor that broadcasts.",
}.items():
    METHODS[_name].__doc__ = _doc
