"""NVIDIA's own compiler takes the kernels of this backend, for each dtype."""

from __future__ import annotations

import os
from typing import Any

import cupy
import numpy as np
import pytest
from cuda_host import compiler

from tensorbus._base import dtypes
from tensorbus.plugin import POINTWISE
from tensorbus.plugin.kernel_language.scalars import UNARY
from tensorbus_cuda_cupy.pointwise import ACTIVATIONS

ARCHITECTURES = ("80", "90")
# The headers have other functions for these on each generation; the rest is the same text.
ON_BOTH = ("float16", "bfloat16")
COMMON = ("bool", "int64", "float16", "float32", "bfloat16", "complex64")
REST = ("uint8", "int8", "int16", "int32", "float64", "complex128")
MORE = (
    "erf",
    "rsqrt",
    "sigmoid",
    "relu",
    "sign",
    "remainder",
    "isnan",
    "isinf",
    "isfinite",
    *ACTIVATIONS,
)


def run_all(backend: Any, name: str) -> None:
    """Call each kernel of the dtype once, so that its text is compiled."""
    d = dtypes.dtype_by_name(name)
    x = (
        backend.from_host(np.full((2, 3), 0x3F80, np.uint16), d, 0)
        if name == "bfloat16"
        else (cupy.ones((2, 3), name))
    )
    i, wide = cupy.array([0, 1]), cupy.zeros((2, 3), np.int64)

    def call(op: str, *arguments: Any) -> None:
        kernel = backend.kernel(op, d, 0)
        if kernel is not None:
            kernel(*arguments)

    for op in (*POINTWISE, *MORE):
        if op == "where":
            call(op, x == x, x, x)
        elif op in UNARY or op in ACTIVATIONS:
            call(op, x)
        else:
            call(op, x, x)
    call("take", x, 0, i)
    call("gather", x, 0, wide)
    for op in ("set", "add", "mul", "amax", "amin"):
        if not (d.is_complex and op.startswith("am")):
            call("put", x.copy(), 0, i, x, op)
            call("scatter", x.copy(), 0, wide, x, op)
    if not d.is_complex:
        call("argmax", x, 1)
        call("argmin", x, 1)
    key = ((1, 2), 3, 4)
    for op, more in (("uniform", ()), ("normal", ()), ("integers", (0, 5))):
        if (op == "integers") == (d.category == dtypes.INTEGER):
            call(op, *key, *more)
    if name == "int64":
        call("random_bits", *key)
    for op in ("softmax", "log_softmax"):
        call(op, x, 1)
        call(f"{op}_backward", x, x, 1)


@pytest.mark.skipif(os.environ["TENSORBUS_CUDA"] != "host", reason="a GPU compiles what it runs")
@pytest.mark.parametrize(
    "name", [*COMMON, *(pytest.param(n, marks=pytest.mark.long) for n in REST)]
)
def test_every_kernel_compiles(backend: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUPY_CACHE_IN_MEMORY", "1")
    before = len(compiler.texts)
    run_all(backend, name)
    ours = [(t, o) for t, o in compiler.texts[before:] if "tensorbus_" in t]
    # bfloat16 computes in float32, whose kernels are there by now: conversions are its own.
    assert len(ours) > (0 if name == "bfloat16" else 8)
    for text, options in ours:
        for architecture in ARCHITECTURES if name in ON_BOTH else ARCHITECTURES[:1]:
            image, _ = compiler.nvrtc(text, options, architecture)
            assert image[:4] == b"\x7fELF"
