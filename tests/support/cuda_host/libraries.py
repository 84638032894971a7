"""The C parts, compiled once for each state of their texts."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = ["-O1", "-fPIC", "-shared", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv"]


@functools.cache
def folder() -> Path:
    """Where compiled things lie: one folder for each state of the texts here."""
    state = hashlib.sha256()
    for path in sorted(HERE.rglob("*.[chp]*")):
        if path.suffix in (".c", ".h", ".py"):
            state.update(path.read_bytes())
    found = Path(__file__).parents[3] / "build" / "cuda_host" / state.hexdigest()[:16]
    found.mkdir(parents=True, exist_ok=True)
    return found


def text_file(path: Path, text: str) -> Path:
    """A file that is there whole or not at all: other processes may read it."""
    if not path.exists():
        handle, scratch = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.replace(scratch, path)
    return path


def build(name: str, *arguments: str) -> Path:
    """The shared library *name*, by gcc with *arguments*."""
    made = folder() / name
    if not made.exists():
        handle, path = tempfile.mkstemp(dir=folder())
        os.close(handle)
        command = ["gcc", *FLAGS, f"-Wl,-soname,{name}", "-o", path, *arguments, "-lm", "-ldl"]
        subprocess.run(command, check=True)
        os.replace(path, made)  # whole at once: other processes may look for it
    return made


@functools.cache
def device() -> ctypes.CDLL:
    """The runtime and driver."""
    return ctypes.CDLL(str(build("libhostcuda.so", str(HERE / "device.c"))))


def blas(wanted: set[str]) -> None:
    """Load the products, and functions that end the process for all else that CuPy links to."""
    rest = "".join(
        f'__attribute__((weak)) int {name}(void) {{ return missing("{name}"); }}\n'
        for name in sorted(wanted)
    )
    lines = [
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "static int missing(const char *name) {",
        '    fprintf(stderr, "%s is missing\\n", name);',
        "    abort();",
        "}",
        rest,
    ]
    missing = text_file(folder() / "missing.c", "\n".join(lines))
    versions = text_file(folder() / "cublas.map", "libcublas.so.12 { global: *; };\n")
    path = build(
        "libcublas.so.12",
        *(str(HERE / "blas.c"), str(missing), f"-Wl,--version-script={versions}"),
        str(folder() / "libhostcuda.so"),
    )
    ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


def symbols(path: str, *options: str) -> list[tuple[int, str, str]]:
    """(address, kind, name) of the symbols of a shared library."""
    listed = subprocess.run(["nm", *options, path], capture_output=True, text=True, check=True)
    found = []
    for line in listed.stdout.splitlines():
        *address, kind, name = line.split()
        found.append((int(address[0], 16) if address else 0, kind, name.partition("@")[0]))
    return found
