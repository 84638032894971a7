"""DLPack with NumPy: the same memory on both sides, and who frees it."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.utils import dlpack

DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()


class Elsewhere:
    """An array of another kind of device, which copies to the host where it is asked to."""

    def __init__(self, claimed: tuple[int, int]):
        self.array, self.claimed = np.arange(3.0), claimed

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.claimed

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("name", DTYPES)
def test_both_ways_share_memory(name: str) -> None:
    array = np.arange(24).reshape(2, 3, 4).astype(name)
    for a in (array, array.T, array[:, 1:, ::2], array[0, 0, 0, ...], array[:0]):
        x = torch.from_dlpack(a)
        assert x.dtype is getattr(torch, name) and x.shape == a.shape
        assert np.array_equal(x.numpy(), a)
        assert not a.size or x.data_ptr() == a.__array_interface__["data"][0]
        back = np.from_dlpack(x)
        assert back.dtype == a.dtype and np.array_equal(back, a)
        assert not a.size or np.shares_memory(back, a)
    x = torch.from_dlpack(array)
    x[1, 2, 3] = 1
    assert array[1, 2, 3] == 1
    array[0, 0, 0] = 1
    assert x[0, 0, 0].item() == 1


def test_bfloat16_goes_out_and_comes_back() -> None:
    x = torch.arange(6.0).to(torch.bfloat16).reshape(2, 3)
    for version in (None, (1, 0)):
        back = torch.from_dlpack(x.T.__dlpack__(max_version=version))
        assert back.dtype is torch.bfloat16 and back.data_ptr() == x.data_ptr()
        assert back.stride() == (1, 3) and back.tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises((BufferError, RuntimeError)):  # NumPy has no such dtype
        np.from_dlpack(x)


def test_strides_are_the_arrays() -> None:
    a = np.arange(12.0).reshape(3, 4)
    x = torch.from_dlpack(a.T[1:])
    assert x.stride() == (1, 4) and x.is_contiguous() is False
    assert x.add(1).tolist() == (a.T[1:] + 1).tolist()
    x.mul_(-1)
    assert a[2].tolist() == [8, -9, -10, -11]


def test_read_only_memory_stays_so() -> None:
    a = np.arange(3.0)
    a.flags.writeable = False
    x = torch.from_dlpack(a)
    assert (x + 1).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        x.add_(1)
    assert a.tolist() == [0, 1, 2]
    assert np.from_dlpack(x).flags.writeable is False
    with pytest.raises(BufferError, match="readonly"):
        x.__dlpack__()


def test_versions_of_the_protocol() -> None:
    x = torch.zeros(2)
    assert '"dltensor"' in repr(x.__dlpack__())
    assert '"dltensor"' in repr(x.__dlpack__(max_version=(0, 8)))
    assert '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 0)))
    for capsule in (x.__dlpack__(), x.__dlpack__(max_version=(1, 1)), torch.to_dlpack(x)):
        assert torch.from_dlpack(capsule).data_ptr() == x.data_ptr()
    assert x.__dlpack_device__() == (dlpack.DLDeviceType.kDLCPU, 0)


def test_copies() -> None:
    a = np.zeros(2)
    torch.from_dlpack(a, copy=True).add_(1)
    assert a.tolist() == [0, 0]
    torch.from_dlpack(a, copy=False).add_(1)
    assert a.tolist() == [1, 1]
    x = torch.from_dlpack(a)
    np.from_dlpack(torch.from_dlpack(x.__dlpack__(copy=True)))[:] = 5
    assert x.tolist() == [1, 1]


def test_a_tensor_of_ours() -> None:
    x = torch.zeros(2)
    assert torch.from_dlpack(x).data_ptr() == x.data_ptr()
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    v = x._version
    torch.from_dlpack(x).add_(1)
    assert x._version == v + 1 and x.tolist() == [1, 1]


def test_a_device_that_shares_no_memory() -> None:
    x = torch.from_dlpack(np.arange(3, dtype="float32"), device="strict")
    assert x.device == torch.device("strict:0") and x.tolist() == [0, 1, 2]
    with pytest.raises(BufferError, match=r"strict:0 shares no memory.*\.cpu\(\)"):
        np.from_dlpack(x)
    with pytest.raises(BufferError, match=r"strict:0 shares no memory.*\.cpu\(\)"):
        x.__dlpack__()
    host = torch.from_dlpack(x.__dlpack__(dl_device=(1, 0)))
    assert host.device.type == "cpu" and host.tolist() == [0, 1, 2]
    assert torch.from_dlpack(x, device="cpu").device.type == "cpu"
    for refused in (
        lambda: x.__dlpack__(dl_device=(1, 0), copy=False),
        lambda: torch.from_dlpack(x, device="cpu", copy=False),
    ):
        with pytest.raises(BufferError, match="copy=False forbids"):
            refused()
    with pytest.raises(BufferError, match="meta shares no memory"):
        torch.zeros(2, device="meta").__dlpack__()


def test_arrays_on_unknown_devices() -> None:
    with pytest.raises(BufferError, match=r"device \(8, 0\).*copy it to the host"):
        torch.from_dlpack(Elsewhere((8, 0)))
    assert torch.from_dlpack(Elsewhere((8, 0)), device="cpu").tolist() == [0, 1, 2]
    with pytest.raises(BufferError, match=r"device \(8, 0\)"):
        torch.from_dlpack(Elsewhere((8, 0)), device="cpu", copy=False)
    # Said to be CUDA's pinned memory, which the host reads; the capsule says otherwise.
    with pytest.raises(BufferError, match=r"said to be on DLPack's device \(3, 0\)"):
        torch.from_dlpack(Elsewhere((3, 0)))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        ("torch.from_dlpack(np.arange(3)[::-1])", BufferError, "negative strides: make a copy"),
        ("torch.from_dlpack(np.arange(3)[::-1].__dlpack__())", BufferError, "negative strides"),
        ("torch.from_dlpack(np.array(['a']))", BufferError, "DLPack"),
        ("torch.from_dlpack(3)", RuntimeError, "expected a DLPack capsule"),
        ("torch.from_dlpack(None)", RuntimeError, "expected a DLPack capsule"),
        ("torch.from_dlpack([1.0])", RuntimeError, "expected a DLPack capsule"),
        ("torch.from_dlpack(x.__dlpack__(), copy=True)", AssertionError, "already a DLPack"),
        ("torch.from_dlpack(x, device=1.5)", TypeError, "argument 'device'"),
        (
            "x.requires_grad_().__dlpack__()",
            BufferError,
            r"require gradient, use tensor.detach\(\)",
        ),
        ("torch.from_dlpack(x.requires_grad_())", BufferError, "require gradient"),
        ("(x.requires_grad_() * 2).__dlpack__()", BufferError, "require gradient"),
        ("x.__dlpack__(stream=1)", AssertionError, "stream should be None on cpu"),
        ("x.__dlpack__(stream='a')", TypeError, "stream must be"),
        ("x.__dlpack__(dl_device='cpu')", TypeError, "'dl_device' must be tuple of ints, not str"),
        ("x.__dlpack__(dl_device=(2, 0), copy=False)", BufferError, "can't be handed out"),
        ("torch.to_dlpack(3)", TypeError, "must be Tensor, not int"),
    ],
)
def test_refusals(call: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        eval(call, {"torch": torch, "np": np, "x": torch.zeros(2)})


def test_memory_lives_as_long_as_somebody_uses_it() -> None:
    for use in (
        lambda x: x.__dlpack__(),
        lambda x: x.__dlpack__(max_version=(1, 0)),
        lambda x: torch.from_dlpack(x.__dlpack__()),
        np.from_dlpack,
        lambda x: torch.from_dlpack(np.from_dlpack(x))[1:].view(2),
    ):
        array = np.arange(3.0)
        alive = weakref.ref(array)
        held = use(torch.from_numpy(array))
        del array
        gc.collect()
        assert alive() is not None
        if isinstance(held, torch.Tensor):
            assert held[-1].item() == 2
        del held
        gc.collect()
        assert alive() is None
