"""Nested inputs cut into parts for several devices, and nested outputs put together again."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in nested lists, tuples, dicts and dataclasses."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple, set)):
        for each in value:
            yield from tensors_in(each)
    elif isinstance(value, Mapping):
        yield from tensors_in(list(value.values()))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from tensors_in([getattr(value, f.name) for f in dataclasses.fields(value)])


def _rebuilt(like: Any, values: Any) -> Any:
    """A sequence of the type of *like*, named tuples too."""
    if hasattr(like, "_fields"):
        return type(like)(*values)
    return type(like)(values)


def scatter(inputs: Any, target_devices: Sequence[Any], dim: int = 0) -> list[Any]:
    """Cut tensors into parts along *dim*, one for each device, and move them there.

    Lists, tuples and dicts are gone into; everything else goes to all devices as it is. There may
    be fewer parts than devices, where the tensors are short.

    >>> from tensorbus.nn.parallel import scatter
    >>> scatter({"x": tensorbus.arange(3), "n": 7}, ["cpu", "cpu"])
    [{'x': tensor([0, 1]), 'n': 7}, {'x': tensor([2]), 'n': 7}]
    """
    devices = list(target_devices)
    if isinstance(inputs, Tensor):
        parts = inputs.chunk(len(devices), dim)
        return [p.to(d) for p, d in zip(parts, devices, strict=False)]
    if isinstance(inputs, (list, tuple)) and inputs:
        columns = [scatter(each, devices, dim) for each in inputs]
        return [_rebuilt(inputs, row) for row in zip(*columns, strict=False)]
    if isinstance(inputs, dict) and inputs:
        columns = [scatter(each, devices, dim) for each in inputs.values()]
        return [
            type(inputs)(zip(inputs, row, strict=True)) for row in zip(*columns, strict=False)
        ]  # fmt: skip
    return [inputs for _ in devices]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_devices: Any, dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Positional and keyword arguments for each device; as many of both."""
    rows = scatter(inputs, target_devices, dim) if inputs else []
    named = scatter(kwargs, target_devices, dim) if kwargs else []
    if len(rows) < len(named):
        rows += [() for _ in range(len(named) - len(rows))]
    elif len(named) < len(rows):
        named += [{} for _ in range(len(rows) - len(named))]
    return tuple(rows), tuple(named)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Put equally built outputs together on one device: tensors are concatenated along *dim*.

    0-dim tensors become a vector, with a warning. ValueError where dicts have different keys.

    >>> from tensorbus.nn.parallel import gather
    >>> gather([(tensorbus.ones(1), 0), (tensorbus.zeros(2), 0)], "cpu")
    (tensor([1., 0., 0.]), [0, 0])
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        moved = [t.to(target_device) for t in outputs]
        if dim == 0 and all(t.dim() == 0 for t in moved):
            warnings.warn(
                "Was asked to gather along dimension 0, but all input tensors were scalars; will "
                "instead unsqueeze and return a vector.",
                stacklevel=2,
            )
            moved = [t.view(1) for t in moved]
        return tensorbus.cat(moved, dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if not all(o.keys() == first.keys() for o in outputs):
            raise ValueError("All dicts must have the same keys")
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
    if isinstance(first, (list, tuple)):
        rows = zip(*outputs, strict=True)
        return _rebuilt(first, [gather(row, target_device, dim) for row in rows])
    return list(outputs)
