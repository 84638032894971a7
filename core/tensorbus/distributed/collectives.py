"""Collectives whose results all ranks get."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.distributed import checks, compose
from tensorbus.distributed.debug import shown
from tensorbus.distributed.reduce_op import ReduceOp, check_op
from tensorbus.distributed.staging import Buffer, divide
from tensorbus.distributed.work import Work


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give every rank the values of rank *src*'s tensor, in place; shapes and dtypes are equal.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     x = tensorbus.tensor([float(dist.get_rank())])
    ...     dist.broadcast(x, src=1)
    ...     return x.item()
    >>> dist.local.run(rank, 3)
    [1.0, 1.0, 1.0]
    """
    checks.check_tensor(tensor, "tensor")
    found = checks.member(group, "broadcast")
    if found is None:
        return None
    source = checks.peer_rank(found, 0 if src is None and group_src is None else src, group_src)
    pg = found

    def body(timeout: float) -> Tensor:
        buffer = Buffer(pg, tensor, read=pg.rank() == source)
        if pg.rank() == source:
            buffer.comm.broadcast(buffer.array, buffer.dtype, source, timeout)
        else:
            buffer.fill(buffer.comm.broadcast, buffer.array, buffer.dtype, source, timeout)
        return tensor

    return pg.collective("broadcast", body, shown(tensor, same=f"from {source} of"), async_op)


def all_reduce(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Combine the tensors of all ranks element by element; every rank gets the result, in place.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     x = tensorbus.tensor([1.0, dist.get_rank()])
    ...     dist.all_reduce(x, dist.ReduceOp.AVG)
    ...     return x.tolist()
    >>> dist.local.run(rank, 2)
    [[1.0, 0.5], [1.0, 0.5]]
    """
    checks.check_tensor(tensor, "tensor")
    pg = checks.member(group, "all_reduce")
    if pg is None:
        return None
    name = check_op("all_reduce", op, tensor._k.dtype)

    def body(timeout: float) -> Tensor:
        buffer = Buffer(pg, tensor)
        buffer.fill(buffer.comm.all_reduce, buffer.array, buffer.dtype, name, timeout)
        if op is ReduceOp.AVG:
            divide(tensor, pg.size())
        return tensor

    return pg.collective("all_reduce", body, shown(tensor, same=op), async_op)


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Give every rank the tensors of all, in a list by rank; sizes may differ between ranks.

    ``tensor_list[i]`` has as many elements as rank *i*'s tensor.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     out = [tensorbus.zeros(1) for _ in range(2)]
    ...     dist.all_gather(out, tensorbus.tensor([dist.get_rank() + 1.0]))
    ...     return [x.item() for x in out]
    >>> dist.local.run(rank, 2)
    [[1.0, 2.0], [1.0, 2.0]]
    """
    checks.check_list(tensor_list, "tensor_list")
    checks.check_tensor(tensor, "tensor")
    checks.check_same_dtype(tensor, *tensor_list)
    pg = checks.member(group, "all_gather")
    if pg is None:
        return None
    checks.check_count(tensor_list, pg, "all_gather", "tensor_list")
    checks.check_sizes("all_gather", tensor, "tensor", [tensor_list[pg.rank()]], "tensor_list")
    even = len({t._s.numel() for t in tensor_list}) == 1

    def body(timeout: float) -> list[Tensor]:
        if even:
            flat = compose.flat(tensor, tensor._s.numel() * pg.size())
            compose.all_gather_flat(pg, flat, tensor, timeout)
            compose.unpack(flat, tensor_list)
        else:
            compose.gather_uneven(pg, tensor_list, tensor, timeout)
        return tensor_list

    return pg.collective("all_gather", body, shown(tensor, shapes=even), async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Give every rank the equally large tensors of all, one after the other in *output_tensor*.

    It has the ranks' tensors concatenated or stacked along its first dimension.
    """
    checks.check_tensor(input_tensor, "input_tensor")
    checks.check_tensor(output_tensor, "output_tensor")
    checks.check_same_dtype(input_tensor, output_tensor)
    pg = checks.member(group, "all_gather_into_tensor")
    if pg is None:
        return None
    _check_whole(pg, "output tensor", output_tensor, "input tensor", input_tensor)

    def body(timeout: float) -> Tensor:
        compose.all_gather_flat(pg, output_tensor, input_tensor, timeout)
        return output_tensor

    return pg.collective("all_gather_into_tensor", body, shown(input_tensor), async_op)


def _check_whole(pg: Any, name: str, whole: Tensor, part_name: str, part: Tensor) -> None:
    if whole._s.numel() != part._s.numel() * pg.size():
        raise ValueError(
            f"{name} size must be equal to world_size times {part_name} size: {tuple(whole._s)} "
            f"is not {pg.size()} times {tuple(part._s)}"
        )


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Combine the tensors of all ranks and give each rank its part, along the first dimension."""
    checks.check_tensor(output, "output")
    checks.check_tensor(input, "input")
    checks.check_same_dtype(output, input)
    pg = checks.member(group, "reduce_scatter_tensor")
    if pg is None:
        return None
    name = check_op("reduce_scatter_tensor", op, input._k.dtype)
    _check_whole(pg, "input tensor", input, "output tensor", output)

    def body(timeout: float) -> Tensor:
        _reduce_scatter(pg, output, input, name, op, timeout)
        return output

    return pg.collective("reduce_scatter_tensor", body, shown(input, same=op), async_op)


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Combine the lists of all ranks; rank *i* gets the combination of all ``input_list[i]``.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     out = tensorbus.zeros(1)
    ...     dist.reduce_scatter(out, [tensorbus.tensor([1.0]), tensorbus.tensor([2.0])])
    ...     return out.item()
    >>> dist.local.run(rank, 2)
    [2.0, 4.0]
    """
    checks.check_tensor(output, "output")
    checks.check_list(input_list, "input_list")
    checks.check_same_dtype(output, *input_list)
    pg = checks.member(group, "reduce_scatter")
    if pg is None:
        return None
    name = check_op("reduce_scatter", op, output._k.dtype)
    checks.check_count(input_list, pg, "reduce_scatter", "input_list")
    checks.check_sizes("reduce_scatter", output, "output", [input_list[pg.rank()]], "input_list")
    even = len({t._s.numel() for t in input_list}) == 1

    def body(timeout: float) -> Tensor:
        if even:
            _reduce_scatter(pg, output, compose.pack(input_list), name, op, timeout)
            return output
        # Parts of different sizes: combine everything, keep what is ours.
        whole = compose.pack(input_list)
        buffer = Buffer(pg, whole)
        buffer.fill(buffer.comm.all_reduce, buffer.array, buffer.dtype, name, timeout)
        start = sum(t._s.numel() for t in input_list[: pg.rank()])
        with no_grad():
            output.copy_(whole[start : start + output._s.numel()].reshape(output._s))
        if op is ReduceOp.AVG:
            divide(output, pg.size())
        return output

    return pg.collective("reduce_scatter", body, shown(*input_list, same=op), async_op)


def _reduce_scatter(
    pg: Any, output: Tensor, whole: Tensor, name: str, op: ReduceOp, timeout: float
) -> None:
    source, target = Buffer(pg, whole), Buffer(pg, output, read=False)
    target.fill(target.comm.reduce_scatter, target.array, source.array, target.dtype, name, timeout)
    if op is ReduceOp.AVG:
        divide(output, pg.size())


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send a part of *input* to each rank and get a part of *output* from each.

    Parts are counted along the first dimension; without split sizes they are equal.
    ``output_split_sizes[i]`` equals what rank *i* has at this rank's index of its input sizes.
    """
    checks.check_tensor(output, "output")
    checks.check_tensor(input, "input")
    checks.check_same_dtype(output, input)
    pg = checks.member(group, "all_to_all_single")
    if pg is None:
        return None
    counts = _counts(pg, input, input_split_sizes, "input")
    out_counts = _counts(pg, output, output_split_sizes, "output")
    tag = pg.own_tag()

    def body(timeout: float) -> Tensor:
        compose.all_to_all(pg, output, input, out_counts, counts, tag, timeout)
        return output

    return pg.collective("all_to_all_single", body, shown(input, shapes=False), async_op)


def _counts(pg: Any, tensor: Tensor, sizes: list[int] | None, name: str) -> list[int]:
    """Elements for each rank."""
    rows = tensor._s[0] if tensor._s else 1
    row = tensor._s.numel() // rows if rows else 1
    if not sizes:
        if rows % pg.size():
            raise ValueError(
                f"Tensor's dim 0 does not divide equally across group size: {name} has {rows} rows "
                f"for {pg.size()} ranks. Give {name}_split_sizes"
            )
        return [rows // pg.size() * row] * pg.size()
    if len(sizes) != pg.size():
        raise ValueError(
            f"Number of tensor splits not equal to group size: {name}_split_sizes has {len(sizes)} "
            f"for {pg.size()} ranks"
        )
    if sum(sizes) != rows or any(n < 0 for n in sizes):
        raise ValueError(
            f"Split sizes doesn't match total dim 0 size: {name}_split_sizes {list(sizes)} for "
            f"{rows} rows"
        )
    return [n * row for n in sizes]


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send ``input_tensor_list[i]`` to rank *i*, and get ``output_tensor_list[i]`` from it.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     mine = [tensorbus.tensor([10.0 * dist.get_rank() + i]) for i in range(2)]
    ...     out = [tensorbus.zeros(1) for _ in range(2)]
    ...     dist.all_to_all(out, mine)
    ...     return [x.item() for x in out]
    >>> dist.local.run(rank, 2)
    [[0.0, 10.0], [1.0, 11.0]]
    """
    checks.check_list(output_tensor_list, "output_tensor_list")
    checks.check_list(input_tensor_list, "input_tensor_list")
    checks.check_same_dtype(*output_tensor_list, *input_tensor_list)
    pg = checks.member(group, "all_to_all")
    if pg is None:
        return None
    checks.check_count(output_tensor_list, pg, "all_to_all", "output_tensor_list")
    checks.check_count(input_tensor_list, pg, "all_to_all", "input_tensor_list")
    counts = [t._s.numel() for t in input_tensor_list]
    out_counts = [t._s.numel() for t in output_tensor_list]
    tag = pg.own_tag()

    def body(timeout: float) -> list[Tensor]:
        out = compose.flat(output_tensor_list[0], sum(out_counts))
        whole = compose.pack(input_tensor_list)
        compose.all_to_all(pg, out, whole, out_counts, counts, tag, timeout)
        compose.unpack(out, output_tensor_list)
        return output_tensor_list

    return pg.collective("all_to_all", body, shown(*input_tensor_list[:1], shapes=False), async_op)


def barrier(
    group: Any = None, async_op: bool = False, device_ids: list[int] | None = None
) -> Work | None:
    """Wait until all ranks of the group are here."""
    pg = checks.member(group, "barrier")
    if pg is None:
        return None

    def body(timeout: float) -> None:
        pg.comm_for("cpu").barrier(timeout)

    return pg.collective("barrier", body, shown(), async_op)
