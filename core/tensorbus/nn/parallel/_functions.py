"""Moves between devices under the names of PyTorch's functions; each op here records by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.parallel.scatter_gather import gather, scatter

__all__ = ["Broadcast", "Gather", "ReduceAddCoalesced", "Scatter"]


class Scatter:
    """Cuts a tensor along a dimension, a part for each device."""

    @staticmethod
    def apply(
        target_gpus: Sequence[Any], chunk_sizes: Sequence[int] | None, dim: int, input: Tensor
    ) -> tuple[Tensor, ...]:
        """The parts, of *chunk_sizes* or as equal as they can be."""
        if chunk_sizes is None:
            return tuple(scatter(input, target_gpus, dim))
        parts = input.split(list(chunk_sizes), dim)
        return tuple(scatter(p, [d], dim)[0] for p, d in zip(parts, target_gpus, strict=True))


class Gather:
    """Puts tensors together along a dimension, on one device."""

    @staticmethod
    def apply(target_device: Any, dim: int, *inputs: Tensor) -> Tensor:
        """The tensor; numbers become a vector."""
        made: Tensor = gather(inputs, target_device, dim)
        return made


class Broadcast:
    """Copies tensors to devices."""

    @staticmethod
    def apply(target_gpus: Sequence[Any], *inputs: Tensor) -> tuple[Tensor, ...]:
        """The copies of all *inputs* on the first device, then on the next."""
        return tuple(scatter(x.unsqueeze(0), [d])[0][0] for d in target_gpus for x in inputs)


class ReduceAddCoalesced:
    """Sums tensors of several devices on one."""

    @staticmethod
    def apply(destination: Any, num_inputs: int, *grads: Tensor) -> tuple[Tensor, ...]:
        """For each of *num_inputs* tensors the sum over the devices, which follow one another."""
        there = [scatter(g.unsqueeze(0), [destination])[0][0] for g in grads]
        starts = range(num_inputs, len(there), num_inputs)
        sums = there[:num_inputs]
        for start in starts:
            sums = [a + b for a, b in zip(sums, there[start : start + num_inputs], strict=True)]
        return tuple(sums)


def _get_stream(device: Any) -> None:
    """No stream: devices order their copies themselves."""
