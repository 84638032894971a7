"""Making a batch of a list of samples."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

import tensorbus

CollateFn = Callable[[Any], Any]


def default_convert(data: Any) -> Any:
    """NumPy arrays and scalars inside *data* become tensors; containers keep their type.

    >>> import numpy
    >>> default_convert([numpy.array([1, 2]), "text"])
    [tensor([1, 2]), 'text']
    """
    if isinstance(data, tensorbus.Tensor):
        return data
    if isinstance(data, np.ndarray | np.generic):
        if data.dtype.kind in "SUO":
            return data
        return tensorbus.as_tensor(data)
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        return _mapping_like(data, {key: default_convert(value) for key, value in data.items()})
    if _is_namedtuple(data):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence):
        return _sequence_like(data, [default_convert(value) for value in data])
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """One batch from a list of samples: tensors are stacked along a new first dimension.

    Numbers and NumPy values become tensors, strings stay a list; mappings, named tuples and
    sequences are collated item by item. RuntimeError when sequences differ in length, TypeError
    for anything else. ``collate`` in this module takes functions for other types.

    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: FunctionMap | None = None) -> Any:
    """One batch from samples whose elements the functions of a map collate, each for its types.

    A function is called as ``fn(batch, collate_fn_map=collate_fn_map)``: that of the element's own
    type, else the first whose types it is an instance of. Containers are gone through.
    """
    first = batch[0]
    functions = collate_fn_map or {}
    found = functions.get(type(first))
    if found is None:
        found = next((fn for types, fn in functions.items() if isinstance(first, types)), None)
    if found is not None:
        return found(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        items = {key: collate([s[key] for s in batch], collate_fn_map=functions) for key in first}
        return _mapping_like(first, items)
    if isinstance(first, Sequence):
        return _collate_sequences(batch, functions)
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def collate_tensor_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Tensors, stacked; RuntimeError for sparse ones."""
    if batch[0].layout is not tensorbus.strided:
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; "
            "please provide a custom collate_fn to handle them appropriately."
        )
    return tensorbus.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Arrays, stacked; TypeError for those of texts and objects."""
    _check_numbers(batch[0])
    return tensorbus.stack([tensorbus.as_tensor(array) for array in batch], 0)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Numbers of NumPy, as a tensor of their dtype."""
    _check_numbers(batch[0])
    return tensorbus.as_tensor(np.asarray(batch))


np_str_obj_array_pattern = re.compile("[SaUO]")
"""What is found in the codes of NumPy's dtypes of texts and objects."""


def _check_numbers(first: Any) -> None:
    if np_str_obj_array_pattern.search(first.dtype.str):
        raise TypeError(default_collate_err_msg_format.format(f"an array of {first.dtype}"))


def collate_float_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Python's floats, as float64."""
    return tensorbus.tensor(batch, dtype=tensorbus.float64)


def collate_int_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Integers and truth values, as a tensor."""
    return tensorbus.tensor(batch)


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Texts and bytes, as they are."""
    return batch


default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)

FunctionMap = dict[Any, Callable[..., Any]]

default_collate_fn_map: FunctionMap = {
    tensorbus.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    np.str_: collate_str_fn,
    np.bytes_: collate_str_fn,
    np.generic: collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
"""What ``default_collate`` does with what is no container; programs may change it."""


def collates_tensors_as_usual(fn: CollateFn) -> bool:
    """Whether batches of tensors alone are stacked: the whole may then be gathered at once."""
    usual = default_collate_fn_map.get(tensorbus.Tensor) is collate_tensor_fn
    return usual and fn is default_collate


def _collate_sequences(batch: Sequence[Any], functions: FunctionMap) -> Any:
    first = batch[0]
    lengths = [len(sample) for sample in batch]
    if len(set(lengths)) > 1:
        raise RuntimeError(
            f"each element in list of batch should be of equal size, but the sizes are {lengths}"
        )
    columns = [collate(column, collate_fn_map=functions) for column in zip(*batch, strict=True)]
    if _is_namedtuple(first):
        return type(first)(*columns)
    if isinstance(first, tuple):
        return columns
    return _sequence_like(first, columns)


def _is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _mapping_like(example: Any, items: dict[Any, Any]) -> Any:
    """*items* in a mapping of the example's type, or a dict where that type refuses."""
    try:
        if isinstance(example, MutableMapping):
            made = copy.copy(example)
            made.update(items)
            return made
        return type(example)(items)
    except TypeError:
        return items


def _sequence_like(example: Any, items: list[Any]) -> Any:
    try:
        if isinstance(example, MutableSequence):
            made = copy.copy(example)
            for i, item in enumerate(items):
                made[i] = item
            return made
        return type(example)(items)
    except TypeError:
        # A type such as range cannot hold tensors.
        return items
