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
from tensorbus.ops.pointwise.declaring import SPECIAL as _SPECIAL

entr = _SPECIAL["entr"]
erfcx = _SPECIAL["erfcx"]
log_ndtr = _SPECIAL["log_ndtr"]
ndtr = _SPECIAL["ndtr"]
ndtri = _SPECIAL["ndtri"]
xlog1py = _SPECIAL["xlog1py"]

expit = sigmoid
gammaln = lgamma
multigammaln = mvlgamma
psi = digamma

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammaln",
    "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri",
    "polygamma", "psi", "round", "sinc", "softmax", "xlog1py", "xlogy",
]  # fmt: skip

_show_in(__name__, [(name, globals()[name]) for name in sorted(_SPECIAL)])
