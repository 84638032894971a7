"""What NumPy's BLAS does and NumPy has no function for, where that BLAS is an OpenBLAS.

It says and sets how many threads it uses. Several of our own threads that each start a threaded
product wait for one another a hundred times longer than the product takes, so they need BLAS to
stay in one.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tensorbus.plugin import Array

_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")


class _Control(NamedTuple):
    get: Callable[[], int]
    set: Callable[[int], None]
    core: str
    """The processor that the kernels are for."""
    routine: Callable[[str], Any]
    """A routine of BLAS in C, by its name."""
    integer: type[Any]
    """What it takes for an integer."""


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
                    return _Control(
                        get,
                        set_,
                        core().decode("ascii", "replace"),
                        functools.partial(_routine, library, name.replace("openblas", "cblas")),
                        ctypes.c_int64 if "64_" in name else ctypes.c_int,
                    )
    return None


def _routine(library: ctypes.CDLL, name: str, routine: str) -> Any:
    return getattr(library, name.format(routine))


def add_multiple(dtype: np.dtype) -> Callable[[Array, Array, float], None] | None:
    """What adds a multiple of one row-major array to another of as many elements, in one pass.

    It is of float32 or float64 arrays; None where NumPy's BLAS cannot be asked.
    """
    found = control()
    if found is None:
        return None
    letter, real = ("s", ctypes.c_float) if dtype.itemsize == 4 else ("d", ctypes.c_double)
    try:
        axpy = found.routine(f"{letter}axpy")
    except AttributeError:
        return None
    address = ctypes.c_void_p
    axpy.argtypes = [found.integer, real, address, found.integer, address, found.integer]
    axpy.restype = None

    def add(x: Array, y: Array, factor: float) -> None:
        axpy(x.size, factor, y.ctypes.data, 1, x.ctypes.data, 1)

    return add


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
