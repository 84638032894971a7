"""Special functions of 1,000,000 elements: what is measured beside ``scipy.special``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.library_cases import ELEMENTS, LibraryCase

Call = Callable[..., Any]


def spread(*bounds: tuple[float, float]) -> Callable[[np.dtype], tuple[np.ndarray, ...]]:
    """For each operand a pair of bounds, between which it is uniform."""

    def make(dtype: np.dtype) -> tuple[np.ndarray, ...]:
        draw = np.random.default_rng(0).uniform
        return tuple(draw(*pair, ELEMENTS).astype(dtype) for pair in bounds)

    return make


def _case(
    name: str, *bounds: tuple[float, float], scipy: str | Call | None = None, numpy: str = ""
) -> LibraryCase:
    def tensors(t: Any, *operands: Any) -> Any:
        return getattr(t.special, name)(*operands)

    reference = scipy or name

    def theirs(sp: Any, *operands: Any) -> Any:
        if callable(reference):
            return reference(sp.special, *operands)
        return getattr(sp.special, reference)(*operands)

    def numpys(np: Any, *operands: Any) -> Any:
        return getattr(np, numpy)(*operands)

    return LibraryCase(name, spread(*bounds), tensors, numpys if numpy else None, theirs)


def _with_order(name: str, reference: str, bounds: tuple[float, float], degree: int) -> LibraryCase:
    """A polynomial, whose degree is one number."""

    def tensors(t: Any, x: Any) -> Any:
        return getattr(t.special, name)(x, degree)

    def theirs(sp: Any, x: Any) -> Any:
        return getattr(sp.special, reference)(degree, x)

    return LibraryCase(f"{name}, degree {degree}", spread(bounds), tensors, scipy=theirs)


def _polygamma(sp: Any, n: int, x: Any) -> Any:
    return sp.special.polygamma(n, x)


# fmt: off
SPECIAL = [
    _case("airy_ai", (-10, 10), scipy=lambda sp, x: sp.airy(x)[0]),
    _case("bessel_j0", (-30, 30), scipy="j0"),
    _case("bessel_j1", (-30, 30), scipy="j1"),
    _case("bessel_y0", (0, 30), scipy="y0"),
    _case("bessel_y1", (0, 30), scipy="y1"),
    _case("digamma", (-10, 30), scipy="psi"),
    _case("entr", (0, 10)),
    _case("erf", (-5, 5)),
    _case("erfc", (-5, 10)),
    _case("erfcx", (-5, 30)),
    _case("erfinv", (-1, 1)),
    _case("exp2", (-50, 50), numpy="exp2"),
    _case("expit", (-50, 50)),
    _case("expm1", (-5, 5), numpy="expm1"),
    _case("gammainc", (0.1, 50), (0, 50)),
    _case("gammaincc", (0.1, 50), (0, 50)),
    _case("gammaln", (-10, 50)),
    _with_order("hermite_polynomial_h", "eval_hermite", (-3, 3), 8),
    _with_order("hermite_polynomial_he", "eval_hermitenorm", (-3, 3), 8),
    _with_order("chebyshev_polynomial_t", "eval_chebyt", (-1, 1), 8),
    _with_order("chebyshev_polynomial_u", "eval_chebyu", (-1, 1), 8),
    _with_order("laguerre_polynomial_l", "eval_laguerre", (0, 10), 8),
    _with_order("legendre_polynomial_p", "eval_legendre", (-1, 1), 8),
    _with_order("shifted_chebyshev_polynomial_t", "eval_sh_chebyt", (0, 1), 8),
    _with_order("shifted_chebyshev_polynomial_u", "eval_sh_chebyu", (0, 1), 8),
    _case("i0", (-30, 30)),
    _case("i0e", (-30, 30)),
    _case("i1", (-30, 30)),
    _case("i1e", (-30, 30)),
    _case("modified_bessel_k0", (0, 30), scipy="k0"),
    _case("modified_bessel_k1", (0, 30), scipy="k1"),
    _case("scaled_modified_bessel_k0", (0, 30), scipy="k0e"),
    _case("scaled_modified_bessel_k1", (0, 30), scipy="k1e"),
    _case("log1p", (-1, 10), numpy="log1p"),
    _case("log_ndtr", (-30, 5)),
    _case("logit", (0, 1)),
    LibraryCase("multigammaln, 3", spread((2, 50)),
                lambda t, x: t.special.multigammaln(x, 3),
                scipy=lambda sp, x: sp.special.multigammaln(x, 3)),
    _case("ndtr", (-10, 10)),
    _case("ndtri", (0, 1)),
    LibraryCase("polygamma, 1", spread((0, 30)), lambda t, x: t.special.polygamma(1, x),
                scipy=lambda sp, x: _polygamma(sp, 1, x)),
    LibraryCase("polygamma, 3", spread((0, 30)), lambda t, x: t.special.polygamma(3, x),
                scipy=lambda sp, x: _polygamma(sp, 3, x)),
    _case("sinc", (-10, 10), scipy=lambda sp, x: np.sinc(x)),
    _case("spherical_bessel_j0", (-30, 30), scipy=lambda sp, x: sp.spherical_jn(0, x)),
    _case("xlog1py", (0, 10), (-1, 10)),
    _case("xlogy", (0, 10), (0, 10)),
    _case("zeta", (1.1, 10), (0.1, 10)),
    LibraryCase("logsumexp", lambda dtype: tuple(
                    x.reshape(1000, 1000) for x in spread((-10, 10))(dtype)),
                lambda t, x: t.special.logsumexp(x, 1),
                scipy=lambda sp, x: sp.special.logsumexp(x, 1)),
    LibraryCase("softmax", lambda dtype: tuple(
                    x.reshape(1000, 1000) for x in spread((-10, 10))(dtype)),
                lambda t, x: t.special.softmax(x, 1),
                scipy=lambda sp, x: sp.special.softmax(x, 1)),
    LibraryCase("log_softmax", lambda dtype: tuple(
                    x.reshape(1000, 1000) for x in spread((-10, 10))(dtype)),
                lambda t, x: t.special.log_softmax(x, 1),
                scipy=lambda sp, x: sp.special.log_softmax(x, 1)),
]
# fmt: on
