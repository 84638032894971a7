"""Lists of ints under their keywords, and what a write leaves to the history it ends."""

from __future__ import annotations

from typing import Any

import pytest

import tensorbus as torch

A = torch.arange(6).reshape(2, 3)

SAME = {
    "flip": (lambda: A.flip(dims=(0, 1)), lambda: A.flip(0, 1)),
    "permute": (lambda: A.permute(dims=[1, 0]), lambda: A.permute(1, 0)),
    "repeat": (lambda: A.repeat(repeats=(2, 1)), lambda: A.repeat(2, 1)),
    "tile": (lambda: A.tile(dims=(2,)), lambda: A.tile(2)),
    "expand": (lambda: A.expand(size=(4, 2, 3)), lambda: A.expand(4, 2, 3)),
    "view": (lambda: A.view(size=(3, 2)), lambda: A.view(3, 2)),
    "view-dtype": (lambda: A.view(dtype=torch.int32), lambda: A.view(torch.int32)),
}


@pytest.mark.parametrize("name", SAME)
def test_a_list_may_come_under_its_keyword(name: str) -> None:
    by_keyword, by_position = (make() for make in SAME[name])
    assert by_keyword.tolist() == by_position.tolist()
    assert by_keyword.stride() == by_position.stride()


@pytest.mark.parametrize("name", ["flip", "permute", "repeat", "tile", "expand", "view"])
def test_a_missing_list_is_told(name: str) -> None:
    with pytest.raises(TypeError, match=rf"{name}\(\) missing 1 required positional argument"):
        getattr(A, name)()


def test_a_list_under_a_keyword_is_no_int() -> None:
    with pytest.raises(TypeError, match="argument 'dims' must be tuple of ints, not int"):
        A.flip(dims=0)


def overwrite_all(z: Any, v: Any) -> None:
    z[...] = v


WRITES = {
    "copy_": lambda z, v: z.copy_(v),
    "fill_": lambda z, v: z.fill_(v[0]),
    "number": lambda z, v: z.fill_(3.0),
    "setitem": overwrite_all,
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_overwritten_gets_zeros(name: str) -> None:
    x = torch.ones(2, requires_grad=True)
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x * 2
    WRITES[name](z, v)
    (z * z).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
    wanted = {"copy_": [2.0, 4.0], "fill_": [4.0, 0.0], "number": None, "setitem": [2.0, 4.0]}
    assert (None if v.grad is None else v.grad.tolist()) == wanted[name]


def test_atleast_2d_shares_memory_with_a_strided_vector() -> None:
    x = torch.arange(6)
    torch.atleast_2d(x[::2])[0, 1] = 9
    assert x.tolist() == [0, 1, 9, 3, 4, 5]


def test_in_place_functions_refuse_what_is_no_tensor() -> None:
    with pytest.raises(
        TypeError, match=r"exp_\(\): argument 'input' \(position 1\) must be Tensor"
    ):
        torch.exp_(1.0)
