"""Tensors from data: numbers, nested sequences, arrays, other tensors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus._base.dtypes import dtype_by_name
from tensorbus._base.float_warnings import quietly
from tensorbus._base.rounding import truncated
from tensorbus._base.size import check_rank
from tensorbus._base.warning import warn_once, warn_user
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import kind_of
from tensorbus._tensor.tensor import PERMUTED, Tensor, from_array
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.options import Options, factory
from tensorbus.op_engine.public import public

_INT = 2**63


# -- from data -------------------------------------------------------------------------------
@factory(without=("layout",))
def tensor(data: Any, *, options: Options) -> Any:
    """A tensor with a copy of the data: numbers, nested sequences, arrays.

    The dtype follows the data: int64 for ints, the default dtype for floats, bool for truth values.
    ValueError for ragged sequences, TypeError for anything else.

    >>> import tensorbus
    >>> tensorbus.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])

    Source: https://pytorch.org/docs/stable/generated/torch.tensor.html
    """
    _warn_of_tensor(data, "torch.tensor(sourceTensor)")
    return _copied(data, options)


@factory(method=True, without=("layout", "pin_memory"))
def new_tensor(self: Tensor, data: Any, *, options: Options) -> Any:
    """A copy of the data, with this tensor's dtype and device if not given."""
    _warn_of_tensor(data, "tensor.new_tensor(sourceTensor)")
    return _copied(data, options, like=self)


def _warn_of_tensor(data: Any, call: str) -> None:
    if isinstance(data, Tensor):
        warn_user(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
            f"rather than {call}."
        )


def _copied(data: Any, options: Options, like: Tensor | None = None) -> Any:
    if isinstance(data, Tensor):
        k = options.kind(like=data if like is None else like)
        return to_kind(data.detach(), k, copy=True)._a
    wanted = options.dtype if like is None else options.dtype or like._k.dtype
    if wanted is None and (type(data) is float or (type(data) is int and -_INT <= data < _INT)):
        return options.kind(inferred(data)).full((), data)
    host, d = host_array(data, wanted)
    k = options.kind(d, like)
    if d.computes or d.widened() is d:
        return k.from_host(host)
    wide = k.of(d.widened())
    return k.cast(wide.from_host(host), wide)


def host_array(data: Any, dtype: Dtype | None) -> tuple[np.ndarray, Dtype]:
    """A NumPy array of the data and the dtype that it stands for."""
    if isinstance(data, np.ndarray | np.generic):
        array = np.asarray(data)
        d = dtype or dtype_of_host(array)
    else:
        d = dtype or inferred(data)
        array = _nested(data, d)
        if d.category == dtypes.INTEGER and array.dtype != np.dtype(d.name):
            _check_range(array, d)
    return _converted(array, d), d


def _check_range(array: np.ndarray, d: Dtype) -> None:
    """RuntimeError where Python numbers do not fit an integer dtype; whole ones wrap into uint8."""
    limits = dtypes.iinfo(d)
    least = -limits.max if not d.is_signed and array.dtype.kind != "f" else limits.min
    if not ((array >= least) & (array <= limits.max)).all():
        raise RuntimeError(f"value cannot be converted to type {d.name} without overflow")


def dtype_of_host(array: np.ndarray) -> Dtype:
    """Our dtype for a NumPy array's; TypeError where there is none."""
    return _of_numpy(array.dtype)


@functools.lru_cache(maxsize=64)  # NumPy puts its names together anew
def _of_numpy(dtype: np.dtype[Any]) -> Dtype:
    try:
        return dtype_by_name(dtype.name)
    except KeyError:
        known = [d.name for d in (*dtypes.ALL, *dtypes.STORED) if d.widened() is d]
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{dtype.type.__name__}. The only "
            f"supported types are: {', '.join(known)}."
        ) from None


def inferred(data: Any, leads: bool = True) -> Dtype:
    """The dtype of nested sequences of numbers; whether *data* *leads* to their first number.

    What leads there says how many dimensions there are; text there is a sequence as well.
    """
    if isinstance(data, bool):
        return dtypes.bool
    if isinstance(data, (Tensor, np.ndarray, np.generic)):
        return data._k.dtype if isinstance(data, Tensor) else dtype_of_host(np.asarray(data))
    if isinstance(data, int):
        return dtypes.int64
    if isinstance(data, float):
        return dtypes.get_default_dtype()
    if isinstance(data, complex):
        return dtypes.get_default_dtype().to_complex()
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    sequence = isinstance(data, (list, tuple))
    if not sequence and hasattr(data, "__array__"):
        return dtype_of_host(np.asarray(data))
    if sequence or (hasattr(data, "__getitem__") and not isinstance(data, dict)):
        result: Dtype | None = None
        for item in data:
            if leads and isinstance(item, str):
                raise ValueError("too many dimensions 'str'")
            d = inferred(item, leads)
            leads = False
            result = d if result is None else dtypes.promote_types(result, d)
        return result or dtypes.get_default_dtype()
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _nested(data: Any, d: Dtype) -> np.ndarray:
    def plain(x: Any) -> Any:
        if isinstance(x, Tensor):
            return x.detach().cpu().numpy()
        if isinstance(x, (list, tuple)):
            return [plain(item) for item in x]
        if isinstance(x, np.ndarray) and x.ndim:
            warn_once(
                "a list of arrays",
                "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please "
                "consider converting the list to a single numpy.ndarray with numpy.array() before "
                "converting to a tensor.",
            )
        if x is None:
            raise TypeError("must be real number, not NoneType")
        return x

    shape, inner = [], data
    while isinstance(inner, (list, tuple)) and inner:
        shape.append(len(inner))
        inner = inner[0]
    check_rank(tuple(shape))
    exact = "float64" if d.category == dtypes.FLOAT else None
    try:
        array = np.array(plain(data), dtype=exact or _host_name(d, data))
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    except (ValueError, TypeError) as error:
        if "not 'complex'" in str(error):
            raise TypeError("must be real number, not complex") from None
        if "inhomogeneous" in str(error):
            raise _ragged(data) from None
        raise type(error)(f"tensor(): {error}") from None
    return array


def _host_name(d: Dtype, data: Any) -> Any:
    if d.category == dtypes.INTEGER:
        if d is dtypes.uint64:
            return d.name
        return None if _has_floats(data) else "int64"
    return d.widened().name


def _has_floats(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return any(_has_floats(x) for x in data)
    return isinstance(data, float) or bool(getattr(data, "is_floating_point", lambda: False)())


def _ragged(data: Any, dim: int = 0) -> Exception:
    """Where nested sequences differ in length or depth."""
    lengths = [len(x) if isinstance(x, (list, tuple)) else -1 for x in data]
    for n in lengths:
        if n != lengths[0] and -1 in (n, lengths[0]):
            return TypeError("not a sequence")
        if n != lengths[0]:
            return ValueError(
                f"expected sequence of length {lengths[0]} at dim {dim + 1} (got {n})"
            )
    nested = next((x for x in data if isinstance(x, (list, tuple))), None)
    if nested is None:  # tensors among the elements, of several elements themselves
        return ValueError("only one element tensors can be converted to Python scalars")
    return _ragged(nested, dim + 1)


def _converted(array: np.ndarray, d: Dtype) -> np.ndarray:
    """The array in a dtype, by the library's cast rules."""
    if d.name == "bfloat16":
        wide = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
        rounded = (wide + 0x7FFF + ((wide >> 16) & 1)) >> 16
        nan = np.isnan(array.astype(np.float32))
        return np.where(nan, np.uint32(0x7FC0), rounded).astype(np.uint16).reshape(array.shape)
    if not d.computes:
        d = d.widened()
    if array.dtype == np.dtype(d.name):
        return array
    if d.category == dtypes.BOOL:
        return quietly(np.not_equal, array, 0)
    if d.category == dtypes.INTEGER and array.dtype.kind == "f":
        return quietly(truncated, np, array, d)
    if d.category < dtypes.COMPLEX and array.dtype.kind == "c":
        array = array.real
    return quietly(array.astype, d.name)


@public(method=False)
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A CPU tensor over a NumPy array's own memory: changes to one show in the other.

    >>> import numpy, tensorbus
    >>> a = numpy.zeros(2)
    >>> tensorbus.from_numpy(a).add_(1)
    tensor([1., 1.], dtype=torch.float64)
    >>> a
    array([1., 1.])

    A read-only array gives one UserWarning in a program: a write to such a tensor is an error.
    """
    if not isinstance(ndarray, np.ndarray):
        own = "numpy." if isinstance(ndarray, np.generic) else ""
        raise TypeError(f"expected np.ndarray (got {own}{type(ndarray).__name__})")
    if not ndarray.flags.writeable:
        warn_of_read_only("NumPy array")
    return over_numpy(ndarray)


def warn_of_read_only(what: str) -> None:
    """The UserWarning of the first tensor over memory that must not be written."""
    warn_once(
        "read-only memory",
        f"The given {what} is not writable: a write to this tensor is an error (in PyTorch it is "
        "undefined behavior). You may want to copy the data, or to make it writable before "
        "converting it to a tensor. This type of warning will be suppressed for the rest of this "
        "program.",
    )


def over_numpy(ndarray: np.ndarray) -> Tensor:
    """A CPU tensor over a NumPy array's memory, writable or not."""
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) "
        )
    if not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )
    d = dtype_of_host(ndarray)
    k = kind_of(Device("cpu"), d)
    array = k.backend.share_host(ndarray, d)
    if array is None:
        return from_array(k.from_host(ndarray), k)
    t = from_array(array, k)
    # Its memory is shared with others, so it counts as what may overlap.
    t._b = PERMUTED
    return t


def over_bytes(
    host: np.ndarray, d: Dtype, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
) -> Tensor:
    """A CPU tensor over memory that is given as a uint8 array; the rest counts elements."""
    k = kind_of(Device("cpu"), d)
    whole = k.backend.share_host(host, dtypes.uint8)
    t = from_array(k.backend.as_strided(whole, shape, strides, offset, dtypes.uint8, d), k)
    t._b = PERMUTED  # as in over_numpy
    return t
