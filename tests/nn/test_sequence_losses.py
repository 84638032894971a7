"""CTC, bags of embeddings, adaptive softmax and linear cross entropy, beside PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus

LABELS = [[2, 2, 3], [3, 2, 0], [2, 3, 3]]


def numbers(torch: Any, seed: int, *shape: int) -> Any:
    values = np.random.default_rng(seed).standard_normal(shape)
    return torch.tensor(values, requires_grad=True)


def losses(torch: Any) -> dict[str, Any]:
    F, t = torch.nn.functional, torch.tensor
    y, joined = t(LABELS), t([2, 2, 3, 3, 2, 2])
    steps, lengths = t([7, 5, 2]), t([3, 2, 1])
    return {
        "mean": lambda x: F.ctc_loss(x, y, steps, lengths, 1),
        "sum": lambda x: F.ctc_loss(x, y, steps, lengths, 1, "sum"),
        "each": lambda x: F.ctc_loss(x, y, steps, lengths, 1, "none"),
        "joined": lambda x: F.ctc_loss(x, joined, steps, lengths, 1, "none"),
        "lists": lambda x: F.ctc_loss(x, y, (7, 5, 2), (3, 2, 1), 1, "none"),
        "one": lambda x: F.ctc_loss(x[:, 0], y[0], steps[0], lengths[0], 1),
        "no steps": lambda x: F.ctc_loss(x, y, (0, 3, 3), (0, 0, 1), 1, "none"),
        "misfit": lambda x: F.ctc_loss(x, y, (3, 1, 2), (3, 2, 1), 1, "none"),
        "misfit without infinity": lambda x: F.ctc_loss(x, y, (3, 1, 2), (3, 2, 1), 1, "sum", True),
        "torch.ctc_loss": lambda x: torch.ctc_loss(x, y, steps, lengths, 1, 2),
        "the layer": lambda x: torch.nn.CTCLoss(1, "sum")(x, y, steps, lengths),
    }


@pytest.mark.parametrize("case", losses(tensorbus))
def test_ctc_losses_and_gradients(case: str, oracle: Any) -> None:
    """The gradient too, of what is no log-softmax: it is the one for the scores below."""

    def program(torch: Any) -> Any:
        x = numbers(torch, 1, 7, 3, 4)
        y = losses(torch)[case](x)
        (y * torch.arange(1.0, y.numel() + 1).to(y.dtype).view(y.shape)).sum().backward()
        return y.detach().numpy(), x.grad.numpy()

    for ours, theirs in zip(program(tensorbus), oracle(program), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("spread", [0.3, 8.0, 60.0, 400.0])
def test_ctc_of_probabilities_of_all_ranges(spread: float, oracle: Any) -> None:
    """Some of which float64 has only as their logarithms."""
    rng = np.random.default_rng(4)
    scores, labels = rng.standard_normal((70, 6, 5)) * spread, rng.integers(1, 5, (6, 9))
    scores[:, 5, 1:] -= 95  # its labels are as improbable together as e to the power -855
    steps, lengths = [70, 33, 50, 2, 0, 70], [9, 9, 0, 3, 0, 9]
    ways = rng.standard_normal((70, 1, 1))

    def program(torch: Any) -> Any:
        x = torch.tensor(scores, requires_grad=True)
        y = torch.nn.functional.ctc_loss(
            x.log_softmax(2), torch.tensor(labels), steps, lengths, 0, "none"
        )
        y.sum().backward()
        return y.detach().numpy(), (x.grad * torch.tensor(ways)).sum(0).numpy()

    for ours, theirs in zip(program(tensorbus), oracle(program), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-9)


def bags(torch: Any) -> dict[str, Any]:
    bag, t = torch.nn.functional.embedding_bag, torch.tensor
    i, rows = t([1, 0, 4, 1, 1, 3, 2, 0]), t([[1, 0, 4], [2, 2, 2]])
    o, bounds = t([0, 3, 3]), t([0, 3, 3, 8])
    found: dict[str, Any] = {}
    for mode in ("sum", "mean", "max"):
        found[mode] = lambda w, p, mode=mode: bag(i, w, o, mode=mode)
        found[f"{mode} of rows"] = lambda w, p, mode=mode: bag(rows, w, mode=mode)
        found[f"{mode} to bounds"] = lambda w, p, mode=mode: bag(
            i, w, bounds, mode=mode, include_last_offset=True
        )
        found[f"{mode} padded"] = lambda w, p, mode=mode: bag(i, w, o, mode=mode, padding_idx=-4)
        found[f"{mode} of int32"] = lambda w, p, mode=mode: bag(i.int(), w, o.int(), mode=mode)
    found["weighted"] = lambda w, p: bag(i, w, o, mode="sum", per_sample_weights=p)
    found["weighted and padded"] = lambda w, p: bag(
        i, w, o, mode="sum", per_sample_weights=p, padding_idx=2
    )
    found["short"] = lambda w, p: bag(i, w.detach().clone(), o, max_norm=1.0, mode="sum") + 0 * w[0]
    return found


@pytest.mark.parametrize("case", bags(tensorbus))
def test_bags_and_gradients(case: str, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        w, p = numbers(torch, 1, 5, 3), numbers(torch, 2, 8)
        y = bags(torch)[case](w, p)
        (y * torch.arange(1.0, y.numel() + 1).to(y.dtype).view(y.shape)).sum().backward()
        return [y.detach().numpy(), w.grad.numpy(), *([] if p.grad is None else [p.grad.numpy()])]

    for ours, theirs in zip(program(tensorbus), oracle(program), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("padding", [None, 3])
def test_bags_with_many_elements_are_what_bags_with_few_are(padding: int | None) -> None:
    F, t = tensorbus.nn.functional, tensorbus.tensor
    rng = np.random.default_rng(0)
    i, o = rng.integers(0, 9, 400), np.sort(rng.integers(0, 400, 20))
    o[0] = 0
    w, f = numbers(tensorbus, 1, 9, 40), numbers(tensorbus, 2, 400)
    kept = np.where(i == padding, 0.0, f.detach().numpy())
    matrix = np.zeros((20, 9))
    np.add.at(matrix, (np.searchsorted(o, np.arange(400), "right") - 1, i), kept)
    y = F.embedding_bag(t(i), w, t(o), mode="sum", per_sample_weights=f, padding_idx=padding)
    g = numbers(tensorbus, 3, *y.shape).detach()
    y.backward(g)
    np.testing.assert_allclose(y.detach().numpy(), matrix @ w.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(w.grad.numpy(), matrix.T @ g.numpy(), atol=1e-12)


@pytest.mark.parametrize("mode", ["sum", "mean", "rows"])
def test_gradients_are_divided_by_frequency(mode: str) -> None:
    """As PyTorch's pages say; its own bags divide by the frequency of another row."""
    F, w = tensorbus.nn.functional, numbers(tensorbus, 1, 4, 2)
    i = tensorbus.tensor([1, 1, 2, 1, 2])
    if mode == "rows":
        y, each = F.embedding(i, w, scale_grad_by_freq=True), [1.0] * 5
    else:
        o = tensorbus.tensor([0, 3])
        y = F.embedding_bag(i, w, o, mode=mode, scale_grad_by_freq=True)
        each = [1.0] * 5 if mode == "sum" else [1 / 3] * 3 + [1 / 2] * 2
    y.sum().backward()
    wanted = [0, (each[0] + each[1] + each[3]) / 3, (each[2] + each[4]) / 2, 0]
    np.testing.assert_allclose(w.grad.numpy(), np.stack([wanted, wanted], 1), rtol=1e-14)


def refusals(torch: Any) -> dict[str, Any]:
    F, nn, t = torch.nn.functional, torch.nn, torch.tensor
    x, y, steps, lengths = torch.zeros(6, 2, 4), t([[1, 2, 3], [2, 2, 1]]), t([6, 5]), t([3, 2])
    i, w, o = t([0, 1, 3, 2]), torch.ones(4, 3), t([0, 2, 2])
    ctc, bag, linear = F.ctc_loss, F.embedding_bag, F.linear_cross_entropy
    tail = nn.AdaptiveLogSoftmaxWithLoss(3, 9, [2, 5], 2.0)
    return {
        "blank": lambda: ctc(x, y, steps, lengths, 4),
        "too many steps": lambda: ctc(x, y, steps + 1, lengths),
        "steps below zero": lambda: ctc(x, y, -steps, lengths),
        "labels below zero": lambda: ctc(x, y, steps, -lengths),
        "too many labels": lambda: ctc(x, y, steps, lengths + 1),
        "labels missing": lambda: ctc(x, y.flatten(), steps, lengths),
        "steps of some": lambda: ctc(x, y, steps[:1], lengths),
        "lengths of some": lambda: ctc(x, y, steps, lengths[:1]),
        "steps of floats": lambda: ctc(x, y, steps.float(), lengths),
        "targets of some": lambda: ctc(x, y[:1], steps, lengths),
        "rank of targets": lambda: ctc(x, y[None], steps, lengths),
        "nothing": lambda: ctc(x[:0], y, steps, lengths),
        "reduction": lambda: ctc(x, y, steps, lengths, reduction="x"),
        "half": lambda: ctc(x.half(), y, steps, lengths),
        "offsets of rows": lambda: bag(i[None], w, o),
        "no offsets": lambda: bag(i, w),
        "rank of offsets": lambda: bag(i, w, o[None]),
        "rank of indices": lambda: bag(i[None, None], w),
        "rank of the table": lambda: bag(i, w[0], o),
        "mode": lambda: bag(i, w, o, mode="x"),
        "weights of means": lambda: bag(i, w, o, per_sample_weights=i.float()),
        "weights of some": lambda: bag(i, w, o, per_sample_weights=w[0]),
        "weights' dtype": lambda: bag(i, w, o, mode="sum", per_sample_weights=i.double()),
        "frequency of max": lambda: bag(i, w, o, mode="max", scale_grad_by_freq=True),
        "sparse max": lambda: bag(i, w, o, mode="max", sparse=True),
        "indices of floats": lambda: bag(i.float(), w, o),
        "padding": lambda: bag(i, w, o, padding_idx=4),
        "first offset": lambda: bag(i, w, o + 1),
        "last offset": lambda: bag(i, w, t([0, 5])),
        "no bounds": lambda: bag(i, w, o[:0], include_last_offset=True),
        "beyond the table": lambda: bag(i + 1, w, o, mode="max"),
        "below the table": lambda: bag(i - 1, w, o, mode="max"),
        "layer's padding": lambda: nn.EmbeddingBag(3, 2, padding_idx=3),
        "layer's table": lambda: nn.EmbeddingBag(3, 2, _weight=w),
        "pretrained": lambda: nn.EmbeddingBag.from_pretrained(w[0]),
        "cutoffs": lambda: nn.AdaptiveLogSoftmaxWithLoss(3, 9, [5, 2]),
        "no cutoffs": lambda: nn.AdaptiveLogSoftmaxWithLoss(3, 9, []),
        "last cutoff": lambda: nn.AdaptiveLogSoftmaxWithLoss(3, 9, [9]),
        "adaptive target": lambda: tail(w, i + 6),
        "adaptive target below zero": lambda: tail(w, i - 1),
        "adaptive batch": lambda: tail(w, i[:2]),
        "adaptive rank": lambda: tail(w, i[0]),
        "linear rank": lambda: linear(w[None], w, i),
        "linear weight": lambda: linear(w, w[0], i),
        "linear features": lambda: linear(w, w[:, :2], i),
        "linear bias": lambda: linear(w, w, i, linear_bias=w[0]),
        "linear batch": lambda: linear(w[0], w[None], i),
        "linear probabilities": lambda: linear(w, w, torch.ones(4, 4), ignore_index=1),
        "linear class weights": lambda: nn.LinearCrossEntropyLoss(3, 4, weight=w[0]),
        "linear smoothing": lambda: nn.LinearCrossEntropyLoss(3, 4, label_smoothing=2.0),
        "policy": lambda: nn.LinearCrossEntropyOptions(acc_policy="x"),
        "chunks": lambda: nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:0"),
        "rows of chunks": lambda: nn.LinearCrossEntropyOptions(batch_chunk_size=0),
    }


@pytest.mark.parametrize("case", refusals(tensorbus))
def test_refusals(case: str, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        with pytest.raises((RuntimeError, ValueError, AssertionError)) as caught:
            refusals(torch)[case]()
        text = str(caught.value).split("\n")[0].replace("tensorbus.", "torch.")
        return type(caught.value).__name__, text

    assert [*program(tensorbus)] == [*oracle(program)]


def test_what_pytorch_would_read_out_of_bounds_is_refused() -> None:
    F, t = tensorbus.nn.functional, tensorbus.tensor
    for wrong in (-1, 3):
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            F.ctc_loss(tensorbus.zeros(4, 1, 3), t([[wrong]]), [4], [1])
    with pytest.raises(RuntimeError, match="Expected 3-dimensional tensor, but got 4-dimensional"):
        F.ctc_loss(tensorbus.zeros(1, 4, 1, 3), t([[1]]), [4], [1])
    with pytest.raises(RuntimeError, match="offsets have to ascend"):
        F.embedding_bag(t([0, 1, 2]), tensorbus.ones(4, 3), t([0, 3, 2]))


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("padding", [None, 1])
def test_sparse_gradients_have_the_values_of_dense_ones(mode: str, padding: int | None) -> None:
    F, found = tensorbus.nn.functional, []
    i, o = tensorbus.tensor([1, 0, 4, 1, 1, 3]), tensorbus.tensor([0, 2, 2])
    for sparse in (False, True):
        w = numbers(tensorbus, 1, 5, 3)
        y = F.embedding_bag(i, w, o, mode=mode, sparse=sparse, padding_idx=padding)
        (y * numbers(tensorbus, 2, 3, 3).detach()).sum().backward()
        assert w.grad.is_sparse == sparse
        found.append([y.detach().numpy(), w.grad.to_dense().numpy()])
    for dense, thin in zip(*found, strict=True):
        np.testing.assert_allclose(dense, thin, rtol=1e-13, atol=1e-15)
    with pytest.raises(RuntimeError, match="not supported with sparse gradients"):
        F.embedding_bag(i, w, o, sparse=True, scale_grad_by_freq=True)


def shapes(layer: Any) -> list[Any]:
    return [[name, list(t.shape)] for name, t in layer.state_dict().items()]


def test_layers_show_what_they_are_made_of(oracle: Any) -> None:
    def program(torch: Any) -> Any:
        nn = torch.nn
        made = [
            nn.EmbeddingBag(5, 3, mode="sum", padding_idx=-1),
            nn.EmbeddingBag(5, 3, 1.5, 1.0, True),
            nn.EmbeddingBag.from_pretrained(torch.ones(2, 2)),
            nn.CTCLoss(1),
            nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 2.0, True),
            nn.LinearCrossEntropyLoss(5, 4, out_features=(2,), bias=True),
        ]
        return [[repr(m), shapes(m), [p.requires_grad for p in m.parameters()]] for m in made]

    assert program(tensorbus) == oracle(program)


def test_adaptive_softmax_is_pytorchs(oracle: Any) -> None:
    def program(torch: Any) -> Any:
        layer = torch.nn.AdaptiveLogSoftmaxWithLoss(4, 9, [2, 5], 2.0, True).double()
        for n, p in enumerate(layer.parameters()):
            p.data = numbers(torch, n, *p.shape).detach()
        x, y = numbers(torch, 9, 6, 4), torch.tensor([0, 8, 3, 1, 5, 2])
        found = layer(x, y)
        found.loss.backward()
        one = layer(x[1], y[1])
        few = layer(x[:2], torch.tensor([0, 1]))
        tensors = [
            *found,
            *one,
            *few,
            x.grad,
            layer.log_prob(x),
            *[p.grad for p in layer.parameters()],
        ]
        return [t.detach().numpy() for t in tensors] + [layer.predict(x).numpy()]

    for ours, theirs in zip(program(tensorbus), oracle(program), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_chunks_give_what_the_whole_batch_gives(reduction: str) -> None:
    nn, found = tensorbus.nn, []
    y = tensorbus.tensor([0, 2, -100, 1, 2, 0, 1])
    for options in (None, nn.LinearCrossEntropyOptions(batch_chunk_size=3)):
        x, w, b = (numbers(tensorbus, n, *s) for n, s in enumerate([(7, 4), (3, 4), (3,)]))
        each = tensorbus.tensor([0.5, 1.0, 2.0], dtype=tensorbus.float64)
        loss = nn.functional.linear_cross_entropy(
            x, w, y, linear_bias=b, weight=each, reduction=reduction, options=options
        )
        loss.sum().backward()
        found.append([loss.detach().numpy(), x.grad.numpy(), w.grad.numpy(), b.grad.numpy()])
    for whole, cut in zip(*found, strict=True):
        np.testing.assert_allclose(whole, cut, rtol=1e-12, atol=1e-14)


def test_chunks_are_as_large_as_pytorchs(oracle: Any) -> None:
    sizes = [(100, 16, 1000), (1000, 64, 50), (7, 3, 4), (4096, 128, 50000)]

    def program(torch: Any) -> Any:
        options = [torch.nn.LinearCrossEntropyOptions(chunking_method=m)
                   for m in ("auto", "aspect_ratio", "aspect_ratio:3", None)]  # fmt: skip
        if torch is tensorbus:
            return [[o._rows(*s) for s in sizes] for o in options]
        return [[o._adjust(*s, torch.float32).batch_chunk_size for s in sizes] for o in options]

    assert program(tensorbus) == oracle(program)
