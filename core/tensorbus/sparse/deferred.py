"""Values that are not made until they are asked for: the rows of a bag's sparse gradient.

Such a gradient has the row of a bag as often as the bag has indices: many times what the bags' own
rows take. Optimizers add these up, for which the bags are enough; who reads the values gets them.
"""

from __future__ import annotations

from tensorbus._base.size import size_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.op_engine.cores import core


class BagRows:
    """What ``bag_rows`` gives, of one row *x* for each bag: no tensor yet, and without history.

    The operands are copies: a program may write to those that it has handed to the backward pass.
    """

    __slots__ = ("_k", "_s", "bounds", "factors", "n", "x")
    _e = _g = None

    def __init__(self, x: Tensor, n: int, bounds: Tensor, factors: Tensor | None):
        self.x, self.n, self.bounds = x.clone(), n, bounds.clone()
        self.factors = None if factors is None else factors.clone()
        self._k, self._s = x._k, size_of((n, x._s[1]))

    def made(self, indices: Tensor) -> Tensor:
        """The rows, one for each of the *indices*."""
        with no_grad():
            rows: Tensor = core("bag_rows")(self.x, indices, self.bounds, self.factors, -1)
        return rows

    def added_up(self, groups: Tensor, count: int) -> Tensor:
        """The sums of the rows that belong to each of *count* groups."""
        with no_grad():
            operands = self.x, groups, self.bounds, self.factors, -1, count
            sums: Tensor = core("bag_spread")(*operands)
        return sums


def are_worth_it(x: Tensor, n: int) -> bool:
    """Whether so many rows take much more than those of the bags."""
    return n >= 2 * x._s[0]
