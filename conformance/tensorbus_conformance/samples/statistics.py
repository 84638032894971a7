"""Variances and standard deviations, covariance, correlation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.along import absolute, dims_errors, over
from tensorbus_conformance.op import (
    COMPLEX,
    FLOATING,
    INTEGRAL,
    E,
    ErrorSample,
    I,
    Op,
    Rule,
    S,
    Sample,
    T,
)

Lines = Callable[[np.ndarray], np.ndarray]


def _moment(finish: Lines, with_mean: bool = False, size: Lines = np.asarray) -> Callable[..., Any]:
    """The variance, finished, and the mean of *size*; *dim* may be what *unbiased* is."""

    def reference(
        x: np.ndarray,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        less = correction if correction is not None else int(unbiased is not False)

        def lines(v: np.ndarray) -> Any:
            mean = v.mean(-1)
            squares = (np.abs(v - mean[..., None]) ** 2).sum(-1)
            spread = finish(squares / np.float64(max(v.shape[-1] - less, 0)))
            return (spread, size(v).mean(-1)) if with_mean else spread

        return over(lines)(x, dim, keepdim)

    return reference


_ROWS = np.arange(4096.0).reshape(1, -1) % 64 * 2 - [[40], [0]]
"""Whose squares, summed, are beyond float16."""


def _samples() -> list[Sample]:
    """Ways to give dimensions and the correction; lines too short for it."""
    return [
        S("dim", T(2, 5, 3), 1),
        S("all", T(3, 4)),
        S("negative", T(3, 4), -2),
        S("dims", T(2, 3, 4), (2, 0)),
        S("no-dims", T(2, 3), ()),
        S("biased", T(3, 4), 1, False),
        S("unbiased", T(3, 4), 1, True),
        S("all-biased", T(3, 4), False),
        S("keepdim", T(3, 4), 0, True, True),
        S("correction", T(3, 4), 1, correction=0),
        S("correction-2", T(3, 4), dim=1, correction=2, keepdim=True),
        S("correction-part", T(3, 4), dim=(0, 1), correction=0.5),
        S("correction-all", T(2, 5), correction=0),
        S("shifted", T(3, 6, of=(10.0, 11.0)), 1),
        S("too-few", T(3, 1, grad=False), 1),
        S("one", T(3, 1, grad=False), 1, correction=0),
        S("correction-beyond", T(3, 4, grad=False), 1, correction=6),
        S("scalar", T(grad=False)),
        S("scalar-biased", T(grad=False), 0, False),
        S("empty", T(0)),
        S("empty-dim", T(0, 3), 0),
        S("empty-kept", T(0, 3), 1),
        S("holes", T(4, 5, of="holes", grad=False), 1),
        S("infinite", T(5, 4, of="infinite", grad=False), 1).only(*FLOATING),
        S("beyond-half", T(data=_ROWS, grad=False), 1).only(*FLOATING),
    ]


def _large() -> Sample:
    """Whose variance is beyond float16, and its root is not."""
    return S("large", T(data=[[-700.0, 300, 500, 900], [0, 100, 200, 1000]], grad=False), 1)


def _only_floats(text: str) -> list[ErrorSample]:
    return [
        E("int", RuntimeError, text, T(3), dtype=formats.INT64),
        E("bool", RuntimeError, text, T(3), dtype=formats.BOOL),
    ]


def _op(name: str, finish: Lines, result: Rule | tuple[Rule, ...], samples: list[Sample]) -> Op:
    pair = isinstance(result, tuple)
    refused = f"{name} only support" if pair else "std and var only support"
    return Op(
        name,
        _moment(finish, pair),
        samples,
        (*FLOATING, *COMPLEX),
        result,
        ulp=4,
        scale=_moment(finish, pair, absolute),
        layouts=("transposed", "strided"),
        errors=[
            *dims_errors(),
            *_only_floats(f"{refused} floating point and complex dtypes"),
        ],
        family="statistics",
    )


# -- covariance ------------------------------------------------------------------------------
def _cov(
    x: np.ndarray, *, correction: int = 1, fweights: Any = None, aweights: Any = None
) -> np.ndarray:
    rows = x.reshape(1, -1) if x.ndim < 2 else x
    f = np.ones(rows.shape[1]) if fweights is None else fweights
    a = np.ones(rows.shape[1]) if aweights is None else aweights
    weights = f * a
    total = weights.sum()
    deviation = rows - (rows * weights).sum(1, keepdims=True) / total
    norm = total - correction * (weights * a).sum() / total
    found = (deviation * weights) @ deviation.conj().T / np.maximum(norm, 0)
    return np.asarray(found.reshape(()) if found.size == 1 else found)


def _corrcoef(x: np.ndarray) -> np.ndarray:
    found = _cov(x)
    if not found.ndim:
        return np.asarray(found / found)
    spread = np.sqrt(np.diag(found).real)
    return np.asarray(found / spread[:, None] / spread)


_TWO_ROWS = T(data=[[0.5, 1.25, -0.75, 2.0, -1.5], [1.5, 0.25, 0.75, -1.0, -0.5]])
_OBSERVATIONS = [
    S("rows", _TWO_ROWS),
    S("square", T(3, 3)),
    S("wide", T(2, 8)),
    S("vector", T(6)),
]
_WEIGHTS = T(data=[0.5, 1.25, 2.0, 0.75, 1.0])
_FREQUENCIES = I([1, 3, 2, 1, 2])


def _rank_error(name: str) -> ErrorSample:
    text = (
        r"\(\): expected input to have two or fewer dimensions but got an input with 3 dimensions"
    )
    return E("rank", RuntimeError, name + text, T(2, 2, 2))


def _weights_error(variant: str, text: str, **weights: Any) -> ErrorSample:
    return E(variant, RuntimeError, rf"cov\(\): {text}", T(2, 3), **weights)


_WEIGHTS_ERRORS = [
    _weights_error(
        "frequencies-dtype",
        "expected fweights to have integral dtype but got fweights with Float dtype",
        fweights=T(3),
    ),
    _weights_error(
        "weights-dtype",
        "expected aweights to have floating point dtype but got aweights with Long dtype",
        aweights=I([1, 1, 1]),
    ),
    _weights_error(
        "frequencies-count",
        "expected fweights to have the same numel as there are observations in the input but "
        "got 2 != 3",
        fweights=I([1, 1]),
    ),
    _weights_error(
        "weights-rank",
        "expected aweights to have one or fewer dimensions but got aweights with 2 dimensions",
        aweights=T(1, 3),
    ),
    _weights_error("negative", "fweights cannot be negative", fweights=I([1, -1, 1])),
    _weights_error("zero", "weights sum to zero, can't be normalized", fweights=I([0, 0, 0])),
    E(
        "bool",
        RuntimeError,
        r"cov\(\): bool dtype is not supported for input",
        T(2, 3),
        dtype=formats.BOOL,
    ),
]

OPS = [
    _op("var", lambda v: v, "real", _samples()),
    _op("std", np.sqrt, "real", [*_samples(), _large()]),
    _op("var_mean", lambda v: v, ("real", "same"), _samples()),
    _op("std_mean", np.sqrt, ("real", "same"), [*_samples(), _large()]),
    Op(
        "cov",
        _cov,
        [
            *_OBSERVATIONS,
            S("correction", _TWO_ROWS, correction=0),
            S("frequencies", _TWO_ROWS, fweights=_FREQUENCIES),
            S("weights", _TWO_ROWS, aweights=_WEIGHTS).only(*FLOATING),
            S("weights-biased", _TWO_ROWS, aweights=_WEIGHTS, correction=0).only(*FLOATING),
            S("both", _TWO_ROWS, fweights=_FREQUENCIES, aweights=_WEIGHTS).only(*FLOATING),
            S("weights-real", _TWO_ROWS, aweights=T(5, of="positive", dtype=formats.FLOAT32)).only(
                *INTEGRAL, formats.COMPLEX64
            ),
            S("too-few", T(2, 1, grad=False)),
            S("correction-beyond", T(2, 2, grad=False), correction=3).only(*FLOATING),
            S("scalar", T(grad=False)),
            S("empty-rows", T(0, 3)),
            S("empty-columns", T(2, 0)),
        ],
        (*INTEGRAL, *FLOATING, *COMPLEX),
        "float",
        ulp=4,
        measure="norm",
        layouts=("transposed", "strided"),
        errors=[_rank_error("cov"), *_WEIGHTS_ERRORS],
        family="statistics",
    ),
    Op(
        "corrcoef",
        _corrcoef,
        [*_OBSERVATIONS, S("constant", T(data=[[1.0, 1], [0, 1]], grad=False))],
        (*INTEGRAL, *FLOATING, *COMPLEX),
        "float",
        ulp=4,
        measure="norm",
        layouts=("transposed", "strided"),
        errors=[_rank_error("corrcoef")],
        family="statistics",
    ),
]
