"""Kernels for the host: what CuPy gives to NVRTC is compiled by g++ here."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cuda_host import libraries

HERE = Path(__file__).parent
KERNEL = re.compile(
    r'extern\s*"C"\s*__global__\s+void\s+(?:__launch_bounds__\(.*?\)\s*)?(\w+)\s*\('
)
MEETING = re.compile(r"__syncthreads|__syncwarp|__shfl|cooperative")

DYNAMIC = re.compile(r"extern\s+__shared__\s+([\w ]+?)\s+(\w+)\s*\[\s*\]\s*;")

HEADERS = ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h", "float16.cuh")

texts: list[tuple[str, tuple[str, ...]]] = []
"""Each (text, options) that was compiled in this process, in order."""


nvrtc: Any = None
"""CuPy's own ``(text, options, architecture) -> (image, names)``, by NVIDIA's compiler."""


def install() -> None:
    """Put the host's compiler into the place of NVIDIA's."""
    global nvrtc
    from cupy.cuda import compiler

    nvrtc = compiler._compile_using_nvrtc_no_warning
    compiler._compile_using_nvrtc_no_warning = _compile


def _compile(
    source: str, options: tuple[str, ...] = (), architecture: Any = None, file: str = "",
    instances: Sequence[str] | None = None, *_: Any,
) -> tuple[bytes, dict[str, str] | None]:  # fmt: skip
    texts.append((source, options))
    names = {expression: f"instance{k}" for k, expression in enumerate(instances or ())}
    code = host_library(source, options, names)
    return b"HOSTCODE" + len(code).to_bytes(8, "little") + code, names or None


def host_library(source: str, options: tuple[str, ...], instances: Mapping[str, str]) -> bytes:
    """The shared library of a text's kernels, and of *instances* of templates by their names."""
    text = DYNAMIC.sub(r"\1 *\2 = reinterpret_cast<\1 *>(host_shared);", source)
    kernels = {name: name for name in KERNEL.findall(source)}
    for kernel, name in {**kernels, **instances}.items():
        alone = "CUPY_FOR" in source and not MEETING.search(source)
        text += f"\n{'HOST_ONE' if alone else 'HOST_FIBERS'}({name}, ({kernel}))\n"
    includes = tuple(o for o in options if o.startswith("-I") and "nvidia/cuda_runtime" not in o)
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "kernel.so"
        command = [
            *("g++", *_flags(includes), "-include", str(_headers(includes))),
            *("-x", "c++", "-", "-x", "none", str(libraries.folder() / "libhostcuda.so")),
            *("-o", str(made)),
        ]
        done = subprocess.run(command, input=text, text=True, capture_output=True)
        if done.returncode:
            raise RuntimeError(f"g++ does not take this kernel:\n{done.stderr[:2000]}\n{source}")
        return made.read_bytes()


def _flags(includes: tuple[str, ...]) -> list[str]:
    own = [f"-I{HERE / 'include'}", "-D__CUDACC_VER_MAJOR__=12"]
    return ["-std=c++17", *libraries.FLAGS, "-O0", "-fpermissive", *own, *includes]


@functools.cache
def _headers(includes: tuple[str, ...]) -> Path:
    """A header of all that CuPy's texts include, compiled once."""
    lines = [f'#include "{HERE / "kernel.h"}"']
    lines += [f"#include <cupy/{name}>" for name in HEADERS]
    text = "\n".join(lines) + "\n"
    state = hashlib.sha256(repr((text, includes)).encode()).hexdigest()[:12]
    header = libraries.folder() / f"headers_{state}.h"
    compiled = header.with_name(header.name + ".gch")
    if not compiled.exists():
        libraries.text_file(header, text)
        handle, path = tempfile.mkstemp(dir=libraries.folder())
        os.close(handle)
        command = ["g++", *_flags(includes), "-x", "c++-header", str(header), "-o", path]
        subprocess.run(command, check=True)
        os.replace(path, compiled)
    return header
