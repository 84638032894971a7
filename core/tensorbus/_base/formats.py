"""Layouts and memory formats: the constants that say how a tensor's elements lie in memory."""

from __future__ import annotations

from typing import Any


class _Named:
    """A constant that compares by identity and pickles by name."""

    __slots__ = ("_name",)
    _name: str

    def __new__(cls) -> Any:
        raise TypeError(f"cannot create 'torch.{cls.__name__}' instances: use the constants")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__module__ = "tensorbus"

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> Any:
        return _constant, (self._name,)


class layout(_Named):
    """How a tensor's elements are kept: ``strided`` is dense, the others are sparse."""

    __slots__ = ()


class memory_format(_Named):
    """In which order the dimensions of a dense tensor lie in memory."""

    __slots__ = ()


def _made(cls: Any, name: str) -> Any:
    constant = object.__new__(cls)
    constant._name = name
    return constant


def _constant(name: str) -> Any:
    return globals()[name]


strided: layout = _made(layout, "strided")
sparse_coo: layout = _made(layout, "sparse_coo")
sparse_csr: layout = _made(layout, "sparse_csr")
sparse_csc: layout = _made(layout, "sparse_csc")
sparse_bsr: layout = _made(layout, "sparse_bsr")
sparse_bsc: layout = _made(layout, "sparse_bsc")
jagged: layout = _made(layout, "jagged")

contiguous_format: memory_format = _made(memory_format, "contiguous_format")
preserve_format: memory_format = _made(memory_format, "preserve_format")
channels_last: memory_format = _made(memory_format, "channels_last")
channels_last_3d: memory_format = _made(memory_format, "channels_last_3d")

SPARSE_LAYOUTS = (sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)
_RANKS = {channels_last: 4, channels_last_3d: 5}


def check_format(function: str, value: Any) -> None:
    """TypeError for what is neither None nor a memory format."""
    if value is not None and type(value) is not memory_format:
        raise TypeError(
            f"{function}(): argument 'memory_format' must be torch.memory_format, "
            f"not {type(value).__name__}"
        )


def check_layout(function: str, value: Any) -> None:
    """TypeError for what is no layout, NotImplementedError for any but ``strided``."""
    if value is None or value is strided:
        return
    if type(value) is not layout:
        raise TypeError(
            f"{function}(): argument 'layout' must be torch.layout, not {type(value).__name__}"
        )
    raise NotImplementedError(
        f"{function}(): layout {value} is not supported: make a dense tensor and convert it with "
        "to_sparse(), or use sparse_coo_tensor() and the like"
    )


def channels_last_rank(format: Any) -> int:
    """The rank of the tensors that a format with the channels last is for; 0 for other formats."""
    return _RANKS.get(format, 0)
