"""Messages from one rank to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.distributed import checks, compose
from tensorbus.distributed.lifecycle import group_or_default
from tensorbus.distributed.process_group import ProcessGroup
from tensorbus.distributed.staging import Buffer
from tensorbus.distributed.work import Work


def _check_tag(tag: int) -> None:
    if isinstance(tag, bool) or not isinstance(tag, int) or not 0 <= tag < 2**31:
        raise ValueError(f"a tag is a whole number from 0 to 2**31 - 1, not {tag!r}")


def _send(tensor: Tensor, pg: ProcessGroup, dst: int, tag: int, async_op: bool) -> Any:
    def body(timeout: float) -> Tensor:
        buffer = Buffer(pg, tensor)
        buffer.comm.send(buffer.array, buffer.dtype, dst, tag, timeout)
        return tensor

    return pg.message("send", dst, tag, body, async_op)


def _recv(tensor: Tensor, pg: ProcessGroup, src: int | None, tag: int, async_op: bool) -> Any:
    def body(timeout: float) -> int:
        return pg.ranks[compose.receive(pg, tensor, src, tag, timeout)]

    return pg.message("recv", src, tag, body, async_op)


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to rank *dst*; returns when the tensor may be changed again.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     x = tensorbus.tensor([dist.get_rank() + 5.0])
    ...     (dist.send if dist.get_rank() == 0 else dist.recv)(x, 1 - dist.get_rank())
    ...     return x.item()
    >>> dist.local.run(rank, 2)
    [5.0, 5.0]
    """
    pg = _prepare(tensor, group, tag, "send")
    if pg is not None:
        _send(tensor, pg, checks.peer_rank(pg, dst, group_dst, "destination"), tag, False)


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Fill a tensor with a message of its size from rank *src*, by default from any rank.

    Returns the sender's global rank; -1 on a rank outside the group.
    """
    pg = _prepare(tensor, group, tag, "recv")
    if pg is None:
        return -1
    sender: int = _recv(tensor, pg, _source(pg, src, group_src), tag, False)
    return sender


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """``send`` beside the program: do not change the tensor before ``wait()`` returns."""
    pg = _prepare(tensor, group, tag, "isend")
    if pg is None:
        return None
    work: Work = _send(tensor, pg, checks.peer_rank(pg, dst, group_dst, "destination"), tag, True)
    return work


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """``recv`` beside the program: do not read the tensor before ``wait()`` returns."""
    pg = _prepare(tensor, group, tag, "irecv")
    if pg is None:
        return None
    work: Work = _recv(tensor, pg, _source(pg, src, group_src), tag, True)
    return work


def _prepare(tensor: Tensor, group: Any, tag: int, call: str) -> ProcessGroup | None:
    checks.check_tensor(tensor, "tensor")
    _check_tag(tag)
    return checks.member(group, call)


def _source(pg: ProcessGroup, src: int | None, group_src: int | None) -> int | None:
    if src is None and group_src is None:
        return None
    return checks.peer_rank(pg, src, group_src, "source")


class P2POp:
    """One message of ``batch_isend_irecv``: *op* is ``isend`` or ``irecv``."""

    def __init__(
        self,
        op: Callable[..., Work | None],
        tensor: Tensor,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ):
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        checks.check_tensor(tensor, "tensor")
        _check_tag(tag)
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = group_or_default(group)
        self.group_peer = checks.peer_rank(self.group, peer, group_peer)
        self.peer = self.group.ranks[self.group_peer]

    def __repr__(self) -> str:
        return f"P2POp({self.op.__name__}, peer={self.peer}, {tuple(self.tensor._s)})"


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start several messages at once; the ``Work`` of each.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     me, x, y = dist.get_rank(), tensorbus.ones(1) * dist.get_rank(), tensorbus.zeros(1)
    ...     ops = [dist.P2POp(dist.isend, x, 1 - me), dist.P2POp(dist.irecv, y, 1 - me)]
    ...     for work in dist.batch_isend_irecv(ops):
    ...         _ = work.wait()
    ...     return y.item()
    >>> dist.local.run(rank, 2)
    [1.0, 0.0]
    """
    if not isinstance(p2p_op_list, list) or not all(isinstance(o, P2POp) for o in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type "
            "``torch.distributed.P2POp``."
        )
    if any(o.group is not p2p_op_list[0].group for o in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    started = [o.op(o.tensor, group=o.group, tag=o.tag, **_peer(o)) for o in p2p_op_list]
    return [work for work in started if work is not None]


def _peer(o: P2POp) -> dict[str, int]:
    return {"group_dst" if o.op is isend else "group_src": o.group_peer}
