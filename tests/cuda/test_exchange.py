"""DLPack between the device ``cuda`` and CuPy: one memory, streams, other devices, refusals."""

from __future__ import annotations

import gc
import sys

import cupy
import numpy as np
import pytest

import tensorbus as torch

DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("name", DTYPES)
def test_both_ways_share_memory(name: str) -> None:
    theirs = cupy.arange(6).reshape(2, 3).astype(name)
    for array in (theirs, theirs.T, theirs[1:, ::2]):
        ours = torch.from_dlpack(array)
        assert ours.dtype is getattr(torch, name) and ours.device == torch.device("cuda", 0)
        assert ours.data_ptr() == array.data.ptr and ours.shape == array.shape
        assert tuple(s * array.itemsize for s in ours.stride()) == array.strides
        back = cupy.from_dlpack(ours)
        assert back.data.ptr == array.data.ptr and back.dtype == array.dtype
        assert np.array_equal(back.get(), array.get())


def test_streams_and_versions() -> None:
    x = torch.arange(3.0, device="cuda")
    assert x.__dlpack_device__() == (2, 0)
    for stream in (None, -1, 1, 2):  # CUDA's names: wait for nothing, the default streams
        assert '"dltensor"' in repr(x.__dlpack__(stream=stream))
    assert '"dltensor_versioned"' in repr(x.__dlpack__(stream=1, max_version=(1, 0)))
    with pytest.raises(TypeError, match="stream must be"):
        x.__dlpack__(stream="1")
    with cupy.cuda.Stream():
        y = torch.from_dlpack(cupy.from_dlpack(x))
    assert y.data_ptr() == x.data_ptr() and y.tolist() == [0, 1, 2]


def test_other_devices_get_copies() -> None:
    theirs = cupy.arange(3, dtype="float32")
    for device in ("cpu", "cuda:1"):
        moved = torch.from_dlpack(theirs, device=device)
        assert moved.device == torch.device(device) and moved.tolist() == [0, 1, 2]
        with pytest.raises(BufferError, match="copy=False forbids"):
            torch.from_dlpack(theirs, device=device, copy=False)
    assert torch.from_dlpack(theirs, copy=True).data_ptr() != theirs.data.ptr
    with cupy.cuda.Device(1):
        assert torch.from_dlpack(cupy.arange(3)).device == torch.device("cuda", 1)
    ours = torch.arange(3.0, device="cuda")
    assert np.from_dlpack(ours, device="cpu").tolist() == [0, 1, 2]
    assert torch.from_dlpack(ours.__dlpack__(dl_device=(2, 1))).device == torch.device("cuda", 1)
    with pytest.raises(BufferError, match="copy=False forbids"):
        ours.__dlpack__(dl_device=(1, 0), copy=False)
    for made in (torch.asarray(theirs), torch.as_tensor(theirs, device="cuda")):
        assert made.data_ptr() == theirs.data.ptr


def test_refusals_and_what_is_given_back() -> None:
    theirs = cupy.arange(4, dtype="float32")
    counted = sys.getrefcount(theirs.data.mem)
    # CuPy hands negative strides out as great positive ones.
    with pytest.raises(BufferError, match="negative strides|further than any memory"):
        torch.from_dlpack(theirs[::-1])
    with pytest.raises(BufferError, match="require gradient"):
        cupy.from_dlpack(torch.ones(2, device="cuda", requires_grad=True))
    for _ in range(5):
        made = torch.from_dlpack(theirs)[1:].view(-1)
        made.add_(1)
        del made
    gc.collect()
    after = sys.getrefcount(theirs.data.mem)
    assert after == counted and theirs.get().tolist() == [0, 6, 7, 8]
