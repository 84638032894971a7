"""Graphs that pick elements by indices, for tests of compilers, and what they give in float64."""

from __future__ import annotations

import numpy as np
import scipy.special

RNG = np.random.default_rng(17)

ROWS = """
def graph(w: float32[s0, s1], i: int64[s2], b: float32[s1]):
    v0: float32[s2, s1] = take(w, 0, i, {wrap})
    v1: float32[s2, s1] = mul(v0, b)
    v2: float32[s2, s1] = exp(v1)
    return v2
"""
COLUMNS = """
def graph(w: float32[s0, s1], i: int64[s2], b: float32[s0, 1]):
    v0: float32[s0, s2] = take(w, 1, i, {wrap})
    v1: float32[s0, s2] = mul(v0, b)
    v2: float32[s0, s2] = exp(v1)
    return v2
"""
EACH = """
def graph(x: float32[s0, s1], i: int64[s0, s2], b: float32[s0, 1]):
    v0: float32[s0, s2] = gather(x, 1, i)
    v1: float32[s0, s2] = mul(v0, b)
    v2: float32[s0, s2] = exp(v1)
    return v2
"""
BAG = """
def graph(w: float32[s0, s1], i: int64[s2]):
    v0: float32[s2, s1] = take(w, 0, i, True)
    v1: float32[s2, s1] = mul(v0, v0)
    v2: float32[s1] = sum(v1, (0,), float32)
    v3: float32[s1] = mul(v2, 0.5)
    return v3
"""
SOFTMAX = """
def graph({inputs}):
    v0: float32[s0, s1] = {pick}
    v1: float32[s0] = amax(v0, (1,))
    v2: float32[s0, 1] = unsqueeze(v1, 1)
    v3: float32[s0, s1] = sub(v0, v2)
    v4: float32[s0, s1] = exp(v3)
    v5: float32[s0] = sum(v4, (1,), float32)
    v6: float32[s0, 1] = unsqueeze(v5, 1)
    v7: float32[s0, s1] = div(v4, v6)
    return v7
"""
OF_ROWS = SOFTMAX.format(inputs="w: float32[s2, s1], i: int64[s0]", pick="take(w, 0, i, False)")
OF_ELEMENTS = SOFTMAX.format(inputs="x: float32[s0, s2], i: int64[s0, s1]", pick="gather(x, 1, i)")
TWICE = """
def graph(x: float32[s0], j: int64[s1], i: int64[s2], k: int64[s2]):
    v0: int64[s2] = take(j, 0, i, True)
    v1: int64[s2] = mul(v0, k)
    v2: float32[s2] = take(x, 0, v1, False)
    v3: float32[s2] = exp(v2)
    return v3
"""
LOSS = """
def graph(x: float32[s0, s1], i: int64[s0], w: float32[s1]):
    v0: float32[s0] = amax(x, (1,))
    v1: float32[s0, 1] = unsqueeze(v0, 1)
    v2: float32[s0, s1] = sub(x, v1)
    v3: float32[s0, s1] = exp(v2)
    v4: float32[s0] = sum(v3, (1,), float32)
    v5: float32[s0] = log(v4)
    v6: int64[s0, 1] = unsqueeze(i, 1)
    v7: float32[s0, 1] = gather(x, 1, v6)
    v8: float32[s0] = view(v7, (s0,))
    v9: float32[s0] = sub(v8, v0)
    v10: float32[s0] = sub(v5, v9)
    v11: float32[s0] = gather(w, 0, i)
    v12: float32[s0] = mul(v10, v11)
    return v12
"""
TURNED = """
def graph(w: float32[s0, s1], i: int64[s2]):
    v0: float32[s1, s0] = permute(w, (1, 0))
    v1: float32[s1, s2] = take(v0, 1, i, True)
    v2: float32[s1, s2] = mul(v1, 2.0)
    v3: float32[s1] = sum(v2, (1,), float32)
    return v3
"""
PLANES = """
def graph(x: float32[s0, s1, s2, s3], i: int64[s4]):
    v0: float32[s0, s4, s2, s3] = take(x, 1, i, True)
    v1: float32[s0, s4, s2, s3] = mul(v0, 2.0)
    v2: float32[s0, s4, s2, s3] = exp(v1)
    return v2
"""
ITSELF = """
def graph(x: float32[s0, s1], i: int64[s0]):
    v0: float32[s0] = sum(x, (1,), float32)
    v1: float32[s0] = cast(i, float32)
    v2: float32[s0] = mul(v0, v1)
    v3: float32[s0, s0] = take(x, 1, i, False)
    v4: float32[s0, s0] = mul(v3, 2.0)
    v5: float32[s0, s0] = exp(v4)
    return v2, v5
"""
COMPUTED = """
def graph(x: float32[s0, s1], i: int64[s0, s1]):
    v0: float32[s0] = sum(x, (1,), float32)
    v1: float32[s0, 1] = unsqueeze(v0, 1)
    v2: float32[s0, s1] = div(x, v1)
    v3: float32[s0, s1] = gather(v2, 1, i)
    v4: float32[s0, s1] = sub(v3, v2)
    v5: float32[s0] = sum(v4, (1,), float32)
    v6: float32[s0, s1] = mul(v4, 2.0)
    return v5, v6
"""
OF_PRODUCTS = """
def graph(w: float32[s0, s1], i: int64[s2], b: float32[s1], c: float32[s0, 1]):
    v0: float32[s0, s1] = mul(w, b)
    v1: float32[s0, s1] = exp(v0)
    v2: float32[s0, s1] = add(v1, c)
    v3: float32[s1, s0] = permute(v2, (1, 0))
    v4: float32[s1, s2] = take(v3, 1, i, {wrap})
    v5: float32[s1, s2] = mul(v4, 0.5)
    return v5
"""
OF_DISTANCES = """
def graph(x: float32[s0, s1], i: int64[s0, s2]):
    v0: float32[s0] = amax(x, (1,))
    v1: float32[s0, 1] = unsqueeze(v0, 1)
    v2: float32[s0, s1] = sub(x, v1)
    v3: int64[s0, s2] = mul(i, 1)
    v4: float32[s0, s2] = gather(v2, 1, v3)
    v5: float32[s0, s2] = exp(v4)
    return v5
"""
OF_PICKED = """
def graph(x: float32[s0, s1], i: int64[s2], j: int64[s0]):
    v0: float32[s2, s1] = take(x, 0, i, False)
    v1: float32[s2, s1] = mul(v0, 2.0)
    v2: float32[s2, s0] = take(v1, 1, j, False)
    v3: float32[s2, s0] = exp(v2)
    return v3
"""
OF_SOFTMAX = """
def graph(x: float32[s0, s1], i: int64[s2]):
    v0: float32[s0, s1] = exp(x)
    v1: float32[s0] = sum(v0, (1,), float32)
    v2: float32[s0, 1] = unsqueeze(v1, 1)
    v3: float32[s0, s1] = div(v0, v2)
    v4: float32[s2, s1] = take(v3, 0, i, False)
    v5: float32[s2, s1] = mul(v4, 2.0)
    return v5
"""


def normal(*shape):
    return RNG.standard_normal(shape).astype("float32")


def indices(n, *shape, low=0):
    return RNG.integers(low * n, n, shape)


def along(x, i):
    return np.take_along_axis(x, i.astype(int), 1)


def loss(x, i, w):
    i = i.astype(int)
    return -scipy.special.log_softmax(x, 1)[np.arange(len(i)), i] * w[i]


def computed(x, i):
    y = x / x.sum(1, keepdims=True)
    made = along(y, i) - y
    return made.sum(1), 2 * made


# The text, its operands for sizes (n, m, k), its result in float64, and its launches.
CASES = {
    "rows": (
        ROWS.format(wrap=False),
        lambda n, m, k: (normal(n, m), indices(n, k), normal(m)),
        lambda w, i, b: np.exp(w[i.astype(int)] * b),
        1,
    ),
    "rows from the end": (
        ROWS.format(wrap=True),
        lambda n, m, k: (normal(n, m), indices(n, k, low=-1), normal(m)),
        lambda w, i, b: np.exp(w[i.astype(int)] * b),
        1,
    ),
    "columns": (
        COLUMNS.format(wrap=True),
        lambda n, m, k: (normal(n, m), indices(m, k, low=-1), normal(n, 1)),
        lambda w, i, b: np.exp(w[:, i.astype(int)] * b),
        1,
    ),
    "elements": (
        EACH,
        lambda n, m, k: (normal(n, m), indices(m, n, k), normal(n, 1)),
        lambda x, i, b: np.exp(along(x, i) * b),
        1,
    ),
    "bag": (
        BAG,
        lambda n, m, k: (normal(n, m), indices(n, k, low=-1)),
        lambda w, i: 0.5 * (w[i.astype(int)] ** 2).sum(0),
        None,
    ),
    "softmax of rows": (
        OF_ROWS,
        lambda n, m, k: (normal(n, m), indices(n, k)),
        lambda w, i: scipy.special.softmax(w[i.astype(int)], 1),
        1,
    ),
    "softmax of elements": (
        OF_ELEMENTS,
        lambda n, m, k: (normal(n, m), indices(m, n, k)),
        lambda x, i: scipy.special.softmax(along(x, i), 1),
        1,
    ),
    "an index that is picked": (
        TWICE,
        lambda n, m, k: (normal(n), indices(n, m), indices(m, k, low=-1), indices(2, k)),
        lambda x, j, i, c: np.exp(x[(j[i.astype(int)] * c).astype(int)]),
        1,
    ),
    "loss": (LOSS, lambda n, m, k: (normal(n, m), indices(m, n), normal(m)), loss, 1),
    "a view": (
        TURNED,
        lambda n, m, k: (normal(n, m), indices(n, k, low=-1)),
        lambda w, i: 2 * w[i.astype(int)].sum(0),
        1,
    ),
    "planes": (
        PLANES,
        lambda n, m, k: (normal(2, n, 3, m), indices(n, k, low=-1)),
        lambda x, i: np.exp(2 * x[:, i.astype(int)]),
        1,
    ),
    "dimensions that lie along each other": (
        ITSELF,
        lambda n, m, k: (normal(n, m), indices(m, n)),
        lambda x, i: (x.sum(1) * i, np.exp(2 * x[:, i.astype(int)])),
        3,
    ),
    "what was computed": (
        COMPUTED,
        lambda n, m, k: (np.abs(normal(n, m)) + 1, indices(m, n, m)),
        computed,
        1,
    ),
    "rows that are computed": (
        OF_PRODUCTS.format(wrap=True),
        lambda n, m, k: (normal(n, m), indices(n, k, low=-1), normal(m), normal(n, 1)),
        lambda w, i, b, c: (np.exp(w * b) + c)[i.astype(int)].T / 2,
        None,
    ),
    "elements of what hangs on a reduction": (
        OF_DISTANCES,
        lambda n, m, k: (normal(n, m), indices(m, n, k)),
        lambda x, i: np.exp(along(x - x.max(1, keepdims=True), i)),
        2,
    ),
    "elements of what was picked": (
        OF_PICKED,
        lambda n, m, k: (normal(n, m), indices(n, k), indices(m, n)),
        lambda x, i, j: np.exp(2 * x[i.astype(int)][:, j.astype(int)]),
        2,
    ),
    "rows of what hangs on a reduction of each": (
        OF_SOFTMAX,
        lambda n, m, k: (normal(n, m), indices(n, k)),
        lambda x, i: 2 * scipy.special.softmax(x, 1)[i.astype(int)],
        2,
    ),
}
SIZES = ((40, 6, 5), (33, 37, 70), (2, 3, 1))
