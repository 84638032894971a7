"""Averages in small groups often, and in larger ones more seldom."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from tensorbus.distributed.algorithms.model_averaging import utils
from tensorbus.distributed.algorithms.model_averaging.averagers import (
    ModelAverager,
    check_warmup,
    warn_of_every_step,
)
from tensorbus.distributed.process_group import ProcessGroup
from tensorbus.distributed.subgroups import new_subgroups


class HierarchicalModelAverager(ModelAverager):
    """Averages over groups of several sizes, each with a period of its own.

    In a step that several periods divide, the largest one counts.

    Args:
        period_group_size_dict: the size of the groups for each period, which ascend; the last group
            has all ranks.
        warmup_steps: so many steps go by before.
        process_group: the ranks; all of them by default.
    """

    def __init__(
        self,
        period_group_size_dict: dict[int, int] | None = None,
        warmup_steps: int = 0,
        process_group: ProcessGroup | None = None,
    ):
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        periods, sizes = list(period_group_size_dict), list(period_group_size_dict.values())
        if periods[0] <= 0:
            raise ValueError(
                "The minimum period in arg ``period_group_size_dict`` must be a positive value."
            )
        if periods[-1] == 1:
            warn_of_every_step("the maximum period in arg ``period_group_size_dict``")
        whole = self.process_group.size()
        if sizes[-1] != whole:
            raise ValueError(
                f"The last value in arg ``period_group_size_dict`` {sizes[-1]} must be equal to "
                f"the size of arg ``process_group`` {whole}."
            )
        self.period_process_group_dict: OrderedDict[int, Any] = OrderedDict()
        for period, size in period_group_size_dict.items():
            group: Any = self.process_group
            if size != whole:
                group, _ = new_subgroups(group_size=size, group=self.process_group)
            self.period_process_group_dict[period] = group
        check_warmup(warmup_steps)
        self.warmup_steps = warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters, or an optimizer's groups, if it is time; call it after each step."""
        if self.step >= self.warmup_steps:
            for period, group in reversed(self.period_process_group_dict.items()):
                if self.step % period == 0:
                    utils.average_parameters_or_parameter_groups(params, group)
                    break
        self.step += 1
