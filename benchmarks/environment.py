"""What the figures depend on: the processor, the BLAS and its core type, thread counts, versions.

OpenBLAS chooses its kernels when it is loaded; ``OPENBLAS_CORETYPE`` may pin it to an older
processor's, at half the speed. So the core type in use is printed, not the one it was built for.
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def processor() -> str:
    """The processor's name and the number of cores this process may use."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return f"{name}, {usable_cores()} cores usable"


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def numpy_blas() -> str:
    """NumPy's BLAS: its name, version, the core type it chose, its threads."""
    import numpy as np

    config: Any = np.show_config(mode="dicts")
    built = config["Build Dependencies"]["blas"]
    text = f"{built.get('name', 'unknown')} {built.get('version', '')}".strip()
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return f"{text}, core type unknown (pip install threadpoolctl)"
    for pool in threadpool_info():
        if pool["user_api"] == "blas" and "numpy" in pool["filepath"]:
            return f"{text}, core type {pool.get('architecture')}, {pool['num_threads']} threads"
    return f"{text}, core type unknown"


def torch_blas() -> str:
    """PyTorch's BLAS and thread count."""
    import torch

    names = ("Math Kernel Library", "OpenBLAS", "oneDNN", "MKL-DNN")
    found = [line.strip(" -") for line in torch.__config__.show().splitlines()]
    used = [line for line in found if any(line.startswith(n) or n in line[:60] for n in names)]
    return f"{'; '.join(used) or 'unknown'}; {torch.get_num_threads()} threads"


def installed(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"


def describe() -> dict[str, str]:
    """The header of a report."""
    pinned = os.environ.get("OPENBLAS_CORETYPE")
    return {
        "processor": processor(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "tensorbus": installed("tensorbus"),
        "numpy": installed("numpy"),
        "numpy's BLAS": numpy_blas()
        + (f", pinned by OPENBLAS_CORETYPE={pinned}" if pinned else ""),
        "torch": installed("torch"),
        "torch's BLAS": torch_blas(),
        "system": platform.platform(terse=True),
        "load": " ".join(f"{x:.2f}" for x in os.getloadavg()) if hasattr(os, "getloadavg") else "",
    }


def show(header: dict[str, str]) -> None:
    """Print the header."""
    for name, value in header.items():
        print(f"{name + ':':15} {value}")
