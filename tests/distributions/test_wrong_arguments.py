"""Wrong parameters, values and shapes: the errors are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus

Program = Callable[[Any], Any]


def said(torch: Any, program: Program) -> tuple[str, str]:
    """The class and the text of the error that a program raises."""
    try:
        program(torch)
    except Exception as error:
        return type(error).__name__.lstrip("_"), str(error).replace("tensorbus", "torch")
    return "none", ""


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("Bernoulli", {"probs": [0.5, 1.5]}),
    ("Bernoulli", {"probs": float("nan")}),
    ("Bernoulli", {"logits": [0.0, float("nan")]}),
    ("Bernoulli", {}),
    ("Bernoulli", {"probs": 0.5, "logits": 0.0}),
    ("Bernoulli", {"probs": "0.5"}),
    ("Beta", {"concentration1": [1.0, 0.0], "concentration0": 1.0}),
    ("Binomial", {"total_count": -1, "probs": 0.5}),
    ("Binomial", {"total_count": 2.5, "probs": 0.5}),
    ("Binomial", {"total_count": 3, "probs": -0.1}),
    ("Categorical", {"probs": [0.5, -0.5]}),
    ("Categorical", {"probs": [0.0, 0.0]}),
    ("Categorical", {"logits": [float("nan"), 0.0]}),
    ("Categorical", {"probs": np.array(1.0)}),
    ("Categorical", {"logits": np.array(1.0)}),
    ("Categorical", {}),
    ("Cauchy", {"loc": 0.0, "scale": 0.0}),
    ("Chi2", {"df": -1.0}),
    ("ContinuousBernoulli", {"probs": [-0.1, 0.5], "validate_args": True}),
    ("ContinuousBernoulli", {"logits": float("nan")}),
    ("Dirichlet", {"concentration": [[1.0, 2.0], [1.0, 0.0]]}),
    ("Dirichlet", {"concentration": np.array(1.0)}),
    ("Exponential", {"rate": [[-1.0, 2.0]]}),
    ("FisherSnedecor", {"df1": 1.0, "df2": -2.0}),
    ("Gamma", {"concentration": 0.0, "rate": 1.0}),
    ("Gamma", {"concentration": 1.0, "rate": float("nan")}),
    ("GeneralizedPareto", {"loc": 0.0, "scale": -1.0, "concentration": 0.0}),
    ("Geometric", {"probs": [0.0, 0.5]}),
    ("Geometric", {"probs": 1.5}),
    ("Geometric", {}),
    ("Gumbel", {"loc": 0.0, "scale": -1.0}),
    ("HalfCauchy", {"scale": 0.0}),
    ("HalfNormal", {"scale": -1.0}),
    ("InverseGamma", {"concentration": -1.0, "rate": 1.0}),
    ("Kumaraswamy", {"concentration1": 1.0, "concentration0": -1.0}),
    ("LKJCholesky", {"dim": 1}),
    ("Laplace", {"loc": float("nan"), "scale": 1.0}),
    ("LogNormal", {"loc": 0.0, "scale": -1.0}),
    ("LogisticNormal", {"loc": [0.0, 1.0], "scale": -1.0}),
    ("LowRankMultivariateNormal",
     {"loc": np.array(0.0), "cov_factor": [[1.0]], "cov_diag": [1.0]}),
    ("LowRankMultivariateNormal", {"loc": [0.0, 0.0], "cov_factor": [1.0, 1.0], "cov_diag": [1.0]}),
    ("LowRankMultivariateNormal", {"loc": [0.0, 0.0], "cov_factor": [[1.0]], "cov_diag": [1.0]}),
    ("LowRankMultivariateNormal",
     {"loc": [0.0, 0.0], "cov_factor": [[1.0], [1.0]], "cov_diag": [1.0]}),
    ("LowRankMultivariateNormal",
     {"loc": [0.0, 0.0], "cov_factor": [[1.0], [1.0]], "cov_diag": [0.5, -0.1]}),
    ("LowRankMultivariateNormal",
     {"loc": [[0.0, 0.0]] * 3, "cov_factor": [[[1.0], [1.0]]] * 2, "cov_diag": [0.5, 1.0]}),
    ("Multinomial", {"total_count": 1.5, "probs": [0.5, 0.5]}),
    ("Multinomial", {"total_count": 2, "probs": [0.5, -0.5]}),
    ("MultivariateNormal", {"loc": np.array(0.0), "scale_tril": [[1.0]]}),
    ("MultivariateNormal", {"loc": [0.0]}),
    ("MultivariateNormal", {"loc": [0.0, 0.0], "covariance_matrix": [1.0, 1.0]}),
    ("MultivariateNormal", {"loc": [0.0, 0.0], "scale_tril": [1.0, 1.0]}),
    ("MultivariateNormal", {"loc": [0.0, 0.0], "covariance_matrix": [[1.0, 2.0], [2.0, 1.0]]}),
    ("MultivariateNormal", {"loc": [0.0, 0.0], "covariance_matrix": [[1.0, 0.5], [0.0, 1.0]]}),
    ("MultivariateNormal", {"loc": [0.0, 0.0], "precision_matrix": [[-1.0, 0.0], [0.0, 1.0]]}),
    ("MultivariateNormal", {"loc": [0.0, 0.0], "scale_tril": [[1.0, 1.0], [0.0, 1.0]]}),
    ("NegativeBinomial", {"total_count": -1.0, "probs": 0.5}),
    ("NegativeBinomial", {"total_count": 1.0, "probs": 1.0}),
    ("Normal", {"loc": [0.0, float("nan")], "scale": 1.0}),
    ("Normal", {"loc": [0.0, 1.0, 2.0], "scale": -1.0}),
    ("Normal", {"loc": None, "scale": 1.0}),
    ("OneHotCategorical", {"probs": [0.5, -0.5]}),
    ("Pareto", {"scale": 1.0, "alpha": -1.0}),
    ("Poisson", {"rate": -1.0}),
    ("RelaxedBernoulli", {"temperature": [1.0], "probs": 1.5}),
    ("RelaxedOneHotCategorical", {"temperature": [1.0], "probs": [0.5, -0.5]}),
    ("StudentT", {"df": 0.0}),
    ("StudentT", {"df": 1.0, "scale": 0.0}),
    ("Uniform", {"low": 1.0, "high": 1.0}),
    ("Uniform", {"low": [0.0, 3.0], "high": [1.0, 2.0]}),
    ("VonMises", {"loc": 0.0, "concentration": -1.0}),
    ("Weibull", {"scale": 1.0, "concentration": -1.0}),
    ("Wishart", {"df": 3.0}),
    ("Wishart", {"df": 1.0, "covariance_matrix": [[1.0, 0.0], [0.0, 1.0]]}),
    ("Wishart", {"df": 3.0, "covariance_matrix": [1.0, 1.0]}),
    ("Wishart", {"df": 3.0, "covariance_matrix": [[1.0, 2.0], [2.0, 1.0]]}),
]  # fmt: skip


@pytest.mark.parametrize("name, given", WRONG)
def test_parameters(name: str, given: dict[str, Any], oracle: Any) -> None:
    def build(torch: Any) -> Any:
        made = {
            k: torch.tensor(v.tolist() if isinstance(v, np.ndarray) else v)
            if isinstance(v, list | np.ndarray)
            else v
            for k, v in given.items()
        }
        return getattr(torch.distributions, name)(**made)

    ours = said(tensorbus, build)
    assert ours[0] != "none"
    assert ours == oracle(lambda torch: said(torch, build))


PROGRAMS: dict[str, Program] = {
    "no tensor": lambda t: t.distributions.Normal(0.0, 1.0).log_prob(1.0),
    "outside": lambda t: t.distributions.Exponential(1.0).log_prob(t.tensor([1.0, -1.0])),
    "not whole": lambda t: t.distributions.Poisson(1.0).log_prob(t.tensor(1.5)),
    "too many": lambda t: t.distributions.Categorical(t.ones(3)).log_prob(t.tensor(3)),
    "counts": lambda t: t.distributions.Multinomial(2, t.ones(2)).log_prob(t.tensor([2.0, 1.0])),
    "event": lambda t: t.distributions.Dirichlet(t.ones(3)).log_prob(t.ones(2)),
    "batch": lambda t: t.distributions.Normal(t.zeros(3), 1.0).log_prob(t.zeros(2)),
    "simplex": lambda t: t.distributions.Dirichlet(t.ones(3)).log_prob(t.ones(3)),
    "end": lambda t: t.distributions.Uniform(0.0, 1.0).cdf(t.tensor(2.0)),
    "half": lambda t: t.distributions.HalfNormal(1.0).log_prob(t.tensor(-1.0)),
    "transformed": lambda t: t.distributions.LogNormal(0.0, 1.0).log_prob(t.tensor(-1.0)),
    "corr": lambda t: t.distributions.LKJCholesky(2).log_prob(2 * t.eye(2)),
    "one hot": lambda t: t.distributions.OneHotCategorical(t.ones(2)).log_prob(t.ones(2)),
    "mixture": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(t.ones(2)), t.distributions.Gamma(t.ones(2), 1.0)
    ).log_prob(t.tensor(-1.0)),
    "no mean": lambda t: (
        t.distributions.TransformedDistribution(t.distributions.Normal(0.0, 1.0), []).mean
    ),
    "no mode": lambda t: t.distributions.LKJCholesky(2).mode,
    "no rsample": lambda t: t.distributions.Poisson(1.0).rsample(),
    "no icdf": lambda t: t.distributions.Gamma(1.0, 1.0).icdf(t.tensor(0.5)),
    "independent": lambda t: t.distributions.Independent(t.distributions.Normal(0.0, 1.0), 1),
    "enumerated": lambda t: t.distributions.Independent(
        t.distributions.Bernoulli(t.ones(2)), 1
    ).enumerate_support(),
    "no mixture": lambda t: t.distributions.MixtureSameFamily(1, 2),
    "no components": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(t.ones(2)), 2
    ),
    "components": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(t.ones(2)), t.distributions.Normal(t.zeros(3), 1.0)
    ),
    "mixed batches": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(t.ones(4, 3)), t.distributions.Normal(t.zeros(2, 3), 1.0)
    ),
    "no transform": lambda t: t.distributions.TransformedDistribution(
        t.distributions.Normal(0.0, 1.0), 3
    ),
    "no transforms": lambda t: t.distributions.TransformedDistribution(
        t.distributions.Normal(0.0, 1.0), [3]
    ),
    "few dimensions": lambda t: t.distributions.TransformedDistribution(
        t.distributions.Normal(0.0, 1.0), t.distributions.StickBreakingTransform()
    ),
    "cache": lambda t: t.distributions.ExpTransform(cache_size=2),
    "reshape": lambda t: t.distributions.ReshapeTransform((2,), (3,)),
    "reshaped": lambda t: t.distributions.ReshapeTransform((2,), (1, 2)).forward_shape((3, 3)),
    "corr shape": lambda t: t.distributions.CorrCholeskyTransform().forward_shape((2,)),
    "not square": lambda t: t.distributions.CorrCholeskyTransform().inverse_shape((2, 3)),
    "tril": lambda t: t.distributions.utils.vec_to_tril_matrix(t.ones(5)),
    "diagonal": lambda t: t.distributions.utils.tril_matrix_to_vec(t.ones(2, 2), 2),
    "cat size": lambda t: t.distributions.CatTransform([t.distributions.ExpTransform()] * 2)(
        t.ones(3)
    ),
    "stack size": lambda t: t.distributions.StackTransform([t.distributions.ExpTransform()] * 2)(
        t.ones(3)
    ),
    "cat dim": lambda t: t.distributions.CatTransform([t.distributions.ExpTransform()], dim=2)(
        t.ones(3)
    ),
    "lengths": lambda t: t.distributions.CatTransform(
        [t.distributions.ExpTransform()], lengths=[1, 2]
    ),
    "parts": lambda t: t.distributions.StackTransform([3]),
    "dependent": lambda t: t.distributions.constraints.dependent.check(t.ones(1)),
    "event_dim": lambda t: t.distributions.constraints.dependent.event_dim,
    "no registry": lambda t: t.distributions.biject_to(t.distributions.constraints.lower_cholesky),
    "registered": lambda t: t.distributions.biject_to.register(3, 4),
    "no constraint": lambda t: t.distributions.constraints.independent(3, 1),
    "no number": lambda t: t.distributions.constraints.independent(
        t.distributions.constraints.real, -1
    ),
    "validate": lambda t: t.distributions.Distribution.set_default_validate_args(3),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_values_and_arguments(program: Program, oracle: Any) -> None:
    ours = said(tensorbus, program)
    assert ours[0] != "none"
    assert ours == oracle(lambda torch: said(torch, program))
