"""A CUDA device for tests: CuPy itself, over host memory.

CuPy's Python, its kernel texts and its launch code are the real ones. The CUDA runtime that is
linked into CuPy is replaced (``device.c``), kernels are compiled for the host and run there
(``kernel.h``), and so are the products of cuBLAS (``blas.c``). Launches, waits and copies are
counted. ``install()`` comes first in a process that uses it; nothing here needs a GPU or a driver.

What it can't say: whether NVIDIA's compiler takes a text (``compiler.nvrtc`` asks it), what races
between threads do, how exact the GPU's functions are, and how fast anything is.
"""

from __future__ import annotations

from cuda_host.counting import Counts, counting
from cuda_host.install import install, why_not

__all__ = ["Counts", "counting", "install", "why_not"]
