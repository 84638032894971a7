"""Averages of buckets: in their own dtype, or halved on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import tensorbus
from tensorbus.distributed.collectives import all_reduce
from tensorbus.distributed.lifecycle import group_or_default
from tensorbus.distributed.work import Work
from tensorbus.futures import Future
from tensorbus.nn.parallel.comm_hook import GradBucket


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """Average the bucket over the ranks, as without a hook; *process_group* None means all."""
    return _averaged(process_group, bucket, bucket.buffer().dtype)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """Average in float16: half the bytes, and gradients with some three digits.

    >>> import tensorbus.distributed as dist
    >>> from tensorbus.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> def rank():
    ...     net = nn.Linear(1, 1)
    ...     ddp = nn.parallel.DistributedDataParallel(net)
    ...     ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
    ...     ddp(tensorbus.tensor([[1.0 + dist.get_rank()]])).sum().backward()
    ...     return net.weight.grad.item()
    >>> dist.local.run(rank, 2)
    [1.5, 1.5]
    """
    return _averaged(process_group, bucket, tensorbus.float16)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """Average in bfloat16: half the bytes, on devices that have it."""
    return _averaged(process_group, bucket, tensorbus.bfloat16)


def fp16_compress_wrapper(
    hook: Callable[[Any, GradBucket], Any],
) -> Callable[[Any, GradBucket], Any]:
    """A hook that gives another hook the bucket in float16, and its result in the own dtype."""

    def wrapped(state: Any, bucket: GradBucket) -> Any:
        own = bucket.buffer()
        bucket.set_buffer(own.to(tensorbus.float16))
        return hook(state, bucket).then(lambda future: _result(future).to(own.dtype))

    return wrapped


def _averaged(process_group: Any, bucket: GradBucket, dtype: Any) -> Future[Any]:
    group = group_or_default(process_group)
    own = bucket.buffer()
    # Divided before it is summed, so that float16 does not overflow.
    sent = own.to(dtype, copy=True).div_(group.size())
    work = cast(Work, all_reduce(sent, group=group, async_op=True))
    return work.get_future().then(lambda future: _result(future).to(own.dtype))


def _result(future: Future[Any]) -> Any:
    value = future.value()
    return value[0] if isinstance(value, (list, tuple)) else value
