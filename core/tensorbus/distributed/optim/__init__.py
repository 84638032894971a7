"""Optimizers whose work or state is split over the ranks."""

from tensorbus.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
