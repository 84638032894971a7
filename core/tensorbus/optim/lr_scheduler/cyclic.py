"""Schedules in cycles: up and down, warm restarts, and the one-cycle policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from tensorbus.optim.lr_scheduler.base import (
    LRScheduler,
    check_optimizer,
    one_per_group,
    set_value,
    state_of_functions,
)
from tensorbus.optim.optimizer import Optimizer


def _moves_beta1(optimizer: Optimizer) -> bool:
    """Whether the momentum of an optimizer is its first beta; ValueError where it has none."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
        )
    return "betas" in optimizer.defaults


def _set_momentum(group: dict[str, Any], momentum: float, as_beta1: bool) -> None:
    if as_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class CyclicLR(LRScheduler):
    """The rate goes up and down between two limits, and the momentum the other way.

    Args:
        optimizer: whose groups are changed.
        base_lr: the lower limit, one for all groups or one for each.
        max_lr: the upper limit, likewise.
        step_size_up: in how many steps it goes up.
        step_size_down: in how many it goes down; as many by default.
        mode: 'triangular' keeps the upper limit, 'triangular2' halves the height in each cycle,
            'exp_range' multiplies it by *gamma* in each step.
        gamma: of 'exp_range'.
        scale_fn: gives the factor of the height, instead of *mode*.
        scale_mode: whether *scale_fn* gets the number of the 'cycle' or of 'iterations'.
        cycle_momentum: whether momentum (or the first beta) moves too.
        base_momentum, max_momentum: the limits of the momentum.
        last_epoch: the number of the last step when resuming; -1 to begin.

    ValueError for another mode without a *scale_fn*, and for an optimizer without momentum if that
    is to move.

    >>> import tensorbus as torch
    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0, momentum=0.5)
    >>> schedule = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=2)
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(schedule.get_last_lr())
    [0.5]
    [1.0]
    [0.5]
    [0.0]

    Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CyclicLR.html
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = one_per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", rate)
        self.max_lrs = one_per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        if scale_fn is None:
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode = scale_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _moves_beta1(optimizer)
            self.base_momentums = one_per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = one_per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for group, low, high in self._momenta():
                    _set_momentum(group, high, self.use_beta1)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _momenta(self) -> Iterator[tuple[dict[str, Any], float, float]]:
        """The groups with the limits of their momenta."""
        return zip(
            self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
        )

    def scale_fn(self, x: float) -> float:
        """The factor of the height, in the cycle or step *x*."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 0.5 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[Any]:
        """Compute the rates of the step ``last_epoch``, and set the momenta."""
        self._warn_unless_stepping()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        up = x <= self.step_ratio
        height = x / self.step_ratio if up else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in self._momenta():
                _set_momentum(group, high - (high - low) * height * scale, self.use_beta1)
        limits = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height * scale for low, high in limits]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer; of a *scale_fn* what ``LambdaLR`` saves."""
        (saved,) = state_of_functions([self._scale_fn_custom]) if self._scale_fn_custom else (None,)
        return {**super().state_dict(), "_scale_fn_custom": saved}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        state = dict(state_dict)
        saved = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        if saved is not None:
            self._scale_fn_custom.__dict__.update(saved)


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
            self.use_beta1 = _moves_beta1(optimizer)
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
                    _set_momentum(group, top_momentum, self.use_beta1)
                    group["max_momentum"] = top_momentum
                    group["base_momentum"] = low_momentum
        super().__init__(optimizer, last_epoch)

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
                _set_momentum(group, self._anneal(*ends, share), self.use_beta1)
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
