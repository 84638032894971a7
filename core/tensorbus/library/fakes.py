"""Kernels for tensors without values, and sizes that only values would tell: ``get_ctx``."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Generator
from typing import Any

from tensorbus._base.leaving import block


class _Local(threading.local):
    make: Callable[[], Any] | None = None
    """Makes what ``get_ctx`` returns; None outside of a fake kernel."""
    sizes: Callable[[], Any] | None = None
    """The same while ``opcheck`` runs a fake kernel, which then may ask for sizes."""


_local = _Local()


class FakeImplCtx:
    """What a fake kernel asks for sizes that hang on values."""

    def __init__(self, next_size: Callable[[int, int | None], int]):
        self._next_size = next_size

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """A size that stands for what the values would tell, between *min* and *max*."""
        if min < 0:
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, ...): expected min to be greater than or equal "
                "to 0: this API can only create non-negative sizes."
            )
        return self._next_size(min, max)


def get_ctx() -> Any:
    """Inside a fake kernel, what makes sizes that hang on values; None elsewhere.

    RuntimeError where the kernel runs on the device ``meta``, which has no such sizes; ``opcheck``
    has.

    >>> import tensorbus as torch
    >>> torch.library.get_ctx() is None
    True
    """
    return None if _local.make is None else _local.make()


@block
def sizes_from(next_size: Callable[[int, int | None], int]) -> Generator[None, None, None]:
    """A block in which fake kernels get sizes from a function."""
    before = _local.sizes
    try:
        _local.sizes = functools.partial(FakeImplCtx, next_size)
        yield
    finally:
        _local.sizes = before


@block
def _asking(make: Callable[[], Any]) -> Generator[None, None, None]:
    before = _local.make
    try:
        _local.make = make
        yield
    finally:
        _local.make = before


def without_sizes(name: str, fn: Callable[..., Any], place: str) -> Callable[..., Any]:
    """A fake kernel as the device ``meta`` runs it."""

    def refuse() -> Any:
        raise RuntimeError(
            f"{name} ({place}): You're trying to run this operator with meta Tensors (as opposed "
            "to FakeTensors), but this operator may return an output Tensor with data-dependent "
            "shape. Meta Tensors don't support operators with outputs that have data-dependent "
            "shapes but FakeTensors do. If your operator does not return an output with "
            "data-dependent shape, make sure the FakeTensor and/or meta kernel does not call "
            "torch.library.get_ctx(). Otherwise, please use FakeTensors."
        )

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        with _asking(_local.sizes or refuse):
            return fn(*args, **kwargs)

    return run
