"""What is made of the seven calls that every comm has, and what packs lists of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorbus._tensor.tensor import Tensor, bump, from_array
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.distributed.process_group import ProcessGroup
from tensorbus.distributed.staging import Buffer


def flat(like: Tensor, count: int) -> Tensor:
    """A new flat tensor of any values, of the same kind."""
    return from_array(like._k.empty((count,)), like._k)


def pack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors' elements one after the other."""
    out = flat(tensors[0], sum(t._s.numel() for t in tensors))
    at = 0
    with no_grad():
        for t in tensors:
            out[at : at + t._s.numel()].copy_(t.reshape(-1))
            at += t._s.numel()
    return out


def unpack(values: Tensor, tensors: Sequence[Tensor]) -> None:
    """Write consecutive elements into the tensors."""
    at = 0
    with no_grad():
        for t in tensors:
            n = t._s.numel()
            k = t._k
            bump(t)
            if n:
                k.copy_(t._a, k.view(k.slice(values._a, 0, at, at + n, 1), tuple(t._s)))
            at += n


def all_gather_flat(group: ProcessGroup, out: Tensor, own: Tensor, timeout: float) -> None:
    """Concatenate the ranks' tensors into *out*."""
    source, target = Buffer(group, own), Buffer(group, out, read=False)
    target.fill(target.comm.all_gather, target.array, source.array, target.dtype, timeout)


def gather_uneven(
    group: ProcessGroup, outputs: Sequence[Tensor], own: Tensor, timeout: float
) -> None:
    """Tensors of different sizes: each rank broadcasts its own."""
    with no_grad():
        outputs[group.rank()].copy_(own.reshape(outputs[group.rank()]._s))
    for rank, t in enumerate(outputs):
        buffer = Buffer(group, t, read=rank == group.rank())
        if rank == group.rank():
            buffer.comm.broadcast(buffer.array, buffer.dtype, rank, timeout)
        else:
            buffer.fill(buffer.comm.broadcast, buffer.array, buffer.dtype, rank, timeout)


def reduce(group: ProcessGroup, tensor: Tensor, op: str, dst: int, timeout: float) -> None:
    """Combine; only rank *dst* keeps the result."""
    if group.rank() != dst:
        # The other ranks' tensors stay as they are, so what is combined is a copy.
        tensor = pack([tensor])
    buffer = Buffer(group, tensor)
    if buffer.comm.overrides("reduce"):
        buffer.fill(buffer.comm.reduce, buffer.array, buffer.dtype, op, dst, timeout)
    else:
        buffer.fill(buffer.comm.all_reduce, buffer.array, buffer.dtype, op, timeout)


def gather(
    group: ProcessGroup, outputs: Sequence[Tensor], own: Tensor, dst: int, tag: int, timeout: float
) -> None:
    """Collect the ranks' tensors at rank *dst*, in *outputs*."""
    source = Buffer(group, own)
    here = group.rank() == dst
    if source.comm.overrides("gather"):
        out = flat(own, own._s.numel() * group.size()) if here else None
        target = None if out is None else Buffer(group, out, read=False)
        if target is None or out is None:
            source.comm.gather(None, source.array, source.dtype, dst, timeout)
            return
        target.fill(source.comm.gather, target.array, source.array, source.dtype, dst, timeout)
        unpack(out, outputs)
    elif here:
        with no_grad():
            outputs[dst].copy_(own.reshape(outputs[dst]._s))
        for rank, t in enumerate(outputs):
            if rank != dst:
                receive(group, t, rank, tag, timeout)
    else:
        source.comm.send(source.array, source.dtype, dst, tag, timeout)


def scatter(
    group: ProcessGroup, out: Tensor, inputs: Sequence[Tensor], src: int, tag: int, timeout: float
) -> None:
    """Give each rank its tensor of rank *src*'s *inputs*."""
    target = Buffer(group, out, read=False)
    here = group.rank() == src
    if target.comm.overrides("scatter"):
        array = Buffer(group, pack(inputs)).array if here else None
        target.fill(target.comm.scatter, target.array, array, target.dtype, src, timeout)
    elif here:
        for rank, t in enumerate(inputs):
            if rank != src:
                source = Buffer(group, t)
                source.comm.send(source.array, source.dtype, rank, tag, timeout)
        with no_grad():
            out.copy_(inputs[src].reshape(out._s))
    else:
        target.fill(target.comm.recv, target.array, target.dtype, src, tag, timeout)


def receive(group: ProcessGroup, tensor: Tensor, src: int | None, tag: int, timeout: float) -> int:
    """Fill a tensor with a message; the sender's rank."""
    buffer = Buffer(group, tensor, read=False)
    return buffer.fill(buffer.comm.recv, buffer.array, buffer.dtype, src, tag, timeout)


def all_to_all(
    group: ProcessGroup, out: Tensor, own: Tensor, out_counts: Sequence[int],
    counts: Sequence[int], tag: int, timeout: float,
) -> None:  # fmt: skip
    """Exchange parts of flat memory with every rank, one partner at a time.

    In round *i* ranks whose numbers add up to *i* (modulo the size) are partners; the lower sends
    first, so that a comm whose sends wait for their receives is fine too.
    """
    source, target = Buffer(group, own), Buffer(group, out, read=False)
    comm, d = target.comm, target.dtype
    if comm.overrides("all_to_all"):
        target.fill(comm.all_to_all, target.array, source.array, d, out_counts, counts, timeout)
        return
    starts, out_starts = _starts(counts), _starts(out_counts)

    def send(rank: int) -> None:
        part = source.part(starts[rank], starts[rank + 1])
        comm.send(part, d, rank, tag, timeout)

    def recv(rank: int) -> None:
        part = target.part(out_starts[rank], out_starts[rank + 1])
        comm.recv(part, d, rank, tag, timeout)

    me, size = group.rank(), group.size()
    if counts[me] != out_counts[me]:
        raise ValueError(
            f"rank {me} sends {counts[me]} elements to itself but expects {out_counts[me]}"
        )

    def exchange() -> None:
        target.write(out_starts[me], source.part(starts[me], starts[me + 1]))
        for step in range(size):
            partner = (step - me) % size
            if partner != me:
                order: tuple[Callable[[int], None], ...] = (send, recv)
                for act in order if me < partner else order[::-1]:
                    act(partner)

    target.fill(exchange)


def _starts(counts: Sequence[int]) -> list[int]:
    starts = [0]
    for n in counts:
        starts.append(starts[-1] + n)
    return starts
