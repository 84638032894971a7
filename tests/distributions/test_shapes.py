"""Batches, events, ``expand``, texts, lazy parts; every device; what a first use loads."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus

Make = Callable[[Any, Any], Any]

MADE: dict[str, Make] = {
    "Bernoulli": lambda D, t: D.Bernoulli(t([0.3, 0.6])),
    "Bernoulli of logits": lambda D, t: D.Bernoulli(logits=t([0.3, 0.6])),
    "Beta": lambda D, t: D.Beta(t([0.5, 2.0]), 1.5),
    "Binomial": lambda D, t: D.Binomial(3, t([0.3, 0.6])),
    "Categorical": lambda D, t: D.Categorical(t([[1.0, 2.0], [1.0, 1.0]])),
    "Cauchy": lambda D, t: D.Cauchy(t([0.5, 2.0]), 1.5),
    "Chi2": lambda D, t: D.Chi2(t([0.5, 2.0])),
    "ContinuousBernoulli": lambda D, t: D.ContinuousBernoulli(t([0.3, 0.5])),
    "Dirichlet": lambda D, t: D.Dirichlet(t([[1.0, 2.0], [1.0, 1.0]])),
    "Exponential": lambda D, t: D.Exponential(t([0.5, 2.0])),
    "FisherSnedecor": lambda D, t: D.FisherSnedecor(t([0.5, 2.0]), 3.0),
    "Gamma": lambda D, t: D.Gamma(t([0.5, 2.0]), 1.5),
    "GeneralizedPareto": lambda D, t: D.GeneralizedPareto(0.0, 1.0, t([0.2, 0.0])),
    "Geometric": lambda D, t: D.Geometric(t([0.3, 0.6])),
    "Gumbel": lambda D, t: D.Gumbel(t([0.5, 2.0]), 1.5),
    "HalfCauchy": lambda D, t: D.HalfCauchy(t([0.5, 2.0])),
    "HalfNormal": lambda D, t: D.HalfNormal(t([0.5, 2.0])),
    "Independent": lambda D, t: D.Independent(D.Normal(t([[0.5, 2.0]] * 2), 1.0), 1),
    "InverseGamma": lambda D, t: D.InverseGamma(t([0.5, 2.0]), 1.5),
    "Kumaraswamy": lambda D, t: D.Kumaraswamy(t([0.5, 2.0]), 1.5),
    "LKJCholesky": lambda D, t: D.LKJCholesky(3, t([0.5, 2.0])),
    "Laplace": lambda D, t: D.Laplace(t([0.5, 2.0]), 1.5),
    "LogNormal": lambda D, t: D.LogNormal(t([0.5, 2.0]), 1.5),
    "LogisticNormal": lambda D, t: D.LogisticNormal(t([[0.5, 2.0]] * 2), 1.5),
    "LowRank": lambda D, t: D.LowRankMultivariateNormal(
        t([[0.5, 2.0]] * 2), t([[1.0], [0.5]]), t([1.0, 2.0])
    ),
    "MixtureSameFamily": lambda D, t: D.MixtureSameFamily(
        D.Categorical(t([[1.0, 2.0], [1.0, 1.0]])), D.Normal(t([[0.5, 2.0]] * 2), 1.0)
    ),
    "Multinomial": lambda D, t: D.Multinomial(3, t([[1.0, 2.0], [1.0, 1.0]])),
    "MultivariateNormal": lambda D, t: D.MultivariateNormal(
        t([[0.5, 2.0]] * 2), t([[1.0, 0.5], [0.5, 2.0]])
    ),
    "NegativeBinomial": lambda D, t: D.NegativeBinomial(3.0, t([0.3, 0.6])),
    "Normal": lambda D, t: D.Normal(t([0.5, 2.0]), 1.5),
    "OneHotCategorical": lambda D, t: D.OneHotCategorical(t([[1.0, 2.0], [1.0, 1.0]])),
    "StraightThrough": lambda D, t: D.OneHotCategoricalStraightThrough(t([[1.0, 2.0], [1.0, 1.0]])),
    "Pareto": lambda D, t: D.Pareto(t([0.5, 2.0]), 1.5),
    "Poisson": lambda D, t: D.Poisson(t([0.5, 2.0])),
    "RelaxedBernoulli": lambda D, t: D.RelaxedBernoulli(t(0.7), t([0.3, 0.6])),
    "RelaxedOneHotCategorical": lambda D, t: D.RelaxedOneHotCategorical(
        t(0.7), t([[1.0, 2.0], [1.0, 1.0]])
    ),
    "StudentT": lambda D, t: D.StudentT(t([1.5, 3.0])),
    "TransformedDistribution": lambda D, t: D.TransformedDistribution(
        D.Normal(t([0.5, 2.0]), 1.0), [D.AffineTransform(1.0, t(2.0)), D.SigmoidTransform()]
    ),
    "Uniform": lambda D, t: D.Uniform(t([0.5, 2.0]), 3.0),
    "VonMises": lambda D, t: D.VonMises(t([0.5, 2.0]), 1.5),
    "Weibull": lambda D, t: D.Weibull(t([0.5, 2.0]), 1.5),
    "Wishart": lambda D, t: D.Wishart(t([3.0, 4.0]), t([[1.0, 0.5], [0.5, 2.0]])),
}  # fmt: skip
ALL = pytest.mark.parametrize("name", MADE)


def make(name: str, torch: Any = tensorbus, **options: Any) -> Any:
    options = {"dtype": torch.float64, **options}
    return MADE[name](torch.distributions, lambda values: torch.tensor(values, **options))


@ALL
def test_shapes_and_texts_are_those_of_pytorch(name: str, oracle: Any) -> None:
    def told(torch: Any) -> dict[str, Any]:
        d = make(name, torch, dtype=torch.float32)  # PyTorch's GeneralizedPareto takes no other
        wide = d.expand((3, 2))
        found: dict[str, Any] = {"text": repr(d), "wide": repr(wide)}
        for each, which in ((d, "own"), (wide, "wide")):
            shapes = [each.batch_shape, each.event_shape, each.sample().shape]
            shapes += [each.sample((4, 1)).shape, each.log_prob(each.sample((4, 1))).shape]
            found[f"{which} shapes"] = [list(s) for s in shapes]
        found["support"] = repr(d.support).split("(")[0]
        found["rsample"] = [bool(d.has_rsample), bool(d.has_enumerate_support)]
        return found

    assert told(tensorbus) == oracle(told)


@ALL
def test_an_expanded_distribution_is_the_same_for_each_element(name: str) -> None:
    d = make(name)
    wide = d.expand((3, 2))
    x = d.sample((3,))
    np.testing.assert_allclose(wide.log_prob(x).numpy(), d.log_prob(x).numpy())
    for what in ("mean", "variance", "mode", "entropy"):
        try:
            own = getattr(d, what)
            both = getattr(wide, what)
        except NotImplementedError:
            continue
        if what == "entropy":
            try:
                own, both = own(), both()
            except NotImplementedError:
                continue
        expected = np.broadcast_to(own.numpy(), (3, *own.shape))
        np.testing.assert_allclose(np.broadcast_to(both.numpy(), expected.shape), expected)


@ALL
def test_copies(name: str) -> None:
    d = make(name)
    copied = pickle.loads(pickle.dumps(d))
    x = d.sample((3,))
    assert copied.log_prob(x).equal(d.log_prob(x))


@ALL
def test_parameters_get_the_gradients_of_log_prob(name: str) -> None:
    leaves: list[Any] = []

    def leaf(values: Any) -> Any:
        leaves.append(tensorbus.tensor(values, dtype=tensorbus.float64, requires_grad=True))
        return leaves[-1]

    d = MADE[name](tensorbus.distributions, leaf)
    x = d.sample((3,)).detach()
    assert not x.requires_grad
    d.log_prob(x).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in leaves)
    if d.has_rsample:
        assert d.rsample().requires_grad


@ALL
@pytest.mark.parametrize("device", ["opencl", "meta"])
def test_every_device(name: str, device: str) -> None:
    if device == "opencl":
        pytest.importorskip("tensorbus_opencl")
    if device == "meta" and name == "Wishart":
        return  # it reads its samples
    dtype = tensorbus.float32
    d, same = make(name, device=device, dtype=dtype), make(name, dtype=dtype)
    tensorbus.manual_seed(12)
    x = d.sample((4,))
    assert x.device.type == device and d.log_prob(x).device.type == device
    if device == "meta":
        assert x.shape == same.sample((4,)).shape
        return
    tensorbus.manual_seed(12)
    np.testing.assert_allclose(x.cpu().numpy(), same.sample((4,)).numpy(), rtol=2e-4, atol=1e-5)
    found, expected = d.log_prob(x).cpu().numpy(), same.log_prob(x.cpu()).numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-4)


def test_draws_inside_vmap_differ_for_each_element() -> None:
    def draw(alpha: Any) -> Any:
        return tensorbus.distributions.Gamma(alpha, 1.0, validate_args=False).sample()

    x = tensorbus.vmap(draw, randomness="different")(tensorbus.ones(50))
    assert x.shape == (50,) and len(set(x.tolist())) == 50


def test_lazy_parts_are_computed_once_and_not_before() -> None:
    d = make("Bernoulli")
    assert "logits" not in vars(d)
    assert d.logits is d.logits and "logits" in vars(d)
    assert "logits" not in vars(make("Bernoulli").expand((3, 2)))
    assert isinstance(type(d).logits, property)


def test_checks_can_be_turned_off() -> None:
    D = tensorbus.distributions
    assert D.Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Normal(0.0, -1.0).scale.item() == -1
        with pytest.raises(ValueError, match="to satisfy the constraint"):
            D.Normal(0.0, -1.0, validate_args=True)
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="to satisfy the constraint"):
        D.Normal(0.0, -1.0)


def test_subclasses_of_programs() -> None:
    class Shifted(tensorbus.distributions.Normal):
        def __init__(self, loc: Any) -> None:
            super().__init__(loc, 1.0)

    with pytest.raises(NotImplementedError, match="must also define a custom .expand"):
        Shifted(tensorbus.zeros(2)).expand((3, 2))

    class Bare(tensorbus.distributions.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        bare = Bare()
    with pytest.warns(UserWarning, match="does not define `support`"):
        bare._validate_sample(tensorbus.zeros(()))
    with pytest.warns(FutureWarning, match="Use `sample"):
        assert make("Normal").sample_n(3).shape == (3, 2)


def test_modules_have_the_names_of_pytorch() -> None:
    from tensorbus.distributions.constraint_registry import transform_to
    from tensorbus.distributions.studentT import StudentT
    from tensorbus.distributions.utils import broadcast_all

    assert tensorbus.distributions.StudentT is StudentT
    assert tensorbus.distributions.transform_to is transform_to
    a, b = broadcast_all(1, tensorbus.zeros(2, dtype=tensorbus.float64))
    assert a.dtype is b.dtype and a.shape == b.shape == (2,)


def test_distributions_are_loaded_when_they_are_named() -> None:
    program = """if True:
        import sys, tensorbus as torch
        assert not [m for m in sys.modules if m.startswith("tensorbus.distributions")]
        torch.distributions.Normal(0.0, 1.0)
        assert "tensorbus.distributions.wishart" in sys.modules
        """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr
