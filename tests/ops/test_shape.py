"""Views and shapes beside PyTorch: results, strides, errors; and that views share memory."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus

LAYOUTS = ("row-major", "transposed", "strided", "expanded", "0-dim", "empty")


def sample(m: Any, layout: str = "row-major", shape: tuple[int, ...] = (3, 4, 2)) -> Any:
    x = m.arange(float(tensorbus.Size(shape).numel())).reshape(shape)
    return {
        "row-major": lambda: x,
        "transposed": lambda: x.permute(2, 0, 1),
        "strided": lambda: x[:, ::2],
        "expanded": lambda: x[0:1].expand(3, 4, 2),
        "0-dim": lambda: x[0, 1, 0],
        "empty": lambda: x[:0],
    }[layout]()


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "view": lambda m, x: x.view(6, 4),
    "view with -1": lambda m, x: x.view(2, -1, 2),
    "view as a scalar": lambda m, x: x.view(()),
    "view of an ambiguous extent": lambda m, x: x.view(-1, 0),
    "view of two unknown extents": lambda m, x: x.view(-1, -1),
    "view of a negative extent": lambda m, x: x.view(-2, 3),
    "view of its size": lambda m, x: x.view(x.size()),
    "view of a list": lambda m, x: x.view([-1]),
    "view as int32": lambda m, x: x.view(m.int32),
    "reshape": lambda m, x: x.reshape(-1),
    "reshape of a tuple": lambda m, x: m.reshape(x, (4, -1)),
    "reshape by keyword": lambda m, x: m.reshape(x, shape=(-1, 2)),
    "reshape to a misfit": lambda m, x: x.reshape(7),
    "permute": lambda m, x: x.permute(2, 0, 1),
    "permute of a tuple": lambda m, x: m.permute(x, (0, -1, 1)),
    "permute out of range": lambda m, x: x.permute(0, 1, 5),
    "permute twice the same": lambda m, x: x.permute(0, 0, 1),
    "transpose": lambda m, x: x.transpose(-1, 0),
    "transpose out of range": lambda m, x: x.transpose(0, 3),
    "t": lambda m, x: x.t(),
    "mT": lambda m, x: x.mT,
    "H": lambda m, x: x.H,
    "adjoint": lambda m, x: x.adjoint(),
    "movedim": lambda m, x: m.movedim(x, (0, 1), (2, 0)),
    "movedim of a repeated dim": lambda m, x: m.movedim(x, (0, 0), (2, 1)),
    "expand": lambda m, x: x.expand(2, *x.shape),
    "expand with -1": lambda m, x: x.expand(5, *(-1 for _ in x.shape)),
    "broadcast_to": lambda m, x: m.broadcast_to(x, (2, *x.shape)),
    "unsqueeze 0": lambda m, x: x.unsqueeze(0),
    "unsqueeze 1": lambda m, x: x.unsqueeze(1),
    "unsqueeze -1": lambda m, x: x.unsqueeze(-1),
    "unsqueeze out of range": lambda m, x: x.unsqueeze(5),
    "squeeze": lambda m, x: x[..., :1].squeeze() if x.dim() else x.squeeze(),
    "squeeze of dims": lambda m, x: x.squeeze((0, 2)),
    "squeeze out of range": lambda m, x: x.squeeze(3),
    "squeeze of a repeated dim": lambda m, x: x.squeeze((0, 0)),
    "flatten": lambda m, x: x.flatten(),
    "flatten from 1": lambda m, x: x.flatten(1),
    "flatten backwards": lambda m, x: x.flatten(2, 1),
    "ravel": lambda m, x: x.ravel(),
    "unflatten": lambda m, x: x.unflatten(1, (2, -1)),
    "unflatten to a misfit": lambda m, x: x.unflatten(1, (5, 2)),
    "narrow": lambda m, x: x.narrow(1, 1, 2),
    "narrow from the end": lambda m, x: x.narrow(1, -2, 2),
    "narrow too far": lambda m, x: x.narrow(1, 3, 2),
    "narrow of a negative length": lambda m, x: x.narrow(1, 0, -1),
    "select": lambda m, x: x.select(1, -1),
    "select out of range": lambda m, x: x.select(1, 9),
    "as_strided": lambda m, x: x.as_strided((2, 2), (1, 2), 1),
    "as_strided out of bounds": lambda m, x: x.as_strided((2, 2), (100, 2)),
    "as_strided of two lengths": lambda m, x: x.as_strided((2, 2), (1,)),
    "as_strided backwards": lambda m, x: x.as_strided((2, 2), (-1, 1)),
    "diagonal": lambda m, x: m.diagonal(x, 1, 1, 2),
    "diagonal below": lambda m, x: m.diagonal(x, -1, 0, 2),
    "diagonal of one dim": lambda m, x: m.diagonal(x, 0, 1, 1),
    "unfold": lambda m, x: x.unfold(1, 2, 1),
    "unfold too large": lambda m, x: x.unfold(1, 9, 1),
    "contiguous": lambda m, x: x.contiguous(),
    "clone": lambda m, x: x.clone(),
    "clone row-major": lambda m, x: x.clone(memory_format=m.contiguous_format),
    "double": lambda m, x: x.double(),
    "to int64": lambda m, x: x.to(m.int64),
    "is_contiguous": lambda m, x: x.is_contiguous(),
    "storage_offset": lambda m, x: x.storage_offset(),
    "stride out of range": lambda m, x: x.stride(7),
    "size of a dim": lambda m, x: x.size(-1),
    "counts": lambda m, x: (x.dim(), x.ndim, x.ndimension(), x.numel(), x.nelement(), x.nbytes),
    "zeros_like": lambda m, x: m.zeros_like(x),
    "ones_like of a dtype": lambda m, x: m.ones_like(x, dtype=m.int64),
    "full_like": lambda m, x: m.full_like(x, 2.5),
    "zeros_like row-major": lambda m, x: m.zeros_like(x, memory_format=m.contiguous_format),
    "tril": lambda m, x: m.tril(x, -1),
    "triu": lambda m, x: m.triu(x, 1),
    "diag_embed": lambda m, x: m.diag_embed(x, 1, 0, 2),
    "diagflat": lambda m, x: m.diagflat(x, 1),
    "trace": lambda m, x: m.trace(x),
    "len": lambda m, x: len(x),
    "iteration": lambda m, x: list(x),
    "int": lambda m, x: int(x),
    "contains": lambda m, x: 3.0 in x,
    "copy.copy": lambda m, x: copy.copy(x),
    "transpose_": lambda m, x: x.transpose_(0, -1),
    "squeeze_": lambda m, x: x.squeeze_(),
    "unsqueeze_": lambda m, x: x.unsqueeze_(0),
    "t_": lambda m, x: x.t_(),
    "fill_": lambda m, x: x.fill_(3),
    "zero_": lambda m, x: x.zero_(),
    "fill_ by a tensor": lambda m, x: x.fill_(m.tensor(2)),
    "fill_ by a vector": lambda m, x: x.fill_(m.ones(2)),
    "atleast_3d": lambda m, x: m.atleast_3d(x, x),
    "view_as_complex": lambda m, x: m.view_as_complex(x),
    "type": lambda m, x: x.type(),
    "type by name": lambda m, x: x.type("torch.LongTensor"),
}

# Errors whose text says more, or other facts, than PyTorch's.
OTHER_WORDS = {
    "view of a negative extent", "expand with -1", "unfold too large", "view_as_complex",
}  # fmt: skip


# What tells of the device, or needs a dtype that every device need not have.
OF_THE_CPU = {"type", "view_as_complex", "double"}


ON_DEVICES = [
    *(("cpu", name) for name in PROGRAMS),
    *(("opencl", name) for name in PROGRAMS if name not in OF_THE_CPU),
]


@pytest.mark.parametrize(("device", "name"), ON_DEVICES, indirect=["device"])
def test_program(name: str, like_torch: Callable[..., None], device: str) -> None:
    # The frontend decides, so a few layouts show that another device follows.
    for layout in LAYOUTS if device == "cpu" else ("transposed", "empty"):
        like_torch(
            lambda m, k=layout: PROGRAMS[name](m, sample(m, k)), text=name not in OTHER_WORDS
        )


@pytest.mark.parametrize("shape", [(3,), (3, 4), (4, 3)])
@pytest.mark.parametrize(
    "name", ["t", "t_", "H", "tril", "triu", "trace", "diagflat", "diag_embed", "transpose"]
)
def test_matrices(name: str, shape: tuple[int, ...], like_torch: Callable[..., None]) -> None:
    like_torch(lambda m: PROGRAMS[name](m, sample(m, shape=shape)))
    like_torch(lambda m: PROGRAMS[name](m, sample(m, shape=shape).t()))


def test_diagonals(like_torch: Callable[..., None]) -> None:
    for offset in (-2, 0, 1, 9):
        like_torch(lambda m, o=offset: m.diag(m.arange(3.0), o))
        like_torch(lambda m, o=offset: m.diag(sample(m, shape=(3, 4)), o))
    like_torch(lambda m: m.diag(sample(m)), text=True)
    like_torch(lambda m: m.zeros(7, 3).fill_diagonal_(5, wrap=True))
    like_torch(lambda m: m.zeros(3, 3, 3).fill_diagonal_(5))
    like_torch(lambda m: m.zeros(3, 4, 3).fill_diagonal_(5), text=True)


def test_views_share_memory(device: str) -> None:
    x = tensorbus.zeros(3, 4, device=device)
    for view in (x.view(12), x.t(), x[1:], x.unsqueeze(0), x.diagonal(), x.unfold(1, 2, 1)):
        before = x.sum().item()
        view.add_(1)
        assert x.sum().item() > before
        assert view._base is x


def test_a_view_in_place_keeps_the_history(like_torch: Callable[..., None]) -> None:
    def program(m: Any) -> Any:
        x = m.arange(6.0).reshape(2, 3).requires_grad_()
        y = x * 2
        y.t_()
        y.unsqueeze_(0)
        (y * m.arange(6.0).reshape(1, 3, 2)).sum().backward()
        return [x.grad, y.shape]

    like_torch(program)


def test_pickles_keep_values_and_flags() -> None:
    x = tensorbus.arange(6.0).reshape(2, 3).t().requires_grad_()
    y = pickle.loads(pickle.dumps(x))
    assert tensorbus.equal(x, y)
    assert y.requires_grad
    assert y.is_leaf


def test_copy_shares_and_deepcopy_does_not() -> None:
    x = tensorbus.zeros(2)
    copy.copy(x).fill_(1)
    copy.deepcopy(x).fill_(2)
    assert x.tolist() == [1.0, 1.0]


def test_a_size_is_made_of_integers() -> None:
    size = tensorbus.Size([True, tensorbus.tensor(2), np.int64(3)])
    assert size == (1, 2, 3) and [type(n) for n in size] == [int] * 3
    for wrong, item, kind in (
        ([2, 1.5], 1, "float"),
        (["a"], 0, "str"),
        ([None], 0, "NoneType"),
        ([tensorbus.tensor(2.5)], 0, "Tensor"),
    ):
        with pytest.raises(TypeError, match=rf"iterable of 'int' \(item {item} is '{kind}'\)"):
            tensorbus.Size(wrong)
