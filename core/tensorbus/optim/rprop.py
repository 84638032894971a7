"""Rprop: steps by the signs of gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.cores import core
from tensorbus.optim._shared import (
    check_lr,
    count_step,
    in_lists,
    new_step,
)
from tensorbus.optim.optimizer import Optimizer, ParamsT
from tensorbus.rows.registry import row


class Rprop(Optimizer):
    """Each element has a step of its own, which grows while the gradient keeps its sign.

    Args:
        params: tensors, pairs of name and tensor, or groups.
        lr: the first step.
        etas: factors of the step when the sign changes and when it stays.
        step_sizes: the smallest and the largest step.
        maximize: go up instead of down.
        foreach, capturable: accepted for compatibility; they change nothing.
        differentiable: whether ``step`` is recorded by autograd.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults: dict[str, Any] = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict[str, Any]) -> None:
        for _, lists in in_lists(self._members(group)):
            _step(*lists, *group["etas"], *group["step_sizes"], group["maximize"])

    def _members(self, group: dict[str, Any]) -> Iterator[Any]:
        for param, grad, state in self._with_state(group):
            if not state:
                state.update(
                    step=new_step(),
                    prev=tensorbus.zeros_like(param),
                    step_size=tensorbus.full_like(grad, float(group["lr"])),
                )
            count_step(state)
            yield None, (param, grad, state["prev"], state["step_size"])


def _rprop_step(
    F: Any, p: Any, g: Any, before: Any, size: Any, shrink: Any, grow: Any, smallest: Any,
    largest: Any, maximize: bool,
) -> Any:  # fmt: skip
    if maximize:
        g = F.neg(g)
    agreement = F.mul(g, before)
    turned = F.lt(agreement, 0.0)
    size = F.where(
        turned, F.mul(size, shrink), F.where(F.gt(agreement, 0.0), F.mul(size, grow), size)
    )
    size = F.where(F.lt(size, smallest), smallest, size)
    size = F.where(F.gt(size, largest), largest, size)
    g = F.where(turned, 0.0, g)  # where the sign has changed, wait for one step
    return F.sub(p, F.mul(F.sign(g), size)), g, size


row(
    "rprop_step",
    "p:T*!, g:T*, before:T*!, size:T*!, shrink:number, grow:number, smallest:number, "
    "largest:number, maximize",
    "list",
    domain="float",
    doc="Where g and *before* have the same sign, *size* is multiplied by *grow*; where they have "
    "unlike ones, by *shrink*, and g is 0; *size* is kept between *smallest* and *largest*, p "
    "-= sign(g) size and before = g; where *maximize*, g is negated first.",
    composite=_rprop_step,
)
_step = core("rprop_step")
