"""Modules that were compiled for PyTorch's library are refused before they are loaded.

Such a module takes tensors apart in C++. It would find another library's objects, and end the
process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

_LINKED = re.compile(rb"\blibc10(_\w+)?\.|\blibtorch(_\w+)?\.|\b(c10|torch|torch_cpu)\.dll\b")
_PARTS = (b"libc10", b"libtorch", b"c10.dll", b"torch.dll", b"torch_cpu.dll")
"""What each match of ``_LINKED`` has in it: a search for a constant is much faster."""


def needs_pytorch(file: str) -> bool:
    """Whether a compiled file names PyTorch's libraries."""
    code = Path(file).read_bytes()
    return any(part in code for part in _PARTS) and _LINKED.search(code) is not None


def refusal(name: str, file: str) -> str:
    """What is said of such a file."""
    return (
        f"{name} ({file}) is compiled for PyTorch's C++ library, which is not here: torch is "
        "tensorbus in this process. Use the Python parts of its package, or run without "
        "tensorbus.as_torch"
    )


class CompiledForPyTorch:
    """A finder that finds nothing, and raises ImportError for what needs PyTorch's libraries."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if (
            spec is not None
            and isinstance(spec.loader, ExtensionFileLoader)
            and spec.origin is not None
            and needs_pytorch(spec.origin)
        ):
            raise ImportError(refusal(name, spec.origin), name=name, path=spec.origin)
        return None
