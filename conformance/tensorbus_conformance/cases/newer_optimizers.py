"""Level 5: optimisers that the common problem does not suit: of matrices, of sparse gradients."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

import tensorbus
from tensorbus import nn, optim
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch, expect
from tensorbus_conformance.trial import Trial

FAMILY = "optimisers"
_ROUNDING = 2.0**-8
"""Of bfloat16, in which Muon multiplies: two products in each step, and one at the end of it."""
_STEPS = 5


def cases() -> Iterator[Case]:
    for dtype in (formats.FLOAT32, formats.FLOAT64):
        for variant, shape in (("square", (4, 4)), ("wide", (3, 6)), ("tall", (6, 3))):
            check = functools.partial(_orthogonal, shape, dtype)
            yield Case(f"L5/optim.Muon/{dtype.name}/{variant}", FAMILY, check, (dtype,))
        yield Case(
            f"L5/optim.SparseAdam/{dtype.name}/dense-gradient",
            FAMILY,
            functools.partial(_refuses_dense, dtype),
            (dtype,),
        )


def _orthogonal(shape: tuple[int, int], dtype: Dtype, t: Trial) -> None:
    """The polynomial of Newton and Schulz in float64, of the singular values."""
    bench = Bench(t)
    host = values.rng("muon", *shape).uniform(-1, 1, shape)
    gradient = bench.send(host.astype(formats.value_dtype(dtype)), dtype)
    param = nn.Parameter(tensorbus.zeros(shape, dtype=dtype, device=bench.device))
    param.grad = gradient
    optim.Muon([param], lr=0.5, weight_decay=0).step()
    u, s, v = np.linalg.svd(host, full_matrices=False)
    s = s / np.linalg.norm(s)
    for _ in range(_STEPS):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    factor = 0.5 * max(1, shape[0] / shape[1]) ** 0.5
    error = np.abs(bench.read(param) + factor * (u * s) @ v).max()
    bound = factor * _ROUNDING * 3 * _STEPS
    expect(error <= bound, f"off the polynomial by {error:.3g}, allowed {bound:.3g}")


def _refuses_dense(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    param = nn.Parameter(tensorbus.ones(2, dtype=dtype, device=bench.device))
    param.grad = tensorbus.ones(2, dtype=dtype, device=bench.device)
    try:
        optim.SparseAdam([param]).step()
    except RuntimeError as error:
        expect("dense gradients" in str(error), f"refused with {error}")
    else:
        raise Mismatch("a step by a dense gradient was taken")
