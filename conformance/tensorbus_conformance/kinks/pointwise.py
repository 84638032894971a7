"""Activations, functions of one number, and pairs that compare or divide."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tensorbus_conformance.kinks.program import Program

POINTS = (
    -math.inf, -100.0, -7.0, -6.0, -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0, 20.0, 100.0,
    math.inf, math.nan,
)  # fmt: skip

UNARY = """
nn.functional.relu            plain      F.relu(x)
nn.functional.relu6           plain      F.relu6(x)
nn.functional.hardtanh        plain      F.hardtanh(x)
nn.functional.hardtanh        wide       F.hardtanh(x, -0.5, 3.0)
nn.functional.leaky_relu      plain      F.leaky_relu(x)
nn.functional.leaky_relu      slope      F.leaky_relu(x, 0.25)
nn.functional.elu             plain      F.elu(x)
nn.functional.elu             alpha      F.elu(x, 0.5)
nn.functional.celu            plain      F.celu(x)
nn.functional.celu            alpha      F.celu(x, 2.0)
nn.functional.selu            plain      F.selu(x)
nn.functional.gelu            plain      F.gelu(x)
nn.functional.gelu            tanh       F.gelu(x, approximate='tanh')
nn.functional.silu            plain      F.silu(x)
nn.functional.mish            plain      F.mish(x)
nn.functional.softplus        plain      F.softplus(x)
nn.functional.softplus        threshold  F.softplus(x, 2.0, 6.0)
nn.functional.softsign        plain      F.softsign(x)
nn.functional.tanhshrink      plain      F.tanhshrink(x)
nn.functional.hardshrink      plain      F.hardshrink(x)
nn.functional.hardshrink      zero       F.hardshrink(x, 0.0)
nn.functional.softshrink      plain      F.softshrink(x)
nn.functional.softshrink      zero       F.softshrink(x, 0.0)
nn.functional.threshold       plain      F.threshold(x, 0.5, 3.0)
nn.functional.threshold       zero       F.threshold(x, 0.0, 0.0)
nn.functional.hardsigmoid     plain      F.hardsigmoid(x)
nn.functional.hardswish       plain      F.hardswish(x)
nn.functional.logsigmoid      plain      F.logsigmoid(x)
sigmoid                       plain      torch.sigmoid(x)
tanh                          plain      torch.tanh(x)
relu                          method     x.relu()
abs                           plain      torch.abs(x)
sign                          plain      torch.sign(x)
sgn                           plain      torch.sgn(x)
floor                         plain      torch.floor(x)
ceil                          plain      torch.ceil(x)
round                         plain      torch.round(x)
trunc                         plain      torch.trunc(x)
frac                          plain      torch.frac(x)
neg                           plain      torch.neg(x)
clamp                         both       torch.clamp(x, -1.0, 3.0)
clamp                         low        torch.clamp(x, min=-1.0)
clamp                         high       torch.clamp(x, max=3.0)
clamp                         crossed    torch.clamp(x, 3.0, -1.0)
clamp                         nan        torch.clamp(x, nan, 3.0)
clamp                         infinite   torch.clamp(x, -inf, inf)
sqrt                          plain      torch.sqrt(x)
rsqrt                         plain      torch.rsqrt(x)
square                        plain      torch.square(x)
reciprocal                    plain      torch.reciprocal(x)
exp                           plain      torch.exp(x)
exp2                          plain      torch.exp2(x)
expm1                         plain      torch.expm1(x)
log                           plain      torch.log(x)
log2                          plain      torch.log2(x)
log10                         plain      torch.log10(x)
log1p                         plain      torch.log1p(x)
sin                           plain      torch.sin(x)
asin                          plain      torch.asin(x)
acos                          plain      torch.acos(x)
atan                          plain      torch.atan(x)
sinh                          plain      torch.sinh(x)
cosh                          plain      torch.cosh(x)
asinh                         plain      torch.asinh(x)
acosh                         plain      torch.acosh(x)
atanh                         plain      torch.atanh(x)
erf                           plain      torch.erf(x)
erfc                          plain      torch.erfc(x)
erfinv                        plain      torch.erfinv(x)
logit                         plain      torch.logit(x)
logit                         eps        torch.logit(x, 0.5)
logit                         eps-small  torch.logit(x, 0.125)
sinc                          plain      torch.sinc(x)
nan_to_num                    plain      torch.nan_to_num(x)
nan_to_num                    values     torch.nan_to_num(x, 1.0, 2.0, 3.0)
pow                           zero       torch.pow(x, 0)
pow                           one        torch.pow(x, 1)
pow                           two        torch.pow(x, 2)
pow                           cube       torch.pow(x, 3)
pow                           negative   torch.pow(x, -1)
pow                           of-two     torch.pow(2.0, x)
pow                           of-zero    torch.pow(0.0, x)
pow                           of-one     torch.pow(1.0, x)
xlogy                         number     torch.xlogy(0.0, x)
xlogy                         by-zero    torch.xlogy(x, 0.0)
fmod                          number     torch.fmod(x, 3.0)
remainder                     number     torch.remainder(x, 3.0)
div                           floor      torch.div(x, 3.0, rounding_mode='floor')
div                           trunc      torch.div(x, 3.0, rounding_mode='trunc')
div                           by-zero    torch.div(x, 0.0)
where                         self       torch.where(x > 0, x, 0.0)
where                         root       torch.where(x > 0, torch.sqrt(x), 0.0)
masked_fill                   self       x.masked_fill(x == 0, 3.0)
hypot                         zero       torch.hypot(x, T(0.0))
copysign                      number     torch.copysign(x, -1.0)
heaviside                     plain      torch.heaviside(x.detach(), T(0.5)) + x
nn.functional.relu            in-place   F.relu(x * 1, inplace=True)
nn.functional.relu6           in-place   F.relu6(x * 1, inplace=True)
nn.functional.hardtanh        in-place   F.hardtanh(x * 1, inplace=True)
nn.functional.leaky_relu      in-place   F.leaky_relu(x * 1, 0.25, inplace=True)
nn.functional.elu             in-place   F.elu(x * 1, inplace=True)
nn.functional.celu            in-place   F.celu(x * 1, 2.0, inplace=True)
nn.functional.selu            in-place   F.selu(x * 1, inplace=True)
nn.functional.silu            in-place   F.silu(x * 1, inplace=True)
nn.functional.mish            in-place   F.mish(x * 1, inplace=True)
nn.functional.threshold       in-place   F.threshold(x * 1, 0.5, 3.0, inplace=True)
nn.functional.hardsigmoid     in-place   F.hardsigmoid(x * 1, inplace=True)
nn.functional.hardswish       in-place   F.hardswish(x * 1, inplace=True)
clamp                         in-place   (x * 1).clamp_(-1.0, 3.0)
sigmoid                       in-place   (x * 1).sigmoid_()
tanh                          in-place   (x * 1).tanh_()
sqrt                          in-place   (x * 1).sqrt_()
abs                           in-place   (x * 1).abs_()
"""

# The root of -inf is NaN, its power inf: libraries take either.
POWERS = """
pow                           half       torch.pow(x, 0.5)
pow                           fraction   torch.pow(x, 1.5)
"""

_SOME = (-math.inf, -2.0, -1.0, -0.0, 0.0, 0.5, 2.0, math.inf, math.nan)
FIRSTS = tuple(a for a in _SOME for _ in _SOME)
SECONDS = _SOME * len(_SOME)

BINARY = """
maximum          pairs      torch.maximum(x, y)
minimum          pairs      torch.minimum(x, y)
fmax             pairs      torch.fmax(x, y)
fmin             pairs      torch.fmin(x, y)
max              pairs      torch.max(x, y)
min              pairs      torch.min(x, y)
clamp            low-tensor torch.clamp(x, min=y)
clamp            high-tensor torch.clamp(x, max=y)
clamp_min        pairs      torch.clamp_min(x, y)
clamp_max        pairs      torch.clamp_max(x, y)
div              pairs      torch.div(x, y)
fmod             pairs      torch.fmod(x, y)
remainder        pairs      torch.remainder(x, y)
pow              pairs      torch.pow(x, y)
atan2            pairs      torch.atan2(x, y)
hypot            pairs      torch.hypot(x, y)
xlogy            pairs      torch.xlogy(x, y)
logaddexp        pairs      torch.logaddexp(x, y)
logaddexp2       pairs      torch.logaddexp2(x, y)
copysign         pairs      torch.copysign(x, y)
where            pairs      torch.where(x > y, x, y)
lerp             pairs      torch.lerp(x, y, 0.25)
addcmul          pairs      torch.addcmul(x, x, y)
clamp            in-place-tensor (x * 1).clamp_(min=y)
nn.functional.prelu single  F.prelu(x, y[40:41])
"""

_LOW = (-1.0, 0.0, 1.0, math.nan, 2.0, 0.0)
_HIGH = (1.0, 0.0, -1.0, 1.0, math.nan, math.inf)
_BETWEEN = (-math.inf, -1.0, 0.0, 1.0, 2.0, math.nan)


def programs() -> Iterator[Program]:
    for op, variant, text in _lines(UNARY):
        yield Program(op, variant, text, {"x": POINTS}, elementwise=True)
    for op, variant, text in _lines(POWERS):
        yield Program(op, variant, text, {"x": POINTS[1:]}, elementwise=True)
    for op, variant, text in _lines(BINARY):
        operands = {"x": FIRSTS, "y": SECONDS}
        yield Program(op, variant, text, operands, elementwise=variant != "single")
    bounded = {
        "x": [[v] * len(_LOW) for v in _BETWEEN],
        "y": [_LOW] * len(_BETWEEN),
        "z": [_HIGH] * len(_BETWEEN),
    }
    yield Program("clamp", "tensors", "torch.clamp(x, y, z)", bounded)
    weighted = {"x": [[v, v] for v in POINTS], "w": [0.25, -2.0]}
    yield Program("nn.functional.prelu", "channels", "F.prelu(x, w)", weighted)
    halves = {"x": [[a, b] for a in _SOME for b in _SOME]}
    yield Program("nn.functional.glu", "halves", "F.glu(x)", halves)


def _lines(block: str) -> Iterator[tuple[str, str, str]]:
    for line in block.strip().splitlines():
        op, variant, text = line.split(maxsplit=2)
        yield op, variant, text
