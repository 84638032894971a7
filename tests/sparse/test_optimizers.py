"""Steps of optimizers from sparse gradients, against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus

STEPS = {
    "SGD": {"lr": 0.1},
    "SGD momentum": {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
    "SGD nesterov": {"lr": 0.1, "momentum": 0.8, "nesterov": True},
    "SGD maximize": {"lr": 0.1, "maximize": True},
    "Adagrad": {"lr": 0.1, "lr_decay": 0.2},
    "SparseAdam": {"lr": 0.05},
    "SparseAdam maximize": {"lr": 0.05, "betas": (0.8, 0.95), "maximize": True},
}


def trained(torch, name, device="cpu"):
    options = STEPS[name]
    weight = torch.arange(12.0, device=device).view(6, 2) / 10
    layer = torch.nn.Embedding(6, 2, sparse=True, _weight=weight)
    optimizer = getattr(torch.optim, name.split()[0])(layer.parameters(), **options)
    for rows in ([1, 3, 1], [0, 1], [5]):
        optimizer.zero_grad()
        out = layer(torch.tensor(rows, device=device))
        (out * out * torch.arange(1.0, 3.0, device=device)).sum().backward()
        optimizer.step()
    return layer.weight.detach().cpu().numpy()


@pytest.mark.parametrize("name", STEPS)
def test_steps_are_pytorchs(oracle, device, name):
    expected = oracle(lambda torch: trained(torch, name))
    np.testing.assert_allclose(trained(tensorbus, name, device), expected, rtol=2e-5)


REFUSING = "Adam AdamW RMSprop Adadelta Adamax NAdam RAdam Rprop ASGD".split()


@pytest.mark.parametrize("name", [*REFUSING, "Adagrad decay", "SGD decay"])
def test_what_takes_none_says_so(oracle, name):
    def asked(torch):
        layer = torch.nn.Embedding(4, 2, sparse=True)
        options = {"weight_decay": 0.1} if "decay" in name else {}
        optimizer = getattr(torch.optim, name.split()[0])(layer.parameters(), **options)
        layer(torch.tensor([1])).sum().backward()
        try:
            optimizer.step()
        except RuntimeError as error:
            return str(error)
        return "no error"

    assert asked(tensorbus) == oracle(asked)
