"""Old things: Lua's modules and optimisers, optimisers built on a model; each works and warns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import nn
from tensorbus.legacy import nn as old
from tensorbus.legacy import optim

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def net() -> Any:
    tables = old.ConcatTable().add(old.Tanh()).add(old.Identity())
    made = old.Sequential().add(old.Linear(3, 4)).add(tables).add(old.CAddTable())
    return made.add(old.Linear(4, 1))


def values() -> tuple[Any, Any]:
    torch.manual_seed(0)
    x = torch.randn(8, 3)
    return x, x.sum(1, keepdim=True)


def test_forward_and_backward_give_the_gradients_of_the_formula() -> None:
    x, y = values()
    model, criterion = net(), old.MSECriterion()
    loss = criterion.forward(model.forward(x), y)
    given = model.backward(x, criterion.backward(model.output, y))
    (w1, b1, w2, b2), gradients = model.parameters()
    h, data = x.double() @ w1.double().T + b1.double(), x.double().numpy()
    h = h.numpy()
    out = (np.tanh(h) + h) @ w2.double().numpy().T + b2.double().numpy()
    error = out - y.double().numpy()
    assert loss == pytest.approx((error**2).mean(), rel=1e-5)
    g = 2 * error / 8 @ w2.double().numpy() * (2 - np.tanh(h) ** 2)
    np.testing.assert_allclose(gradients[0].numpy(), g.T @ data, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(given.numpy(), g @ w1.double().numpy(), rtol=1e-4, atol=1e-6)
    before = [v.clone() for v in gradients]
    model.backward(x, criterion.backward(model.output, y), 0.5)  # added up, scaled
    assert torch.allclose(gradients[1], before[1] * 1.5)
    model.updateParameters(0.1)
    assert torch.allclose(model.get(0).weight, w1) and model.size() == 4
    model.zeroGradParameters()
    assert all(not v.any() for v in gradients)


@pytest.mark.parametrize("name", optim.__all__)
def test_functions_step_along_the_vector_of_all_parameters(name: str) -> None:
    x, y = values()
    model, criterion = net(), old.MSECriterion()
    flat, gradients = model.flattenParameters()
    assert flat.shape == gradients.shape == (21,)

    def opfunc(_: Any) -> Any:
        model.zeroGradParameters()
        loss = criterion.forward(model.forward(x), y)
        model.backward(x, criterion.backward(model.output, y))
        return loss, gradients

    state: dict[str, Any] = {}
    step = getattr(optim, name)
    first = opfunc(flat)[0]
    for _ in range(60):
        result, (loss,) = step(opfunc, flat, {"learningRate": 0.02}, state)
        assert result is flat
    assert loss < first, (loss, first)
    assert torch.equal(model.get(0).weight.reshape(-1), flat[:12])


@pytest.mark.parametrize(
    ("layer", "shape", "current"),
    [
        (lambda: old.SpatialConvolution(2, 3, 3, 1, 1, 1, 1, 0), (1, 2, 4, 4), (1, 3, 4, 4)),
        (lambda: old.SpatialMaxPooling(2, 2), (1, 2, 4, 4), (1, 2, 2, 2)),
        (lambda: old.Concat(1).add(old.Linear(3, 2)).add(old.Linear(3, 4)), (5, 3), (5, 6)),
        (lambda: old.Sequential().add(old.Reshape(6)).add(old.LogSoftMax()), (2, 2, 3), (2, 6)),
    ],
)
def test_layers_have_the_shapes_of_their_arguments(layer: Any, shape: Any, current: Any) -> None:
    made, x = layer(), torch.randn(*shape)
    assert made.forward(x).shape == current
    assert made.backward(x, torch.ones(*current)).shape == shape


def test_a_module_in_use_and_in_training() -> None:
    made = old.Sequential().add(old.Dropout(0.5))
    made.evaluate()
    assert torch.equal(made.forward(torch.ones(9)), torch.ones(9))
    made.training()
    assert made.forward(torch.ones(99)).eq(0).any()


def test_optimisers_are_built_on_models() -> None:
    x, y = values()
    model, loss = nn.Linear(3, 1), nn.MSELoss()
    wanted = [p.detach().clone() for p in model.parameters()]
    with pytest.warns(FutureWarning, match=r"torch\.optim\.sgd\(model, \.\.\.\) is deprecated"):
        built = torch.optim.sgd((model, loss), lr=0.1)  # type: ignore[operator]
    assert isinstance(built, torch.optim.SGD) and torch.optim.sgd.SGD is torch.optim.SGD
    first = built.step((x, y))
    error = (x @ wanted[0].T + wanted[1] - y).double()
    assert first.item() == pytest.approx(error.pow(2).mean().item(), rel=1e-5)
    moved = wanted[0].double() - 0.1 * (2 * error / 8).T @ x.double()
    assert torch.allclose(model.weight.double(), moved, atol=1e-6)
    assert built.step((x, y)).item() < first.item()
    alone = torch.optim.adam(model, lr=1e-3)  # type: ignore[operator]
    assert type(alone) is torch.optim.Adam and alone.param_groups[0]["lr"] == 1e-3


def test_each_warns() -> None:
    with pytest.warns(FutureWarning, match=r"torch\.legacy\.nn\.Linear is of PyTorch 0\.1"):
        old.Linear(1, 1)


def test_older_names_of_registering_and_of_layers() -> None:
    module = nn.Module()
    with pytest.warns(FutureWarning, match="add_parameter is now called register_parameter"):
        module.add_parameter("weight", nn.Parameter(torch.ones(2)))
    with pytest.warns(FutureWarning, match="add_buffer is now called register_buffer"):
        module.add_buffer("seen", torch.zeros(1))
    assert list(module.state_dict()) == ["weight", "seen"]
    with pytest.raises(KeyError, match="name can"):
        module.add_parameter("a.b", None)
    with pytest.warns(FutureWarning, match=r"torch.nn.HardTanh is deprecated: .* Hardtanh now"):
        assert nn.HardTanh is nn.Hardtanh
