"""Variational inference as in Pyro: a model, a guide, and the evidence lower bound.

    $ python examples/gallery/variational_inference.py
    error 0.022

Reaches error below 0.05 of the posterior's mean, which is known exactly here.
"""

import sys

import tensorbus as torch
from tensorbus import distributions as dist

dist.Distribution.set_default_validate_args(False)  # each check would wait for the device
PARAMETERS, TRACES = {}, []


class Trace:  # the values that a function draws, and the log of their probability
    def __init__(self, function, x, y, values=()):
        self.values, self.log_prob = dict(values), 0.0
        TRACES.append(self)
        function(x, y)
        TRACES.pop()


def sample(name, distribution, observed=None):  # of an earlier trace, observed, or drawn
    new = distribution.rsample() if observed is None else observed
    value = TRACES[-1].values.setdefault(name, new)
    TRACES[-1].log_prob = TRACES[-1].log_prob + distribution.log_prob(value).sum()
    return value


def model(x, y):
    weights = sample("weights", dist.Normal(torch.zeros_like(x[0]), 1.0))
    sample("y", dist.Normal(x @ weights, 0.5), observed=y)


def guide(x, y):
    factor = PARAMETERS["raw"].tril(-1) + PARAMETERS["raw"].diagonal().exp().diag()
    sample("weights", dist.MultivariateNormal(PARAMETERS["mean"], scale_tril=factor))


def main(device="cpu", steps=600):
    torch.manual_seed(0)
    x = torch.stack([torch.ones(40), torch.linspace(0, 2, 40)], 1).to(device)
    y = x @ torch.tensor([0.5, -1.0], device=device) + 0.5 * torch.randn(40, device=device)
    for name, size in ("mean", (2,)), ("raw", (2, 2)):
        PARAMETERS[name] = torch.zeros(size, device=device, requires_grad=True)
    optimizer = torch.optim.Adam(PARAMETERS.values(), lr=0.05)
    for _ in range(int(steps)):
        optimizer.zero_grad()
        guided = Trace(guide, x, y)
        (guided.log_prob - Trace(model, x, y, guided.values).log_prob).backward()
        optimizer.step()
    exact = torch.linalg.solve(x.T @ x + 0.25 * torch.eye(2, device=device), x.T @ y)
    print(f"error {(PARAMETERS['mean'] - exact).abs().max().item():.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
