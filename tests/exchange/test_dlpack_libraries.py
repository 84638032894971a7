"""DLPack with PyTorch and JAX, both ways: which memory, layouts, dtypes, options and refusals."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import tensorbus as torch

NAMES = (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 "
    "complex32 complex64 complex128 float8_e4m3fn float8_e5m2"
).split()


@pytest.fixture
def jax() -> Any:
    """JAX's array functions, on the host."""
    return pytest.importorskip("jax.numpy", reason="JAX itself runs in this test: pip install jax")


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_every_dtype_of_pytorch_goes_both_ways(live_torch: Any) -> None:
    for name in NAMES:
        _both_ways(name, live_torch)


def _both_ways(name: str, pt: Any) -> None:
    theirs = pt.tensor([[0, 1, 2], [3, 4, 5]], dtype=getattr(pt, name))
    taken = torch.from_dlpack(theirs)
    for ours, wanted in ((taken, theirs), (torch.from_dlpack(theirs.T[1:]), theirs.T[1:])):
        back = pt.from_dlpack(ours)
        for made in (ours, back, pt.from_dlpack(torch.to_dlpack(ours))):
            assert str(made.dtype) == f"torch.{name}" and made.data_ptr() == wanted.data_ptr()
            assert (made.shape, made.stride()) == (tuple(wanted.shape), wanted.stride())
        assert back.view(pt.uint8).tolist() == wanted.view(pt.uint8).tolist() if name in (
            "uint8", "int8", "bool", "float8_e5m2") else True  # fmt: skip
    whole = pt.utils.dlpack.to_dlpack(theirs)
    assert torch.from_dlpack(whole).data_ptr() == theirs.data_ptr()


def test_options_with_pytorch(live_torch: Any) -> None:
    pt = live_torch
    ours, theirs = torch.zeros(2, 3), pt.zeros(2, 3)
    for copied in (pt.from_dlpack(ours, copy=True), pt.from_dlpack(ours).clone()):
        copied += 1
        assert ours.sum().item() == 0
    torch.from_dlpack(theirs, copy=True).add_(1)
    assert theirs.sum().item() == 0
    pt.from_dlpack(ours, device="cpu", copy=False).add_(1)
    torch.from_dlpack(theirs, device="cpu", copy=False).add_(1)
    assert ours.sum().item() == theirs.sum().item() == 6
    for library in (pt, torch):
        x = library.zeros(2)
        assert '"dltensor"' in repr(x.__dlpack__(stream=-1))
        assert '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(2, 0)))
        assert '"dltensor"' in repr(x.__dlpack__(dl_device=(1, 0), max_version=(0, 5)))
        with pytest.raises(AssertionError, match="stream should be None on cpu"):
            x.__dlpack__(stream=0)
    for take, given in ((torch.from_dlpack, pt.ones(2, requires_grad=True)),
                        (pt.from_dlpack, torch.ones(2, requires_grad=True))):  # fmt: skip
        with pytest.raises(BufferError, match=r"require gradient, use tensor.detach\(\)"):
            take(given)
    with pytest.raises(BufferError, match="conjugate bit"):
        torch.from_dlpack(pt.ones(2, dtype=pt.complex64).conj())
    with pytest.raises(BufferError, match=r"shares no memory.*\.cpu\(\)"):
        pt.from_dlpack(torch.ones(2, device="strict"))
    host = torch.ones(2, device="strict").__dlpack__(dl_device=(1, 0))
    assert pt.from_dlpack(host).tolist() == [1, 1]


def test_pytorchs_tensors_are_not_asked_to_override(live_torch: Any) -> None:
    """Once a class of tensors overrides, PyTorch's own answer would call us again, for ever."""

    class Overriding(torch.Tensor):
        pass

    theirs, ours = live_torch.ones(2), torch.ones(2)
    assert isinstance(ours.as_subclass(Overriding) + 1, Overriding)
    for take in (torch.from_dlpack, torch.asarray, torch.as_tensor):
        assert take(theirs).tolist() == [1, 1]
    with pytest.raises(TypeError, match="must be Tensor"):
        torch.equal(ours, theirs)


def test_pytorchs_memory_is_given_back(live_torch: Any) -> None:
    theirs = live_torch.zeros(1000)
    counted = sys.getrefcount(theirs)
    for _ in range(20):
        made = torch.from_dlpack(theirs)[1:].view(-1)
        live_torch.from_dlpack(made).add_(1)
        del made
    gc.collect()
    assert sys.getrefcount(theirs) == counted and theirs[1].item() == 20
    ours = torch.zeros(10)
    counted = sys.getrefcount(ours._a)
    held = [live_torch.from_dlpack(ours) for _ in range(20)]
    while_held = sys.getrefcount(ours._a)
    held.clear()
    gc.collect()
    after = sys.getrefcount(ours._a)
    assert while_held > counted and after == counted


@pytest.mark.long
def test_jax_shares_memory_both_ways(jax: Any) -> None:
    theirs = jax.arange(6.0).reshape(2, 3)
    for take in (torch.from_dlpack, torch.asarray):
        assert take(theirs).data_ptr() == theirs.unsafe_buffer_pointer()
        copied = take(theirs, copy=True)
        assert copied.data_ptr() != theirs.unsafe_buffer_pointer()
        assert copied.add_(1).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert theirs.tolist() == [[0, 1, 2], [3, 4, 5]]
    room = torch.zeros(16 + 6)  # JAX takes memory over that begins at 64 bytes, and copies other
    ours = room[-room.data_ptr() % 64 // 4 :][:6].copy_(torch.arange(6.0))
    for shown in (ours.view(2, 3), ours.view(3, 2).T):
        taken = jax.from_dlpack(shown)
        assert taken.unsafe_buffer_pointer() == ours.data_ptr()
        assert taken.tolist() == shown.tolist()
    back = torch.from_dlpack(jax.from_dlpack(ours))
    back.add_(1)
    assert ours.tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["bool", "uint8", "int8", "int16", "int32", "uint16", "uint32", "float16", "bfloat16",
             "float32", "complex64", "float8_e4m3fn", "float8_e5m2"]
)  # fmt: skip
def test_dtypes_of_jax(jax: Any, name: str) -> None:
    made = jax.ones((2, 3), name)
    back = torch.from_dlpack(made)
    assert back.dtype is getattr(torch, name) and back.shape == (2, 3)
    assert jax.from_dlpack(back).dtype == made.dtype
    copied = torch.from_dlpack(made, copy=True)
    copied.zero_()
    assert np.all(np.asarray(made.astype("complex64")) == 1)
    assert torch.from_dlpack(made[:0]).shape == (0, 3) and torch.from_dlpack(made[0, 0]).dim() == 0


@pytest.mark.long
def test_values_of_jax(jax: Any) -> None:
    x = jax.arange(4.0)
    assert torch.tensor(x).tolist() == [0, 1, 2, 3] and torch.tensor(x).dtype is torch.float32
    assert torch.tensor(x[2]).tolist() == 2 and torch.tensor([x[1], x[3]]).tolist() == [1, 3]
    assert torch.tensor(x.astype("bfloat16")).dtype is torch.bfloat16
    assert torch.tensor(x.astype("int32"), dtype=torch.float64).tolist() == [0, 1, 2, 3]
    copied = torch.tensor(x)
    copied.zero_()
    assert x.tolist() == [0, 1, 2, 3]
    assert jax.asarray(torch.arange(3.0)).tolist() == [0, 1, 2]


@pytest.mark.long
def test_what_jax_and_we_refuse(jax: Any) -> None:
    with pytest.raises(BufferError, match=r"shares no memory.*\.cpu\(\)"):
        jax.from_dlpack(torch.ones(2, device="strict"))
    with pytest.raises(BufferError, match="require gradient"):
        jax.from_dlpack(torch.ones(2, requires_grad=True))
    closed = np.arange(3.0, dtype="float32")
    closed.flags.writeable = False
    ours = torch.from_dlpack(closed)
    with pytest.raises(ValueError, match="read-only"):
        ours.add_(1)
    with pytest.raises(BufferError, match="readonly"):  # JAX takes no capsule that says so
        jax.from_dlpack(ours)
    with pytest.raises(BufferError, match="readonly"):
        jax.from_dlpack(closed)
    assert (
        jax.asarray(ours.clone()).tolist() == [0, 1, 2] and not np.from_dlpack(ours).flags.writeable
    )
    # JAX's capsules say nothing of its arrays being constants: a write goes through, as PyTorch's.
    assert '"dltensor"' in repr(jax.ones(2).__dlpack__(max_version=(1, 0)))
    assert torch.from_dlpack(jax.ones(2)).numpy().flags.writeable
