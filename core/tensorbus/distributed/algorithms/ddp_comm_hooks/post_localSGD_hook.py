"""Gradients averaged over all ranks at first, and then over those of a subgroup."""

from __future__ import annotations

from typing import Any

from tensorbus.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from tensorbus.distributed.process_group import ProcessGroup
from tensorbus.distributed.subgroups import new_subgroups
from tensorbus.futures import Future
from tensorbus.nn.parallel.comm_hook import GradBucket


class PostLocalSGDState:
    """What ``post_localSGD_hook`` goes by.

    Args:
        process_group: the ranks over which gradients are averaged at first; None: all.
        subgroup: those over which they are averaged then; None: those of this machine.
        start_localSGD_iter: in how many backward passes all of them are.
        post_local_gradient_allreduce: whether gradients are averaged then at all.
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        subgroup: ProcessGroup | None,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ):
        self.process_group = process_group
        self.subgroup = subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a backward pass, at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Any]:
    """Average the bucket over all ranks, and after so many passes over those of the subgroup.

    ``PostLocalSGDOptimizer`` averages the parameters then.
    """
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        made: Future[Any] = Future()
        made.set_result(bucket.buffer())
        return made
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return allreduce_hook(state.subgroup, bucket)
