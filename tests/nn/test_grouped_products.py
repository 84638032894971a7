"""Products of groups and of scaled matrices, beside PyTorch and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.nn import functional as F


def draw(lib, *shape, seed=0, dtype=None):
    return lib.tensor(np.random.default_rng(seed).normal(size=shape)).to(dtype or lib.float32)


def tried(f):
    try:
        return f()
    except Exception as error:
        return type(error).__name__, str(error)


def ends(lib, *values):
    return lib.tensor(values, dtype=lib.int32)


# PyTorch takes rows of 16 bytes alone
CASES = {
    "rows": ((8, 4), (3, 4, 8), (2, 2, 8)),
    "columns": ((2, 3, 4), (4, 8), (4, 8)),
    "summed": ((4, 8), (8, 12), (4, 4, 8)),
    "all": ((2, 3, 4), (2, 4, 8), None),
}


@pytest.mark.parametrize("case", CASES)
def test_products_of_groups(case, oracle, device):
    a, b, stops = CASES[case]

    def program(lib, device="cpu"):
        x, w = (draw(lib, *s, seed=i).to(device).requires_grad_() for i, s in enumerate((a, b)))
        offs = None if stops is None else ends(lib, *stops).to(device)
        out = lib.nn.functional.grouped_mm(x, w, offs=offs)
        return x, w, out

    x, w, out = program(torch, device)
    theirs = oracle(lambda lib: program(lib)[2].detach())
    np.testing.assert_allclose(out.detach().cpu().numpy(), theirs.values, rtol=1e-5, atol=1e-6)
    (out * out.detach()).sum().backward()
    left, right = (t.detach().cpu().double().requires_grad_() for t in (x, w))
    alone = by_groups(left, right, stops)
    (alone * alone.detach()).sum().backward()
    for mine, other in ((x, left), (w, right)):
        np.testing.assert_allclose(
            mine.grad.cpu().numpy(), other.grad.numpy(), rtol=1e-4, atol=1e-5
        )


def by_groups(a, b, stops):
    """einsum with a mask of groups."""
    if stops is None:
        return torch.einsum("gmk,gkn->gmn", a, b)
    starts = [0, *stops[:-1]]
    size = a.shape[0] if b.dim() == 3 else b.shape[0 if a.dim() == 2 else 1]
    mask = torch.tensor(
        [[float(i <= t < j) for t in range(size)] for i, j in zip(starts, stops, strict=True)]
    ).double()
    if a.dim() == 2 and b.dim() == 2:
        return torch.einsum("mt,gt,tn->gmn", a, mask, b)
    if a.dim() == 2:
        return torch.einsum("tk,gt,gkn->tn", a, mask, b)
    return torch.einsum("gmk,gt,kt->mt", a, mask, b)


def test_what_is_behind_the_last_group_is_zero():
    x = torch.ones(4, 2, requires_grad=True)
    out = F.grouped_mm(x, torch.ones(2, 2, 3), offs=ends(torch, 1, 3))
    assert out.tolist() == [[2.0] * 3] * 3 + [[0.0] * 3]
    out.sum().backward()
    assert x.grad.tolist() == [[3.0] * 2] * 3 + [[0.0] * 2]


def test_groups_that_do_not_fit_are_refused_in_pytorch_s_words(oracle):
    def program(lib):
        mm = lib.nn.functional.grouped_mm
        a, b, offs = draw(lib, 8, 4), draw(lib, 3, 4, 8), ends(lib, 2, 5, 8)
        calls = [
            lambda: mm(a, b.half(), offs=offs),
            lambda: mm(a, b),
            lambda: mm(draw(lib, 3, 8, 4), b, offs=offs),
            lambda: mm(a, b, offs=offs.long()),
            lambda: mm(a, b, offs=offs[:2]),
            lambda: mm(a, draw(lib, 3, 8, 4), offs=offs),
            lambda: mm(a, b, offs=offs, bias=lib.ones(3, 8)),
            lambda: mm(a[0], b),
            lambda: mm(draw(lib, 2, 8, 4), b),
        ]
        found = [tried(call) for call in calls]
        return [[kind, text.replace("c10::", "").lower()] for kind, text in found]

    assert program(torch) == [list(r) for r in oracle(program)]
    with pytest.raises(RuntimeError, match="Offsets have to rise from 0 to at most 8"):
        F.grouped_mm(draw(torch, 8, 4), draw(torch, 2, 4, 8), offs=ends(torch, 5, 3))


def test_matrices_with_scales_are_pytorch_s(oracle):
    def program(lib):
        f, kind = lib.nn.functional, lib.nn.functional.ScalingType
        a = draw(lib, 16, 32).to(lib.float8_e4m3fn)
        b = draw(lib, 16, 32, seed=1).to(lib.float8_e4m3fn).t()
        whole = (lib.tensor(0.5), kind.TensorWise, lib.tensor(3.0), kind.TensorWise)
        rows = (
            draw(lib, 16, 1, seed=2).abs(), kind.RowWise,
            draw(lib, 1, 16, seed=3).abs(), kind.RowWise,
        )  # fmt: skip
        return [
            f.scaled_mm(a, b, *whole, output_dtype=lib.float32),
            f.scaled_mm(a, b, *rows, output_dtype=lib.float32),
        ]

    for mine, other in zip(program(torch), oracle(program), strict=True):
        np.testing.assert_allclose(mine.numpy(), other.values, rtol=1e-5, atol=1e-5)


def test_scales_of_blocks_and_of_groups():
    kind = F.ScalingType
    a, b = draw(torch, 3, 40), draw(torch, 5, 40, seed=1)
    scales = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    ones = torch.ones(5, 2)
    out = F.scaled_mm(
        a, b.t(), scales, kind.BlockWise1x32, ones, kind.BlockWise1x32, bias=torch.ones(5),
        output_dtype=torch.float32,
    )  # fmt: skip
    wide = a.numpy() * np.repeat(scales.numpy(), 32, 1)[:, :40]
    np.testing.assert_allclose(out.numpy(), wide @ b.numpy().T + 1, rtol=1e-5, atol=1e-5)
    x, w = draw(torch, 5, 4), draw(torch, 2, 4, 3, seed=1)
    rows, columns = torch.arange(1.0, 6.0), draw(torch, 2, 3, seed=2)
    offs = ends(torch, 2, 5)
    grouped = F.scaled_grouped_mm(
        x, w, rows, kind.RowWise, columns, kind.RowWise, offs=offs, output_dtype=torch.float32
    )
    expected = F.grouped_mm(x * rows[:, None], w * columns[:, None], offs=offs)
    torch.testing.assert_close(grouped, expected)
    with pytest.raises(RuntimeError, match=r"scale_a has to have 3 elements, of shape \(3, 1\)"):
        F.scaled_mm(a, b.t(), torch.ones(2), kind.RowWise, torch.ones(5), kind.RowWise)
    with pytest.raises(NotImplementedError, match=r"SWIZZLE_32_4_4 are for one maker's kernels"):
        F.scaled_mm(
            a, b.t(), scales, kind.BlockWise1x32, ones, kind.BlockWise1x32,
            swizzle_a=F.SwizzleType.SWIZZLE_32_4_4,
        )  # fmt: skip


def test_options_that_tensors_are_made_with(oracle):
    def program(lib):
        make = lib.nn.factory_kwargs
        return [
            make(None),
            sorted(make({"device": "cpu", "dtype": 1}).items()),  # PyTorch goes through a set
            sorted(make({"dtype": 1, "factory_kwargs": {"device": 2}}).items()),
            tried(lambda: make({"size": 1})),
            tried(lambda: make({"dtype": 1, "factory_kwargs": {"dtype": 2}})),
        ]

    ours, theirs = program(torch), oracle(program)
    assert ours[:3] == list(theirs[:3]) and [*ours[3:]] == [tuple(t) for t in theirs[3:]]
