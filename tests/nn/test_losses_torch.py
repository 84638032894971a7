"""Losses beside PyTorch's: results and gradients for every reduction."""

import numpy as np
import pytest

import tensorbus
from tensorbus import nn

rng = np.random.default_rng(0)
X = rng.normal(size=(5, 4))
Y = rng.normal(size=(5, 4))
PROBABILITIES = rng.uniform(0.05, 0.95, size=(5, 4))
LOGS = np.log(PROBABILITIES / PROBABILITIES.sum(1, keepdims=True))
ZERO_ONE = rng.integers(0, 2, size=(5, 4)).astype(float)
SIGNS = ZERO_ONE * 2 - 1
ROW_SIGNS = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
CLASSES = np.array([0, 3, 1, 1, 2])
WITH_IGNORED = np.array([0, -100, 1, -100, 2])
WEIGHT = np.array([0.5, 1.0, 2.0, 0.1])
PIXELS = rng.normal(size=(2, 4, 3, 3))
PIXEL_CLASSES = rng.integers(0, 4, size=(2, 3, 3))

# name, keyword arguments, differentiable inputs, other inputs
LOSSES = [
    ("L1Loss", {}, [X], [Y]),
    ("MSELoss", {}, [X], [Y]),
    ("SmoothL1Loss", {}, [X], [Y]),
    ("SmoothL1Loss", {"beta": 0.3}, [X], [Y]),
    ("HuberLoss", {"delta": 0.7}, [X], [Y]),
    ("NLLLoss", {}, [LOGS], [CLASSES]),
    ("NLLLoss", {"weight": WEIGHT}, [LOGS], [WITH_IGNORED]),
    ("CrossEntropyLoss", {}, [X], [CLASSES]),
    ("CrossEntropyLoss", {"weight": WEIGHT, "label_smoothing": 0.1}, [X], [CLASSES]),
    ("CrossEntropyLoss", {"ignore_index": 1}, [X], [CLASSES]),
    ("CrossEntropyLoss", {}, [X], [WITH_IGNORED]),
    ("CrossEntropyLoss", {}, [X], [PROBABILITIES]),
    ("CrossEntropyLoss", {}, [PIXELS], [PIXEL_CLASSES]),
    ("BCELoss", {}, [PROBABILITIES], [ZERO_ONE]),
    ("BCELoss", {"weight": WEIGHT}, [PROBABILITIES], [ZERO_ONE]),
    ("BCEWithLogitsLoss", {}, [X * 50], [ZERO_ONE]),
    ("BCEWithLogitsLoss", {"weight": WEIGHT, "pos_weight": WEIGHT + 1}, [X], [ZERO_ONE]),
    ("KLDivLoss", {}, [LOGS], [PROBABILITIES]),
    ("KLDivLoss", {"log_target": True}, [LOGS], [X]),
    ("PoissonNLLLoss", {}, [X], [PROBABILITIES * 5]),
    ("PoissonNLLLoss", {"log_input": False, "full": True}, [PROBABILITIES], [ZERO_ONE * 3 + 2]),
    ("HingeEmbeddingLoss", {"margin": 0.6}, [X], [SIGNS]),
    ("SoftMarginLoss", {}, [X], [SIGNS]),
    ("MarginRankingLoss", {"margin": 0.2}, [X[:, 0], Y[:, 0]], [ROW_SIGNS]),
    ("CosineEmbeddingLoss", {"margin": 0.2}, [X, Y], [ROW_SIGNS]),
    ("TripletMarginLoss", {}, [X, Y, PROBABILITIES], []),
    ("TripletMarginLoss", {"p": 1.0, "swap": True, "margin": 0.5}, [X, Y, PROBABILITIES], []),
]


def label(case):
    return f"{case[0]}-{','.join(case[1])}"


def run(lib, case, reduction):
    name, kwargs, inputs, fixed = case
    options = {
        key: lib.tensor(value) if isinstance(value, np.ndarray) else value
        for key, value in kwargs.items()
    }
    loss = getattr(lib.nn, name)(reduction=reduction, **options)
    given = [lib.tensor(value, requires_grad=True) for value in inputs]
    result = loss(*given, *(lib.tensor(value) for value in fixed))
    result.sum().backward()
    return [result.detach().numpy(), *(tensor.grad.numpy() for tensor in given)], repr(loss)


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides:UserWarning")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("case", LOSSES, ids=label)
def test_losses_and_gradients_agree(case, reduction, oracle):
    ours, our_repr = run(tensorbus, case, reduction)
    theirs, their_repr = oracle(lambda torch: run(torch, case, reduction))
    assert our_repr == their_repr
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_batchmean_of_kl_div(oracle):
    case = ("KLDivLoss", {}, [LOGS], [PROBABILITIES])
    expected, _ = oracle(lambda torch: run(torch, case, "batchmean"))
    np.testing.assert_allclose(run(tensorbus, case, "batchmean")[0][0], expected[0], rtol=1e-12)


def test_weights_are_buffers():
    loss = nn.CrossEntropyLoss(weight=tensorbus.ones(3))
    assert list(loss.state_dict()) == ["weight"]
    assert list(nn.CrossEntropyLoss().state_dict()) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"size_average": False}, "sum"),
        ({"size_average": True}, "mean"),
        ({"reduce": False}, "none"),
        ({"size_average": False, "reduce": True}, "sum"),
    ],
)
def test_the_older_flags_still_work_and_warn_at_the_caller(old, new):
    with pytest.warns(UserWarning, match=f"please use reduction='{new}' instead") as caught:
        loss = nn.MSELoss(**old)
    assert loss.reduction == new
    assert caught[0].filename == __file__


@pytest.mark.parametrize("flags", [(None, False), (False, None), (True, True), (False, False)])
def test_older_flags_of_functions_name_a_reduction(flags, oracle):
    given = dict(zip(("size_average", "reduce"), flags, strict=True))

    def program(lib):
        results = []
        for name, target in (("mse_loss", Y), ("cross_entropy", CLASSES)):
            with pytest.warns(UserWarning, match="size_average and reduce args will be deprecated"):
                loss = getattr(lib.nn.functional, name)(lib.tensor(X), lib.tensor(target), **given)
            results.append(loss.numpy())
        return results

    for ours, theirs in zip(program(tensorbus), oracle(program), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_weights_of_elements(name, reduction, oracle):
    def program(lib):
        x, y, weight = (lib.tensor(array) for array in (X, Y, PROBABILITIES))
        return getattr(lib.nn.functional, name)(x, y, reduction=reduction, weight=weight).numpy()

    np.testing.assert_allclose(program(tensorbus), oracle(program), rtol=1e-12)
    with pytest.raises(ValueError, match="Weights and input must have the same size"):
        getattr(nn.functional, name)(
            tensorbus.tensor(X), tensorbus.tensor(Y), weight=tensorbus.ones(4)
        )
