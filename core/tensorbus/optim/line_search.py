"""A line search that ends where the strong Wolfe conditions hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from tensorbus._tensor.tensor import Tensor


class Point(NamedTuple):
    """A loss with its gradient."""

    loss: float
    grad: Tensor

    def largest_slope(self) -> float:
        """The largest element of the gradient, without its sign."""
        return self.grad.abs().max().item()


class _Trial(NamedTuple):
    """A point on the line: how far it is, its loss and slope along the line."""

    step: float
    slope: float
    point: Point

    @property
    def loss(self) -> float:
        return self.point.loss


def _cubic_minimum(
    first: _Trial, second: _Trial, bounds: tuple[float, float] | None = None
) -> float:
    """Where the cubic through two points, with their slopes, is lowest within the bounds."""
    a, b = (first, second) if first.step <= second.step else (second, first)
    low, high = bounds or (a.step, b.step)
    d1 = first.slope + second.slope
    d1 -= 3 * (first.loss - second.loss) / (first.step - second.step)
    square = d1**2 - first.slope * second.slope
    if square < 0:
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    lowest = b.step - (b.step - a.step) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(lowest, low), high)


def strong_wolfe(
    at: Callable[[float], Point],
    start: Point,
    step: float,
    direction: Tensor,
    slope: float,
    *,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[Point, float, int]:
    """Find a step with enough decrease of the loss (c1) and of the slope (c2).

    Args:
        at: evaluates the loss and its gradient a step along *direction* from the start.
        start: loss and gradient at the start.
        step: the first step to try.
        slope: the start's slope along the direction; negative.
        max_ls: how many steps are tried after the first.

    Returns:
        The point found, its step, and the number of evaluations.
    """

    def trial(length: float) -> _Trial:
        point = at(length)
        return _Trial(length, point.grad.dot(direction).item(), point)

    def too_high(new: _Trial) -> bool:
        return new.loss > start.loss + c1 * new.step * slope

    def flat_enough(new: _Trial) -> bool:
        return abs(new.slope) <= -c2 * slope

    origin = previous = _Trial(0.0, slope, start)
    new = trial(step)
    evals, tries = 1, 0
    bracket: list[_Trial] = []
    while tries < max_ls:
        if too_high(new) or (tries > 1 and new.loss >= previous.loss):
            bracket = [previous, new]
            break
        if flat_enough(new):
            return new.point, new.step, evals
        if new.slope >= 0:
            bracket = [previous, new]
            break
        bounds = (new.step + 0.01 * (new.step - previous.step), new.step * 10)
        step = _cubic_minimum(previous, new, bounds)
        previous, new = new, trial(step)
        evals += 1
        tries += 1
    if not bracket:
        bracket = [origin, new]

    # Between the two ends lies a point that fulfils the conditions: close in on it.
    size = direction.abs().max().item()
    low, high = sorted(bracket, key=lambda end: end.loss)
    stuck = False
    while tries < max_ls:
        left, right = sorted((low.step, high.step))
        if (right - left) * size < tolerance_change:
            break
        step = _cubic_minimum(low, high)
        margin = 0.1 * (right - left)
        if min(right - step, step - left) < margin:
            # Too near to an end for progress: the second time, keep a tenth away from it.
            if stuck or step >= right or step <= left:
                step = right - margin if abs(step - right) < abs(step - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = trial(step)
        evals += 1
        tries += 1
        if too_high(new) or new.loss >= low.loss:
            low, high = sorted((low, new), key=lambda end: end.loss)
            continue
        if flat_enough(new):
            low = new
            break
        if new.slope * (high.step - low.step) >= 0:
            high = low
        low = new
    return low.point, low.step, evals
