"""Modified, block-masked and packed attention beside PyTorch, and beside plain products."""

from __future__ import annotations

import importlib
import itertools
import math

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    create_block_mask,
    flex_attention,
)
from tensorbus.nn.attention.varlen import AuxRequest as VarlenAux
from tensorbus.nn.attention.varlen import varlen_attn, varlen_attn_out
from tensorbus.nn.functional import attention as plain


def draw(*shape, seed=0, device="cpu", dtype=torch.float64):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape)).to(device, dtype)


def room(lib, name):
    return importlib.import_module(f"{lib.__name__}.nn.attention.{name}")


def tried(f):
    try:
        return repr(f())
    except Exception as error:
        return type(error).__name__, str(error)


def by_hand(q, k, v, modify=None, seen=None, scale=None):
    """float64 NumPy: output and log of the sum of exponentials, a head and query at a time."""
    batch, heads, length, size = q.shape
    group = heads // k.shape[1]
    out = np.zeros((batch, heads, length, v.shape[-1]))
    lse = np.full((batch, heads, length), -math.inf)
    for b, h, i in itertools.product(range(batch), range(heads), range(length)):
        kb = b if k.shape[0] > 1 else 0
        scores = k[kb, h // group] @ q[b, h, i] * (size**-0.5 if scale is None else scale)
        for j in range(len(scores)):
            if modify is not None:
                scores[j] = modify(scores[j], b, h, i, j)
            if seen is not None and not seen(b, h, i, j):
                scores[j] = -math.inf
        if (top := scores.max()) > -math.inf:
            weights = np.exp(scores - top)
            lse[b, h, i] = top + math.log(weights.sum())
            out[b, h, i] = weights / weights.sum() @ v[kb, h // group]
    return out, lse


MODS = {
    "distance": lambda s, b, h, q, k: s - (q - k).abs() * (h + 1),
    "causal": lambda s, b, h, q, k: s.where(q >= k, -math.inf),
    "soft cap": lambda s, b, h, q, k: 2 * (s / 2).tanh(),
}
BY_HAND = {
    "distance": lambda s, b, h, q, k: s - abs(q - k) * (h + 1),
    "causal": lambda s, b, h, q, k: s if q >= k else -math.inf,
    "soft cap": lambda s, b, h, q, k: 2 * math.tanh(s / 2),
}


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("mod", MODS)
def test_modified_scores_are_those_computed_by_hand(mod, blocks, device, monkeypatch):
    if blocks:
        monkeypatch.setattr(plain, "_SCORES", 2 * 4 * 6 * 2)
    q, k, v = draw(2, 4, 5, 3), draw(2, 2, 6, 3, seed=1), draw(2, 2, 6, 2, seed=2)
    expected, lse = by_hand(q.numpy(), k.numpy(), v.numpy(), BY_HAND[mod], scale=0.7)
    exact = device == "cpu"
    put = dict(device=device, dtype=torch.float64 if exact else torch.float32)
    out, aux = flex_attention(
        q.to(**put), k.to(**put), v.to(**put), MODS[mod], scale=0.7, enable_gqa=True,
        return_aux=AuxRequest(lse=True, max_scores=True),
    )  # fmt: skip
    near = dict(rtol=1e-12 if exact else 1e-4, atol=1e-13 if exact else 1e-5)
    np.testing.assert_allclose(out.cpu().numpy(), expected, **near)
    np.testing.assert_allclose(aux.lse.cpu().numpy(), lse, **near)
    assert (aux.max_scores <= aux.lse).all()


@pytest.mark.parametrize("blocks", [False, True])
def test_gradients_reach_inputs_and_tensors_of_the_modification(blocks, monkeypatch, oracle):
    def program(lib, flex=None):
        def leaf(*shape, seed):
            values = np.random.default_rng(seed).normal(size=shape)
            return lib.tensor(values, dtype=lib.float64).requires_grad_()

        q, k, v = leaf(1, 4, 5, 3, seed=0), leaf(1, 2, 6, 3, seed=1), leaf(1, 2, 6, 2, seed=2)
        bias = leaf(4, 11, seed=3)
        if flex is None:  # PyTorch has no gradients of its own on the cpu: plain products
            i, j = lib.arange(5).unsqueeze(1), lib.arange(6)
            scores = q @ k.repeat_interleave(2, 1).transpose(-2, -1) / 3**0.5
            scores = scores + bias[:, i - j + 5]
            scores = scores.masked_fill((i < j - 1), -math.inf)
            out, lse = scores.softmax(-1) @ v.repeat_interleave(2, 1), scores.logsumexp(-1)
        else:
            mask = create_block_mask(
                lambda b, h, i, j: i >= j - 1, None, None, 5, 6, BLOCK_SIZE=(2, 3)
            )
            out, aux = flex(
                q, k, v, lambda s, b, h, i, j: s + bias[h, i - j + 5], mask, enable_gqa=True,
                return_aux=AuxRequest(lse=True),
            )  # fmt: skip
            lse = aux.lse
        ((out * out).sum() + lse.sin().sum()).backward()
        return [t.grad for t in (q, k, v, bias)]

    if blocks:
        monkeypatch.setattr(plain, "_SCORES", 4 * 6 * 2)
    for ours, theirs in zip(program(torch, flex_attention), oracle(program), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.values, rtol=1e-10, atol=1e-12)


def test_second_derivatives_are_those_of_finite_differences():
    q, k, v = (draw(1, 1, 3, 2, seed=s).requires_grad_() for s in range(3))
    attend = lambda q, k, v: flex_attention(q, k, v, MODS["distance"])  # noqa: E731
    assert torch.autograd.gradgradcheck(attend, (q, k, v))


DOCUMENTS = [0, 0, 0, 1, 1, 2, 2, 2, 2]
MASKS = {
    "causal": lambda lib, b, h, q, k: q >= k,
    "window": lambda lib, b, h, q, k: (q - k).abs() <= 1 + b,
    "documents": lambda lib, b, h, q, k: lib.tensor(DOCUMENTS)[q] == lib.tensor(DOCUMENTS)[k],
    "nothing for some": lambda lib, b, h, q, k: (q > k) | (h > 0),
}


@pytest.mark.parametrize("name", MASKS)
def test_block_masks_are_pytorch_s_and_so_is_attention_under_them(name, oracle):
    def program(lib):
        def mask(b, h, q, k):
            return MASKS[name](lib, b, h, q, k)

        flex = room(lib, "flex_attention")
        made = flex.create_block_mask(mask, 2, 2, 9, 9, device="cpu", BLOCK_SIZE=(4, 2))
        tensors = [t for t in made.as_tuple() if isinstance(t, lib.Tensor)]
        x = lib.tensor(np.random.default_rng(0).normal(size=(2, 2, 9, 4)), dtype=lib.float64)
        out = flex.flex_attention(x, x, x, block_mask=made)
        texts = [repr(made), str(made), made.to_string((2, 2), 3), str(made.shape)]
        both = flex.and_masks(mask, lambda b, h, q, k: k > 2)
        either = flex.or_masks(mask, lambda b, h, q, k: k > 2)
        more = [flex.create_mask(m, 2, 2, 9, 9, device="cpu") for m in (both, either)]
        dense = [made.to_dense(), made[0].to_dense(), made[:, -1, 1:2].to_dense()]
        numbers = [made.sparsity(), made.numel(), made[1, 0].shape]
        return texts, [*tensors, *dense, *more], out, [list(map(str, numbers))]

    ours, theirs = program(torch), oracle(program)
    assert ours[0] == list(theirs[0])
    for mine, other in zip(ours[1], theirs[1], strict=True):
        assert mine.tolist() == other.values.tolist()
    np.testing.assert_allclose(ours[2].numpy(), theirs[2].values, rtol=1e-12, atol=1e-14)
    assert [list(x) for x in theirs[3]] == ours[3]


def test_a_block_mask_is_cut_to_its_upper_left_part():
    mask = create_block_mask(lambda b, h, q, k: k < 4 * q, None, 2, 9, 9, BLOCK_SIZE=(4, 2))
    cut = mask._adjust(5, 4)
    assert cut.shape == (1, 2, 5, 4)
    assert cut.to_dense().tolist() == mask.to_dense()[..., :2, :2].tolist()
    x = draw(1, 2, 5, 3)
    out = flex_attention(x, x[:, :, :4], x[:, :, :4], block_mask=cut)
    parts = [t.numpy() for t in (x, x[:, :, :4], x[:, :, :4])]
    expected, _ = by_hand(*parts, seen=lambda b, h, q, k: k < 4 * q)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12)


def test_blocks_that_are_not_listed_are_not_seen():
    counts = torch.tensor([[[1, 1]]], dtype=torch.int32)
    indices = torch.tensor([[[[1, 0], [0, 1]]]], dtype=torch.int32)
    mask = BlockMask.from_kv_blocks(counts, indices, BLOCK_SIZE=2)
    x = draw(1, 1, 4, 3)
    out = flex_attention(x, x, x, block_mask=mask)
    expected, _ = by_hand(*[x.numpy()] * 3, seen=lambda b, h, q, k: (q < 2) == (k >= 2))
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12)


def test_blocks_that_are_listed_as_whole_are_seen_whole():
    one, none = torch.tensor([[[1, 1]]], dtype=torch.int32), torch.zeros(1, 1, 2, 2).int()
    diagonal = torch.tensor([[[[0, 1], [1, 0]]]], dtype=torch.int32)
    mask = BlockMask.from_kv_blocks(
        0 * one, none, one, diagonal, BLOCK_SIZE=2, mask_mod=lambda b, h, q, k: q < 0
    )
    x = draw(1, 1, 4, 3)
    expected, _ = by_hand(*[x.numpy()] * 3, seen=lambda b, h, q, k: q // 2 == k // 2)
    out = flex_attention(x, x, x, block_mask=mask)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12)


def test_one_batch_of_keys_serves_all_under_a_mask_and_devices_are_kept(device):
    q, k = draw(3, 1, 4, 2, dtype=torch.float32), draw(1, 1, 4, 2, seed=1, dtype=torch.float32)
    mask = create_block_mask(lambda b, h, i, j: (i >= j) | (b > 1), 3, None, 4, 4, BLOCK_SIZE=2)
    out = flex_attention(q.to(device), k.to(device), k.to(device), block_mask=mask.to(device))
    assert out.device.type == device
    seen = lambda b, h, i, j: i >= j or b > 1  # noqa: E731
    expected, _ = by_hand(q.double().numpy(), *[k.double().numpy()] * 2, seen=seen)
    np.testing.assert_allclose(out.cpu().numpy(), expected, rtol=1e-5, atol=1e-6)


def test_bad_input_is_refused_in_pytorch_s_words(oracle):
    def program(lib):
        flex = room(lib, "flex_attention")
        attend, x = flex.flex_attention, lib.ones(1, 2, 3, 4)
        mask = flex.create_block_mask(lambda b, h, q, k: q >= k, None, None, 5, 5, device="cpu")
        small = flex.create_block_mask(lambda b, h, q, k: q >= k, None, None, 2, 2, device="cpu")
        aux = flex.AuxRequest(lse=True)
        return [
            tried(lambda: attend(x[0], x[0], x[0])),
            tried(lambda: attend(x, x[:, :1], x[:, :1])),
            tried(lambda: attend(lib.ones(1, 3, 3, 4), x, x, enable_gqa=True)),
            tried(lambda: attend(x, x[..., :2], x)),
            tried(lambda: attend(lib.ones(2, 2, 3, 4), x, x)),
            tried(lambda: attend(x, x, x, block_mask=mask)),
            tried(lambda: attend(x, x, x, block_mask=small)),
            tried(lambda: attend(x, x, x, block_mask=mask[0])),
            tried(lambda: attend(x, x, x, kernel_options={"BACKEND": "X"})),
            tried(lambda: attend(x, x, x, return_lse=True, return_aux=aux)),
            tried(lambda: flex.create_block_mask(lambda a, b: a, 1, 1, 1, 1, device="cpu")),
            tried(lambda: flex.and_masks(3)),
            tried(lambda: flex.BlockMask.from_kv_blocks(lib.ones(1).int(), lib.ones(1).int())),
        ]

    assert [tuple(r) for r in program(torch)] == [tuple(r) for r in oracle(program)]


def test_the_older_way_to_ask_for_sums_warns():
    x = draw(1, 1, 2, 2)
    with pytest.warns(FutureWarning, match="return_lse is deprecated"):
        _, lse = flex_attention(x, x, x, return_lse=True)
    assert torch.equal(lse, flex_attention(x, x, x, return_aux=AuxRequest(lse=True))[1].lse)


# -- sequences one behind the other ---------------------------------------------------------
WINDOWS = [(-1, -1), (-1, 0), (1, 0), (0, 1), (2, -1)]


def packed(q, k, v, ends_q, ends_k, window, used=None):
    outs, sums = [], []
    for i, ((a, b), (c, d)) in enumerate(
        zip(itertools.pairwise(ends_q), itertools.pairwise(ends_k), strict=True)
    ):
        d = d if used is None else c + used[i]
        shift = (d - c) - (b - a)

        def seen(_, __, i, j, shift=shift):
            left, right = window
            return (left < 0 or j >= i + shift - left) and (right < 0 or j <= i + shift + right)

        parts = [x.numpy().transpose(1, 0, 2)[None] for x in (q[a:b], k[c:d], v[c:d])]
        out, lse = by_hand(*parts, seen=seen)
        outs.append(out[0].transpose(1, 0, 2))
        sums.append(lse[0])
    return np.concatenate(outs), np.concatenate(sums, 1)


@pytest.mark.parametrize("window", WINDOWS)
def test_packed_sequences_attend_to_their_own_keys(window, device, monkeypatch):
    monkeypatch.setattr(plain, "_SCORES", 4 * 6 * 2)
    ends_q, ends_k = [0, 3, 3, 8], [0, 2, 5, 11]
    q, k, v = draw(8, 4, 3), draw(11, 2, 3, seed=1), draw(11, 2, 5, seed=2)
    expected, sums = packed(q, k, v, ends_q, ends_k, window)
    put = [x.to(device, torch.float32) for x in (q, k, v)]
    cu = [torch.tensor(e, dtype=torch.int32, device=device) for e in (ends_q, ends_k)]
    options = dict(window_size=window, enable_gqa=True, return_aux=VarlenAux(lse=True))
    out, lse = varlen_attn(*put, *cu, 5, 6, **options)
    np.testing.assert_allclose(out.cpu().numpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(lse.cpu().numpy(), sums, rtol=1e-4, atol=1e-5)
    room = torch.empty(8, 4, 5, device=device)
    assert varlen_attn_out(room, *put, *cu, 5, 6, **options)[0] is room
    assert torch.equal(room, out)


def test_gradients_of_packed_sequences_are_those_of_each_alone():
    q, k = draw(7, 2, 3).requires_grad_(), draw(7, 2, 3, seed=1).requires_grad_()
    ends = torch.tensor([0, 4, 7])
    weights = draw(7, 2, 3, seed=2)
    out = varlen_attn(q, k, k, ends, ends, 4, 4, window_size=(-1, 0))
    found = torch.autograd.grad((out * weights).sum(), (q, k))
    alone = 0.0
    for a, b in ((0, 4), (4, 7)):
        parts = [x[a:b].transpose(0, 1) for x in (q, k, k)]
        each = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        alone = alone + (each.transpose(0, 1) * weights[a:b]).sum()
    for mine, other in zip(found, torch.autograd.grad(alone, (q, k)), strict=True):
        torch.testing.assert_close(mine, other)


def test_keys_may_lie_in_pages_of_which_some_are_used():
    pages = draw(4, 2, 1, 3)
    table = torch.tensor([[2, 0], [3, 1]], dtype=torch.int32)
    used = torch.tensor([3, 2], dtype=torch.int32)
    q, ends = draw(3, 1, 3, seed=1), torch.tensor([0, 1, 3])
    out = varlen_attn(q, pages, pages, ends, None, 2, 4, seqused_k=used, block_table=table)
    flat = pages[table.long().flatten()].flatten(0, 1)
    expected, _ = packed(q, flat, flat, [0, 1, 3], [0, 4, 8], (-1, -1), used=[3, 2])
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12)
    with pytest.raises(RuntimeError, match="seqused_k is an inference-only parameter"):
        varlen_attn(
            q.requires_grad_(), pages, pages, ends, None, 2, 4, seqused_k=used, block_table=table
        )
    with pytest.raises(ValueError, match="Try setting enable_gqa=True for GQA"):
        varlen_attn(draw(3, 2, 3), pages, pages, ends, None, 2, 4, block_table=table)
