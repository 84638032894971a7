"""Functions that programs wrote in C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

COMPILERS = ("cc", "gcc", "clang")
OPTIONS = ("-std=gnu11", "-O3", "-march=native", "-fPIC", "-shared")


def compile_source(source: str, name: str) -> Callable[..., None]:
    """The call of the C function *name*."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise RuntimeError(f"no C compiler is on the path: one of {', '.join(COMPILERS)}")
    with tempfile.TemporaryDirectory() as folder:
        text, library = Path(folder, "kernel.c"), Path(folder, "kernel.so")
        text.write_text(source, "utf-8")
        command = [compiler, *OPTIONS, str(text), "-o", str(library), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        function = getattr(ctypes.CDLL(str(library)), name)
    function.restype = None

    def launch(threads: tuple[int, ...], group: tuple[int, ...], *arguments: Any) -> None:
        if threads or group:
            raise ValueError(f"{name}: a C function is called once: leave threads and group out")
        function(*map(_argument, arguments))

    return launch


def _argument(value: Any) -> Any:
    if isinstance(value, np.generic):
        number: Any = np.ctypeslib.as_ctypes_type(value.dtype.str)
        return number(value.item())
    return ctypes.c_void_p(value.ctypes.data)
