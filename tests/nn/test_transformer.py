"""The Transformer beside PyTorch's: values, gradients, names, texts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tensorbus

CASES: dict[str, tuple[dict[str, Any], bool]] = {
    "plain": ({}, True),
    "norm first, gelu": ({"norm_first": True, "activation": "gelu"}, True),
    "batch first, no bias": ({"batch_first": True, "bias": False}, True),
    "no batch": ({"layer_norm_eps": 0.1}, False),
}


def numbers(torch: Any, seed: int, *shape: int) -> Any:
    values = np.random.default_rng(seed).standard_normal(shape)
    return torch.tensor(values, requires_grad=True)


def transformer(torch: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch tells what of it is not as fast as it could be
        net = torch.nn.Transformer(8, 2, 2, 2, 12, dropout=0.0, **options).double()
    with torch.no_grad():
        for k, p in enumerate(net.parameters()):
            p.copy_(numbers(torch, 20 + k, *p.shape) / 2)
    return net


def padding(torch: Any, length: int) -> Any:
    return torch.from_numpy(np.arange(length) >= np.array([[length], [length - 1], [length - 2]]))


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case: str, oracle: Any) -> None:
    options, batched = CASES[case]

    def program(torch: Any) -> Any:
        net = transformer(torch, **options)
        first = options.get("batch_first", False)
        batch = ((3,),) if batched else ((),)
        shapes = [
            (*b, n, 8) if first else (n, *b, 8) for n in (5, 4) for b in batch
        ]  # fmt: skip
        src, tgt = (numbers(torch, k, *shape) for k, shape in enumerate(shapes))
        hidden = net.generate_square_subsequent_mask(4, dtype=torch.float64) < 0
        call = {"tgt_mask": hidden, "memory_mask": torch.zeros(4, 5, dtype=torch.bool)}
        if batched:
            call |= {"src_key_padding_mask": padding(torch, 5)}
            call |= {"memory_key_padding_mask": padding(torch, 5)}
        y = net(src, tgt, **call)
        (y * numbers(torch, 9, *y.shape).detach()).sum().backward()
        return [t.detach().numpy() for t in (y, src.grad, tgt.grad)] + [
            p.grad.numpy() for p in net.parameters()
        ]

    for ours, theirs in zip(program(tensorbus), oracle(program), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("case", CASES)
def test_names_and_texts(case: str, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        net = transformer(torch, **CASES[case][0])
        return repr(net), [[n, list(p.shape)] for n, p in net.state_dict().items()]

    assert [*program(tensorbus)] == [*oracle(program)]


def wrong(torch: Any) -> dict[str, Any]:
    net, ones = transformer(torch).float(), torch.ones
    layer = torch.nn.TransformerEncoderLayer
    return {
        "activation": lambda: layer(8, 2, activation="tanh"),
        "batches": lambda: net(ones(5, 3, 8), ones(4, 2, 8)),
        "size": lambda: net(ones(5, 3, 4), ones(4, 3, 8)),
        "causal without a mask": lambda: layer(8, 2)(ones(5, 3, 8), is_causal=True),
    }


@pytest.mark.parametrize("case", wrong(tensorbus))
def test_refusals(case: str, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        with pytest.raises(RuntimeError) as caught:
            wrong(torch)[case]()
        return str(caught.value)

    assert program(tensorbus) == oracle(program)


def test_causal_masks_may_be_named():
    tensorbus.manual_seed(0)
    nn, x = tensorbus.nn, tensorbus.randn(5, 3, 8)
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), 2)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    found = net(x, mask)
    tensorbus.testing.assert_close(net(x, mask, is_causal=True), found)
    changed = x.clone()
    changed[-1] = 0
    tensorbus.testing.assert_close(net(changed, mask)[:-1], found[:-1])
    assert not tensorbus.allclose(net(changed)[:-1], net(x)[:-1])


def test_a_small_model_learns_to_reverse():
    tensorbus.manual_seed(0)
    nn = tensorbus.nn
    net = nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=True)
    table, out = nn.Embedding(7, 16), nn.Linear(16, 6)
    place = nn.Parameter(tensorbus.randn(5, 16) / 4)
    params = [p for m in (net, table, out) for p in m.parameters()]
    optimizer = tensorbus.optim.Adam([*params, place], lr=5e-3)
    mask = net.generate_square_subsequent_mask(4)
    losses = []
    for _ in range(150):
        src = tensorbus.randint(0, 6, (32, 4))
        wanted = src.flip(1)
        given = tensorbus.cat([tensorbus.full((32, 1), 6), wanted[:, :-1]], 1)
        y = net(table(src) + place[:4], table(given) + place[:4], tgt_mask=mask)
        loss = nn.functional.cross_entropy(out(y).flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > 1.5 and losses[-1] < 0.2, losses[::30]


class _ByHand(tensorbus.nn.Module):
    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        return src


def _of_other_eps() -> Any:
    layer = tensorbus.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    layer.norm2.eps = 0.5
    return layer


BATCHES = {"batch_first": True}
NO_NESTED = [
    ({}, "self_attn.batch_first was not True(use batch_first for better inference performance)"),
    ({"norm_first": True}, "norm_first was True"),
    (BATCHES | {"bias": False}, "self_attn was passed bias=False"),
    (BATCHES | {"activation": tensorbus.tanh}, "activation_relu_or_gelu was not True"),
    (BATCHES | {"nhead": 1}, "self_attn.num_heads is odd"),
    (_of_other_eps, "norm1.eps was not equal to encoder_layer.norm2.eps"),
    (_ByHand, "was not TransformerEncoderLayer"),
]


@pytest.mark.parametrize(("options", "reason"), NO_NESTED, ids=[reason for _, reason in NO_NESTED])
def test_an_encoder_says_why_it_takes_no_nested_tensors(options, reason):
    """The texts are PyTorch's."""
    nn = tensorbus.nn
    if callable(options):
        layer = options()
    else:
        layer = nn.TransformerEncoderLayer(8, **{"nhead": 2, "dim_feedforward": 16} | options)
    with pytest.warns(UserWarning) as told:
        net = nn.TransformerEncoder(layer, 2)
    (warning,) = told
    start = "enable_nested_tensor is True, but self.use_nested_tensor is False because "
    joint = " " if reason.startswith("was") else "."
    assert str(warning.message) == f"{start}encoder_layer{joint}{reason}"
    assert warning.filename == __file__
    assert net.enable_nested_tensor and not net.use_nested_tensor
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).use_nested_tensor


@pytest.mark.parametrize("activation", ["relu", "gelu", tensorbus.nn.ReLU(), tensorbus.nn.GELU()])
def test_an_encoder_that_takes_nested_tensors_says_nothing(activation):
    nn = tensorbus.nn
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation=activation)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nn.TransformerEncoder(layer, 2).use_nested_tensor
