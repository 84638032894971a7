"""When models are averaged: every so many steps, after the first ones."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from tensorbus.distributed.algorithms.model_averaging import utils
from tensorbus.distributed.lifecycle import group_or_default
from tensorbus.distributed.process_group import ProcessGroup

__all__ = ["ModelAverager", "PeriodicModelAverager"]


def check_warmup(steps: int) -> None:
    """ValueError for a negative number of steps."""
    if steps < 0:
        raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")


def warn_of_every_step(what: str) -> None:
    """The warning for averages after each step."""
    warnings.warn(
        f"When {what} is 1, no need to use model averaging because the communication cost of "
        "all-reducing parameters will be no less than the cost of all-reducing gradients by "
        "DistributedDataParallel in the backward pass. Therefore, only DistributedDataParallel "
        "should be used for this case.",
        stacklevel=3,
    )


class ModelAverager(ABC):
    """What averages models over the ranks of *process_group*, of all ranks by default."""

    def __init__(self, process_group: ProcessGroup | None = None):
        self.process_group = group_or_default(process_group)
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters, or an optimizer's groups, if it is time; call it after each step."""
        raise NotImplementedError


class PeriodicModelAverager(ModelAverager):
    """Averages every *period* steps, from step *warmup_steps* on.

    Args:
        period: at least 1; with 1 a warning says that averaged gradients cost no more.
        warmup_steps: so many steps go by before.
        process_group: the ranks; all of them by default.

    Example:
        >>> import tensorbus.distributed as dist
        >>> from tensorbus.distributed.algorithms.model_averaging import averagers
        >>> def rank():
        ...     w = nn.Parameter(tensorbus.tensor([float(dist.get_rank())]))
        ...     w.grad = tensorbus.zeros(1)
        ...     averager = averagers.PeriodicModelAverager(period=2, warmup_steps=1)
        ...     for _ in range(2):
        ...         averager.average_parameters([w])
        ...     return w.item()
        >>> dist.local.run(rank, 2)
        [0.5, 0.5]
    """

    def __init__(
        self, period: int, warmup_steps: int = 0, process_group: ProcessGroup | None = None
    ):
        super().__init__(process_group)
        check_warmup(warmup_steps)
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warn_of_every_step("period")
        self.warmup_steps = warmup_steps
        self.period = period

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters, or an optimizer's groups, if it is time; call it after each step."""
        after = self.step - self.warmup_steps
        if after >= 0 and after % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
