"""Layouts and memory formats: names that PyTorch programs pass along."""

from __future__ import annotations

from typing import Any


class _Named:
    """A constant that compares by identity and pickles by name."""

    def __init__(self, name: str):
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> Any:
        return _named, (self._name,)


class layout(_Named):
    """How a tensor's elements are kept: all tensors here are ``strided``."""


class memory_format(_Named):
    """In which order dimensions lie in memory."""


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


def _named(name: str) -> Any:
    return globals()[name]
