"""Where the library does not follow PyTorch, and why: each is PyTorch's overflow or inconsistency.

A NaN where the derivative has a value, say, or a choice among equals that its own documents leave
open. Everything else in the table is to be met.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase

_NORM = "a norm has no second derivative at 0: NaN in PyTorch, here that of the constant 0"
_PRELU = "at 0 the gradient is that of the slope's branch; PyTorch differentiates the other there"
_SHARES = "the shares of equal elements sum to one; PyTorch counts what was there, though left out"
_COUNT = "the derivative of a count is zero: PyTorch has no gradient there at all"


@dataclass(frozen=True)
class Departure:
    """Globs of programs and of their results, the reason, and what is expected instead."""

    program: str
    name: str
    reason: str
    ours: str = ""
    """The numbers that are right here, written as in the table."""
    nan: float | None = None
    """A number that may stand where PyTorch has NaN."""

    def covers(self, program: str, name: str) -> bool:
        return fnmatchcase(program, self.program) and fnmatchcase(name, self.name)


DEPARTURES = (
    Departure("nn.functional.mish/*", "x.x", "PyTorch multiplies 0 by an overflow", nan=0.0),
    Departure("nn.functional.gelu/tanh", "value", "-inf times what rounding leaves of 1 + tanh",
              nan=-math.inf),
    Departure("nn.functional.gelu/tanh", "x", "the limits; PyTorch multiplies 0 by inf there",
              ours="0x4 0.02316859 -0.04148205 0.1326301 -1 0.25 0.8673699 -2.165928 0.5057921 "
                   "1 -2 0.5 1 nan"),
    Departure("nn.functional.gelu/tanh", "x.x", "the limits; PyTorch multiplies 0 by inf there",
              nan=0.0),
    Departure("sinc/plain", "x.x", "it is -pi**2 / 3 at 0, by the power series", nan=3.2898681),
    Departure("logaddexp*/pairs", "?.?", "PyTorch divides an overflow by one; the limit is 0",
              nan=0.0),
    Departure("logit/eps*", "x.x", "constant outside of the bounds, and its gradient 0", nan=0.0),
    Departure("logit/eps*", "plain x", "PyTorch gives NaN at NaN, and 0 if the pass is recorded"),
    Departure("nn.functional.prelu/single", "x.y", _PRELU, ours="0x40 -18 0x40"),
    Departure("nn.functional.prelu/single", "y.x", _PRELU,
              ours="0.5 -1 0.25 " * 15 + "0x27" + " 0.5 -1 0.25" * 3),
    Departure("nn.functional.prelu/channels", "x.w", _PRELU, ours="-4 -2"),
    Departure("nn.functional.prelu/channels", "w.x", _PRELU,
              ours="1 -1 0.5x2 -2 0.25 1 -1 0.5x2 -2 0.25 1 -1 0.5x2 -2 0.25 0x14 0.5x2"),
    Departure("scatter_reduce/amax-without", "y", _SHARES, ours="0 -1x2 0.5 1"),
    Departure("scatter_reduce/amin-without", "y", _SHARES, ours="1 -1x2 0.5 0"),
    Departure("nn.functional.layer_norm/half", "x.x", "PyTorch multiplies 0 by an overflow",
              nan=0.0),
    Departure("logcumsumexp/dim", "x*", "sums of nothing but -inf do not move", nan=0.0),
    Departure("nanmean/dim", "x", "a mean of nothing depends on no element", nan=0.0),
    Departure("linalg.vector_norm/p-zero", "x", _COUNT, ours="0x48"),
    Departure("nn.functional.normalize/p-zero", "x.x", _COUNT, ours="0x48"),
    Departure("nn.functional.pairwise_distance/p-zero*", "?", _COUNT, ours="0x21"),
    Departure("linalg.vector_norm/p-*", "x.x", _NORM, nan=0.0),
    Departure("linalg.vector_norm/half", "x.x", _NORM, nan=0.0),
    Departure("linalg.*norm/zero", "x.x", _NORM, nan=0.0),
    Departure("norm/*", "x.x", _NORM, nan=0.0),
    Departure("nn.functional.normalize/p-two", "x.x", _NORM, nan=0.0),
    Departure("nn.functional.cosine_similarity/*", "?.?", _NORM, nan=0.0),
    Departure("nn.functional.pairwise_distance/p-*-no-eps", "?.?", _NORM, nan=0.0),
    Departure("dist/p-*", "?.?", _NORM, nan=0.0),
    Departure("nn.functional.triplet_margin_loss/at-margin", "?.?", _NORM, nan=0.0),
    Departure("nn.functional.triplet_margin_loss/margin", "x.x", _NORM,
              ours="2 0 0.7071068 0.7071068 0.1760107 -0.1173405 0x5"),
)  # fmt: skip


def departure(program: str, name: str) -> Departure | None:
    """The entry for one result of a program, if there is one."""
    return next((d for d in DEPARTURES if d.covers(program, name)), None)
