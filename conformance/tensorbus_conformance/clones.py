"""Copies of a backend that give other kernels: to watch them, or to leave some out."""

from __future__ import annotations

import copy
from typing import Any

from tensorbus import discovery
from tensorbus.plugin import PRIMITIVES, Backend, Graph, Kernel
from tensorbus.plugin import dtype as Dtype


def composed_ops() -> list[str]:
    """The ops that the frontend composes of others where a backend has no kernel for them."""
    from tensorbus.rows.registry import ROWS

    return [name for name, row in ROWS.items() if row.composite is not None]


def composed(backend: Backend) -> Backend:
    """The backend with its primitives alone, so that every other op is composed of these."""
    clone = uncompiled(backend)

    def kernel(op: str, dtype: Dtype, index: int) -> Kernel | None:
        return backend.kernel(op, dtype, index) if op in PRIMITIVES else None

    clone.kernel = kernel  # type: ignore[method-assign]
    return clone


def compiling(backend: Backend, ran: list[Graph]) -> Backend:
    """The backend with all compilers for it as its own, which put a graph into *ran* whenever its
    kernel has run.
    """
    clone = copy.copy(backend)
    asked = discovery.compilers(backend)

    def compile(graph: Graph, index: int) -> Kernel | None:
        found = (made for one in asked if (made := one(graph, index)) is not None)
        kernel = next(found, None)
        if kernel is None:
            return None

        def call(*inputs: Any, out: Any = None) -> Any:
            made = kernel(*inputs, out=out)
            if made is not NotImplemented:
                ran.append(graph)
            return made

        return call

    clone.compile = compile  # type: ignore[method-assign]
    return clone


def uncompiled(backend: Backend) -> Backend:
    """The backend, which compiles nothing."""
    clone = copy.copy(backend)
    clone.compile = lambda graph, index: None  # type: ignore[method-assign]
    return clone


def watched(backend: Backend, used: set[str]) -> Backend:
    """The backend with kernels that put ``op/dtype`` into *used* when they are called."""
    clone = copy.copy(backend)

    def kernel(op: str, dtype: Dtype, index: int) -> Kernel | None:
        own = backend.kernel(op, dtype, index)
        if own is None:
            return None

        def call(*args: Any, **options: Any) -> Any:
            used.add(f"{op}/{dtype.name}")
            return own(*args, **options)

        return call

    clone.kernel = kernel  # type: ignore[method-assign]
    return clone
