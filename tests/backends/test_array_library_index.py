"""``take``, ``gather``, ``put`` and ``scatter`` of ``cpu`` against loops over single elements."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

from tensorbus._base import dtypes
from tensorbus.plugin import ArrayLibraryBackend, IndexFault
from tensorbus_cpu_numpy.backend import CpuBackend


class Plain(ArrayLibraryBackend):
    """The common tables alone, without what ``cpu`` puts in front."""

    name = "plain"
    xp = np


BACKENDS = {"cpu": CpuBackend(), "plain": Plain()}
NAMES = ["bool", "uint8", "int16", "int64", "float16", "float32", "complex64"]
OPS = {
    "set": lambda old, new: new,
    "add": operator.add,
    "mul": operator.mul,
    "amax": max,
    "amin": min,
}
RNG = np.random.default_rng(5)

every_backend = pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)


def kernel(backend, op, name):
    return backend.kernel(op, dtypes.dtype_by_name(name), 0)


def random(shape, name):
    # Small enough for every product of five to be exact in float16.
    return RNG.integers(0, 4, shape).astype(name)


def layouts(x):
    spread = np.empty([2 * n for n in x.shape], x.dtype)[tuple(slice(1, None, 2) for _ in x.shape)]
    spread[...] = x
    back = tuple(slice(None, None, -1) for _ in x.shape)
    yield x.copy()
    yield x.T.copy().T
    yield x[back].copy()[back]
    yield spread


@every_backend
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_take(backend, name, dim):
    x = random((3, 4, 5), name)
    n = x.shape[dim]
    for index in ([0], [n - 1, 0, 0, 1], []):
        i = np.array(index, np.int64)
        want = np.stack([np.moveaxis(x, dim, 0)[j] for j in index]) if index else None
        for view in layouts(x):
            got = kernel(backend, "take", name)(view, dim, i, False)
            assert got.dtype == x.dtype
            assert got.shape == (*x.shape[:dim], len(index), *x.shape[dim + 1 :])
            if index:
                np.testing.assert_array_equal(np.moveaxis(got, dim, 0), want)
    wrapped = kernel(backend, "take", name)(x, dim, np.array([-1, -n, 0]), True)
    np.testing.assert_array_equal(wrapped, x.take([n - 1, 0, 0], dim))
    same = kernel(backend, "take", name)(x, dim, np.broadcast_to(np.int64(1), (6,)), False)
    np.testing.assert_array_equal(same, x.take([1] * 6, dim))


@every_backend
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather(backend, name, dim):
    wide = random((3, 4, 5), name)
    shape = [2, 3, 4]
    shape[dim] = 6
    i = RNG.integers(0, wide.shape[dim], shape)
    narrow = tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(shape))
    for view, index in itertools.product(layouts(wide), layouts(i)):
        got = kernel(backend, "gather", name)(view[narrow], dim, index)
        assert got.shape == tuple(shape) and got.dtype == wide.dtype
        for at in np.ndindex(*shape):
            source = list(at)
            source[dim] = i[at]
            assert got[at] == wide[tuple(source)]
    few = kernel(backend, "gather", name)(wide, dim, i[:1, :1, :1] * 0)
    assert few.shape == (1, 1, 1) and few[0, 0, 0] == wide[0, 0, 0]


def applicable(op, name):
    if name == "complex64":
        return op in ("set", "add", "mul")
    return name != "bool" or op == "set"


@every_backend
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_put(backend, op, name, dim):
    if not applicable(op, name):
        return
    x = random((3, 4, 5), name)
    n = x.shape[dim]
    cases = [list(range(n))[::-1], [0], []] if op == "set" else [[0, 1, 0, 0, -1], [1] * 6, []]
    for index, scalar in itertools.product(cases, (False, True)):
        src = random((*x.shape[:dim], len(index), *x.shape[dim + 1 :]), name)
        if scalar:
            src = np.array(2, name)
        want = np.moveaxis(x.copy(), dim, 0)
        for k, j in enumerate(index):
            for at in np.ndindex(*want.shape[1:]):
                value = src if scalar else np.moveaxis(src, dim, 0)[k]
                want[(j, *at)] = OPS[op](want[(j, *at)], value if scalar else value[at])
        for out in layouts(x):
            got = kernel(backend, "put", name)(out, dim, np.array(index, np.int64), src, op, True)
            assert got is out
            np.testing.assert_array_equal(np.moveaxis(out, dim, 0), want, f"{index} {out.strides}")


@every_backend
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("rows", [3, 40])
def test_scatter(backend, op, name, dim, rows):
    if not applicable(op, name):
        return
    x = random((rows, rows + 1), name)
    shape = list(x.shape)
    shape[dim] = 2
    if op == "set":
        i = np.argsort(RNG.random(x.shape), dim).take([0, 1], dim)
    else:
        i = RNG.integers(0, x.shape[dim], shape)
    src = random(shape, name)
    want = x.copy()
    for at in np.ndindex(*shape):
        target = list(at)
        target[dim] = i[at]
        want[tuple(target)] = OPS[op](want[tuple(target)], src[at])
    for index in layouts(i):
        for out in layouts(x):
            got = kernel(backend, "scatter", name)(out, dim, index, src, op)
            assert got is out
            np.testing.assert_array_equal(out, want)


@every_backend
@pytest.mark.parametrize("op", ["amax", "amin"])
def test_nan_wins_in_scattered_extrema(backend, op):
    out = np.array([1.0, np.nan, 3.0], np.float32)
    src = np.array([np.nan, 5.0, 3.0, 2.0], np.float32)
    i = np.array([0, 1, 2, 2])
    for k in ("put", "scatter"):
        got = kernel(backend, k, "float32")(out.copy(), 0, i, src, op, *([False] * (k == "put")))
        np.testing.assert_array_equal(got, [np.nan, np.nan, 3.0 if op == "amax" else 2.0])


@every_backend
def test_duplicates_of_set_store_one_value_whole(backend):
    src = np.arange(1.0, 9.0).reshape(8, 1) * np.ones(3)
    out = kernel(backend, "put", "float64")(
        np.zeros((2, 3)), 0, np.zeros(8, np.int64), src, "set", False
    )
    assert out[0, 0] in range(1, 9) and (out[0] == out[0, 0]).all() and not out[1].any()


@every_backend
def test_elements_not_indexed_keep_their_bytes(backend):
    patterns = np.array([0x7FC12345, 0xFFC00001, 0x80000000, 0x7FA00001], np.uint32)
    halves = np.array([0x7E01, 0xFE02, 0x8000, 0x7D01], np.uint16)
    for bits, name in ((patterns, "float32"), (halves, "float16")):
        for op, values in itertools.product(OPS, layouts(bits.reshape(2, 2))):
            out = values.view(name)
            before = values.copy()
            kernel(backend, "scatter", name)(out, 0, np.array([[1]]), np.array([[2.0]], name), op)
            changed = values != before
            assert not changed[0].any() and not changed[1, 1], (name, op)


@every_backend
@pytest.mark.parametrize(
    ("index", "wrap", "value"),
    [([0, 4], False, 4), ([-1], False, -1), ([2**62, 9], False, 2**62), ([1, -5], True, -5),
     ([0, 4, -9], True, 4), ([-(2**63)], True, -(2**63))],
)  # fmt: skip
def test_faults_name_the_first_index_and_write_nothing(backend, index, wrap, value):
    i = np.array(index)
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    before = x.copy()
    src = np.ones((3, len(index)), np.float32)
    calls = [
        lambda: kernel(backend, "take", "float32")(x, 1, i, wrap),
        lambda: kernel(backend, "put", "float32")(x, 1, i, src, "set", wrap),
        lambda: kernel(backend, "put", "float32")(x, 1, i, src, "add", wrap),
    ]
    if not wrap:
        wide = np.broadcast_to(i, (3, len(index)))
        calls += [
            lambda: kernel(backend, "gather", "float32")(x, 1, wide),
            lambda: kernel(backend, "scatter", "float32")(x, 1, wide, src, "add"),
            lambda: kernel(backend, "scatter", "float32")(x, 1, wide, src, "set"),
        ]
    for call in calls:
        with pytest.raises(IndexFault) as fault:
            call()
        assert (fault.value.value, fault.value.dim, fault.value.n) == (value, 1, 4)
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("repeats", [1, 3, 50])
@pytest.mark.parametrize("name", ["float16", "float32", "int64"])
def test_many_rows_added_by_index(repeats, name):
    out = np.zeros((20, 6), name)
    i = RNG.permutation(np.repeat(np.arange(20), repeats))
    src = RNG.integers(0, 3, (len(i), 6)).astype(name)
    want = np.zeros((20, 6))
    for j, row in zip(i, src, strict=True):
        want[j] += row
    got = kernel(BACKENDS["cpu"], "put", name)(out, 0, i, src, "add", False)
    np.testing.assert_array_equal(got, want)
