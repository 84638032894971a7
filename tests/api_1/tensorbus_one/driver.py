"""The stand-in for a driver: buffers in host memory, kernels through the host's C compiler."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
"""The C compiler, or None where there is none."""

FLAGS = ("-O1", "-fPIC", "-shared", "-w", "-ffp-contract=off", "-fno-strict-aliasing")

SCALARS: dict[str, Any] = {
    "u8": ctypes.c_uint8,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}

_folder = tempfile.TemporaryDirectory(prefix="tensorbus_one-")
_numbers = itertools.count()


def alloc(nbytes: int) -> np.ndarray:
    """A new buffer of whole, aligned words."""
    return np.empty(-(-nbytes // 8), np.uint64)


def write(buffer: np.ndarray, values: np.ndarray) -> None:
    """Copy host values to the start of a buffer."""
    ctypes.memmove(buffer.ctypes.data, values.ctypes.data, values.nbytes)


def read(buffer: np.ndarray, start: int, values: np.ndarray) -> None:
    """Fill host values with a buffer's bytes from *start* on."""
    ctypes.memmove(values.ctypes.data, buffer.ctypes.data + start, values.nbytes)


def build(source: str, name: str, types: Sequence[str | None]) -> Callable[..., None]:
    """Compile a kernel, and a loop over its work items; the function that launches it.

    RuntimeError with the compiler's words where the source is refused.
    """
    listed = ", ".join(f"{t or 'void *'} a{k}" for k, t in enumerate(types))
    given = ", ".join(f"a{k}" for k in range(len(types)))
    source += (
        f"\nvoid run(i64 columns, i64 rows, {listed}) {{\n"
        f"for (ROW = 0; ROW < rows; ROW++) for (ITEM = 0; ITEM < columns; ITEM++)\n"
        f"{name}({given}); }}\n"
    )
    file = Path(_folder.name) / f"{name}{next(_numbers)}.c"
    file.write_text(source, "utf-8")
    library = file.with_suffix(".so")
    command = [str(COMPILER), *FLAGS, str(file), "-o", str(library), "-lm"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{COMPILER} can't compile the kernel {name}:\n{done.stderr}")
    run = ctypes.CDLL(str(library)).run
    run.restype = None
    run.argtypes = [ctypes.c_int64, ctypes.c_int64]
    run.argtypes += [SCALARS[t] if t else ctypes.c_void_p for t in types]

    def launch(size: tuple[int, ...], *arguments: Any) -> None:
        columns, rows = (*size, 1)[:2]
        run(
            columns,
            rows,
            *[a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments],
        )

    return launch
