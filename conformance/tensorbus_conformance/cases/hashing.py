"""Level 4: the bits of elements joined by exclusive or, where a device has the dtypes for them."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.bench import expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import same
from tensorbus_conformance.trial import Trial

_FLOATS = np.array([[1.5, -2.0, 0.25, -0.0], [3.0, np.nan, np.inf, 7.0], [1.0, 1.0, -1.0, 0.5]])


def cases() -> Iterator[Case]:
    for d in (formats.FLOAT32, formats.INT64):
        name = str(d).removeprefix("torch.")
        yield Case(f"L4/hash_tensor/{name}/bits", "reductions", functools.partial(_run, d), (d,))


def _run(d: tensorbus.dtype, t: Trial) -> None:
    whole = d == formats.INT64
    values = np.arange(-6, 6).reshape(3, 4) ** 3 if whole else _FLOATS
    x = tensorbus.tensor(values, device=t.device.type, dtype=d)
    needed = {tensorbus.uint64} if whole else {tensorbus.uint64, tensorbus.float64}
    if not needed <= set(tensorbus.accelerator.capabilities(x.device).dtypes):
        expect_raises(lambda: tensorbus.hash_tensor(x), TypeError)
        return
    bits = values.view(np.uint64)
    for dim, axes in (((), (0, 1)), (0, 0), (-1, 1), ((1, 0), (0, 1))):
        want = np.bitwise_xor.reduce(bits, axes)
        for keepdim in (False, True):
            found = tensorbus.hash_tensor(x.t(), _turned(dim), keepdim=keepdim)
            shaped = np.bitwise_xor.reduce(bits, axes, keepdims=True).T if keepdim else want
            same(f"along {dim}", found.tolist(), shaped.tolist())
            same("the dtype", found.dtype, tensorbus.uint64)
    same("a method", x.hash_tensor(0).tolist(), np.bitwise_xor.reduce(bits, 0).tolist())


def _turned(dim: object) -> object:
    """The dimensions in the transposed matrix."""
    if isinstance(dim, tuple):
        return tuple(1 - d for d in dim)
    return 1 - (dim % 2) if isinstance(dim, int) else dim
