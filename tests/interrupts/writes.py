"""Writes to interrupt, each with what it computes in NumPy: an oracle of values and gradients."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import tensorbus as torch

W = np.array([[0.5, 1.5], [-2.0, 0.75]])
V = np.array([[1.25, -0.5], [3.0, 2.0]])
B = np.array([[5.0, 6.0], [7.0, 8.0]])
C = np.array([[1.0, -2.0], [3.0, 5.0]])
"""What losses are weighted with."""
MASK = np.array([[True, False], [False, True]])
Values = dict[str, np.ndarray]


def start() -> SimpleNamespace:
    """Leaves w and v, h made of w, a plain tensor b, and results that keep these for backward."""
    s = SimpleNamespace()
    s.w = torch.tensor(W, dtype=torch.float64, requires_grad=True)
    s.v = torch.tensor(V, dtype=torch.float64, requires_grad=True)
    s.b = torch.tensor(B, dtype=torch.float64)
    s.h = s.w * 3
    s.h.retain_grad()
    s.row = s.h[0]  # a view made before the write
    s.kept = {"h": (s.h * s.h).sum(), "w": (s.w * s.w).sum(), "b": (s.b * s.w).sum()}
    s.mask, s.index = torch.tensor(MASK), torch.tensor([1, 0])
    s.optimizer = torch.optim.SGD([s.w, s.v], lr=0.5)
    s.steps = torch.optim.Adam([s.w, s.v], lr=0.5)
    for leaf in (s.w, s.v):
        leaf.grad = torch.ones(2, 2, dtype=torch.float64)
    return s


class Doubles(torch.autograd.Function):
    """Doubles its input in place."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Receives(torch.autograd.Function):
    """Writes its second operand into its first, which has no history."""

    @staticmethod
    def forward(ctx, into, x):
        ctx.mark_dirty(into)
        into.copy_(x)
        return into

    @staticmethod
    def backward(ctx, g):
        return None, g


def _put(x: np.ndarray, where: Any, value: Any) -> np.ndarray:
    made = x.copy()
    made[where] = value
    return made


def _no_grad(f: Callable[..., Any]) -> Callable[[SimpleNamespace], Any]:
    return torch.no_grad()(f)


H = "h"
Write = tuple[str, Callable[[SimpleNamespace], Any], Callable[..., np.ndarray] | None]
WRITES: dict[str, Write] = {
    # what is written, the write, and the same in NumPy: of x as it was, w and v
    "add": (H, lambda s: s.h.add_(s.v), lambda x, w, v: x + v),
    "multiply": (H, lambda s: s.h.mul_(s.v), lambda x, w, v: x * v),
    "itself": (H, lambda s: s.h.add_(s.h), lambda x, w, v: x + x),
    "operator": (H, lambda s: s.h.__iadd__(s.w), lambda x, w, v: x + w),
    "number": (H, lambda s: s.h.mul_(2), lambda x, w, v: x * 2),
    "tanh": (H, lambda s: s.h.tanh_(), lambda x, w, v: np.tanh(x)),
    "clamp": (H, lambda s: s.h.clamp_(max=1.0), lambda x, w, v: np.minimum(x, 1.0)),
    "addcmul": (H, lambda s: s.h.addcmul_(s.v, s.v), lambda x, w, v: x + v * v),
    "zero": (H, lambda s: s.h.zero_(), lambda x, w, v: x * 0),
    "fill": (H, lambda s: s.h.fill_(7), lambda x, w, v: x * 0 + 7),
    "copy": (H, lambda s: s.h.copy_(s.v), lambda x, w, v: v),
    "another dtype": (H, lambda s: s.h.add_(s.v.float()), lambda x, w, v: x + v),
    "copy of another dtype": (H, lambda s: s.h.copy_(s.v.float()), lambda x, w, v: v),
    "view": (H, lambda s: s.h[0].mul_(s.v[0]), lambda x, w, v: _put(x, 0, x[0] * v[0])),
    "early view": (H, lambda s: s.row.mul_(s.v[0]), lambda x, w, v: _put(x, 0, x[0] * v[0])),
    "transposed": (H, lambda s: s.h.t().add_(s.v), lambda x, w, v: x + v.T),
    "slice": (H, lambda s: s.h.__setitem__(0, s.v[1]), lambda x, w, v: _put(x, 0, v[1])),
    "item": (H, lambda s: s.h.__setitem__((1, 0), 9.0), lambda x, w, v: _put(x, (1, 0), 9.0)),
    "indices": (H, lambda s: s.h.__setitem__(s.index, s.v), lambda x, w, v: v[::-1]),
    "index_add": (H, lambda s: s.h.index_add_(0, s.index, s.v), lambda x, w, v: x + v[::-1]),
    "mask": (H, lambda s: s.h.masked_fill_(s.mask, 4.0), lambda x, w, v: _put(x, MASK, 4.0)),
    "masked": (
        H, lambda s: s.h.__setitem__(s.mask, s.v[0]), lambda x, w, v: _put(x, MASK, v[0]),
    ),
    "scatter": (
        H, lambda s: s.h.scatter_(1, s.index.expand(2, 2), s.v), lambda x, w, v: v[:, ::-1],
    ),
    "random numbers": (H, lambda s: s.h.uniform_(), None),
    "t_": (H, lambda s: s.h.t_(), lambda x, w, v: x.T),
    "function": (H, lambda s: Doubles.apply(s.h), lambda x, w, v: x * 2),
    "function into a plain tensor": ("b", lambda s: Receives.apply(s.b, s.v), lambda x, w, v: v),
    "plain tensor": ("b", lambda s: s.b.add_(s.w), lambda x, w, v: x + w),
    "plain copy": ("b", lambda s: s.b.copy_(s.v), lambda x, w, v: v),
    "plain view": ("b", lambda s: s.b[1].add_(s.v[1]), lambda x, w, v: _put(x, 1, x[1] + v[1])),
    "plain slice": ("b", lambda s: s.b.__setitem__(1, s.v[0]), lambda x, w, v: _put(x, 1, v[0])),
    "plain indices": ("b", lambda s: s.b.__setitem__(s.index, s.v), lambda x, w, v: v[::-1]),
    "unrecorded": ("b", lambda s: s.b.tanh_(), lambda x, w, v: np.tanh(x)),
    "unrecorded resize": ("b", lambda s: s.b.resize_(3), None),
    "unrecorded set": ("b", lambda s: s.b.set_(torch.zeros(2, 2, dtype=torch.float64)), None),
    "leaf": ("w", _no_grad(lambda s: s.w.sub_(1.0)), lambda x, w, v: x - 1),
    "step": ("w", lambda s: s.optimizer.step(), lambda x, w, v: x - 0.5),
    "step of Adam": ("w", lambda s: s.steps.step(), None),
}  # fmt: skip


def expected(name: str, times: int, w: np.ndarray, v: np.ndarray) -> Values:
    """What h, b and w hold after so many writes, where the leaves held w and v."""
    target, _, write = WRITES[name]
    values = {"h": w * 3, "b": B, "w": w}
    for _ in range(times):
        values[target] = write(values[target], w, v)
    return values


def slopes(loss: Callable[[np.ndarray, np.ndarray], float]) -> list[np.ndarray]:
    """The gradients of a loss of w and v, by central differences."""
    found = []
    for which in (0, 1):
        gradient = np.zeros((2, 2))
        for at in np.ndindex(2, 2):
            sides = []
            for step in (1e-5, -1e-5):
                given = [W.copy(), V.copy()]
                given[which][at] += step
                sides.append(loss(*given))
            gradient[at] = (sides[0] - sides[1]) / 2e-5
        found.append(gradient)
    return found
