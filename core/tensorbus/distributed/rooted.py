"""Collectives with one rank that gives or gets, and the barrier that says who is missing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np

from tensorbus._base.dtypes import uint8
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributed import checks, compose
from tensorbus.distributed.debug import shown
from tensorbus.distributed.durations import Duration, seconds
from tensorbus.distributed.process_group import ProcessGroup
from tensorbus.distributed.reduce_op import ReduceOp, check_op
from tensorbus.distributed.staging import divide
from tensorbus.distributed.work import Work
from tensorbus.plugin.comm import CommError, CommTimeout


def _root(group: ProcessGroup, rank: int | None, group_rank: int | None) -> int:
    return checks.peer_rank(group, 0 if rank is None and group_rank is None else rank, group_rank)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Combine the tensors of all ranks; only rank *dst* gets the result, in place.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     x = tensorbus.ones(1)
    ...     dist.reduce(x, dst=1)
    ...     return x.item()
    >>> dist.local.run(rank, 2)
    [1.0, 2.0]
    """
    checks.check_tensor(tensor, "tensor")
    pg = checks.member(group, "reduce")
    if pg is None:
        return None
    root = _root(pg, dst, group_dst)
    name = check_op("reduce", op, tensor._k.dtype)

    def body(timeout: float) -> Tensor:
        compose.reduce(pg, tensor, name, root, timeout)
        if op is ReduceOp.AVG and pg.rank() == root:
            divide(tensor, pg.size())
        return tensor

    return pg.collective("reduce", body, shown(tensor, same=f"{op} to {root} of"), async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Collect the equally large tensors of all ranks in *gather_list*, which only *dst* gives.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     out = [tensorbus.zeros(1) for _ in range(2)] if dist.get_rank() == 0 else None
    ...     dist.gather(tensorbus.tensor([dist.get_rank() + 1.0]), out, dst=0)
    ...     return out and [x.item() for x in out]
    >>> dist.local.run(rank, 2)
    [[1.0, 2.0], None]
    """
    checks.check_tensor(tensor, "tensor")
    outputs = list(gather_list or ())
    if gather_list:
        checks.check_list(gather_list, "gather_list")
        checks.check_same_dtype(tensor, *gather_list)
    pg = checks.member(group, "gather")
    if pg is None:
        return None
    root = _root(pg, dst, group_dst)
    if pg.rank() == root:
        if not outputs:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        checks.check_count(outputs, pg, "gather", "gather_list")
        checks.check_sizes("gather", tensor, "tensor", outputs, "gather_list")
    elif outputs:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    tag = pg.own_tag()

    def body(timeout: float) -> list[Tensor]:
        compose.gather(pg, outputs, tensor, root, tag, timeout)
        return outputs

    return pg.collective("gather", body, shown(tensor, same=f"to {root} of"), async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give each rank its tensor of *scatter_list*, which only *src* gives.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     parts = [tensorbus.tensor([5.0]), tensorbus.tensor([6.0])]
    ...     x = tensorbus.zeros(1)
    ...     dist.scatter(x, parts if dist.get_rank() == 0 else None, src=0)
    ...     return x.item()
    >>> dist.local.run(rank, 2)
    [5.0, 6.0]
    """
    checks.check_tensor(tensor, "tensor")
    inputs = list(scatter_list or ())
    if scatter_list:
        checks.check_list(scatter_list, "scatter_list")
        checks.check_same_dtype(tensor, *scatter_list)
    pg = checks.member(group, "scatter")
    if pg is None:
        return None
    root = _root(pg, src, group_src)
    if pg.rank() == root:
        if not inputs:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        checks.check_count(inputs, pg, "scatter", "scatter_list")
        checks.check_sizes("scatter", tensor, "tensor", inputs, "scatter_list")
    elif inputs:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    tag = pg.own_tag()

    def body(timeout: float) -> Tensor:
        compose.scatter(pg, tensor, inputs, root, tag, timeout)
        return tensor

    return pg.collective("scatter", body, shown(tensor, same=f"from {root} of"), async_op)


def monitored_barrier(
    group: Any = None, timeout: Duration = None, wait_all_ranks: bool = False
) -> None:
    """Wait for all ranks; rank 0 raises naming those that do not come within *timeout*.

    With *wait_all_ranks* it names all of them, else the first. The group can be used afterwards.
    """
    pg = checks.member(group, "monitored_barrier")
    if pg is None:
        return
    limit = seconds(timeout, pg.timeout)
    tag = pg.own_tag()

    def body(_: float) -> None:
        if pg.rank():
            _report(pg, tag, limit)
        else:
            _collect(pg, tag, limit, wait_all_ranks)

    pg.collective("monitored_barrier", body, shown(), False)


def _report(pg: ProcessGroup, tag: int, limit: float) -> None:
    comm, token = pg.comm_for("cpu"), np.zeros(1, np.uint8)
    try:
        comm.send(token, uint8, 0, tag, limit)
        comm.recv(token, uint8, 0, tag, limit)
    except CommError as e:
        raise pg.own_error(
            f"Rank {pg.rank()} successfully reached monitoredBarrier, but received errors while "
            f"waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank. ({e})",
            (pg.ranks[0],),
        ) from e


def _collect(pg: ProcessGroup, tag: int, limit: float, wait_all: bool) -> None:
    comm, token = pg.comm_for("cpu"), np.zeros(1, np.uint8)
    late: list[int] = []
    left = limit
    for rank in range(1, pg.size()):
        try:
            comm.recv(token, uint8, rank, tag, left)
        except CommError as e:
            late.append(rank)
            if isinstance(e, CommTimeout):
                left = 0.05  # the others had as long as this one
            if not wait_all:
                break
    if late:
        names = ("Rank " if len(late) == 1 else "Ranks ") + ", ".join(map(str, late))
        ms = timedelta(seconds=limit).total_seconds() * 1000
        raise pg.own_error(
            f"[Rank 0]: {names} failed to pass monitoredBarrier in {ms:.0f} ms",
            tuple(pg.ranks[r] for r in late),
        )
    for rank in range(1, pg.size()):
        comm.send(token, uint8, rank, tag, limit)
