"""The number of threads NumPy's BLAS uses, where that BLAS is an OpenBLAS that can be asked.

NumPy has no function for it. Several of our own threads that each start a threaded product wait for
one another a hundred times longer than the product takes, so they need BLAS to stay in one.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")


class _Control(NamedTuple):
    get: Callable[[], int]
    set: Callable[[int], None]
    core: str
    """The processor that the kernels are for."""


@functools.cache
def control() -> _Control | None:
    """How to ask for and set the number of threads, or None where there is no way."""
    home = Path(np.__file__).parent
    for folder in (home.parent / "numpy.libs", home / ".dylibs"):
        for file in sorted(folder.glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(file))
            except OSError:
                continue
            for name in _NAMES:
                with contextlib.suppress(AttributeError):
                    get = getattr(library, name.format("get_num_threads"))
                    set_ = getattr(library, name.format("set_num_threads"))
                    core = getattr(library, name.format("get_corename"))
                    core.restype = ctypes.c_char_p
                    return _Control(get, set_, core().decode("ascii", "replace"))
    return None


def has_small_kernels() -> bool:
    """Whether small float32 products are fast: OpenBLAS has such kernels for AVX-512."""
    found = control()
    return found is not None and found.core in ("SkylakeX", "Cooperlake", "Sapphirerapids")


_lock = threading.Lock()
_holders: set[object] = set()
_before = 1


def hold(holder: object) -> None:
    """Keep BLAS in the calling thread until the last holder lets it go."""
    global _before
    found = control()
    if found is None:
        return
    with _lock:
        first = not _holders
        if first:
            _before = found.get()
        _holders.add(holder)
        if first:
            found.set(1)


def let_go(holder: object) -> None:
    """The end of ``hold``, whether or not an interrupt left it or this undone half way."""
    found = control()
    if found is None:
        return
    with _lock:
        if holder in _holders:
            if len(_holders) == 1:
                found.set(_before)
            _holders.discard(holder)


def set_count(n: int) -> None:
    """Let BLAS use *n* threads from now on."""
    global _before
    found = control()
    if found is None:
        return
    with _lock:
        if _holders:
            _before = n
        else:
            found.set(n)
