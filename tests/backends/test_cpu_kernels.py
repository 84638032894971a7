"""Kernels that ``cpu`` has in place of NumPy's own, where they are quicker."""

from __future__ import annotations

import numpy as np
import pytest

from tensorbus._base import dtypes
from tensorbus_cpu_numpy.backend import CpuBackend

# A warning of NumPy is in the name of the kernel; the tests take back the filter for its package.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

BACKEND = CpuBackend()


def kernel(op, name):
    return BACKEND.kernel(op, dtypes.dtype_by_name(name), 0)


@pytest.mark.parametrize("name", ["bool", "uint8", "int16", "float32", "int64", "float64"])
@pytest.mark.parametrize("n", [5, 5000])
def test_where_beside_a_zero_keeps_every_bit(name, n):
    """A zero beside many elements has a shorter way: not -0, not where it would lose a bit."""
    m = np.random.default_rng(0).random(n) > 0.5
    bits = np.resize(np.arange(-128, 128, dtype=np.int8), n * np.dtype(name).itemsize)
    x = (bits > 0) if name == "bool" else bits.view(name)
    zeros = [np.zeros((), name), *([np.array(-0.0, name)] if "float" in name else [])]
    for zero in zeros:
        for a, b in ((zero, x), (x, zero)):
            got = kernel("where", name)(m, a, b)
            expected = [(a if c else b)[() if (a if c else b).ndim == 0 else i].tobytes()
                        for i, c in enumerate(m)]  # fmt: skip
            assert [v.tobytes() for v in got] == expected
            assert got.dtype == name
    rows = kernel("where", name)(m, zeros[0], np.stack([x, x]))
    assert rows.shape == (2, n) and not rows[:, m].any()
    turned = np.stack([x, x]).T
    assert not kernel("where", name)(np.stack([m, m]).T, zeros[0], turned)[m].any()


def test_logcumsumexp_of_many_keeps_the_digits():
    """The sum of n equal terms is n times as large: its logarithm to the last digit, at any n."""
    x = np.full((2, 100_000), 3.0, np.float32)
    got = kernel("logcumsumexp", "float32")(x, 1)
    want = (3.0 + np.log(np.arange(1.0, 100_001.0))).astype(np.float32)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, np.stack([want, want]))
    edge = np.array([-np.inf, 1.0, np.inf, 2.0, np.nan, 0.0])
    got = kernel("logcumsumexp", "float64")(edge, 0)
    np.testing.assert_array_equal(got, [-np.inf, 1.0, np.inf, np.inf, np.nan, np.nan])
