"""Memory, views, casts and copies of ``cpu``."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tensorbus._base import dtypes
from tensorbus.plugin import PRIMITIVES, VIEWS, Backend
from tensorbus_conformance.primitives import whole_domain
from tensorbus_cpu_numpy import tensorbus_backend
from tensorbus_cpu_numpy.backend import CpuBackend

B = CpuBackend()
FLOAT32, INT32, UINT8 = dtypes.float32, dtypes.int32, dtypes.uint8
SUPPORTED = [d for d in dtypes.ALL if d is not dtypes.bfloat16]
"""NumPy's own."""
REAL = [d for d in SUPPORTED if not d.is_complex]


def base():
    return B.from_host(np.arange(24, dtype=np.float32).reshape(2, 3, 4), FLOAT32, 0)


def test_the_hook_loads_the_backend():
    spec = tensorbus_backend()
    backend = spec.load()
    assert spec.name == backend.name == "cpu" and spec.probe() is None
    assert backend.device_count() == 1
    capabilities = backend.capabilities(0)
    assert capabilities.dtypes == {*dtypes.ALL, *dtypes.STORED}
    assert capabilities.memory_total is None or capabilities.memory_total > 2**20


def test_importing_the_entry_module_imports_no_kernels():
    code = (
        "import sys, tensorbus_cpu_numpy as p; p.tensorbus_backend(); "
        "print([m for m in sys.modules if m.startswith('tensorbus_cpu_numpy.') "
        "or 'array_library' in m])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_primitive_is_there(name):
    for dtype in whole_domain(name):
        if dtype in SUPPORTED:
            assert callable(B.kernel(name, dtype, 0)), dtype
    assert B.kernel("no such op", FLOAT32, 0) is None
    assert B.kernel("lshift", FLOAT32, 0) is None


@pytest.mark.parametrize("dtype", SUPPORTED, ids=lambda d: d.name)
def test_arrays_cross_from_and_to_the_host_by_copy(dtype):
    host = np.arange(6).reshape(2, 3).astype(dtype.name)
    array = B.from_host(host.T, dtype, 0)
    assert B.is_contiguous(array, dtype) and array.shape == (3, 2)
    host[0, 0] = 1
    back = B.to_host(array, dtype)
    back[0, 1] = 0
    np.testing.assert_array_equal(array, np.arange(6).reshape(2, 3).T.astype(dtype.name))
    empty = B.empty((2, 0, 3), dtype, 0)
    assert empty.shape == (2, 0, 3) and empty.dtype == B.dtype(dtype) == np.dtype(dtype.name)


def test_layout_counts_from_the_storage():
    x = base()
    key, offset, strides = B.layout(x, FLOAT32)
    assert (offset, strides) == (0, (12, 4, 1))
    views = [(x[1], 12, (4, 1)), (x[:, 1:, ::2].transpose(2, 0, 1), 4, (2, 12, 4)),
             (x[::-1, :, ::-1], 15, (-12, 4, -1)), (x[1, 2, 3, ...], 23, ())]  # fmt: skip
    for view, first, steps in views:
        assert B.layout(view, FLOAT32) == (key, first, steps)
        assert B.storage_size(view, FLOAT32) == 96
        assert B.data_ptr(view) == B.data_ptr(x) + 4 * first
        assert B.is_contiguous(view, FLOAT32) == Backend.is_contiguous(B, view, FLOAT32)
    assert B.layout(base(), FLOAT32)[0] != key


def test_as_strided_reaches_the_whole_storage_and_other_dtypes():
    x = base()
    for start in (x, x[1, 1:], x.T[::-1]):
        view = B.as_strided(start, (2, 2), (-5, 3), 11, FLOAT32, FLOAT32)
        np.testing.assert_array_equal(view, [[11, 14], [6, 9]])
        assert B.layout(view, FLOAT32) == (B.layout(x, FLOAT32)[0], 11, (-5, 3))
        windows = B.as_strided(start, (22, 3), (1, 1), 0, FLOAT32, FLOAT32)
        np.testing.assert_array_equal(windows[20], [20, 21, 22])
        bits = B.as_strided(start, (3,), (2,), 1, FLOAT32, INT32)
        assert bits.tolist() == np.array([1, 3, 5], np.float32).view(np.int32).tolist()
        as_bytes = B.as_strided(start, (4,), (1,), 4, FLOAT32, UINT8)
        assert bytes(as_bytes.tolist()) == np.float32(1).tobytes()
    view[0, 0] = -1
    assert x.reshape(-1)[11] == -1
    z = B.from_host(np.array([1 + 2j, 3 + 4j], np.complex64), dtypes.complex64, 0)
    assert B.as_strided(z, (2,), (2,), 1, dtypes.complex64, FLOAT32).tolist() == [2, 4]
    assert B.as_strided(z, (0,), (1,), 0, dtypes.complex64, FLOAT32).shape == (0,)


def test_sharing_host_memory():
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    gaps = host[1::2, ::3]
    frozen = np.arange(3, dtype=np.float32)
    frozen.flags.writeable = False
    for user in (host, gaps, host.T, host[::-1], frozen):
        array = B.share_host(user, FLOAT32)
        assert np.shares_memory(array, user)
        key, offset, strides = B.layout(array, FLOAT32)
        again = B.as_strided(array, array.shape, strides, offset, FLOAT32, FLOAT32)
        np.testing.assert_array_equal(again, user)
        assert np.shares_memory(again, user)
        assert again.flags.writeable == user.flags.writeable
        assert B.layout(again, FLOAT32)[0] == key
        seen = B.view_host(array, FLOAT32)
        assert seen is not array and np.shares_memory(seen, user)
    array = B.share_host(host, FLOAT32)
    B.copy_(array, FLOAT32, 7, None)
    assert (host == 7).all()


def test_sharing_memory_whose_owner_has_gaps_or_is_no_array():
    block = np.arange(40, dtype=np.float32)

    class Foreign:
        def __init__(self, address):
            self.__array_interface__ = {
                "version": 3,
                "typestr": "<f4",
                "shape": (3, 2),
                "strides": (16, 8),
                "data": (address, False),
            }

    user = np.asarray(Foreign(block.ctypes.data + 8))
    array = B.share_host(user, FLOAT32)
    _, offset, strides = B.layout(array, FLOAT32)
    assert (offset, strides) == (0, (4, 2)) and B.storage_size(array, FLOAT32) == 44
    again = B.as_strided(array, (2, 2), (4, 2), 4, FLOAT32, FLOAT32)
    np.testing.assert_array_equal(again, [[6, 8], [10, 12]])
    again[0, 0] = -6
    assert block[6] == -6
    text = np.frombuffer(b"\x00\x00\x80\x3f" * 3, np.float32)
    array = B.share_host(text, FLOAT32)
    assert B.as_strided(array, (2,), (1,), 1, FLOAT32, FLOAT32).tolist() == [1, 1]


def test_host_arrays_that_cannot_be_shared():
    packed = np.zeros(3, np.dtype([("a", np.uint8), ("b", np.float32)]))
    assert B.share_host(packed["b"], FLOAT32) is None
    assert B.share_host(np.zeros(3, ">f4"), FLOAT32) is None
    assert B.share_host(np.zeros(3, np.float64), FLOAT32) is None


def test_view_kernels():
    x = base()
    k = {name: B.kernel(name, FLOAT32, 0) for name in VIEWS}
    for view in (x, x.transpose(2, 0, 1).copy().transpose(1, 2, 0), x[:, ::-1], x[:, :, ::2]):
        made = [
            (k["permute"](view, (2, 0, 1)), np.transpose(view, (2, 0, 1))),
            (k["slice"](view, 0, 1, 2, 1), view[1:2]),
            (k["slice"](view, 2, 1, None, -1), view[:, :, 1::-1]),
            (k["select"](view, 1, 2), view[:, 2]),
            (k["unsqueeze"](view, 3), view[..., None]),
            (k["unsqueeze"](view, 0), view[None]),
            (k["expand"](k["unsqueeze"](view, 1), (5, 2, 4, *view.shape[1:])),
             np.broadcast_to(view[:, None], (5, 2, 4, *view.shape[1:]))),
            (k["expand"](view, view.shape), view),
        ]  # fmt: skip
        for got, want in made:
            np.testing.assert_array_equal(got, want)
            assert np.shares_memory(got, x) == np.shares_memory(view, x)
            assert got.flags.writeable
            assert all(
                a == b or n < 2
                for a, b, n in zip(got.strides, want.strides, got.shape, strict=True)
            )
    point = k["select"](k["select"](k["select"](x, 0, 0), 0, 0), 0, 3)
    assert type(point) is np.ndarray and point.shape == ()
    point[...] = 50
    assert x[0, 0, 3] == 50
    wide = k["expand"](point, (2, 3))
    assert wide.strides == (0, 0) and (wide == 50).all()
    assert k["view"](x, (6, 4)).base is x
    assert k["expand"](x[:0, :1], (0, 7, 4)).shape == (0, 7, 4)


def wrap(value, dtype):
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.is_signed and value >> (dtype.bits - 1) else value


@pytest.mark.parametrize("target", SUPPORTED, ids=lambda d: d.name)
@pytest.mark.parametrize("source", SUPPORTED, ids=lambda d: d.name)
def test_copies_cast_by_the_rules(source, target):
    values = [0, 1, 2, 100]
    if source.is_signed and source is not dtypes.bool:
        values += [-1, -100]
    if source.is_floating_point:
        values += [1.75, -1.75, 200.5, 300.25]
    if source.category == 1:
        info = dtypes.iinfo(source)
        values += [info.min, info.max]
    if source.is_complex:
        values += [2.5 + 3j, 3j]
    src = np.array(values).astype(source.name)
    want = []
    for v in src.tolist():
        if target is dtypes.bool:
            want.append(v != 0)
        elif target.is_complex:
            want.append(v)
        else:
            v = v.real if isinstance(v, complex) else v
            want.append(wrap(int(v), target) if target.category == 1 else float(v))
    with np.errstate(all="ignore"):
        want = np.array(want).astype(target.name)
    for dst in (
        np.zeros(len(src), target.name),
        np.zeros((len(src), 3), target.name)[::-1, 1][::-1],
    ):
        B.copy_(dst, target, src, source)
        np.testing.assert_array_equal(dst, want)
    backwards = src[::-1].copy()[::-1]
    B.copy_(dst, target, backwards, source)
    np.testing.assert_array_equal(dst, want)
    square = np.zeros((2, len(src)), target.name)
    B.copy_(square, target, np.broadcast_to(src, square.shape), source)
    np.testing.assert_array_equal(square, [want, want])


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_casts_of_special_floats(name):
    src = np.array([np.nan, np.inf, -0.0], name)
    flags = np.zeros(3, np.bool_)
    B.copy_(flags, dtypes.bool, src, dtypes.dtype_by_name(name))
    assert flags.tolist() == [True, True, False]
    wide = np.zeros(3, np.float64)
    B.copy_(wide, dtypes.float64, src, dtypes.dtype_by_name(name))
    np.testing.assert_array_equal(wide, src)
    assert np.signbit(wide[2])


@pytest.mark.parametrize("dtype", SUPPORTED, ids=lambda d: d.name)
def test_fills_and_scalars(dtype):
    for value in (0, 1, True, 100, 2.75, -3, 300, 2**40 + 5, 1e30):
        if value == 1e30 and dtype.category == 1:
            continue
        if dtype is dtypes.bool:
            want = bool(value)
        elif dtype.category == 1:
            want = wrap(int(value), dtype)
        else:
            want = value
        with np.errstate(all="ignore"):
            want = np.array(want).astype(dtype.name)
        scalar = B.scalar(value, dtype)
        assert type(scalar) is np.ndarray and scalar.shape == () and scalar.dtype == want.dtype
        assert scalar == want
        out = np.zeros((4, 4), dtype.name)
        B.copy_(out[::2, 1:3].T, dtype, value, None)
        assert (out[::2, 1:3] == want).all() and (out[1::2] == 0).all()
