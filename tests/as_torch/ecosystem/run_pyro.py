"""Pyro: variational inference of a coin's bias, and a model whose sites are enumerated."""

# /// script
# dependencies = ["numpy", "opt_einsum", "tqdm"]
# [tool.ecosystem]
# alone = ["pyro-ppl==1.9.2", "pyro-api==0.1.2"]
# ///
from __future__ import annotations

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Predictive, TraceEnum_ELBO, TraceMeanField_ELBO, config_enumerate
from pyro.optim import Adam
from recorded import numbers, same
from torch.distributions import constraints

data = torch.tensor([1.0] * 6 + [0.0] * 4)


def model(data):
    fairness = pyro.sample("fairness", dist.Beta(10.0, 10.0))
    with pyro.plate("tosses", len(data)):
        pyro.sample("toss", dist.Bernoulli(fairness), obs=data)


def guide(data):
    a = pyro.param("a", torch.tensor(15.0), constraint=constraints.positive)
    b = pyro.param("b", torch.tensor(15.0), constraint=constraints.positive)
    pyro.sample("fairness", dist.Beta(a, b))


pyro.set_rng_seed(0)
svi = SVI(model, guide, Adam({"lr": 0.02}), TraceMeanField_ELBO(num_particles=8))
for _ in range(150):
    svi.step(data)
a, b = pyro.param("a"), pyro.param("b")
assert abs((a / (a + b)).item() - 16 / 30) < 0.05  # the exact posterior is Beta(16, 14)
draws = Predictive(model, guide=guide, num_samples=200)(data)["fairness"]
assert abs(draws.mean().item() - 16 / 30) < 0.06


@config_enumerate
def mixture(x):
    weights = pyro.param("weights", torch.tensor([0.3, 0.7]), constraint=constraints.simplex)
    places = pyro.param("places", torch.tensor([-1.0, 1.5]))
    with pyro.plate("data", len(x)):
        kind = pyro.sample("kind", dist.Categorical(weights))
        pyro.sample("x", dist.Normal(places[kind], 1.0), obs=x)


pyro.clear_param_store()
elbo = TraceEnum_ELBO(max_plate_nesting=1)
x = numbers(20)
loss = elbo.differentiable_loss(mixture, lambda x: None, x)
loss.backward()
same("enumerated", loss)
same("gradient", pyro.param("places").grad if pyro.param("places").grad is not None else 0.0)
trace = pyro.poutine.trace(pyro.condition(model, {"fairness": torch.tensor(0.6)})).get_trace(data)
same("density", trace.log_prob_sum())
