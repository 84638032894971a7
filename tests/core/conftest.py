"""Devices made for a test: a backend object plugged in under a name of its own."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tensorbus import discovery
from tensorbus.plugin import ArrayLibraryBackend, Backend, Capabilities, Traits
from tensorbus.plugin.backend import POINTWISE, PRIMITIVES

class Violation(Exception):
    """A kernel was given what its backend's traits disclaim."""


class Box:
    """An opaque array: the frontend may read its shape and nothing else."""

    __slots__ = ("a",)

    def __init__(self, a: Any):
        self.a = np.asarray(a)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.a.shape


class Number:
    """What this backend's kernels take for a Python number."""

    __slots__ = ("a",)

    def __init__(self, a: Any):
        self.a = a


class _Host(ArrayLibraryBackend):
    name = "host"


def _open(x: Any) -> Any:
    return x.a if isinstance(x, (Box, Number)) else x


class BoxedBackend(Backend):
    """NumPy behind opaque arrays, with kernels that refuse what the traits disclaim.

    ``lacking`` are primitives it has no kernel for; ``asked`` and ``called`` log the ops.
    """

    name = "boxed"

    def __init__(self, lacking: Any = (), dtypes: Any = None, **traits: Any):
        self.host = _Host()
        self.traits = dataclasses.replace(Traits(broadcasts=True, takes_empty=True), **traits)  # type: ignore[misc]
        self.lacking = frozenset(lacking)
        self.dtypes = dtypes
        self.asked: list[tuple[str, str]] = []
        self.called: list[str] = []

    def device_count(self) -> int:
        return 1

    def capabilities(self, index: int) -> Capabilities:
        return Capabilities(self.name, self.dtypes or self.host.capabilities(0).dtypes)

    def empty(self, shape: Any, dtype: Any, index: int) -> Box:
        made = self.host.empty(tuple(shape), dtype, index)
        made.fill(99)  # whoever reads it before writing is found out
        return Box(made)

    def from_host(self, array: np.ndarray, dtype: Any, index: int) -> Box:
        return Box(self.host.from_host(array, dtype, index))

    def to_host(self, array: Box, dtype: Any) -> np.ndarray:
        return self.host.to_host(array.a, dtype)

    def copy_(self, dst: Box, dst_dtype: Any, src: Any, src_dtype: Any) -> None:
        if isinstance(src, Box) and src.shape != dst.shape:
            raise Violation(f"copy_ of {src.shape} into {dst.shape}")
        self.host.copy_(dst.a, dst_dtype, _open(src), src_dtype)

    def as_strided(
        self, array: Box, shape: Any, strides: Any, offset: int, dtype: Any, new_dtype: Any
    ) -> Box:
        if not self.traits.negative_strides and any(s < 0 for s in strides):
            raise Violation("a negative stride, though negative_strides is False")
        return Box(self.host.as_strided(array.a, shape, strides, offset, dtype, new_dtype))

    def layout(self, array: Box, dtype: Any) -> Any:
        return self.host.layout(array.a, dtype)

    def storage_size(self, array: Box, dtype: Any) -> int:
        return self.host.storage_size(array.a, dtype)

    def dtype(self, dtype: Any) -> Any:
        return self.host.dtype(dtype)

    def scalar(self, value: Any, dtype: Any) -> Number:
        return Number(self.host.scalar(value, dtype))

    def kernel(self, op: str, dtype: Any, index: int) -> Any:
        self.asked.append((op, dtype.name))
        if op not in PRIMITIVES or op in self.lacking:
            return None
        kernel = self.host.kernel(op, dtype, index)
        if kernel is None:
            return None

        def call(*args: Any, **options: Any) -> Box:
            self.called.append(op)
            self._check(op, args, options.get("out"))
            opened = {k: _open(v) for k, v in options.items()}
            with np.errstate(all="ignore"):
                result = kernel(*(_open(a) for a in args), **opened)
            return options["out"] if options.get("out") is not None else Box(result)

        return call

    def _check(self, op: str, args: tuple[Any, ...], out: Any) -> None:
        traits = self.traits
        arrays = [a.a for a in args if isinstance(a, Box)]
        inputs = arrays[1:] if op in ("put", "scatter") else arrays
        if traits.contiguous_inputs and not all(a.flags.c_contiguous for a in inputs):
            raise Violation(f"{op}: a strided input, though contiguous_inputs is True")
        if not traits.strided_out and out is not None and not out.a.flags.c_contiguous:
            raise Violation(f"{op}: a strided out, though strided_out is False")
        if not traits.takes_empty and any(a.size == 0 for a in arrays):
            raise Violation(f"{op}: an empty array, though takes_empty is False")
        if not traits.broadcasts:
            shapes = {a.shape for a in arrays}
            if op in POINTWISE and len(shapes) > 1:
                raise Violation(f"{op}: shapes {shapes}, though broadcasts is False")
            if op == "matmul" and arrays[0].shape[:-2] != arrays[1].shape[:-2]:
                raise Violation(f"matmul: batches {[a.shape for a in arrays]} differ")


Plug = Callable[[Backend], str]


@contextlib.contextmanager
def plugged() -> Iterator[Plug]:
    """``plug(backend)``: the device type under which a backend object can be used."""
    with contextlib.ExitStack() as stack:
        yield lambda backend: stack.enter_context(discovery.plugged(backend))


@pytest.fixture
def plug() -> Iterator[Plug]:
    """``plug(backend)``: the device type under which a backend object can be used."""
    with plugged() as make:
        yield make


@pytest.fixture
def boxed() -> type[BoxedBackend]:
    """The class of backends whose kernels hold the frontend to the traits."""
    return BoxedBackend


@pytest.fixture(scope="module")
def shared() -> Iterator[Callable[..., str]]:
    """``shared(**traits)``: a boxed device with these traits, one for each set in a module."""
    with plugged() as make:
        made: dict[Any, str] = {}

        def device(**traits: bool) -> str:
            key = tuple(sorted(traits.items()))
            if key not in made:
                made[key] = make(BoxedBackend(**traits))
            return made[key]

        yield device


@pytest.fixture
def accelerator() -> str:
    """A device other than the CPU that works here; skips where there is none."""
    usable = []
    for name in discovery.backend_names():
        try:
            if name != "cpu" and not name[-1].isdigit() and discovery.backend(name).device_count():
                usable.append(name)
        except RuntimeError:
            continue
    if not usable:
        pytest.skip("no accelerator can be used on this machine")
    return usable[0]
