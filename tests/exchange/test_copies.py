"""``copy.copy``, ``copy.deepcopy`` and pickles of tensors: PyTorch 2.13's results as literals."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import nn


class Sub(torch.Tensor):
    """A subclass, at a place where pickles find it."""


def pickled(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))


def test_a_copy_is_a_leaf_over_the_same_storage() -> None:
    leaf = torch.arange(4.0, requires_grad=True)
    view = leaf[1:]
    for x in (leaf, view, leaf * 2, leaf.detach()):
        made = copy.copy(x)
        assert made is not x and made.data_ptr() == x.data_ptr() and made.is_leaf
        assert (made.requires_grad, made.stride()) == (x.requires_grad, x.stride())
        assert made.storage_offset() == x.storage_offset()
    leaf.grad = torch.ones(4)
    assert copy.copy(leaf).grad is None and copy.deepcopy(leaf).grad.tolist() == [1] * 4
    assert pickled(leaf).grad is None


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickled])
def test_classes_and_attributes_go_along(how: Any) -> None:
    x = torch.ones(2)
    x.tag = [1]
    made = how(x)
    assert made.tag == [1] and (made.tag is x.tag) == (how is copy.copy)
    sub = torch.ones(2).as_subclass(Sub)
    sub.tag = "x"
    assert type(how(sub)) is Sub and how(sub).tag == "x"
    for wanted in (True, False):
        parameter = nn.Parameter(torch.ones(2), wanted)
        made = how(parameter)
        assert type(made) is nn.Parameter and made.requires_grad is wanted
    parameter.tag = "x"
    assert how is copy.deepcopy or how(parameter).tag == "x"


def test_what_the_library_notes_at_a_tensor_is_not_copied() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    made = copy.copy(y)
    assert made.__dict__ == {} and pickled(y).__dict__ == {}
    assert pickled(y).requires_grad and pickled(y).is_leaf


def test_deep_copies_share_what_their_sources_share() -> None:
    a = torch.arange(6.0)
    b, c = a[2:4], a.reshape(2, 3).T
    memo: dict[int, Any] = {}
    x, y, z, again = copy.deepcopy((a, b, c, a), memo)
    assert x is again and memo[id(a)] is x and x.data_ptr() != a.data_ptr()
    x[2] = 9
    assert y.tolist() == [9, 3] and y.storage_offset() == 2 and z[2, 0].item() == 9
    assert z.stride() == (1, 3) and b.tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(torch.ones(2, requires_grad=True) * 2)
    one, two = nn.Linear(2, 1), nn.Linear(2, 1)
    two.weight = one.weight
    both = copy.deepcopy(nn.ModuleList([one, two]))
    assert both[0].weight is both[1].weight and both[0].weight is not one.weight


@pytest.mark.parametrize("device", ["cpu", "strict"])
def test_pickles_are_exact_to_the_bit(device: str) -> None:
    bits = torch.tensor([0x7FC12345, -0x80000000, 1], dtype=torch.int32, device=device)
    x = bits.view(torch.float32)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(x, protocol)
        assert data == pickle.dumps(x, protocol)
        back = pickle.loads(data)
        assert back.device == x.device and back.view(torch.int32).tolist() == bits.tolist()
        assert pickle.dumps(back, protocol) == data
    for made in (
        torch.tensor(True), torch.zeros(0, 2), torch.ones(3, 2).T, torch.ones(2, 3)[:, 1:],
        torch.arange(3, dtype=torch.int8), torch.arange(4.0)[1:],
    ):  # fmt: skip
        back = pickled(made.to(device))
        assert (back.shape, back.dtype) == (made.shape, made.dtype)
        assert np.array_equal(back.cpu().numpy(), made.numpy())
    assert pickled(torch.ones(3, 2).T.to(device)).stride() == (1, 2)


EVERY = (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 "
    "complex32 complex64 complex128 float8_e4m3fn float8_e5m2"
).split()


@pytest.mark.parametrize("name", EVERY)
def test_a_loaded_tensor_pickles_to_the_same_bytes(name: str) -> None:
    for shape in ((), (0, 3), (2, 3)):
        x = torch.ones(shape).to(getattr(torch, name))
        data = pickle.dumps(x)
        for made in (pickle.loads(data), copy.copy(x), copy.deepcopy(x)):
            assert (made.dtype, made.shape) == (x.dtype, x.shape) and pickle.dumps(made) == data


def test_views_modules_and_optimisers_pickle_to_the_same_bytes() -> None:
    x = torch.arange(48.0).reshape(1, 3, 4, 4)
    net = nn.Sequential(nn.Conv2d(3, 2, 2), nn.BatchNorm2d(2))
    optimiser = torch.optim.Adam(net.parameters())
    net(x).sum().backward()
    optimiser.step()
    for made in (
        x[..., ::2], x.mT, x[0, 1:, :, 2], x.expand(2, 3, 4, 4), nn.Parameter(x),
        x.to(memory_format=torch.channels_last), x.clone().requires_grad_(),
        net.state_dict(), optimiser.state_dict(),
    ):  # fmt: skip
        data = pickle.dumps(made)
        assert pickle.dumps(pickle.loads(data)) == data


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickled])
def test_hooks_stay_with_the_original(how: Any) -> None:
    x, called = torch.ones(2, requires_grad=True), []
    x.register_hook(lambda g: called.append("hook"))
    x.register_post_accumulate_grad_hook(lambda t: called.append("post"))
    made = how(x)
    (made * 2).sum().backward()
    assert called == [] and made.grad.tolist() == [2, 2] and x.grad is None
    (x * 2).sum().backward()
    assert called == ["hook", "post"]


def test_setstate_refuses_what_is_no_state() -> None:
    x = torch.ones(2)
    x.__setstate__({"tag": 1})
    assert x.tag == 1
    with pytest.raises(TypeError, match="dict of attributes"):
        x.__setstate__((1, 2))


def test_bfloat16_is_copied_pickled_and_shared() -> None:
    x = torch.tensor([1.5, -0.0, float("inf")]).to(torch.bfloat16)
    for made in (copy.copy(x), copy.deepcopy(x), pickled(x), x.clone().share_memory_()):
        assert made.dtype is torch.bfloat16
        assert made.view(torch.int16).tolist() == [0x3FC0, -0x8000, 0x7F80]


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickles_of_repeated_elements_hold_them_once(protocol: int) -> None:
    row = torch.arange(3.0)
    for t in (
        row.expand(100_000, 3),
        torch.tensor(2).expand(4, 5),
        torch.ones(2, 1, 3, dtype=torch.bfloat16).expand(2, 4, 3).transpose(0, 1),
        torch.ones(1, requires_grad=True).expand(3),
        torch.arange(6.0).view(3, 2).t()[:, :1].expand(2, 5),
    ):
        pickled = pickle.dumps(t, protocol)
        back = pickle.loads(pickled)
        assert len(pickled) < 1000 and back.dtype is t.dtype and torch.equal(back, t)
        assert [s for s, n in zip(back.stride(), t.shape, strict=True) if n > 1 and not s]
        assert back.is_leaf and back.requires_grad == t.requires_grad and not back._is_view()
