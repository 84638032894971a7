"""Special functions of mathematics.

>>> import tensorbus
>>> tensorbus.special.expit(tensorbus.tensor([0.0, 2.0]))
tensor([0.5000, 0.8808])
"""

from typing import TYPE_CHECKING

from tensorbus import (
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    i0,
    igamma,
    igammac,
    lgamma,
    log1p,
    log_softmax,
    logit,
    logsumexp,
    mvlgamma,
    polygamma,
    round,
    sigmoid,
    sinc,
    softmax,
    xlogy,
)
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.public_place import show_in as _show_in
from tensorbus.op_engine.names import SPECIAL as _SPECIAL

airy_ai = _SPECIAL["airy_ai"]
bessel_j0 = _SPECIAL["bessel_j0"]
bessel_j1 = _SPECIAL["bessel_j1"]
bessel_y0 = _SPECIAL["bessel_y0"]
bessel_y1 = _SPECIAL["bessel_y1"]
chebyshev_polynomial_t = _SPECIAL["chebyshev_polynomial_t"]
chebyshev_polynomial_u = _SPECIAL["chebyshev_polynomial_u"]
chebyshev_polynomial_v = _SPECIAL["chebyshev_polynomial_v"]
chebyshev_polynomial_w = _SPECIAL["chebyshev_polynomial_w"]
entr = _SPECIAL["entr"]
erfcx = _SPECIAL["erfcx"]
hermite_polynomial_h = _SPECIAL["hermite_polynomial_h"]
hermite_polynomial_he = _SPECIAL["hermite_polynomial_he"]
i0e = _SPECIAL["i0e"]
i1 = _SPECIAL["i1"]
i1e = _SPECIAL["i1e"]
laguerre_polynomial_l = _SPECIAL["laguerre_polynomial_l"]
legendre_polynomial_p = _SPECIAL["legendre_polynomial_p"]
log_ndtr = _SPECIAL["log_ndtr"]
modified_bessel_i0 = _SPECIAL["modified_bessel_i0"]
modified_bessel_i1 = _SPECIAL["modified_bessel_i1"]
modified_bessel_k0 = _SPECIAL["modified_bessel_k0"]
modified_bessel_k1 = _SPECIAL["modified_bessel_k1"]
ndtr = _SPECIAL["ndtr"]
ndtri = _SPECIAL["ndtri"]
scaled_modified_bessel_k0 = _SPECIAL["scaled_modified_bessel_k0"]
scaled_modified_bessel_k1 = _SPECIAL["scaled_modified_bessel_k1"]
shifted_chebyshev_polynomial_t = _SPECIAL["shifted_chebyshev_polynomial_t"]
shifted_chebyshev_polynomial_u = _SPECIAL["shifted_chebyshev_polynomial_u"]
shifted_chebyshev_polynomial_v = _SPECIAL["shifted_chebyshev_polynomial_v"]
shifted_chebyshev_polynomial_w = _SPECIAL["shifted_chebyshev_polynomial_w"]
spherical_bessel_j0 = _SPECIAL["spherical_bessel_j0"]
xlog1py = _SPECIAL["xlog1py"]
zeta = _SPECIAL["zeta"]

expit = sigmoid
gammainc = igamma
gammaincc = igammac
gammaln = lgamma
multigammaln = mvlgamma
psi = digamma

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr",
    "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln",
    "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e",
    "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax", "logit",
    "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "sinc", "softmax", "spherical_bessel_j0", "xlog1py", "xlogy",
    "zeta",
]  # fmt: skip

_show_in(__name__, [(name, globals()[name]) for name in sorted(_SPECIAL)])
