"""Collectives as functions of tensors, with gradients that travel back by the opposite collective.

None changes the tensors that it sends. The backward pass is a collective too: each rank has to run
it, with the calls in the same order on all. Gradients of any order exist, for a backward pass
consists of the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd import Function
from tensorbus.distributed import checks, collectives, rooted
from tensorbus.distributed.process_group import ProcessGroup
from tensorbus.distributed.reduce_op import ReduceOp


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Rank *src*'s values on every rank, in a new tensor.

    The gradient on *src* is the sum of those of all ranks; on the others it is zero.

    >>> import tensorbus.distributed as dist
    >>> from tensorbus.distributed.nn import broadcast
    >>> def rank():
    ...     x = tensorbus.tensor([float(dist.get_rank())], requires_grad=True)
    ...     broadcast(x, 1).backward()
    ...     return x.grad.item()
    >>> dist.local.run(rank, 3)
    [0.0, 3.0, 0.0]

    Source: https://pytorch.org/docs/stable/distributed.html
    """
    return _applied(_Broadcast, tensor, src, _own(group, "broadcast"))


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The combination of all ranks' tensors, in a new tensor that only *dst* may read.

    The gradient is that of *dst*, on every rank. RuntimeError in the backward pass for an op that
    is neither a sum nor an average.

    >>> import tensorbus.distributed as dist
    >>> from tensorbus.distributed.nn import reduce
    >>> def rank():
    ...     x = tensorbus.ones(1, requires_grad=True)
    ...     (reduce(x, 0) * (1 + dist.get_rank())).backward()
    ...     return x.grad.item()
    >>> dist.local.run(rank, 2)
    [1.0, 1.0]

    Source: https://pytorch.org/docs/stable/distributed.html
    """
    return _applied(_Reduce, tensor, dst, op, _own(group, "reduce"))


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The combination of all ranks' tensors, in a new tensor on each.

    The gradient is combined in the same way. RuntimeError in the backward pass for an op that is
    neither a sum nor an average.

    >>> import tensorbus.distributed as dist
    >>> from tensorbus.distributed.nn import all_reduce
    >>> def rank():
    ...     x = tensorbus.tensor([dist.get_rank() + 1.0], requires_grad=True)
    ...     y = all_reduce(x)
    ...     (y * y).backward()
    ...     return y.item(), x.grad.item()
    >>> dist.local.run(rank, 2)
    [(3.0, 12.0), (3.0, 12.0)]

    Source: https://pytorch.org/docs/stable/distributed.html
    """
    return _applied(_AllReduce, tensor, op, _own(group, "all_reduce"))


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, which have one shape, by rank.

    The gradient is the sum of what all ranks' gradients say of this rank's tensor.

    >>> import tensorbus.distributed as dist
    >>> from tensorbus.distributed.nn import all_gather
    >>> def rank():
    ...     x = tensorbus.tensor([dist.get_rank() + 1.0], requires_grad=True)
    ...     first, second = all_gather(x)
    ...     (first * second).backward()
    ...     return x.grad.item()
    >>> dist.local.run(rank, 2)
    [4.0, 2.0]

    Source: https://pytorch.org/docs/stable/distributed.html
    """
    return _applied(_AllGather, tensor, _own(group, "all_gather"))


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, which have one shape, on rank *dst*; elsewhere zeros.

    >>> import tensorbus.distributed as dist
    >>> from tensorbus.distributed.nn import gather
    >>> def rank():
    ...     x = tensorbus.ones(1, requires_grad=True)
    ...     first, second = gather(x + dist.get_rank(), 1)
    ...     (first + second * 3).backward()
    ...     return second.item(), x.grad.item()
    >>> dist.local.run(rank, 2)
    [(0.0, 1.0), (2.0, 3.0)]

    Source: https://pytorch.org/docs/stable/distributed.html
    """
    return _applied(_Gather, tensor, dst, _own(group, "gather"))


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """This rank's tensor of those that rank *src* gives, which have one shape.

    Other ranks give tensors of that shape too, of which no value is read. ValueError where the
    shapes differ.

    >>> import tensorbus.distributed as dist
    >>> from tensorbus.distributed.nn import scatter
    >>> def rank():
    ...     x = tensorbus.ones(1, requires_grad=True)
    ...     y = scatter([x, x * 5])
    ...     y.backward()
    ...     return y.item(), x.grad.item()
    >>> dist.local.run(rank, 2)
    [(1.0, 6.0), (5.0, 0.0)]

    Source: https://pytorch.org/docs/stable/distributed.html
    """
    checks.check_list(tensors, "tensors")
    if any(t._s != tensors[0]._s for t in tensors):
        raise ValueError(f"scatter: all tensors must have one shape, not {[*map(_shape, tensors)]}")
    return _applied(_Scatter, src, _own(group, "scatter"), *tensors)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """The combination of the tensors that all ranks' lists have at this rank's place.

    The values are written into *output* too, whose history they do not become: the result has it.
    RuntimeError in the backward pass for an op that is neither a sum nor an average.

    >>> import tensorbus.distributed as dist
    >>> from tensorbus.distributed.nn import reduce_scatter
    >>> def rank():
    ...     x = tensorbus.tensor([1.0, 2.0], requires_grad=True)
    ...     y = reduce_scatter(tensorbus.empty(1), x.chunk(2))
    ...     (y * (dist.get_rank() + 1)).backward()
    ...     return y.item(), x.grad.tolist()
    >>> dist.local.run(rank, 2)
    [(2.0, [1.0, 2.0]), (4.0, [1.0, 2.0])]

    Source: https://pytorch.org/docs/stable/distributed.html
    """
    checks.check_list(input_list, "input_list")
    return _applied(_ReduceScatter, op, _own(group, "reduce_scatter"), output.detach(), *input_list)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """What every rank has for this one in its list of inputs, by rank.

    The values are written into *output_tensor_list* too; the results have their history.

    >>> import tensorbus.distributed as dist
    >>> from tensorbus.distributed.nn import all_to_all
    >>> def rank():
    ...     x = tensorbus.tensor([10.0 * dist.get_rank(), 1.0], requires_grad=True)
    ...     made = all_to_all([tensorbus.empty(1) for _ in range(2)], x.chunk(2))
    ...     (made[0] + made[1] * 2).backward()
    ...     return [y.item() for y in made], x.grad.tolist()
    >>> dist.local.run(rank, 2)
    [([0.0, 10.0], [1.0, 1.0]), ([1.0, 1.0], [2.0, 2.0])]

    Source: https://pytorch.org/docs/stable/distributed.html
    """
    checks.check_list(output_tensor_list, "output_tensor_list")
    checks.check_list(input_tensor_list, "input_tensor_list")
    outputs = [t.detach() for t in output_tensor_list]
    return _applied(_AllToAll, _own(group, "all_to_all"), outputs, *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
) -> Tensor:
    """The parts that every rank's *input* has for this one, along the first dimension.

    Without split sizes parts are equal. The values are written into *output* too; the result has
    their history.

    >>> import tensorbus.distributed as dist
    >>> from tensorbus.distributed.nn import all_to_all_single
    >>> def rank():
    ...     x = tensorbus.tensor([1.0, 2.0], requires_grad=True)
    ...     y = all_to_all_single(tensorbus.empty(2), x)
    ...     (y * (dist.get_rank() + 1)).sum().backward()
    ...     return y.tolist(), x.grad.tolist()
    >>> dist.local.run(rank, 2)
    [([1.0, 1.0], [1.0, 2.0]), ([2.0, 2.0], [1.0, 2.0])]

    Source: https://pytorch.org/docs/stable/distributed.html
    """
    splits = output_split_sizes, input_split_sizes
    own = _own(group, "all_to_all_single")
    return _applied(_AllToAllSingle, own, output.detach(), *splits, input)


def _applied(function: type[Function], *args: Any) -> Any:
    return function.apply(*args)


def _own(group: Any, call: str) -> ProcessGroup:
    found = checks.member(group, call)
    if found is None:
        raise RuntimeError(f"{call}: Invalid process group specified: this rank is not in it")
    return found


def _shape(t: Tensor) -> tuple[int, ...]:
    return tuple(t._s)


def _share(grad: Tensor, op: ReduceOp, group: ProcessGroup) -> Tensor:
    """What each rank's operand has of the gradient of a sum or an average."""
    if op is ReduceOp.SUM:
        return grad
    if op is ReduceOp.AVG:
        return grad / group.size()
    raise RuntimeError(f"{op} has no gradient: reduce by SUM or AVG where a gradient is wanted")


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, src: int, group: ProcessGroup) -> Tensor:
        ctx.src, ctx.group = src, group
        made = tensor.clone()
        collectives.broadcast(made, src, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = reduce(grad, ctx.src, ReduceOp.SUM, ctx.group)
        here = ctx.group.ranks[ctx.group.rank()] == ctx.src
        # Zeros with a history: all ranks have to run the derivative of this, too.
        return (
            total
            if here
            else total.masked_fill(tensorbus.ones_like(total, dtype=tensorbus.bool), 0),
            None,
            None,
        )


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, op: ReduceOp, group: ProcessGroup) -> Tensor:
        ctx.dst, ctx.op, ctx.group = dst, op, group
        made = tensor.clone()
        rooted.reduce(made, dst, op, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        found = broadcast(_share(grad, ctx.op, ctx.group), ctx.dst, ctx.group)
        return found, None, None, None


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: ReduceOp, group: ProcessGroup) -> Tensor:
        ctx.op, ctx.group = op, group
        made = tensor.clone()
        collectives.all_reduce(made, op, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        share = _share(grad, ctx.op, ctx.group)
        return all_reduce(share, ReduceOp.SUM, ctx.group), None, None


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: ProcessGroup) -> tuple[Tensor, ...]:
        ctx.group = group
        made = [tensorbus.empty_like(tensor) for _ in range(group.size())]
        collectives.all_gather(made, tensor, group)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        made = tensorbus.empty_like(grads[ctx.group.rank()])
        return reduce_scatter(made, grads, ReduceOp.SUM, ctx.group), None


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, group: ProcessGroup) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        made = [tensorbus.zeros_like(tensor) for _ in range(group.size())]
        here = group.ranks[group.rank()] == dst
        rooted.gather(tensor, made if here else None, dst, group)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return scatter(grads, ctx.dst, ctx.group), None, None


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: ProcessGroup, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        made = tensorbus.zeros_like(tensors[0])
        here = group.ranks[group.rank()] == src
        rooted.scatter(made, [*tensors] if here else None, src, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *gather(grad, ctx.src, ctx.group)


class _ReduceScatter(Function):
    @staticmethod
    def forward(
        ctx: Any, op: ReduceOp, group: ProcessGroup, output: Tensor, *inputs: Tensor
    ) -> Tensor:
        ctx.op, ctx.group, ctx.shapes = op, group, [_shape(t) for t in inputs]
        collectives.reduce_scatter(output, [*inputs], op, group)
        return output.detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        share = _share(grad, ctx.op, ctx.group)
        outputs = [share.new_empty(shape) for shape in ctx.shapes]
        found = all_to_all(outputs, [share] * ctx.group.size(), ctx.group)  # parts may be uneven
        return None, None, None, *found


class _AllToAll(Function):
    @staticmethod
    def forward(
        ctx: Any, group: ProcessGroup, outputs: list[Tensor], *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.group, ctx.shapes = group, [_shape(t) for t in inputs]
        collectives.all_to_all(outputs, [*inputs], group)
        return tuple(t.detach() for t in outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        outputs = [grads[0].new_empty(shape) for shape in ctx.shapes]
        return None, None, *all_to_all(outputs, grads, ctx.group)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(
        ctx: Any,
        group: ProcessGroup,
        output: Tensor,
        output_sizes: list[int] | None,
        input_sizes: list[int] | None,
        input: Tensor,
    ) -> Tensor:
        ctx.group, ctx.sizes, ctx.shape = group, (output_sizes, input_sizes), _shape(input)
        collectives.all_to_all_single(output, input, output_sizes, input_sizes, group)
        return output.detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        output_sizes, input_sizes = ctx.sizes
        made = grad.new_empty(ctx.shape)
        found = all_to_all_single(made, grad, input_sizes, output_sizes, ctx.group)
        return None, None, None, None, found
