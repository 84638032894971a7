"""An overlay for ``cpu`` that makes one C loop of each pointwise graph: an example of ``compile``.

It needs a C compiler on the path (cc, gcc or clang), and nothing but NumPy beside it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

from tensorbus.plugin import Backend, Graph, Overlay, OverlaySpec, hookimpl

NAMES = ("cc", "gcc", "clang")


def compiler() -> str:
    """The C compiler's path."""
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    raise RuntimeError(f"no C compiler is on the path: install one of {', '.join(NAMES)}")


class Loops(Overlay):
    """Compiles pointwise graphs of floats and truth values, and leaves the rest."""

    name = "c_graphs"

    def __init__(self, backend: Backend):
        from tensorbus_c_graphs.kernels import Folder

        self.folder = Folder(compiler())

    def compile(self, graph: Graph, index: int) -> Callable[..., Any] | None:
        from tensorbus_c_graphs.kernels import Pointwise
        from tensorbus_c_graphs.source import Declined

        try:
            return Pointwise(graph, self.folder)
        except Declined:
            return None


@hookimpl
def tensorbus_overlay() -> OverlaySpec:
    """The overlay ``c_graphs``, whose library is loaded with the first op that is composed."""
    return OverlaySpec(
        name="c_graphs",
        backend="cpu",
        ops=(),
        load=Loops,
        probe=lambda: compiler() and None,
        requires=("numpy",),
        graphs=True,
    )
