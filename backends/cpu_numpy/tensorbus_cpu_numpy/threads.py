"""Work spread over host threads, in blocks, with buffers that each thread keeps.

NumPy lets other threads run while it copies and multiplies, so two threads over blocks of a batch
are nearly twice as fast. Buffers are kept because fresh memory costs more than the work on it.
"""

from __future__ import annotations

import contextvars
import math
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tensorbus.plugin import Array
from tensorbus_cpu_numpy import blas

_local = threading.local()
_lock = threading.Lock()
_KEPT_BYTES = 1 << 24
"""Larger buffers are given back after use."""


class _Settings:
    count = os.cpu_count() or 1
    pool: ThreadPoolExecutor | None = None


def set_count(n: int) -> None:
    """Use *n* threads from now on, in BLAS too."""
    blas.set_count(max(1, n))
    with _lock:
        _Settings.count, _Settings.pool = max(1, n), None


def count() -> int:
    """The number of threads in use."""
    return _Settings.count


def _forget_pool() -> None:
    # A forked child has none of its parent's threads.
    _Settings.pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def _pool() -> ThreadPoolExecutor:
    with _lock:
        if _Settings.pool is None:
            _Settings.pool = ThreadPoolExecutor(_Settings.count, "tensorbus-cpu")
        return _Settings.pool


def spread(work: Callable[[int, int], None], n: int, block: int, small: bool) -> None:
    """Call ``work(start, stop)`` for the blocks of ``range(n)``, in several threads if possible.

    *small* says that BLAS runs the work's products in one thread of its own accord.
    """
    starts = range(0, n, block)
    workers = min(_Settings.count, len(starts)) if small or blas.control() else 1
    if workers <= 1:
        for start in starts:
            work(start, min(n, start + block))
        return
    if small:
        _share(work, n, block, starts, workers)
        return
    holder = object()
    try:
        blas.hold(holder)
        _share(work, n, block, starts, workers)
    finally:
        try:
            blas.let_go(holder)
        except BaseException:  # an interrupt, before it was done
            blas.let_go(holder)
            raise


def _share(
    work: Callable[[int, int], None], n: int, block: int, starts: range, workers: int
) -> None:
    lock, todo = threading.Lock(), iter(starts)

    def run() -> None:
        while True:
            with lock:
                start = next(todo, None)
            if start is None:
                return
            work(start, min(n, start + block))

    # Workers see the caller's NumPy error state, which lives in the context.
    pool = _pool()
    others = [pool.submit(contextvars.copy_context().run, run) for _ in range(workers - 1)]
    try:
        run()
    finally:
        for other in others:
            other.exception()
    for other in others:
        other.result()


def buffer(key: str, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """This thread's array of *shape* for the purpose *key*, holding anything."""
    size = math.prod(shape) * dtype.itemsize
    if size > _KEPT_BYTES:
        return np.empty(shape, dtype)
    kept: Array | None = getattr(_local, key, None)
    if kept is None or kept.nbytes < size:
        kept = np.empty(size, np.uint8)
        setattr(_local, key, kept)
    return kept[:size].view(dtype).reshape(shape)
