"""The runner arranges what a backend's traits ask, and holds it to nothing it disclaims."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tensorbus import discovery
from tensorbus.plugin import PRIMITIVES, VIEWS, ArrayLibraryBackend, Backend, Kernel, dtype
from tensorbus_conformance import run

CPU = type(discovery.backend("cpu"))

PATTERNS = [
    f"L1/{op}/float32/*" for op in "add where sum cumsum matmul take gather scatter argsort".split()
]


class Declared(Exception):
    """A kernel was given what its backend disclaims."""


def restricted(**traits: Any) -> Backend:
    """The cpu backend with these traits, whose kernels refuse what the traits disclaim."""

    class Restricted(CPU):
        def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
            kernel = super().kernel(op, dtype, index)

            def guarded(*args: Any, **kwargs: Any) -> Any:
                arrays = [a for a in args if isinstance(a, np.ndarray)]
                # What put and scatter write into is strided whatever the traits say.
                inputs = arrays[1:] if op in ("put", "scatter") else arrays
                out = kwargs.get("out")
                values = [a for a in inputs if a.ndim or op not in ("add", "where")]
                dense = all(a.flags.c_contiguous for a in inputs)
                if self.traits.contiguous_inputs and not dense:
                    raise Declared("a strided input, though contiguous_inputs is True")
                if not self.traits.strided_out and out is not None and not out.flags.c_contiguous:
                    raise Declared("a strided out, though strided_out is False")
                if not self.traits.takes_empty and any(a.size == 0 for a in inputs):
                    raise Declared("an empty array, though takes_empty is False")
                if any(a.ndim > self.traits.max_rank for a in arrays):
                    raise Declared("many dimensions, though max_rank is small")
                shapes = {a.shape for a in values} if op in ("add", "where") else set()
                if not self.traits.broadcasts and len(shapes) > 1:
                    raise Declared("unequal shapes, though broadcasts is False")
                return kernel(*args, **kwargs)

            return guarded if kernel is not None else None

        def as_strided(self, array, shape, strides, offset, dtype, new_dtype) -> Any:
            if not self.traits.negative_strides and any(s < 0 for s in strides):
                raise Declared("a negative stride, though negative_strides is False")
            return super().as_strided(array, shape, strides, offset, dtype, new_dtype)

    Restricted.traits = dataclasses.replace(CPU.traits, **traits)
    return Restricted()


@pytest.mark.parametrize(
    "traits",
    [
        {"contiguous_inputs": True},
        {"strided_out": False},
        {"takes_empty": False},
        {"broadcasts": False},
        {"negative_strides": False},
        {"deterministic_scatter": False},
        {"max_rank": 3},
        {"contiguous_inputs": True, "strided_out": False, "broadcasts": False,
         "takes_empty": False, "negative_strides": False, "deterministic_scatter": False,
         "max_rank": 3},
    ],
    ids=lambda traits: "-".join(traits),
)  # fmt: skip
def test_a_restricted_backend_conforms(traits: dict[str, Any]) -> None:
    backend = restricted(**traits)
    outcomes = set()
    for pattern in [*PATTERNS, "L0/as_strided/float32/*", "L0/host/float32/*"]:
        report = run(backend, pattern=pattern, gaps=())
        assert not report.failures, report.failures[0]
        outcomes |= set(report.counts())
    told = "not supported" in outcomes
    declines = {
        "takes_empty",
        "broadcasts",
        "negative_strides",
        "deterministic_scatter",
        "max_rank",
    }
    assert told == bool(declines & set(traits))


class Plain(ArrayLibraryBackend):
    """The base class over NumPy, as a new plugin begins."""

    name = "plain"
    xp = np


@pytest.mark.slow
def test_the_base_class_conforms_by_itself(kernels: str) -> None:
    report = run(Plain(), pattern=kernels, gaps=())
    assert report.ok, [f"{r.id}: {r.message}" for r in report.failures[:10]]


class Flushing(CPU):
    """Computes without subnormal numbers, those that it is given and those that it would give."""

    name = "flushing"
    says_so = True

    def capabilities(self, index):
        found = super().capabilities(index)
        told = {"subnormals": "flush"} if self.says_so else {}
        return dataclasses.replace(found, details={**found.details, **told})

    def kernel(self, op, dtype, index):
        kernel = super().kernel(op, dtype, index)
        if op in VIEWS or kernel is None or op in ("copy_", "put", "scatter"):
            return kernel
        if op not in PRIMITIVES:
            return None

        def call(*args, **kwargs):
            result = kernel(*map(_flushed, args), **kwargs)
            out = kwargs.get("out")
            if out is None:
                return _flushed(result)
            out[...] = _flushed(out)
            return out

        return call


def _flushed(x):
    if not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind != "f":
        return x
    tiny = np.abs(x) < np.finfo(x.dtype).smallest_normal
    return np.where(tiny, np.copysign(x.dtype.type(0), x), x)[()]


@pytest.mark.parametrize("pattern", ["L1/*/float32/*", "L2/*/float32/*"])
def test_a_device_without_subnormals_conforms_if_it_says_so(pattern: str) -> None:
    report = run(Flushing(), profile="core", pattern=pattern, gaps=())
    assert len(report.results) > 800
    assert report.ok, [f"{r.id}: {r.message}" for r in report.failures[:5]]


def test_a_device_without_subnormals_fails_if_it_does_not_say_so() -> None:
    class Silent(Flushing):
        says_so = False

    report = run(Silent(), "L1", "L1/*/float32/subnormals", gaps=())
    assert {r.op for r in report.failures} >= {"eq", "lt", "mul", "div"}
