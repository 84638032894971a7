"""Batch normalisation whose batch lies on several ranks: one exchange each way."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus import distributed as dist
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd import Function


def _along_channels(t: Tensor, rank: int) -> Tensor:
    return t.view((1, -1, *(1,) * (rank - 2)))


class SyncBatchNormFunction(Function):
    """Normalises by the statistics of all ranks' inputs and updates the running ones."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        eps: float,
        momentum: float,
        group: Any,
    ) -> Tensor:
        x = _wide(input)
        mean, var, count = _statistics(x, group)
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_((mean * momentum).to(running_mean.dtype))
        if running_var is not None:
            unbiased = var * (momentum * count / max(count - 1, 1))
            running_var.mul_(1 - momentum).add_(unbiased.to(running_var.dtype))
        rank = x.dim()
        scale = (var + eps).rsqrt()
        normal = (x - _along_channels(mean, rank)) * _along_channels(scale, rank)
        ctx.save_for_backward(normal, weight, scale)
        ctx.group, ctx.count, ctx.dtype = group, count, input.dtype
        ctx.has_bias = bias is not None
        out = normal
        if weight is not None:
            out = out * _along_channels(weight.to(x.dtype), rank)
        if bias is not None:
            out = out + _along_channels(bias.to(x.dtype), rank)
        return out.to(input.dtype) if out is not normal else out.to(input.dtype, copy=True)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        normal, weight, scale = ctx.saved_tensors
        g = _wide(grads[0])
        rank, channels = g.dim(), g.shape[1]
        dims = [d for d in range(rank) if d != 1]
        sums = tensorbus.cat([g.sum(dims), (g * normal).sum(dims)])
        # The ranks' own sums: what averages parameters' gradients sees to the rest.
        grad_weight = None if weight is None else sums[channels:].to(weight.dtype, copy=True)
        grad_bias = sums[:channels].to(ctx.dtype, copy=True) if ctx.has_bias else None
        grad_input = None
        if ctx.needs_input_grad[0]:
            dist.all_reduce(sums, group=ctx.group)
            sums.div_(ctx.count)
            inner = g - _along_channels(sums[:channels], rank)
            inner = inner - normal * _along_channels(sums[channels:], rank)
            if weight is not None:
                scale = scale * weight.to(scale.dtype)
            grad_input = (inner * _along_channels(scale, rank)).to(ctx.dtype)
        return grad_input, grad_weight, grad_bias, None, None, None, None, None


def _wide(t: Tensor) -> Tensor:
    """The two half widths in float32: sums need it."""
    return t.float() if t.dtype in (tensorbus.float16, tensorbus.bfloat16) else t


def _statistics(x: Tensor, group: Any) -> tuple[Tensor, Tensor, int]:
    """Mean, biased variance and count of each channel over all ranks, from those of each rank."""
    channels = x.shape[1]
    dims = [d for d in range(x.dim()) if d != 1]
    own = x.numel() // channels
    if own:
        mean, var = x.mean(dims), x.var(dims, correction=0)
    else:  # a rank without inputs counts nothing
        mean = var = tensorbus.zeros(channels, dtype=x.dtype, device=x.device)
    row = tensorbus.cat([mean, var, tensorbus.full((1,), own, dtype=x.dtype, device=x.device)])
    rows = tensorbus.empty(group.size(), 2 * channels + 1, dtype=x.dtype, device=x.device)
    dist.all_gather_into_tensor(rows, row, group=group)
    means, variances, counts = rows[:, :channels], rows[:, channels:-1], rows[:, -1:]
    count = round(counts.double().sum().item())
    if count <= 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, but all ranks together have "
            f"{count}; this one has an input of size {tuple(x.shape)}"
        )
    mean = (means * counts).sum(0) / count
    var = ((variances + (means - mean) ** 2) * counts).sum(0) / count
    return mean, var, count
