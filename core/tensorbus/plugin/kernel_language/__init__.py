"""A base class for devices that have a C-like kernel language, a compiler, buffers and a launch.

The author of a backend writes a ``Dialect`` and seven short methods; the kernels of all primitives
are generated here.
"""

from tensorbus.plugin.kernel_language.array import Storage, StridedArray
from tensorbus.plugin.kernel_language.backend import KernelLanguageBackend
from tensorbus.plugin.kernel_language.dialect import Dialect

__all__ = ["Dialect", "KernelLanguageBackend", "Storage", "StridedArray"]
