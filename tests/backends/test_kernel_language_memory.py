"""Generated copies, views, index kernels, created arrays, faults and forks."""

from __future__ import annotations

import itertools
import os
import pickle

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import discovery
from tensorbus._base import dtypes
from tensorbus.plugin import IndexFault

RNG = np.random.default_rng(11)
NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def as_dtype(name):
    return dtypes.dtype_by_name(str(np.dtype(name)))


def cast(x, to):
    """NumPy's cast, but floats go to narrow integers through int64."""
    kind = np.dtype(to)
    if x.dtype.kind == "f" and kind.kind in "iu" and kind.itemsize < 4:
        x = x.astype(np.int64)
    return x.astype(kind)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("source", NAMES)
def test_copies_cast(generated, source):
    kind = np.dtype(source)
    if kind.kind == "f":
        values = [0.0, -0.0, 1.5, -1.0, -2.75, 100.25, 127.0]
    elif kind.kind == "b":
        values = [0, 1]
    else:
        info = np.iinfo(kind)
        values = [0, 1, 2, info.max, info.min, info.max - 1, 77]
    x = np.resize(np.array(values, kind), (4, 3))
    for to in ["bool", "uint8", "int64", "float16", "float32", "float64", "int16"]:
        base = generated.put(np.zeros((3, 8), to))
        d = as_dtype(to)
        target = generated.backend.as_strided(base, (4, 3), (-2, 8), base.offset + 6, d, d)
        generated.backend.copy_(target, d, generated.put(x), as_dtype(source))
        want = np.zeros((3, 8), to)
        want[:, 6::-2] = cast(x, to).T
        assert np.array_equal(generated.get(base), want), to


def test_floats_become_integers_through_int64(generated):
    x = np.array([-1.0, 300.0, -129.0, np.nan], "float32")
    for to, want in [("uint8", [255, 44, 127]), ("int8", [-1, 44, 127]), ("bool", [1, 1, 1, 1])]:
        target = generated.put(np.zeros(4, to))
        generated.backend.copy_(target, as_dtype(to), generated.put(x), dtypes.float32)
        assert (generated.get(target)[: len(want)] == np.array(want, to)).all()


@pytest.mark.parametrize("name", NAMES)
def test_fills_and_broadcast_copies(generated, name):
    d = as_dtype(name)
    target = generated.put(np.zeros((3, 4), name))
    generated.backend.copy_(target, d, 300.7 if name.startswith("f") else 300, None)
    want = {"bool": 1, "uint8": 44, "int8": 44}.get(name, 300)
    want = np.array(300.7, name) if name.startswith("f") else np.array(want, name)
    assert (generated.get(target) == want).all()
    generated.backend.copy_(target, d, generated.put(np.array([1, 0, 1, 1], name)), d)
    assert (generated.get(target) == np.array([1, 0, 1, 1], name)).all()


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_and_bits(generated, name):
    backend = generated.backend
    x = RNG.integers(0, 2, (3, 4)).astype(name)
    d = as_dtype(name)
    array = backend.from_host(x.T, d, 0)
    assert (backend.to_host(array, d) == x.T).all()
    assert backend.layout(array, d)[1:] == (0, (3, 1))
    assert backend.is_contiguous(array, d)
    assert backend.storage_size(array, d) == x.nbytes
    bits = backend.as_strided(array, (x.nbytes,), (1,), 0, d, dtypes.uint8)
    assert backend.to_host(bits, dtypes.uint8).tobytes() == x.T.tobytes()
    assert backend.layout(bits, dtypes.uint8)[0] is backend.layout(array, d)[0]
    empty = backend.empty((0, 3), d, 0)
    assert backend.to_host(empty, d).shape == (0, 3)


def test_views_share_and_agree_with_numpy(generated):
    x = np.arange(120, dtype="int32").reshape(4, 5, 6)
    array = generated.put(x)
    view = {name: generated.kernel(name, "int32") for name in
            ("permute", "view", "expand", "slice", "select", "unsqueeze")}  # fmt: skip
    got = generated.get
    assert (got(view["permute"](array, (2, 0, 1))) == x.transpose(2, 0, 1)).all()
    assert (got(view["expand"](view["slice"](array, 1, 2, 3, 1), (7, 4, 9, 6))) == x[:, 2:3]).all()
    for start, stop, step in [(0, 6, 2), (1, 5, 3), (5, None, -1), (4, 0, -2), (3, 3, 1)]:
        assert (got(view["slice"](array, 2, start, stop, step)) == x[..., start:stop:step]).all()
    assert (got(view["select"](array, 1, 3)) == x[:, 3]).all()
    assert got(view["unsqueeze"](array, 3)).shape == (4, 5, 6, 1)
    assert (got(view["view"](array, (2, 2, 30))) == x.reshape(2, 2, 30)).all()
    turned = view["permute"](array, (2, 0, 1))
    want = x.transpose(2, 0, 1)
    for shape in [(6, 20), (2, 3, 4, 5), (6, 2, 10), (3, 2, 1, 20), (1, 6, 20, 1)]:
        assert (got(view["view"](turned, shape)) == want.reshape(shape)).all(), shape
    with pytest.raises(ValueError, match="has no view of shape"):
        view["view"](turned, (120,))
    assert view["view"](array, (120,)).storage is array.storage


def test_an_array_owns_its_storage_until_there_is_a_view(generated):
    backend, d = generated.backend, dtypes.float32
    made = backend.from_host(np.ones((3, 4), "float32"), d, 0)
    assert backend.owns_storage(made)
    part = backend.as_strided(made, (2, 4), (4, 1), 4, d, d)
    assert not backend.owns_storage(made) and not backend.owns_storage(part)
    del part
    assert backend.owns_storage(made)
    assert backend.owns_storage(generated.kernel("add", "float32")(made, made))


def test_the_first_gradients_of_leaves_are_not_copied(generated):
    with discovery.plugged(generated.backend) as name:
        x, w = (torch.ones(3, 4, device=name, requires_grad=True) for _ in range(2))
        g = torch.full((3, 4), 2.0, device=name)
        for _ in range(2):
            x.grad = w.grad = None
            before = getattr(generated.backend, "launches", 0)  # which only one of them counts
            (x * w).backward(g)
        assert getattr(generated.backend, "launches", 0) - before <= 3  # products, no copies
        with torch.no_grad():
            x.grad.mul_(3)
        assert x.grad.tolist() == [[6.0] * 4] * 3
        assert w.grad.tolist() == g.tolist() == [[2.0] * 4] * 3
        (x + w).backward(g)
        assert x.grad.tolist() == [[8.0] * 4] * 3 and g.tolist() == [[2.0] * 4] * 3


@pytest.mark.parametrize("name", ["bool", "int16", "float16", "float32", "int64"])
def test_take_and_gather(generated, name):
    x = RNG.integers(0, 100, (5, 4, 6)).astype(name)
    for dim in range(3):
        i = RNG.integers(0, x.shape[dim], 9)
        assert (generated("take", x, dim, i, False) == x.take(i, dim)).all()
        assert (generated("take", x[::-1], dim, i - x.shape[dim], True)
                == x[::-1].take(i, dim)).all()  # fmt: skip
        shape = [3, 4, 2]
        shape[dim] = 8
        i = RNG.integers(0, x.shape[dim], shape)
        part = tuple(slice(n if d != dim else None) for d, n in enumerate(shape))
        want = np.take_along_axis(x[part], i, dim)
        assert (generated("gather", x[part], dim, i) == want).all()
        repeated = np.broadcast_to(i[:1], shape)
        want = np.take_along_axis(x[part], repeated, dim)
        assert (generated("gather", x[part], dim, repeated) == want).all()
    assert generated("take", x, 0, np.zeros(0, "int64"), False).shape == (0, 4, 6)


def apply(op, x, index, values):
    if op == "set":
        x[index] = values
    elif x.dtype == bool:
        at = {"add": np.logical_or, "mul": np.logical_and, "amax": np.logical_or,
              "amin": np.logical_and}[op]  # fmt: skip
        at.at(x, index, values)
    else:
        names = {"add": np.add, "mul": np.multiply, "amax": np.maximum, "amin": np.minimum}
        names[op].at(x, index, values)


@pytest.mark.parametrize("name", ["bool", "uint8", "int16", "float16", "float32", "int64",
                                  "float64"])  # fmt: skip
@pytest.mark.parametrize("op", ["set", "add", "mul", "amax", "amin"])
def test_put_and_scatter(generated, op, name):
    for shape, dim in [((40,), 0), ((6, 200), 0), ((5, 7), 1)]:
        x = RNG.integers(0, 3, shape).astype(name)
        n = shape[dim]
        i = RNG.permutation(n)[: n // 2 + 1] if op == "set" else RNG.integers(0, n, 2 * n)
        values = RNG.integers(0, 3, (*shape[:dim], len(i), *shape[dim + 1 :])).astype(name)
        index = (*[slice(None)] * dim, i)
        for src in (values, 2):
            wide = np.zeros([m + 1 for m in shape], name)
            inner = tuple(slice(1, None) for _ in shape)
            wide[inner] = x
            whole = generated.put(wide)
            steps = whole.strides
            part = generated.backend.as_strided(whole, shape, steps, whole.offset + sum(steps),
                                                whole.dtype, whole.dtype)  # fmt: skip
            given = generated.put(src) if isinstance(src, np.ndarray) else generated.backend.scalar(
                src, whole.dtype)  # fmt: skip
            put = generated.kernel("put", name)
            assert put(part, dim, generated.put(i - n), given, op, True) is part
            want = wide.copy()
            apply(op, want[inner], index, src)
            assert (generated.get(whole) == want).all()
        full = np.broadcast_to(i.reshape([-1 if d == dim else 1 for d in range(len(shape))]),
                               values.shape)  # fmt: skip
        target = generated.put(x)
        generated.kernel("scatter", name)(
            target, dim, generated.put(full), generated.put(values), op
        )
        want = x.copy()
        apply(op, want, index, values)
        assert (generated.get(target) == want).all()


def test_nan_wins_in_scatter(generated):
    target = generated.put(np.array([1, np.nan, 3], "float32"))
    i, v = generated.put(np.array([0, 0, 1, 2])), generated.put(np.float32([np.nan, 5, 7, 2]))
    generated.kernel("scatter", "float32")(target, 0, i, v, "amax")
    assert np.array_equal(generated.get(target), [np.nan, np.nan, 3], equal_nan=True)


def test_index_faults_wait_for_the_next_read(generated):
    x = np.arange(12, dtype="float32").reshape(3, 4)
    ok = generated.put(x)
    for bad in (4, -1, 2**40, -(2**63)):
        generated.kernel("take", "float32")(ok, 1, generated.put(np.array([0, bad, 1])), False)
        with pytest.raises(IndexFault) as caught:
            generated.get(ok)
        assert (caught.value.value, caught.value.dim, caught.value.n) == (bad, 1, 4)
        assert (generated.get(ok) == x).all()
    target = generated.put(x)
    generated.kernel("put", "float32")(target, 0, generated.put(np.array([-4])), 1.0, "set", True)
    with pytest.raises(IndexFault, match="index -4 is out of bounds for dimension 0 with size 3"):
        generated.backend.synchronize(0)
    generated.backend.synchronize(0)
    assert (generated.get(target) == x).all()
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), IndexFault)


@pytest.mark.parametrize("start, step", [(0, 1), (-5, 3), (0.5, 0.1), (3, -0.25), (2**40, 7)])
def test_arange(generated, start, step):
    for name in ("float32", "float64", "int64"):
        if name == "int64" and not isinstance(step, int):
            continue
        run = generated.kernel("arange", name)
        want = (start + np.arange(9) * step).astype(name)
        assert (generated.get(run(9, start, step, as_dtype(name))) == want).all()
    assert generated.get(run(0, start, step, as_dtype(name))).shape == (0,)


@pytest.mark.parametrize("key", [(0, 0), (1, 2), (2**64 - 1, 77)])
@pytest.mark.parametrize("offset", [0, 5, 2**64 - 1, 2**128 - 1, 2**256 - 2])
def test_random_bits_are_numpys_philox(generated, key, offset):
    before = (offset - 1) % 2**256
    counter = np.array([before >> (64 * k) & (2**64 - 1) for k in range(4)], np.uint64)
    philox = np.random.Philox(key=np.array(key, np.uint64), counter=counter)
    for n in (1, 14):
        got = generated.get(generated.kernel("random_bits", "int64")(key, offset, n))
        expected = philox.random_raw(14)[:n] if n == 14 else None
        if expected is not None:
            assert (got.view(np.uint64) == expected).all()


def test_every_index_stays_inside_or_faults(generated):
    x = np.arange(3, dtype="int32")
    for i, wrap in itertools.product(range(-5, 6), (False, True)):
        inside = 0 <= i < 3 or (wrap and -3 <= i < 0)
        run = generated.kernel("take", "int32")
        result = run(generated.put(x), 0, generated.put(np.array([i])), wrap)
        if inside:
            assert generated.get(result) == x[i]
        else:
            with pytest.raises(IndexFault):
                generated.get(result)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_is_told_to_spawn(generated):
    array = generated.put(np.ones(3, "float32"))
    generated.get(array)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            generated.get(array)
            text = "no error"
        except RuntimeError as error:
            text = str(error)
        os.write(write, text.encode())
        os._exit(0)
    os.waitpid(child, 0)
    text = os.read(read, 1000).decode()
    assert "spawn" in text and f"'{generated.backend.name}'" in text
    assert (generated.get(array) == 1).all()
