"""Collectives of lists of tensors, and later names of collectives into one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributed.collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    reduce_scatter_tensor,
)
from tensorbus.distributed.durations import Duration
from tensorbus.distributed.reduce_op import ReduceOp
from tensorbus.distributed.work import Work
from tensorbus.futures import Future


class _Works(Work):
    """Several operations as one."""

    def __init__(self, works: list[Work]):
        super().__init__(lambda: None, "several operations")
        self.works = works

    def wait(self, timeout: Duration = None) -> bool:
        return all(work.wait(timeout) for work in self.works)

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self.works)

    def is_success(self) -> bool:
        return all(work.is_success() for work in self.works)

    def exception(self) -> BaseException | None:
        return next((e for work in self.works if (e := work.exception()) is not None), None)

    def result(self) -> list[Any]:
        return [value for work in self.works for value in work.result()]

    def get_future(self) -> Future[list[Any]]:
        from tensorbus.futures import collect_all

        futures = [work.get_future() for work in self.works]
        return collect_all(futures).then(lambda done: self.result())


def _each(name: str, calls: list[Callable[..., Work | None]], async_op: bool) -> Work | None:
    warn_user(
        f"`torch.distributed.{name}` will be deprecated. If you must use it, please revisit our "
        "documentation later at "
        "https://pytorch.org/docs/main/distributed.html#collective-functions",
        FutureWarning,
    )
    works = [work for call in calls if (work := call()) is not None]
    if async_op:
        return _Works(works) if works else None
    for work in works:
        work.wait()
    return None


def all_reduce_coalesced(
    tensors: list[Tensor] | Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """``all_reduce`` of each tensor of a list; it warns, as PyTorch does.

    >>> import tensorbus
    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     x = [tensorbus.ones(2), tensorbus.ones(1) * dist.get_rank()]
    ...     dist.all_reduce_coalesced(x)
    ...     return [t.tolist() for t in x]
    >>> dist.local.run(rank, 2)[0]
    [[2.0, 2.0], [1.0]]
    """
    given = [tensors] if isinstance(tensors, Tensor) else tensors
    calls = [lambda t=t: all_reduce(t, op, group, async_op=True) for t in given]
    return _each("all_reduce_coalesced", calls, async_op)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """``all_gather`` of each tensor of a list; it warns, as PyTorch does.

    ``output_tensor_lists[i][j]`` gets rank *i*'s tensor *j*. RuntimeError for lists that are no
    lists.

    >>> import tensorbus
    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     out = [[tensorbus.zeros(1), tensorbus.zeros(2)] for _ in range(2)]
    ...     mine = [tensorbus.ones(1) * dist.get_rank(), tensorbus.ones(2)]
    ...     dist.all_gather_coalesced(out, mine)
    ...     return [[t.tolist() for t in tensors] for tensors in out]
    >>> dist.local.run(rank, 2)[0]
    [[[0.0], [1.0, 1.0]], [[1.0], [1.0, 1.0]]]
    """
    if not isinstance(output_tensor_lists, list):
        raise RuntimeError("Invalid function argument: output_tensor_lists should be a list")
    for outputs in output_tensor_lists:
        if len(outputs) != len(input_tensor_list):
            raise RuntimeError(
                f"Invalid function argument: each of output_tensor_lists has to have "
                f"{len(input_tensor_list)} tensors, as input_tensor_list, but one has "
                f"{len(outputs)}"
            )

    def gather(j: int) -> Work | None:
        outputs = [tensors[j] for tensors in output_tensor_lists]
        return all_gather(outputs, input_tensor_list[j], group, async_op=True)

    calls = [lambda j=j: gather(j) for j in range(len(input_tensor_list))]
    return _each("all_gather_coalesced", calls, async_op)


def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """A later name of ``all_gather_into_tensor``.

    >>> import tensorbus as torch
    >>> gather = torch.distributed.all_gather_single
    >>> def rank(): x = torch.zeros(2); gather(x, torch.ones(1)); return x.tolist()
    >>> torch.distributed.local.run(rank, 2)
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return all_gather_into_tensor(output_tensor, input_tensor, group, async_op)


def reduce_scatter_single(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """A later name of ``reduce_scatter_tensor``.

    >>> import tensorbus as torch
    >>> scatter = torch.distributed.reduce_scatter_single
    >>> def rank(): x = torch.zeros(1); scatter(x, torch.ones(2)); return x.tolist()
    >>> torch.distributed.local.run(rank, 2)
    [[2.0], [2.0]]
    """
    return reduce_scatter_tensor(output, input, op, group, async_op)
