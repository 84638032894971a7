"""``PostLocalSGDOptimizer``: steps of each rank alone, and averages now and then."""

from __future__ import annotations

import warnings
from typing import Any

from tensorbus.distributed.algorithms.model_averaging.averagers import ModelAverager
from tensorbus.optim.optimizer import Optimizer


class PostLocalSGDOptimizer(Optimizer):
    """Steps another optimizer, then lets an averager average the parameters if it is time.

    Args:
        optim: the optimizer of this rank.
        averager: such as ``PeriodicModelAverager(period=4, warmup_steps=100)``.

    Example:
        >>> import tensorbus.distributed as dist
        >>> from tensorbus.distributed.algorithms.model_averaging import averagers
        >>> from tensorbus.distributed.optim import PostLocalSGDOptimizer
        >>> def rank():
        ...     w = nn.Parameter(tensorbus.tensor([float(dist.get_rank())]))
        ...     sgd = tensorbus.optim.SGD([w], lr=1.0)
        ...     optimizer = PostLocalSGDOptimizer(sgd, averagers.PeriodicModelAverager(period=2))
        ...     w.sum().backward()
        ...     optimizer.step()
        ...     return w.item()
        >>> dist.local.run(rank, 2)
        [-0.5, -0.5]

    Source: https://pytorch.org/docs/stable/distributed.optim.html
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager):
        self.optim = optim
        self.param_groups = optim.param_groups
        self.averager = averager

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The other optimizer's."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The other optimizer's, and under ``step`` how often the averager was asked."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what ``state_dict`` gave; without ``step`` a warning says that it becomes 0."""
        self.optim.load_state_dict(state_dict)
        if "step" not in state_dict:
            warnings.warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step "
                "counter to 0.",
                stacklevel=2,
            )
        self.averager.step = state_dict.get("step", 0)

    def step(self) -> None:
        """Step the other optimizer, and average."""
        self.optim.step()
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """The other optimizer's."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group to the other optimizer."""
        self.optim.add_param_group(param_group)
