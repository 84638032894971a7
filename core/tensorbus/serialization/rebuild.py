"""Making objects from what a checkpoint says, with every argument checked.

The functions whose names begin with ``_`` carry the names that PyTorch's files call.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Any

import tensorbus
from tensorbus._base import dtypes
from tensorbus.op_engine.parameter import Parameter
from tensorbus.serialization.budget import as_key, spend
from tensorbus.serialization.errors import CheckpointError, bad, escaped, reason, shown
from tensorbus.storage import TypedStorage, UntypedStorage, tensor_from_storage

_LAYOUTS = (
    tensorbus.strided,
    tensorbus.sparse_coo,
    tensorbus.sparse_csr,
    tensorbus.sparse_csc,
    tensorbus.sparse_bsr,
    tensorbus.sparse_bsc,
)
_MAX_DIMS = 64
_MAX_COUNT = 2**63 - 1


@dataclass(frozen=True)
class StorageType:
    """What a file calls a kind of storage, and the dtype of its elements."""

    name: str
    dtype: Any

    @property
    def untyped(self) -> bool:
        """Whether the tensors made of it tell their dtypes themselves."""
        return self.name == "UntypedStorage"


@dataclass(frozen=True)
class Legacy:
    """A class of before 0.4 that a file names."""

    name: str


def _counts(value: Any, what: str) -> tuple[int, ...]:
    if not isinstance(value, tuple | list):
        raise bad(f"a tensor's {what} is {shown(value)}")
    if len(value) > _MAX_DIMS:
        raise bad(f"a tensor's {what} has {len(value)} dimensions, more than {_MAX_DIMS}")
    for count in value:
        if type(count) is not int or not 0 <= count <= _MAX_COUNT:
            raise bad(f"a tensor's {what} has the element {shown(count)}")
    return tuple(value)


def addressable(size: tuple[int, ...], dtype: Any) -> bool:
    """Whether so many elements have addresses, and so have strides where one size is 0."""
    return math.prod(max(n, 1) for n in size) * dtype.itemsize <= _MAX_COUNT


def _view(storage: Any, dtype: Any, offset: Any, size: Any, stride: Any, grad: Any) -> Any:
    untyped = storage.untyped() if isinstance(storage, TypedStorage) else storage
    if not isinstance(untyped, UntypedStorage) or not isinstance(dtype, dtypes.dtype):
        raise bad(f"a tensor of {shown(dtype)} has the storage {shown(storage)}")
    size, stride = _counts(size, "size"), _counts(stride, "stride")
    if type(offset) is not int or offset < 0 or len(size) != len(stride) or type(grad) is not bool:
        raise bad(
            f"a tensor has {len(size)} sizes, {len(stride)} strides and the offset {shown(offset)}"
        )
    if not addressable(size, dtype):
        raise bad("a tensor has more elements than there are addresses")
    available = untyped.nbytes() // dtype.itemsize
    reach = offset
    if 0 not in size:
        reach += 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if reach > available:
        raise bad(
            f"a tensor of size {escaped(str(size))}, stride {escaped(str(stride))} and offset "
            f"{offset} does not fit into its storage of {available} elements"
        )
    if grad and not (dtype.is_floating_point or dtype.is_complex):
        raise bad(f"a tensor of {dtype} requires grad")
    return tensor_from_storage(untyped, dtype, offset, size, stride, requires_grad=grad)


def _rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    if not isinstance(dtype, dtypes.dtype):
        raise bad(f"a tensor has the dtype {shown(dtype)}")
    size, stride = _counts(size, "size"), _counts(stride, "stride")
    reach = 0
    if len(size) == len(stride) and 0 not in size:
        reach = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    storage: Any = 0
    if addressable((reach,), dtype):
        storage = UntypedStorage(reach * dtype.itemsize, device="meta")
    return _view(storage, dtype, 0, size, stride, requires_grad)


def _rebuild_tensor(storage: Any, storage_offset: Any, size: Any, stride: Any) -> Any:
    dtype = getattr(storage, "dtype", None)
    return _view(storage, dtype, storage_offset, size, stride, False)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    metadata: Any = None,
) -> Any:
    dtype = getattr(storage, "dtype", None)
    return _rebuild_tensor_v3(
        storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata
    )


def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Any:
    lazy = metadata if isinstance(metadata, dict) else {}
    if lazy.get("conj") or lazy.get("neg"):
        # PyTorch marks such tensors and computes the values when they are used; here at once.
        data = _view(storage, dtype, storage_offset, size, stride, False)
        spend(data.numel() * dtype.itemsize)
        data = data.conj() if lazy.get("conj") else data
        data = -data if lazy.get("neg") else data
        return data.requires_grad_(requires_grad)
    return _view(storage, dtype, storage_offset, size, stride, requires_grad)


def _tensor(value: Any) -> Any:
    if not isinstance(value, tensorbus.Tensor):
        raise bad(f"a parameter's data is {shown(value)}")
    return value


def make_parameter(data: Any, requires_grad: Any = True) -> Any:
    """A Parameter of a tensor."""
    if type(requires_grad) is not bool:
        raise bad("a parameter does not tell whether it requires grad")
    return Parameter(_tensor(data).detach(), requires_grad)


def _rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Any:
    return make_parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: Any, requires_grad: Any, backward_hooks: Any, state: Any
) -> Any:
    return _with_attributes(make_parameter(data, requires_grad), state)


def _rebuild_from_type_v2(function: Any, kind: Any, args: Any, state: Any) -> Any:
    """A tensor with attributes of its own, or of a subclass.

    *function* is what makes the plain tensor; the restricted reader has checked it.
    """
    if function not in (_rebuild_tensor_v2, _rebuild_tensor_v3, _rebuild_parameter):
        raise bad("a tensor is to be made by something else than a tensor's function")
    if not isinstance(args, tuple):
        raise bad("a tensor's arguments are not a tuple")
    tensor = _tensor(function(*args))
    if not isinstance(kind, type) or not issubclass(kind, tensorbus.Tensor):
        raise bad(f"a tensor is to become {shown(kind)}")
    if kind is not type(tensor) and kind not in (tensorbus.Tensor, Parameter):
        tensor = tensor.as_subclass(kind)
    return _with_attributes(tensor, state)


def _with_attributes(tensor: Any, state: Any) -> Any:
    """Set plain attributes that a user put on a tensor; never one that the class defines."""
    if isinstance(state, tuple) and len(state) == 2:
        state = state[0]
    if isinstance(state, dict):
        spend(len(state))
        for name, value in state.items():
            if not isinstance(name, str) or hasattr(type(tensor), name):
                raise bad(f"a tensor has an attribute {shown(name)}")
            if hasattr(tensor, "__dict__"):
                setattr(tensor, name, value)
    return tensor


def make_empty(*args: Any) -> Any:
    """A tensor that gets its storage as its state: so 0.1 wrote the instances of its classes."""
    if args:
        raise bad("a tensor is made of values that its state holds")
    return tensorbus.empty(0)


def make_variable(data: Any = None, *args: Any) -> Any:
    """What was a Variable around a tensor."""
    return _tensor(data)


def set_tensor_state(tensor: Any, state: Any) -> None:
    """Give a tensor what files of before 0.4 wrote as its state.

    Four values are its storage and layout; a Variable has three marks, or five with its data.
    """
    match state:
        case (storage, offset, size, stride):
            tensor.data = _rebuild_tensor(storage, offset, size, stride)
        case (data, _, _, bool(grad), bool()):
            tensor.data = _tensor(data).detach()
            _set_grad(tensor, grad)
        case (bool(grad), bool(), None | dict()):
            _set_grad(tensor, grad)
        case _:
            raise bad(f"the state of a tensor is {shown(state)}")


def _set_grad(tensor: Any, grad: bool) -> None:
    if grad and not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        raise bad(f"a tensor of {tensor.dtype} requires grad")
    tensor.requires_grad_(grad)


def _get_layout(name: Any) -> Any:
    found = next((x for x in _LAYOUTS if str(x) == name), None)
    if found is None:
        raise CheckpointError(
            f"The checkpoint has the layout {shown(name)}; known are "
            f"{', '.join(str(x) for x in _LAYOUTS)}."
        )
    return found


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Any:
    """A sparse tensor of its parts, whose coordinates are checked."""
    if not isinstance(data, tuple | list):
        raise bad(f"a sparse tensor's parts are {shown(data)}")
    coordinates = layout is tensorbus.sparse_coo
    count = 2 if coordinates else 3
    if layout is tensorbus.strided or layout not in _LAYOUTS or len(data) < count + 1:
        raise bad("a sparse tensor has another layout, or too few parts")
    size = _counts(data[count], "size")
    first, second, *rest = [_tensor(x) for x in data[:count]]
    try:
        if coordinates:
            known = len(data) > 3 and data[3] is True
            return tensorbus.sparse_coo_tensor(
                first, second, size, is_coalesced=known, check_invariants=True
            )
        return tensorbus.sparse_compressed_tensor(
            first, second, rest[0], size, layout=layout, check_invariants=True
        )
    except (RuntimeError, ValueError, IndexError) as error:
        raise bad(f"a sparse tensor does not fit together ({reason(error)})") from error


def make_size(value: Any = ()) -> Any:
    """A Size."""
    return tensorbus.Size(_counts(value, "size"))


def make_device(kind: Any, index: Any = None) -> Any:
    """A device; one that no installed plugin offers is an error that says so."""
    if not isinstance(kind, str):
        raise bad(f"a device is called {shown(kind)}")
    if index is not None and (type(index) is not int or not 0 <= index <= _MAX_COUNT):
        raise bad(f"a device has the index {shown(index)}")
    try:
        return tensorbus.device(kind) if index is None else tensorbus.device(kind, index)
    except (RuntimeError, ValueError, OverflowError) as error:
        raise CheckpointError(
            f"The checkpoint names the device {shown(kind)}, which cannot be used here "
            f"({reason(error)})."
        ) from error


def make_ordered_dict(items: Any = ()) -> Any:
    """An OrderedDict of pairs."""
    result: OrderedDict[Any, Any] = OrderedDict()
    for pair in items if isinstance(items, list | tuple) else [None]:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise bad("an OrderedDict is not made of pairs")
        result[as_key(result, pair[0])] = pair[1]
    return result


def make_counter(items: Any = None) -> Any:
    """A Counter of a dict."""
    if items is not None and type(items) is not dict:
        raise bad("a Counter is not made of a dict")
    result: Counter[Any] = Counter()
    for key, count in (items or {}).items():
        result[as_key(result, key)] = count
    return result


def make_set(value: Any = ()) -> set[Any]:
    """A set of a list."""
    if not isinstance(value, list | tuple | set | frozenset):
        raise bad("a set is not made of a list")
    result: set[Any] = set()
    for item in value:
        result.add(as_key(result, item))
    return result


def make_frozenset(value: Any = ()) -> frozenset[Any]:
    """A frozenset of a list."""
    return frozenset(make_set(value))


def make_bytearray(value: Any = b"", encoding: Any = None) -> Any:
    """A bytearray of bytes."""
    if isinstance(value, str):
        value = encode(value, encoding)
    if not isinstance(value, bytes):
        raise bad("a bytearray is not made of bytes")
    return bytearray(value)


def make_complex(real: Any = 0.0, imag: Any = 0.0) -> Any:
    """A complex number."""
    if not isinstance(real, float | int) or not isinstance(imag, float | int):
        raise bad("a complex number is not made of numbers")
    return complex(real, imag)


def encode(text: Any, encoding: Any) -> bytes:
    """Bytes, which old pickle protocols write as text."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise bad(f"bytes are written in the encoding {shown(encoding)}")
    try:
        return text.encode("latin1")
    except UnicodeEncodeError:
        raise bad("bytes are written as text that is none") from None
