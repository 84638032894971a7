"""Python objects between ranks: pickled, so they go only between ranks of one job.

Unpickling runs code that the sender chose. So every pickle is signed with the job's secret and
nothing else is unpickled, whatever the comm; do not join jobs whose other ranks you would not let
run code here.
"""

from __future__ import annotations

import hashlib
import hmac
import pickle
from typing import Any

import numpy as np

from tensorbus._tensor.tensor import Tensor
from tensorbus.distributed import checks
from tensorbus.distributed.collectives import all_gather, broadcast
from tensorbus.distributed.errors import DistBackendError
from tensorbus.distributed.point_to_point import recv, send
from tensorbus.distributed.process_group import ProcessGroup
from tensorbus.distributed.rooted import gather, scatter
from tensorbus.ops.creation.from_data import from_numpy

_SIGNATURE = hashlib.sha256().digest_size


def _sign(pg: ProcessGroup, data: bytes) -> bytes:
    return hmac.digest(pg.object_key(), data, hashlib.sha256)


def _pack(pg: ProcessGroup, obj: Any) -> Tensor:
    data = pickle.dumps(obj)
    return from_numpy(np.frombuffer(bytearray(_sign(pg, data) + data), np.uint8))


def _unpack(pg: ProcessGroup, data: np.ndarray) -> Any:
    signature, pickled = data[:_SIGNATURE].tobytes(), data[_SIGNATURE:].tobytes()
    if not hmac.compare_digest(signature, _sign(pg, pickled)):
        raise DistBackendError(
            f"[rank {pg.me}] an object does not carry the signature of this job, so it was not "
            f"unpickled: a rank of another group sent it, or it was changed on its way"
        )
    return pickle.loads(pickled)


def _zeros(count: int, kind: type = np.uint8) -> Tensor:
    return from_numpy(np.zeros(count, kind))


def _sizes(pg: ProcessGroup, size: int) -> list[int]:
    out = [_zeros(1, np.int64) for _ in range(pg.size())]
    all_gather(out, from_numpy(np.array([size], np.int64)), pg)
    return [int(t.item()) for t in out]


def _padded(data: Tensor, size: int) -> Tensor:
    out = _zeros(size)
    out.numpy()[: data._s.numel()] = data.numpy()
    return out


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Give every rank the objects of all, in a list by rank that has an element for each.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     out = [None, None]
    ...     dist.all_gather_object(out, {"rank": dist.get_rank()})
    ...     return out
    >>> dist.local.run(rank, 2)[0]
    [{'rank': 0}, {'rank': 1}]
    """
    pg = checks.member(group, "all_gather_object")
    if pg is None:
        return
    checks.check_count(object_list, pg, "all_gather_object", "object_list")
    data = _pack(pg, obj)
    sizes = _sizes(pg, data._s.numel())
    out = [_zeros(n) for n in sizes]
    all_gather(out, data, pg)
    object_list[:] = [_unpack(pg, t.numpy()) for t in out]


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Collect the objects of all ranks in a list that only rank *dst* gives."""
    pg = checks.member(group, "gather_object")
    if pg is None:
        return
    root = checks.peer_rank(pg, 0 if dst is None and group_dst is None else dst, group_dst)
    if pg.rank() == root:
        if not object_gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        checks.check_count(object_gather_list, pg, "gather_object", "object_gather_list")
    elif object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    data = _pack(pg, obj)
    sizes = _sizes(pg, data._s.numel())
    out = [_zeros(max(sizes)) for _ in sizes] if pg.rank() == root else None
    gather(_padded(data, max(sizes)), out, group=pg, group_dst=root)
    if out is not None and object_gather_list is not None:
        pairs = zip(out, sizes, strict=True)
        object_gather_list[:] = [_unpack(pg, t.numpy()[:n]) for t, n in pairs]


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Give every rank the objects of rank *src*'s list; the lists are equally long.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     words = ["hello", 1] if dist.get_rank() == 0 else [None, None]
    ...     dist.broadcast_object_list(words, src=0)
    ...     return words
    >>> dist.local.run(rank, 2)
    [['hello', 1], ['hello', 1]]
    """
    pg = checks.member(group, "broadcast_object_list")
    if pg is None:
        return
    root = checks.peer_rank(pg, 0 if src is None and group_src is None else src, group_src)
    here = pg.rank() == root
    data = [_pack(pg, o) for o in object_list] if here else []
    sizes = _zeros(len(object_list), np.int64)
    if here:
        sizes.numpy()[:] = [t._s.numel() for t in data]
    broadcast(sizes, group=pg, group_src=root)
    counts = sizes.tolist()
    whole = _zeros(sum(counts))
    if here and data:
        np.concatenate([t.numpy() for t in data], out=whole.numpy())
    broadcast(whole, group=pg, group_src=root)
    if not here:
        at = 0
        for i, n in enumerate(counts):
            object_list[i] = _unpack(pg, whole.numpy()[at : at + n])
            at += n


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put each rank's object of *src*'s input list into the first element of its output list."""
    pg = checks.member(group, "scatter_object_list")
    if pg is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    root = checks.peer_rank(pg, 0 if src is None and group_src is None else src, group_src)
    data = None
    sizes = _zeros(pg.size(), np.int64)
    if pg.rank() == root:
        inputs = scatter_object_input_list or []
        checks.check_count(inputs, pg, "scatter_object_list", "scatter_object_input_list")
        data = [_pack(pg, o) for o in inputs]
        sizes.numpy()[:] = [t._s.numel() for t in data]
    broadcast(sizes, group=pg, group_src=root)
    counts = sizes.tolist()
    largest = max(counts)
    out = _zeros(largest)
    scatter(out, data and [_padded(t, largest) for t in data], group=pg, group_src=root)
    scatter_object_output_list[0] = _unpack(pg, out.numpy()[: counts[pg.rank()]])


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
) -> None:
    """Send the objects of a list to one rank."""
    pg = checks.member(group, "send_object_list")
    if pg is None:
        return
    data = [_pack(pg, o) for o in object_list]
    sizes = from_numpy(np.array([t._s.numel() for t in data], np.int64))
    send(sizes, dst, group, group_dst=group_dst)
    whole = from_numpy(np.concatenate([t.numpy() for t in data]))
    send(whole, dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> int:
    """Fill a list with the objects that a rank sent, by default any; the sender's global rank."""
    pg = checks.member(group, "recv_object_list")
    if pg is None:
        return -1
    sizes = _zeros(len(object_list), np.int64)
    sender = recv(sizes, src, group, group_src=group_src)
    counts = sizes.tolist()
    whole = _zeros(sum(counts))
    recv(whole, sender, group)
    at = 0
    for i, n in enumerate(counts):
        object_list[i] = _unpack(pg, whole.numpy()[at : at + n])
        at += n
    return sender
