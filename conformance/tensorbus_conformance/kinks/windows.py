"""Pools, borders and resizing: pieces of the input, alone or averaged."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tensorbus_conformance.kinks.program import Program

_INF, _NAN = math.inf, math.nan
LINE = [[[1.0, 1.0, 3.0, 3.0, 2.0, _NAN, 0.0, -_INF, -_INF, _INF, _INF, 1.0]]]
PLANE = [[[[1.0, 1.0, 2.0, 0.0], [1.0, 1.0, 2.0, -_INF], [0.0, _NAN, -_INF, -_INF],
           [3.0, 3.0, -_INF, -_INF]]]]  # fmt: skip
BLOCK = [[[[[1.0, 2.0], [2.0, 1.0]], [[2.0, 0.0], [_NAN, 2.0]]]]]
TIES = [[[[2.0, 2.0, 1.0], [2.0, 0.0, 1.0], [0.0, 0.0, 0.0]]]]

PROGRAMS = """
max_pool1d           plain     LINE  F.max_pool1d(x, 2)
max_pool1d           padded    LINE  F.max_pool1d(x, 3, 2, 1)
max_pool2d           plain     PLANE F.max_pool2d(x, 2)
max_pool2d           overlap   PLANE F.max_pool2d(x, 3, 1, 1)
max_pool2d           indices   PLANE F.max_pool2d(x, 2, return_indices=True)[0]
avg_pool1d           plain     LINE  F.avg_pool1d(x, 2)
avg_pool2d           plain     PLANE F.avg_pool2d(x, 2)
adaptive_max_pool1d  plain     LINE  F.adaptive_max_pool1d(x, 5)
adaptive_max_pool2d  plain     PLANE F.adaptive_max_pool2d(x, 3)
adaptive_avg_pool1d  plain     LINE  F.adaptive_avg_pool1d(x, 5)
adaptive_avg_pool2d  plain     PLANE F.adaptive_avg_pool2d(x, 3)
adaptive_avg_pool2d  one       PLANE F.adaptive_avg_pool2d(x, 1)
pad                  constant  TIES  F.pad(x, (1, 2))
pad                  cropping  TIES  F.pad(x, (-1, 1))
pad                  nothing   TIES  F.pad(x, (0, 0))
pad                  reflect1d LINE  F.pad(x, (1, 2), 'reflect')
pad                  reflect   TIES  F.pad(x, (1, 2, 1, 1), 'reflect')
pad                  reflect3d BLOCK F.pad(x, (1, 1, 1, 1, 1, 1), 'reflect')
pad                  replicate1d LINE F.pad(x, (1, 2), 'replicate')
pad                  replicate TIES  F.pad(x, (1, 2, 1, 1), 'replicate')
pad                  replicate3d BLOCK F.pad(x, (1, 1, 1, 1, 1, 1), 'replicate')
pad                  circular  TIES  F.pad(x, (1, 2, 0, 0), 'circular')
pixel_shuffle        plain     BLOCK F.pixel_shuffle(x.reshape(1, 4, 1, 2), 2)
pixel_unshuffle      plain     BLOCK F.pixel_unshuffle(x.reshape(1, 1, 2, 4), 2)
dropout              evaluation TIES F.dropout(x, 0.5, False)
embedding            rows      TIES  F.embedding(T([0, 2, 0]), x[0, 0])
"""

_OPERANDS = {"LINE": LINE, "PLANE": PLANE, "BLOCK": BLOCK, "TIES": TIES}


def programs() -> Iterator[Program]:
    for line in PROGRAMS.strip().splitlines():
        op, variant, operand, text = line.split(maxsplit=3)
        yield Program(f"nn.functional.{op}", variant, text, {"x": _OPERANDS[operand]})
