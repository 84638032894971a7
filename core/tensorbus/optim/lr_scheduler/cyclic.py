"""Schedules in cycles: warm restarts and the one-cycle policy."""

from __future__ import annotations

import math
from typing import Any

from tensorbus.optim.lr_scheduler.base import LRScheduler, check_optimizer, one_per_group
from tensorbus.optim.optimizer import Optimizer


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate goes down along half a cosine again and again, each time over more steps.

    Args:
        T_0: steps until the first restart.
        T_mult: how much longer each period is than the one before.
        eta_min: the smallest rate.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_unless_stepping()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go one step on, or to *epoch*, which may be a fraction of one."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._find_period(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_rates(self._computed(self.get_lr))

    def _find_period(self, epoch: float) -> None:
        """Find the period that *epoch* is in, and how far."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            growth = self.T_mult - 1
            restarts = int(math.log(epoch / self.T_0 * growth + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / growth
            self.T_i = self.T_0 * self.T_mult**restarts


class OneCycleLR(LRScheduler):
    """The rate goes up to *max_lr*, then far down, and the momentum the other way.

    Args:
        max_lr: the largest rate, one for all groups or one for each.
        total_steps: steps of the cycle; or else *epochs* times *steps_per_epoch*.
        pct_start: the share of steps in which the rate goes up.
        anneal_strategy: 'cos' or 'linear'.
        cycle_momentum: whether momentum (or the first beta) moves too.
        base_momentum, max_momentum: the limits of the momentum.
        div_factor: max_lr over the first rate.
        final_div_factor: the first rate over the last.
        three_phase: whether to come down to the first rate before the last phase.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
                raise ValueError(
                    "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
                )
            self.use_beta1 = "betas" in optimizer.defaults
        if last_epoch == -1:
            limits = zip(
                optimizer.param_groups,
                one_per_group("max_lr", optimizer, max_lr),
                one_per_group("max_momentum", optimizer, max_momentum),
                one_per_group("base_momentum", optimizer, base_momentum),
                strict=True,
            )
            for group, top_lr, top_momentum, low_momentum in limits:
                group["initial_lr"] = top_lr / div_factor
                group["max_lr"] = top_lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
                if cycle_momentum:
                    self._set_momentum(group, top_momentum)
                    group["max_momentum"] = top_momentum
                    group["base_momentum"] = low_momentum
        super().__init__(optimizer, last_epoch)

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum

    def _anneal(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def get_lr(self) -> list[Any]:
        self._warn_unless_stepping()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        start_step = 0.0
        phase = self._schedule_phases[-1]
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start_step = phase["end_step"]
        share = (step - start_step) / (phase["end_step"] - start_step)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._anneal(*ends, share))
        return rates


def _total_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is not None:
        return _positive("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)


def _positive(name: str, value: Any) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """The phases as (last step, rate from and to, momentum from and to)."""
    up_end = float(pct_start * total_steps) - 1
    up = (up_end, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    last = total_steps - 1
    if three_phase:
        down_end = float(2 * pct_start * total_steps) - 2
        rows = [
            up,
            (down_end, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
            (last, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
        ]
    else:
        rows = [up, (last, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    return [dict(zip(names, row, strict=True)) for row in rows]
