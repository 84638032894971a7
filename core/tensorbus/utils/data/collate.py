"""Making a batch of a list of samples."""

from __future__ import annotations

import copy
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
    for anything else.

    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    first = batch[0]
    if isinstance(first, tensorbus.Tensor):
        return tensorbus.stack(list(batch), 0)
    if isinstance(first, np.ndarray | np.generic):
        return _collate_numpy(batch)
    if isinstance(first, float):
        return tensorbus.tensor(batch, dtype=tensorbus.float64)
    if isinstance(first, int):
        return tensorbus.tensor(batch)
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        return _mapping_like(
            first, {key: default_collate([sample[key] for sample in batch]) for key in first}
        )
    if isinstance(first, Sequence):
        return _collate_sequences(batch)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {type(first)}"
    )


def _collate_numpy(batch: Sequence[Any]) -> Any:
    first = batch[0]
    if first.dtype.kind in "SUO":
        raise TypeError(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
            f"found an array of {first.dtype}"
        )
    if isinstance(first, np.generic):
        return tensorbus.as_tensor(np.asarray(batch))
    return tensorbus.stack([tensorbus.as_tensor(array) for array in batch], 0)


def _collate_sequences(batch: Sequence[Any]) -> Any:
    first = batch[0]
    lengths = [len(sample) for sample in batch]
    if len(set(lengths)) > 1:
        raise RuntimeError(
            f"each element in list of batch should be of equal size, but the sizes are {lengths}"
        )
    columns = [default_collate(column) for column in zip(*batch, strict=True)]
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
