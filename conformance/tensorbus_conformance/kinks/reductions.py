"""Reductions, scans and sorts of ties, zeros, infinities, NaN and single elements."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tensorbus_conformance.kinks.program import Program

_INF, _NAN = math.inf, math.nan

ROWS = (
    (1.0, 2.0, 3.0, 3.0),
    (2.0, 2.0, 2.0, 2.0),
    (0.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, -1.0),
    (-0.0, 0.0, 5.0, 5.0),
    (_INF, 1.0, _INF, 0.0),
    (-_INF, -_INF, -_INF, -_INF),
    (-_INF, 0.5, -_INF, 1.0),
    (_INF, -_INF, 1.0, 2.0),
    (1.0, _NAN, 2.0, _NAN),
    (_NAN, _NAN, _NAN, _NAN),
    (100.0, -100.0, 50.0, 99.0),
)
"""Ties, zeros, infinities and NaN, a row each."""

FLAT = {"ties": (3.0, 1.0, 3.0, 3.0), "nan": (1.0, _NAN, 3.0, _NAN), "zeros": (0.0, 0.0, 2.0),
        "zero": (0.0, 3.0, 2.0), "one": (2.0,), "even": (4.0, 1.0, 2.0, 2.0, 1.0, 4.0),
        "infinite": (-_INF, -_INF)}  # fmt: skip

ALONG = """
amax               dim       torch.amax(x, 1)
amin               dim       torch.amin(x, 1)
amax               keepdim   torch.amax(x, 1, True)
max                dim       torch.max(x, 1)[0]
min                dim       torch.min(x, 1)[0]
aminmax            low       torch.aminmax(x, dim=1)[0]
aminmax            high      torch.aminmax(x, dim=1)[1]
median             dim       torch.median(x, 1)[0]
nanmedian          dim       torch.nanmedian(x[:10], 1)[0]
mode               dim       torch.mode(x, 1)[0]
sort               dim       torch.sort(x, dim=1, stable=True)[0]
msort              dim       torch.msort(x.t())
cummax             dim       torch.cummax(x, 1)[0]
cummin             dim       torch.cummin(x, 1)[0]
cumsum             dim       torch.cumsum(x, 1)
cumprod            dim       torch.cumprod(x[:5], 1)
logcumsumexp       dim       torch.logcumsumexp(x[[0, 1, 2, 3, 4, 6, 9, 11]], 1)
logsumexp          dim       torch.logsumexp(x, 1)
softmax            dim       torch.softmax(x, 1)
log_softmax        dim       torch.log_softmax(x, 1)
nn.functional.softmin dim    F.softmin(x, 1)
sum                dim       torch.sum(x, 1)
nansum             dim       torch.nansum(x, 1)
mean               dim       torch.mean(x, 1)
nanmean            dim       torch.nanmean(x, 1)
prod               dim       torch.prod(x[:5], 1)
var                dim       torch.var(x, 1)
std                dim       torch.std(x, 1)
var                population torch.var(x, 1, correction=0)
std                population torch.std(x, 1, correction=0)
var                too-few   torch.var(x, 1, correction=4)
std                too-few   torch.std(x, 1, correction=4)
var                one-element torch.var(x[:, :1], 1)
std                one-element torch.std(x[:, :1], 1)
std_mean           dim       torch.std_mean(x, 1)[0]
var_mean           dim       torch.var_mean(x, 1)[0]
linalg.vector_norm p-two     torch.linalg.vector_norm(x, 2, 1)
linalg.vector_norm p-one     torch.linalg.vector_norm(x, 1, 1)
linalg.vector_norm p-zero    torch.linalg.vector_norm(x, 0, 1)
linalg.vector_norm p-three   torch.linalg.vector_norm(x, 3, 1)
linalg.vector_norm p-half    torch.linalg.vector_norm(x, 0.5, 1)
linalg.vector_norm p-more    torch.linalg.vector_norm(x, 1.5, 1)
linalg.vector_norm p-minus   torch.linalg.vector_norm(x, -1, 1)
linalg.vector_norm p-inf     torch.linalg.vector_norm(x, inf, 1)
linalg.vector_norm p-minus-inf torch.linalg.vector_norm(x, -inf, 1)
norm               dim       torch.norm(x, 2, 1)
norm               default   torch.norm(x[:5])
norm               zero      torch.norm(x[2])
nn.functional.normalize p-two   F.normalize(x, dim=1)
nn.functional.normalize p-one   F.normalize(x, 1.0, 1)
nn.functional.normalize p-three F.normalize(x, 3.0, 1)
nn.functional.normalize p-zero  F.normalize(x, 0.0, 1)
nn.functional.normalize p-inf   F.normalize(x, inf, 1)
nn.functional.normalize p-minus-inf F.normalize(x, -inf, 1)
nn.functional.layer_norm equal  F.layer_norm(x, (4,))
nn.functional.rms_norm equal    F.rms_norm(x, (4,))
nn.functional.group_norm equal  F.group_norm(x, 1)
nn.functional.batch_norm equal  F.batch_norm(x[:5], None, None, training=True)
nn.functional.batch_norm one-value F.batch_norm(x[2:4, :, None] * 0, None, None, training=True)
nn.functional.instance_norm equal F.instance_norm(x[:, None])
linalg.matrix_norm frobenius    torch.linalg.matrix_norm(x[1:5])
linalg.matrix_norm zero         torch.linalg.matrix_norm(x[2:3])
linalg.matrix_norm p-one        torch.linalg.matrix_norm(x[:5], 1)
linalg.matrix_norm p-inf        torch.linalg.matrix_norm(x[:5], inf)
linalg.matrix_norm p-minus-one  torch.linalg.matrix_norm(x[:5], -1)
linalg.norm        zero         torch.linalg.norm(x[2])
logsumexp          both         torch.logsumexp(x[:5], (0, 1))
logsumexp          infinite     torch.logsumexp(x[6:8], (0, 1))
std                both         torch.std(x[:5])
std                zero         torch.std(x[2])
std                uncorrected-one torch.std(x[2:3, :1], correction=0)
amax               both         torch.amax(x[:5], (0, 1))
"""

ALL = """
amax          torch.amax(x)
amin          torch.amin(x)
max           torch.max(x)
min           torch.min(x)
median        torch.median(x)
nanmedian     torch.nanmedian(x)
prod          torch.prod(x)
var           torch.var(x)
std           torch.std(x)
logsumexp     torch.logsumexp(x, 0)
mean          torch.mean(x)
nanmean       torch.nanmean(x)
nansum        torch.nansum(x)
norm          torch.norm(x)
cumprod       torch.cumprod(x, 0)
"""


def programs() -> Iterator[Program]:
    for line in ALONG.strip().splitlines():
        op, variant, text = line.split(maxsplit=2)
        yield Program(op, variant, text, {"x": ROWS})
    for line in ALL.strip().splitlines():
        op, text = line.split(maxsplit=1)
        for name, values in FLAT.items():
            if "prod" in op and name == "infinite":
                continue  # PyTorch divides the product by its factors: NaN by NaN
            yield Program(op, f"all-{name}", text, {"x": values})
    scattered = {"x": (1.0, 0.0, 2.0), "y": (1.0, 0.0, 0.0, 2.0, 3.0)}
    index = "T([0, 1, 1, 2, 0])"
    for how in ("sum", "prod", "mean", "amax", "amin"):
        for own in (True, False):
            text = f"x.scatter_reduce(0, {index}, y, '{how}', include_self={own})"
            yield Program(
                "scatter_reduce", f"{how}-{'with' if own else 'without'}", text, scattered
            )
