"""L0 cases of kernels that users write, for devices whose language is one of those known here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tensorbus import discovery
from tensorbus_conformance import formats
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial, Unsupported

FAMILY = "runtime"
D = formats.FLOAT32
N = 1000

# The same kernel: y[i] = x[i] * by, with its index checked, and the threads that run it.
PARAMETERS = "{g}float *y, {g}const float *x, float by, long n"
SPELLINGS = (
    (
        f"__kernel void scale({PARAMETERS.format(g='__global ')}) {{"
        " long i = get_global_id(0); if (i < n) y[i] = x[i] * by; }",
        (N,),
    ),
    (
        f'extern "C" __global__ void scale({PARAMETERS.format(g="")}) {{'
        " long i = blockIdx.x * (long)blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] * by; }",
        (N,),
    ),
    (
        f"void scale({PARAMETERS.format(g='')}) {{"
        " for (long i = 0; i < n; i++) y[i] = x[i] * by; }",
        (),
    ),
)


def _scale(t: Trial) -> tuple[Callable[..., None], tuple[int, ...]]:
    """The first spelling that the device's compiler takes."""
    build = discovery.offered(t.backend, "compile_source")
    if build is None:
        raise Unsupported("compile_source is not offered")
    for source, threads in SPELLINGS:
        try:
            launch = build(source, "scale", t.index)
        except Exception:
            continue
        if launch is not None:
            return launch, threads
    raise Unsupported("the device's language is none that this case is written in")


def check_launch(t: Trial) -> None:
    """A kernel reads and writes arrays and takes numbers, in the order of other kernels."""
    launch, threads = _scale(t)
    values = np.arange(N, dtype=np.float32)
    x, y = t.backend.from_host(values, D, t.index), t.backend.empty((N,), D, t.index)
    for group in ((), (64,)) if threads else ((),):
        launch(threads, group, y, x, np.float32(2.5), np.int64(N))
        x, y = y, x
    if (np.asarray(t.backend.to_host(x, D)) != values * 2.5 ** (2 if threads else 1)).any():
        raise Mismatch("a kernel of a user's left other values than x * 2.5")


def check_source(t: Trial) -> None:
    """Text that is no program raises, and the device works on."""
    build: Any = discovery.offered(t.backend, "compile_source")
    _scale(t)
    try:
        build("void scale(float *y) { this is no program }", "scale", t.index)
    except Exception:
        check_launch(t)
        return
    raise Mismatch("compile_source took text that is no program")


def cases() -> Iterator[Case]:
    """The cases of kernels that users write."""
    for check in (check_launch, check_source):
        name = check.__name__.removeprefix("check_")
        yield Case(f"L0/compile_source/float32/{name}", FAMILY, check, (D,))
