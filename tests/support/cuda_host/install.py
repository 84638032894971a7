"""Put the stand-in in the place of the CUDA runtime that CuPy is linked with."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import platform
import shutil
import sys
from typing import Any

from cuda_host import compiler, libraries, sorting

RENAMED = {"cudaGetDeviceProperties_v2": "cudaGetDeviceProperties"}
NEEDED = {"cupy": "cupy-cuda12x", "nvidia.cuda_nvrtc": "nvidia-cuda-nvrtc-cu12"}


def why_not() -> str:
    """Why this machine can't have it; empty where it can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "the cuda device over host memory is for Linux on x86-64"
    for tool in ("gcc", "g++", "nm"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed: apt-get install g++ binutils"
    for module, package in NEEDED.items():
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return f"{package} is not installed: pip install 'tensorbus[cuda-host]'"
    return ""


def install(devices: int = 1, capability: int = 90) -> Any:
    """Make CuPy see *devices* GPUs of a compute capability; gives the module ``cupy``."""
    os.environ["CUPY_CACHE_DIR"] = str(libraries.folder() / "kernels")
    # Sums by machine code of CUB can't be run here: CuPy's own kernels do the same.
    os.environ["CUPY_ACCELERATORS"] = ""
    device = libraries.device()
    device.host_machine(devices, capability)
    cublas = importlib.util.find_spec("cupy_backends.cuda.libs.cublas")
    assert cublas is not None and cublas.origin is not None
    wanted = {name for _, _, name in libraries.symbols(cublas.origin, "-D", "--undefined-only")}
    libraries.blas({name for name in wanted if name.startswith("cublas")})

    _give_driver(device)
    from cupy_backends.cuda.api import driver, runtime

    _replace(device, runtime.__file__)
    driver.ctxGetCurrent()
    import cupy

    for name in ("cupy.cuda.thrust", "cupy.cuda.cub"):
        _replace(device, str(sys.modules[name].__file__))
    # By its name: CuPy would first look for NVIDIA's library.
    importlib.import_module("cupy_backends.cuda.libs.cublas")
    compiler.install()
    sorting.install()
    return cupy


def _give_driver(device: ctypes.CDLL) -> None:
    """Give *device* to whoever loads the driver by ctypes, as CuPy does at its first call.

    NVRTC looks for the driver too, by other ways, and must not find one that has a part of the
    functions only.
    """
    load = ctypes.CDLL

    def find(name: Any, *arguments: Any, **options: Any) -> ctypes.CDLL:
        return device if name == "libcuda.so.1" else load(name, *arguments, **options)

    ctypes.CDLL = find  # type: ignore[misc, assignment]


def _replace(device: ctypes.CDLL, path: str) -> None:
    """Let each function of the runtime in a library jump to ours of the same name."""
    base = _loaded_at(path)
    libc = ctypes.CDLL(None, use_errno=True)
    for address, kind, name in libraries.symbols(path):
        ours = RENAMED.get(name, name)
        if kind not in "tT" or "cuda" not in name or not hasattr(device, ours):
            continue
        target = ctypes.cast(getattr(device, ours), ctypes.c_void_p).value or 0
        at = base + address
        page = ctypes.c_void_p(at & ~4095)
        if libc.mprotect(page, ctypes.c_size_t(8192), 7):
            raise OSError(ctypes.get_errno(), "mprotect")
        jump = b"\x48\xb8" + target.to_bytes(8, "little") + b"\xff\xe0"  # mov rax, target; jmp rax
        ctypes.memmove(at, jump, len(jump))


def _loaded_at(path: str) -> int:
    with open("/proc/self/maps") as maps:
        for line in maps:
            if line.rstrip().endswith(path):
                fields = line.split()
                return int(fields[0].partition("-")[0], 16) - int(fields[2], 16)
    raise RuntimeError(f"{path} is not loaded")
