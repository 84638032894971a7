"""Losses with margins between classes and their kin, beside PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus

LABELS = [[1, 0, -1, 2], [3, -1, 0, 0], [-1, 0, 1, 2]]


def numbers(torch: Any, seed: int, *shape: int) -> Any:
    values = np.random.default_rng(seed).standard_normal(shape)
    return torch.tensor(values, requires_grad=True)


def calls(torch: Any) -> dict[str, Any]:
    F = torch.nn.functional
    y, labels = torch.tensor([0, 3, 2]), torch.tensor(LABELS)
    w = torch.tensor([0.5, 1.0, 2.0, 0.25], dtype=torch.float64)
    one = torch.ones(3, 4, dtype=torch.float64)
    d = lambda a, b: (a - b).abs().sum(-1)  # noqa: E731
    return {
        "margin": lambda x: F.multi_margin_loss(x, y),
        "margin squared": lambda x: F.multi_margin_loss(x, y, p=2, margin=0.7, reduction="sum"),
        "margin weighted": lambda x: F.multi_margin_loss(x, y, weight=w, reduction="none"),
        "margin of one sample": lambda x: F.multi_margin_loss(x[0], y[1]),
        "margin by flags": lambda x: F.multi_margin_loss(x, y, size_average=False),
        "labels": lambda x: F.multilabel_margin_loss(x, labels),
        "labels of each": lambda x: F.multilabel_margin_loss(x, labels, reduction="none"),
        "labels of one sample": lambda x: F.multilabel_margin_loss(x[1], labels[0]),
        "soft": lambda x: F.multilabel_soft_margin_loss(x, (labels > 0).double()),
        "soft weighted": lambda x: F.multilabel_soft_margin_loss(x, one, w, reduction="none"),
        "Gauss": lambda x: F.gaussian_nll_loss(x, one, one * 2, full=True),
        "Gauss of a number": lambda x: F.gaussian_nll_loss(x, one, 2.0, reduction="sum"),
        "Gauss of rows": lambda x: F.gaussian_nll_loss(x, one, one[:, :1], reduction="none"),
        "Gauss of rows, flat": lambda x: F.gaussian_nll_loss(one, one, x[:, 0].exp()),
        "Gauss of variances": lambda x: F.gaussian_nll_loss(one, one * 0, x.exp(), eps=0.9),
        "triplets": lambda x: F.triplet_margin_with_distance_loss(x, one, -one),
        "triplets, swapped": lambda x: F.triplet_margin_with_distance_loss(
            x, one * 2, -one, swap=True, distance_function=d, margin=9.0, reduction="none"
        ),
    }


@pytest.mark.parametrize("case", calls(tensorbus))
@pytest.mark.filterwarnings("ignore:size_average")
def test_values_and_gradients(case: str, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        x = numbers(torch, 1, 3, 4)
        y = calls(torch)[case](x)
        (y * numbers(torch, 2, *y.shape).detach()).sum().backward()
        return [y.detach().numpy(), x.grad.numpy()]

    for ours, theirs in zip(program(tensorbus), oracle(program), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", ["uint8", "int64"])
def test_hinges_of_integers_are_integers(dtype: str, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([0, 3, 1, 2], dtype=getattr(torch, dtype))
        y, hinge = torch.tensor([1, -1, 0, -1]), torch.nn.functional.hinge_embedding_loss
        made = [hinge(x, y, margin, reduction="none") for margin in (1.0, 2.7)]
        made.append(hinge(x, y, reduction="sum"))
        return [[str(r.dtype).partition(".")[2], r.tolist()] for r in made]

    assert program(tensorbus) == [*map(list, oracle(program))]


def refusals(torch: Any) -> dict[str, Any]:
    F, nn, ones = torch.nn.functional, torch.nn, torch.ones
    x, y, labels = ones(3, 4), torch.tensor([0, 3, 2]), torch.tensor(LABELS)
    margin, several = F.multi_margin_loss, F.multilabel_margin_loss
    gauss, triplets = F.gaussian_nll_loss, F.triplet_margin_with_distance_loss
    return {
        "p": lambda: margin(x, y, p=3),
        "weight's size": lambda: margin(x, y, weight=ones(3)),
        "weight's rank": lambda: margin(x, y, weight=ones(4, 1)),
        "targets": lambda: margin(x, y[:2]),
        "targets' dtype": lambda: margin(x, y.float()),
        "too large a target": lambda: margin(x, y + 3),
        "a target below zero": lambda: margin(x, y - 3),
        "rank": lambda: margin(x[None], y),
        "no classes": lambda: margin(x[:, :0], y),
        "labels' shape": lambda: several(x, labels[:1]),
        "labels' dtype": lambda: several(x, labels.float()),
        "too large a label": lambda: several(x[0], torch.tensor([1, 0, 4, 2])),
        "a label behind the end": lambda: several(x[0], torch.tensor([1, -1, 4, 2])),
        "a label below -1": lambda: several(x[0], torch.tensor([1, 0, -2, 2])),
        "rank of labels": lambda: several(x[None], labels),
        "soft reduction": lambda: F.multilabel_soft_margin_loss(x, x, reduction="x"),
        "variance below zero": lambda: gauss(x, x, -x),
        "number below zero": lambda: gauss(x, x, -1.0),
        "variance's size": lambda: gauss(x, x, ones(2)),
        "Gaussian reduction": lambda: gauss(x, x, x, reduction="x"),
        "margin": lambda: triplets(x, x, x, margin=-1),
        "ranks": lambda: triplets(x, x, x[0]),
        "reduction": lambda: triplets(x, x, x, reduction="x"),
        "layer's p": lambda: nn.MultiMarginLoss(p=3),
        "layer's weight": lambda: nn.MultiMarginLoss(weight=ones(2, 2)),
        "layer's margin": lambda: nn.TripletMarginWithDistanceLoss(margin=0),
    }


@pytest.mark.parametrize("case", refusals(tensorbus))
def test_refusals(case: str, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        with pytest.raises((RuntimeError, ValueError)) as caught:
            refusals(torch)[case]()
        return type(caught.value).__name__, str(caught.value)

    assert [*program(tensorbus)] == [*oracle(program)]


def test_layers_are_their_functions(oracle: Any) -> None:
    def program(torch: Any) -> Any:
        nn, y = torch.nn, torch.tensor([0, 3, 2])
        x, one = numbers(torch, 1, 3, 4).detach(), torch.ones(3, 4, dtype=torch.float64)
        w = torch.tensor([0.5, 1.0, 2.0, 0.25], dtype=torch.float64)
        made = [
            (nn.MultiMarginLoss(2, 0.5, w), (y,)),
            (nn.MultiLabelMarginLoss(reduction="sum"), (torch.tensor(LABELS),)),
            (nn.MultiLabelSoftMarginLoss(w, reduction="none"), (one,)),
            (nn.GaussianNLLLoss(full=True, eps=0.1), (one, one * 0.01)),
            (nn.TripletMarginWithDistanceLoss(swap=True), (one, -one)),
        ]
        return [[repr(layer), layer(x, *given).tolist()] for layer, given in made]

    for ours, theirs in zip(program(tensorbus), oracle(program), strict=True):
        assert ours[0] == theirs[0]
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-12)
