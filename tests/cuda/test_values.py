"""What the ``cuda`` backend does otherwise than its library: values, faults, storages.

On the host these say what the kernels' texts compute; on a GPU, what the GPU does.
"""

from __future__ import annotations

import itertools
import math

import cupy
import numpy as np
import pytest

from tensorbus._base import dtypes
from tensorbus.plugin import PRIMITIVES, IndexFault
from tensorbus_conformance.primitives import domain

RNG = np.random.default_rng(13)
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]


def kernel(backend, op, name):
    """The kernel over NumPy arrays, of which ``out`` is written as the device's is."""
    found = backend.kernel(op, dtypes.dtype_by_name(name), 0)
    if not callable(found):
        return found

    def call(*arguments, **options):
        moved = [cupy.array(a, order="K") if isinstance(a, np.ndarray) else a for a in arguments]
        host = options.pop("out", None)
        if host is not None:
            same = [m for a, m in zip(arguments, moved, strict=True) if a is host]
            options["out"] = same[0] if same else cupy.array(host, order="K")
        elif op in ("put", "scatter"):
            host = arguments[0]
        got = found(*moved, **options)
        if host is None:
            return got.get()
        assert got is options.get("out", moved[0])
        host[...] = got.get()
        return host

    return call


# -- faults ----------------------------------------------------------------------------------
def test_faults_wait_for_the_next_read_and_the_first_one_stays(backend):
    x = np.arange(6.0).reshape(2, 3)
    take = kernel(backend, "take", "float64")
    got = take(x, 1, np.array([2, 7, -4]), False)
    assert got.shape == (2, 3) and got[0, 0] == 2
    take(x, 0, np.array([9]), False)
    take(x, 0, np.array([1]), False)
    with pytest.raises(IndexFault) as fault:
        backend.faults.raise_pending(0)
    assert (fault.value.value, fault.value.dim, fault.value.n) == (7, 1, 3)
    backend.faults.raise_pending(0)


@pytest.mark.parametrize("value", [3, -1, 2**62, -(2**63)])
def test_every_index_kernel_records_its_faults(backend, value):
    x, src = np.zeros((3, 2)), np.ones((1, 2))
    i = np.array([value])
    wide = np.broadcast_to(i[:, None], (1, 2))
    for call in (
        lambda: kernel(backend, "take", "float64")(x, 0, i, False),
        lambda: kernel(backend, "gather", "float64")(x, 0, wide),
        lambda: kernel(backend, "put", "float64")(x, 0, i, src, "add", False),
        lambda: kernel(backend, "scatter", "float64")(x, 0, wide, src, "set"),
    ):
        call()
        with pytest.raises(IndexFault) as fault:
            backend.faults.raise_pending(0)
        assert (fault.value.value, fault.value.dim, fault.value.n) == (value, 0, 3)


def test_faults_of_devices_are_apart(backend):
    one = backend.kernel("take", dtypes.float32, 0)
    one(cupy.zeros((3, 3), np.float32), 1, cupy.array([-3, 2, 0, -1]), True)
    backend.faults.raise_pending(0)
    if backend.device_count() == 1:
        return
    with cupy.cuda.Device(1):
        arrays = cupy.zeros((2, 2, 3), np.float32), cupy.array([-4])
    backend.kernel("take", dtypes.float32, 1)(arrays[0], 2, arrays[1], True)
    backend.faults.raise_pending(0)
    with pytest.raises(IndexFault, match="index -4 is out of bounds for dimension 2 with size 3"):
        backend.faults.raise_pending(1)


# -- index kernels ---------------------------------------------------------------------------
OPS = {"set": lambda old, new: new, "add": lambda a, b: a + b, "mul": lambda a, b: a * b,
       "amax": max, "amin": min}  # fmt: skip


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", ["uint8", "int16", "int64", "float16", "float32"])
@pytest.mark.parametrize("dim", [0, 1])
def test_updates_of_every_kind(backend, op, name, dim):
    x = RNG.integers(0, 4, (5, 6)).astype(name)
    index = [3, 1, 0] if op == "set" else [3, 1, 1, 0, 1]
    shape = list(x.shape)
    shape[dim] = len(index)
    src = RNG.integers(0, 4, shape).astype(name)
    line = [1, 1]
    line[dim] = len(index)
    indices = np.broadcast_to(np.array(index).reshape(line), shape)
    want = x.copy()
    for at in np.ndindex(*shape):
        target = list(at)
        target[dim] = index[at[dim]]
        want[tuple(target)] = OPS[op](want[tuple(target)], src[at])
    for layout in ("C", "F"):
        out = x.copy(layout)
        assert kernel(backend, "put", name)(out, dim, np.array(index), src, op, False) is out
        np.testing.assert_array_equal(out, want)
        out = x.copy(layout)
        assert kernel(backend, "scatter", name)(out, dim, indices, src, op) is out
        np.testing.assert_array_equal(out, want)
    gathered = kernel(backend, "gather", name)(want, dim, indices)
    np.testing.assert_array_equal(gathered, want.take(index, dim))
    np.testing.assert_array_equal(
        kernel(backend, "take", name)(want, dim, np.array(index), False), gathered
    )


# -- arithmetic ------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_float_floor_divide_is_pythons(backend, name):
    pool = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -7.25, 1e-3, 100.7, math.inf, -math.inf, math.nan]
    x, y = (m.astype(name) for m in np.meshgrid(pool, pool))
    got = kernel(backend, "floor_divide", name)(x, y)
    assert got.dtype == np.dtype(name)
    for a, b, q in zip(x.ravel(), y.ravel(), got.ravel(), strict=True):
        a, b = float(a), float(b)
        if b == 0:
            want = (
                math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
            )
        elif math.isinf(a) or a != a or b != b:
            want = math.nan
        else:
            want = a // b
        np.testing.assert_array_equal(q, np.array(want, name), f"{a} // {b}")


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_at_the_edges(backend, name):
    info = np.iinfo(name)
    bits = info.bits
    pool = [0, 1, 2, 3, 7, bits - 1, bits, info.max, info.min]
    pool += [-1, -2, -bits] if info.min else []
    x, y = (m.astype(name) for m in np.meshgrid(pool, pool))

    def wrap(v):
        v &= (1 << bits) - 1
        return v - (1 << bits) if info.min and v >> (bits - 1) else v

    def power(a, b):
        return pow(a, b, 1 << 64) if b >= 0 else {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)

    rules = {
        "lshift": lambda a, b: a << b if 0 <= b < bits else 0,
        "rshift": lambda a, b: a >> b if 0 <= b < bits else (0 if a >= 0 else -1),
        "pow": power,
        "fmod": lambda a, b: int(math.copysign(1, a)) * (abs(a) % abs(b)) if b else 0,
        "floor_divide": lambda a, b: a // b if b else 0,
    }
    for op, rule in rules.items():
        want = [
            wrap(rule(a, b)) for a, b in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)
        ]
        got = kernel(backend, op, name)(x, y)
        assert got.dtype == np.dtype(name)
        np.testing.assert_array_equal(got.ravel(), np.array(want, name), op)
        out = x.copy()
        kernel(backend, op, name)(out, y, out=out)
        np.testing.assert_array_equal(out, got)


# -- reductions and order --------------------------------------------------------------------
@pytest.mark.parametrize("name", ["int32", "float16", "float32"])
def test_reductions_scans_and_order(backend, name):
    x = RNG.integers(0, 5, (4, 9)).astype(name)
    own = np.dtype(name)
    for dim in (0, 1):
        for op, function in (("sum", np.sum), ("prod", np.prod)):
            want = function(x.astype(np.float64), axis=dim).astype(name)
            np.testing.assert_array_equal(kernel(backend, op, name)(x, (dim,), own), want)
        for op in ("amax", "amin"):
            np.testing.assert_array_equal(
                kernel(backend, op, name)(x, (dim,)), getattr(np, op)(x, dim)
            )
        for op in ("argmax", "argmin"):
            got = kernel(backend, op, name)(x, dim)
            assert got.dtype == np.int64
            np.testing.assert_array_equal(got, getattr(np, op)(x, dim))
        for op, function in (("cummax", max), ("cummin", min)):
            got = np.moveaxis(kernel(backend, op, name)(x, dim), dim, -1)
            rows = np.moveaxis(x, dim, -1)
            for at in np.ndindex(*rows.shape):
                assert got[at] == function(rows[at[:-1]][: at[-1] + 1].tolist())
        got = kernel(backend, "argsort", name)(x, dim)
        np.testing.assert_array_equal(got, np.argsort(x, dim, kind="stable"))


def test_order_of_zeros_and_nan(backend):
    x = np.array([np.nan, 0.0, -0.0, np.nan, -1.0, 0.0])
    assert kernel(backend, "argsort", "float64")(x, 0).tolist() == [4, 1, 2, 5, 0, 3]
    np.testing.assert_array_equal(
        kernel(backend, "cummax", "float64")(np.array([1, np.nan, 5]), 0), [1, np.nan, np.nan]
    )


@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_of_several_nan_the_first_is_found(backend, op):
    x = RNG.normal(size=(7, 2000)).astype(np.float32)
    x[:, [1999, 700, 3, 1024]] = np.nan
    assert kernel(backend, op, "float32")(x, 1).tolist() == [3] * 7
    assert kernel(backend, op, "float32")(np.ones((2000, 2), np.float32), 0).tolist() == [0, 0]


# -- numbers as operands ---------------------------------------------------------------------
BINARY = "add sub mul fmod floor_divide pow maximum minimum eq ne lt le".split()


@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "float16", "float32"])
def test_a_number_stands_for_an_array(backend, name):
    d = dtypes.dtype_by_name(name)
    x = np.array([[1, 0, 1], [1, 1, 0]]).astype(name)
    ops = ["where", "maximum", "eq", "bitwise_and"] if name == "bool" else ["where", *BINARY]
    if name in INTEGERS:
        ops += ["lshift", "rshift", "bitwise_xor"]
    for op, number in itertools.product(ops, [backend.scalar(1, d), d is dtypes.bool or 1]):
        run, full = kernel(backend, op, name), np.ones_like(x)
        left = [x == 1] if op == "where" else []
        np.testing.assert_array_equal(run(*left, x, number), run(*left, x, full), op)
        np.testing.assert_array_equal(run(*left, number, x), run(*left, full, x), op)
    index, spread = np.array([1, 0]), np.array([[1, 0, 1]])
    for op in ("set",) if name == "bool" else OPS:
        for number in (backend.scalar(1, d), d is dtypes.bool or 1):
            got = kernel(backend, "put", name)(x.copy(), 0, index, number, op)
            want = kernel(backend, "put", name)(x.copy(), 0, index, np.ones_like(x), op)
            np.testing.assert_array_equal(got, want, op)
            got = kernel(backend, "scatter", name)(x.copy(), 0, spread, number, op)
            ones = np.ones(spread.shape, name)
            want = kernel(backend, "scatter", name)(x.copy(), 0, spread, ones, op)
            np.testing.assert_array_equal(got, want, op)


def test_numbers_alone_are_operands_too(backend):
    one, two = (backend.scalar(v, dtypes.float32) for v in (1, 2))
    assert kernel(backend, "add", "float32")(one, two).tolist() == 3
    assert kernel(backend, "exp", "float32")(backend.scalar(0, dtypes.float32)).tolist() == 1
    assert kernel(backend, "div", "complex64")(1 + 1j, 2).tolist() == 0.5 + 0.5j


@pytest.mark.parametrize("name", ["bool", "complex64", "complex128"])
def test_updates_of_bools_and_complex_numbers(backend, name):
    x = np.array([0, 1, 0, 1]).astype(name)
    src, index = np.array([1, 0, 1, 0]).astype(name), np.array([0, 1, 2, 2])
    if name != "bool":
        x, src = x * (1 + 2j), src * (3 - 1j)
    for op, rule in (("add", np.logical_or if name == "bool" else np.add),
                     ("mul", np.logical_and if name == "bool" else np.multiply)):  # fmt: skip
        want = x.copy()
        for i, v in zip(index, src, strict=True):
            want[i] = rule(want[i], v)
        np.testing.assert_array_equal(
            kernel(backend, "put", name)(x.copy(), 0, index, src, op), want
        )


def test_sums_of_float16_are_rounded_once(backend):
    index = np.zeros(3000, np.int64)
    got = kernel(backend, "put", "float16")(
        np.zeros(2, np.float16), 0, index, np.ones(3000, np.float16), "add"
    )
    assert got.tolist() == [3000, 0]  # one by one it stays at 2048


# -- storages --------------------------------------------------------------------------------
def test_a_storage_is_as_large_as_what_was_asked_for(backend):
    d = dtypes.float32
    x = backend.empty((3, 4), d, 0)
    assert backend.storage_size(x, d) == 48 < x.data.mem.size
    assert backend.owns_storage(x)
    view = backend.as_strided(x, (2, 2), (4, -1), 5, d, d)
    for part in (view, view[1:], backend.as_strided(view, (1,), (1,), 11, d, d), x.T, x[1:]):
        assert backend.storage_size(part, d) == 48
        assert backend.layout(part, d)[0] == backend.layout(x, d)[0]
        assert not backend.owns_storage(part)
    assert backend.layout(view, d)[1:] == (5, (4, -1))
    sum_of = backend.kernel("sum", d, 0)(x, (1,), np.dtype("float32"))
    assert backend.storage_size(sum_of, d) == 12


def test_a_view_beyond_what_was_asked_for_is_refused(backend):
    import tensorbus as torch

    x = torch.zeros(3, device="cuda")
    assert x.untyped_storage().nbytes() == 12
    assert x.as_strided((2,), (2,)).tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="storage of size 12"):
        x.as_strided((4,), (1,))


def test_empty_arrays_have_storages_of_their_own(backend):
    d = dtypes.float32
    first, second = backend.empty((0, 3), d, 0), backend.empty((0,), d, 0)
    assert backend.layout(first, d)[0] != backend.layout(second, d)[0]
    assert backend.storage_size(first, d) == 0


# -- random numbers --------------------------------------------------------------------------
KEYS = [((1, 2), 0), (((1 << 64) - 1, 77), (1 << 64) - 2), ((5, 6), (1 << 256) - 3)]


@pytest.mark.parametrize(("key", "offset"), KEYS)
def test_words_are_those_of_numpys_generator(backend, key, offset):
    counter = (offset - 1) % (1 << 256)  # NumPy advances before its first block
    want = np.random.Philox(key=key[0] + (key[1] << 64), counter=counter).random_raw(41)
    got = kernel(backend, "random_bits", "int64")(key, offset, 41)
    np.testing.assert_array_equal(got.view(np.uint64), want)


@pytest.mark.parametrize(("op", "name", "more"), [
    *[("uniform", name, ()) for name in ("float16", "float32", "float64")],
    *[("normal", name, ()) for name in ("float16", "float32", "float64")],
    *[("integers", "int64", (-5, span)) for span in (3, 2**40 + 1, 2**63 - 1, 2**63, 2**64)],
    ("integers", "int64", (9, 2**63 + 9)),
    *[("integers", "uint8", (7, 249)), ("integers", "int16", (-(2**15), 2**16))],
])  # fmt: skip
@pytest.mark.parametrize("n", [1, 38, 39])
def test_draws_are_the_cpus(backend, op, name, more, n):
    from tensorbus._device.device import device
    from tensorbus._dispatch.kinds import kind_of

    key, offset = KEYS[1]
    want = np.asarray(getattr(kind_of(device("cpu"), dtypes.dtype_by_name(name)), op)(
        key, offset, n, *more))  # fmt: skip
    got = kernel(backend, op, name)(key, offset, n, *more)
    assert got.dtype == want.dtype and got.shape == (n,)
    if op == "normal":
        np.testing.assert_allclose(got, want, rtol=1e-3 if name == "float16" else 4e-6, atol=4e-6)
    else:
        np.testing.assert_array_equal(got, want)


# -- softmax ---------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_of_long_lines_and_of_infinities(backend, name, dim):
    x = (30 * RNG.normal(size=(6, 1500))).astype(name)
    x[0], x[1, 3], x[2, 5], x[3, :1490] = -np.inf, np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        wide = np.exp(x.astype(np.float64) - x.max(dim, keepdims=True))
        want = wide / wide.sum(dim, keepdims=True)
        logs = x - x.max(dim, keepdims=True) - np.log(wide.sum(dim, keepdims=True))
    close = {"rtol": 2e-3 if name == "float16" else 1e-5, "atol": 1e-7}
    np.testing.assert_allclose(kernel(backend, "softmax", name)(x, dim), want, **close)
    close["atol"] = 2e-2 if name == "float16" else 1e-5
    np.testing.assert_allclose(kernel(backend, "log_softmax", name)(x, dim), logs, **close)


# -- the rest --------------------------------------------------------------------------------
def test_every_primitive_is_there(backend):
    for op in PRIMITIVES:
        for d in domain(op):
            if d in backend.capabilities(0).dtypes:
                assert callable(kernel(backend, op, d.name)), (op, d)


def test_scalars_travel_as_numbers_of_the_dtype(backend):
    for name, value, want in itertools.chain(
        [("float32", 2.5, 2.5), ("uint8", 300, 44), ("int8", -1.75, -1), ("bool", 7, True)]
    ):
        scalar = backend.scalar(value, dtypes.dtype_by_name(name))
        assert isinstance(scalar, (bool, int, float)) and scalar == want
