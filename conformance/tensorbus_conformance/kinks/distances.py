"""Distances and similarities of equal, zero and infinite vectors."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tensorbus_conformance.kinks.program import Program

_INF, _NAN = math.inf, math.nan
ORDERS = {"zero": 0.0, "half": 0.5, "one": 1.0, "more": 1.5, "two": 2.0, "three": 3.0,
          "inf": _INF, "minus-inf": -_INF, "minus": -1.0}  # fmt: skip

LEFT = (
    (1.0, 2.0, 3.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 2.0, -2.0),
    (_INF, 1.0, 0.0), (1.0, _NAN, 0.0), (1e-9, 0.0, 0.0),
)  # fmt: skip
RIGHT = (
    (1.0, 2.0, 3.0), (0.0, 0.0, 0.0), (3.0, 4.0, 0.0), (0.0, 2.0, 0.0), (2.0, 1.0, -1.0),
    (0.0, 1.0, 0.0), (1.0, 1.0, 0.0), (1e-9, 1e-9, 0.0),
)  # fmt: skip


def programs() -> Iterator[Program]:
    pair = {"x": LEFT, "y": RIGHT}
    vectors = {"x": LEFT[:7], "y": RIGHT[:7]}
    finite = {"x": LEFT[:5], "y": RIGHT[:5]}
    yield Program("nn.functional.cosine_similarity", "rows", "F.cosine_similarity(x, y)", pair)
    text = "F.cosine_similarity(x, y, eps=2.0)"
    yield Program("nn.functional.cosine_similarity", "large-eps", text, pair)
    for name, p in ORDERS.items():
        for eps in (0.0,) if p < 0 else (1e-6, 0.0):  # powers of eps would be all digits
            variant = f"p-{name}{'' if eps else '-no-eps'}"
            text = f"F.pairwise_distance(x, y, {p}, {eps})"
            yield Program("nn.functional.pairwise_distance", variant, text, vectors)
        yield Program("dist", f"p-{name}", f"torch.dist(x[1:3], y[1:3], {p})", finite)
        yield Program("dist", f"p-{name}-equal", f"torch.dist(x[:2], y[:2], {p})", finite)
        if p >= 0:
            yield Program("cdist", f"p-{name}", f"torch.cdist(x, y, {p})", finite)
