"""Attention beside PyTorch's: values, gradients, masks, texts; and in blocks of queries."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.nn.functional import attention

F = tensorbus.nn.functional


def numbers(torch: Any, seed: int, *shape: int) -> Any:
    values = np.random.default_rng(seed).standard_normal(shape)
    return torch.tensor(values, requires_grad=True)


def forbidden(torch: Any, *shape: int) -> Any:
    """Truth values, with a query that sees no key."""
    found = np.random.default_rng(7).random(shape) < 0.4
    found[..., 1, :] = True
    return torch.from_numpy(found)


CALLS: dict[str, tuple[Any, Any]] = {
    "plain": ([(2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 7)], lambda t: {}),
    "two dimensions": ([(5, 4), (6, 4), (6, 3)], lambda t: {}),
    "causal": ([(2, 5, 4), (2, 5, 4), (2, 5, 4)], lambda t: {"is_causal": True}),
    "causal, more keys": ([(3, 4), (5, 4), (5, 4)], lambda t: {"is_causal": True}),
    "causal, fewer keys": ([(5, 4), (3, 4), (3, 4)], lambda t: {"is_causal": True}),
    "scale": ([(2, 5, 4)] * 3, lambda t: {"scale": -0.3}),
    "truth": ([(2, 3, 5, 4)] * 3, lambda t: {"attn_mask": forbidden(t, 5, 5).logical_not()}),
    "truth of each head": (
        [(2, 3, 5, 4)] * 3, lambda t: {"attn_mask": forbidden(t, 2, 1, 5, 5).logical_not()},
    ),
    "numbers": ([(2, 5, 4)] * 3, lambda t: {"attn_mask": numbers(t, 4, 5, 5).detach()}),
    "numbers for keys": ([(2, 5, 4)] * 3, lambda t: {"attn_mask": numbers(t, 4, 1, 5).detach()}),
    "minus infinity": (
        [(2, 5, 4)] * 3,
        lambda t: {"attn_mask": t.zeros(5, 5).double().masked_fill(forbidden(t, 5, 5), -math.inf)},
    ),
    "shared heads": ([(2, 4, 5, 4), (2, 2, 6, 4), (2, 2, 6, 4)], lambda t: {"enable_gqa": True}),
    "one batch for all": ([(3, 5, 4), (1, 6, 4), (1, 6, 4)], lambda t: {}),
}  # fmt: skip


@pytest.mark.parametrize("scores", [1 << 22, 14], ids=["at once", "in blocks"])
@pytest.mark.parametrize("case", CALLS)
def test_values_and_gradients(case: str, scores: int, oracle: Any, monkeypatch: Any) -> None:
    shapes, options = CALLS[case]

    def program(torch: Any) -> Any:
        given = [numbers(torch, k, *shape) for k, shape in enumerate(shapes)]
        y = torch.nn.functional.scaled_dot_product_attention(*given, **options(torch))
        (y * numbers(torch, 9, *y.shape).detach()).sum().backward()
        return [y.detach().numpy(), *(t.grad.numpy() for t in given)]

    expected = oracle(program)
    monkeypatch.setattr(attention, "_SCORES", scores)
    for ours, theirs in zip(program(tensorbus), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_second_gradients_go_through_blocks(monkeypatch):
    monkeypatch.setattr(attention, "_SCORES", 8)
    given = [numbers(tensorbus, k, 2, 4, 3) for k in range(3)]
    assert tensorbus.autograd.gradgradcheck(
        lambda *x: F.scaled_dot_product_attention(*x, is_causal=True), given
    )


def test_dropout_is_the_same_in_a_block_that_is_computed_again(monkeypatch):
    monkeypatch.setattr(attention, "_SCORES", 64)
    q = tensorbus.ones(8, 4)
    k, v = tensorbus.ones(16, 4), tensorbus.eye(16).requires_grad_()
    tensorbus.manual_seed(3)
    y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    y.sum().backward()
    assert set(y.detach().mul(8).round().unique().tolist()) == {0.0, 1.0}
    tensorbus.testing.assert_close(v.grad[:, 0], y.detach().sum(0))


def test_half_precision_is_rounded_once():
    given = [numbers(tensorbus, k, 2, 9, 8).detach() * 3 for k in range(3)]
    exact = F.scaled_dot_product_attention(*(x.half().double() for x in given))
    found = F.scaled_dot_product_attention(*(x.half() for x in given))
    assert found.dtype is tensorbus.float16
    tensorbus.testing.assert_close(found.double(), exact, rtol=2**-11, atol=1e-6)


def test_memory_of_long_sequences_stays_below_their_scores():
    import tracemalloc

    q = tensorbus.ones(1, 4096, 8, requires_grad=True)
    tracemalloc.start()
    F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 4096 * 4096 * 2  # the scores and the weights alone


def refusals(torch: Any) -> dict[str, Any]:
    call, ones = torch.nn.functional.scaled_dot_product_attention, torch.ones
    q = ones(2, 4, 5, 8)
    return {
        "one dimension": lambda: call(ones(3), ones(3), ones(3)),
        "dtypes": lambda: call(q, q.double(), q),
        "devices": lambda: call(q, q.to("meta"), q),
        "mask of integers": lambda: call(q, q, q, attn_mask=ones(5, 5).int()),
        "mask of float64": lambda: call(q, q, q, attn_mask=ones(5, 5).double()),
        "mask's shape": lambda: call(q, q, q, attn_mask=ones(5, 4)),
        "dropout": lambda: call(q, q, q, dropout_p=1.5),
    }


@pytest.mark.parametrize("case", refusals(tensorbus))
def test_refusals(case: str, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        with pytest.raises(RuntimeError) as caught:
            refusals(torch)[case]()
        return str(caught.value)

    def plain(text: str) -> str:
        return text.replace("torch.", "").replace("float32", "float").replace("float64", "double")

    assert plain(program(tensorbus)).replace("int32", "int") == plain(oracle(program))


def test_heads_that_do_not_divide():
    q = tensorbus.ones(1, 4, 5, 8)
    with pytest.raises(RuntimeError, match="Number of heads in key and value must divide"):
        F.scaled_dot_product_attention(q, q[:, :3], q[:, :3], enable_gqa=True)


# -- nn.MultiheadAttention -------------------------------------------------------------------
LAYERS: dict[str, tuple[Any, Any, Any]] = {
    "plain": ({}, (5, 3, 8), {}),
    "batch first": ({"batch_first": True}, (3, 5, 8), {}),
    "no batch": ({}, (5, 8), {"average_attn_weights": False}),
    "no bias": ({"bias": False}, (5, 3, 8), {"average_attn_weights": False}),
    "no weights": ({}, (5, 3, 8), {"need_weights": False}),
    "bias_kv and zeros": ({"add_bias_kv": True, "add_zero_attn": True}, (5, 3, 8), {}),
    "other sizes": ({"kdim": 6, "vdim": 7}, (5, 3, 8), {}),
    "masks": ({}, (5, 3, 8), {"attn_mask": "float", "key_padding_mask": "float"}),
    "truth": ({}, (5, 3, 8), {"attn_mask": "truth", "need_weights": False}),
    "mask of each head": ({"add_zero_attn": True}, (5, 3, 8), {"attn_mask": "heads"}),
    "causal": ({}, (5, 3, 8), {"attn_mask": "causal", "is_causal": True, "need_weights": False}),
    "causal, weights": ({}, (5, 3, 8), {"attn_mask": "causal", "is_causal": True}),
}


def mask(torch: Any, kind: Any) -> Any:
    if not isinstance(kind, str):
        return kind
    hidden = np.random.default_rng(7).random((6, 5, 5)) < 0.3
    hidden[..., 0] = False
    whole = torch.zeros(6, 5, 5).double().masked_fill(torch.from_numpy(hidden), -math.inf)
    causal = torch.nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
    found = {"float": whole[0], "heads": whole, "truth": torch.from_numpy(hidden)[0]}
    return (found | {"causal": causal})[kind]


def multihead(torch: Any, case: str) -> Any:
    made, shape, call = LAYERS[case]
    net = torch.nn.MultiheadAttention(8, 2, **made).double()
    with torch.no_grad():
        for k, p in enumerate(net.parameters()):
            p.copy_(numbers(torch, 20 + k, *p.shape) / 2)
    sizes = [8, made.get("kdim", 8), made.get("vdim", 8)]
    given = [numbers(torch, k, *shape[:-1], n) for k, n in enumerate(sizes)]
    options = {k: mask(torch, v) for k, v in call.items()}
    if "key_padding_mask" in options:
        options["key_padding_mask"] = options["key_padding_mask"][:3]
    y, w = net(*given, **options)
    (y * numbers(torch, 9, *y.shape).detach()).sum().backward()
    names = [[n, list(p.shape)] for n, p in net.state_dict().items()]
    grads = [t.grad.numpy() for t in (*given, *net.parameters())]
    return names, [y.detach().numpy(), *([] if w is None else [w.detach().numpy()]), *grads]


@pytest.mark.parametrize("case", LAYERS)
def test_multihead_attention(case: str, oracle: Any) -> None:
    (names, ours), (expected, theirs) = (
        multihead(tensorbus, case), oracle(lambda torch: multihead(torch, case)),
    )  # fmt: skip
    assert names == expected and len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def wrong(torch: Any) -> dict[str, Any]:
    x, net = torch.ones(5, 3, 8), torch.nn.MultiheadAttention(8, 2)
    flags = torch.zeros(3, 5, dtype=torch.bool)
    return {
        "heads": lambda: torch.nn.MultiheadAttention(8, 3),
        "no heads": lambda: torch.nn.MultiheadAttention(8, 0),
        "rank": lambda: net(x[None], x, x),
        "key's rank": lambda: net(x, x[0], x),
        "key's rank without a batch": lambda: net(x[0], x, x[0]),
        "padding's rank": lambda: net(x, x, x, flags[0]),
        "padding's size": lambda: net(x, x, x, flags[:2]),
        "padding's length": lambda: net(x, x, x, flags[:, :4]),
        "mask's rank": lambda: net(x, x, x, attn_mask=flags[0]),
        "mask's size": lambda: net(x, x, x, attn_mask=flags),
        "mask's heads": lambda: net(x, x, x, attn_mask=torch.zeros(4, 5, 5)),
        "mask's heads without a batch": lambda: net(*[x[:, 0]] * 3, attn_mask=torch.zeros(4, 5, 5)),
        "mask of integers": lambda: net(x, x, x, attn_mask=torch.zeros(5, 5).int()),
        "size": lambda: net(x[..., :4], x, x),
        "key's and value's": lambda: net(x, x, x[:4]),
        "causal without a mask": lambda: net(x, x, x, is_causal=True),
    }


@pytest.mark.parametrize("case", wrong(tensorbus))
def test_what_multihead_attention_refuses(case: str, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        with pytest.raises((RuntimeError, AssertionError, ValueError)) as caught:
            wrong(torch)[case]()
        return type(caught.value).__name__, str(caught.value)

    assert [*program(tensorbus)] == [*oracle(program)]


def test_masks_of_two_dtypes_warn(oracle: Any) -> None:
    def program(torch: Any) -> Any:
        x, net = torch.ones(5, 3, 8), torch.nn.MultiheadAttention(8, 2)
        flags = torch.zeros(3, 5, dtype=torch.bool)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            net(x, x, x, flags, attn_mask=torch.zeros(5, 5))
        return [str(w.message) for w in found]

    assert program(tensorbus) == oracle(program)[:1]
