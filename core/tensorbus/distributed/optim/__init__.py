"""Optimizers whose work or state is split over the ranks, and those that wrap others."""

from tensorbus.distributed.optim.apply_optimizer_in_backward import (
    _apply_optimizer_in_backward as _apply_optimizer_in_backward,
)
from tensorbus.distributed.optim.apply_optimizer_in_backward import (
    _get_in_backward_optimizers as _get_in_backward_optimizers,
)
from tensorbus.distributed.optim.named_optimizer import _NamedOptimizer as _NamedOptimizer
from tensorbus.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from tensorbus.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]
