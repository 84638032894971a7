"""Products with weights, look-ups, and reorderings of pixels."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes, registered
from tensorbus._base.formats import contiguous_format
from tensorbus._base.modes import RARE
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.argument_checks import also_named
from tensorbus.op_engine.argument_values import every_value
from tensorbus.op_engine.arguments import check_device
from tensorbus.op_engine.autocasting import autocasts, operands_for
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.ops.matmul.matmul import check_operands, different_dtypes
from tensorbus.plugin.faults import Wording, told
from tensorbus.rows.layouts import broadcast_shapes


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``: (..., in) with (out, in) gives (..., out)."""
    if RARE.on:
        input, weight, bias = operands_for("linear", input, weight, bias)
    k = input._k
    if weight._k is not k or (bias is not None and bias._k is not k):
        _refuse_mixed(input, weight, bias)
    a, w = input._s, weight._s
    if len(w) != 2 or not a or _at(a, -1) != _at(w, 1):
        if not a or not w:
            raise RuntimeError(
                "both arguments to linear need to be at least 1D, but they are "
                f"{len(a)}D and {len(w)}D"
            )
        if len(w) == 1:
            if bias is not None:
                raise RuntimeError("linear with a bias: weight must be a matrix, got 1-D tensor")
            return input @ weight
        if len(w) > 2:
            raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(w)}D")
        rows = a[:-1].numel() if a else 1
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a[-1] if a else 1} and "
            f"{w[1]}x{w[0]})"
        )
    if bias is not None and bias._s != (_at(w, 0),):
        r = linear(input, weight)
        if broadcast_shapes(tuple(r._s), tuple(bias._s)) != tuple(r._s):
            raise RuntimeError(
                f"The expanded size of the result {list(r._s)} must match the existing size of the "
                f"bias {list(bias._s)} at non-singleton dimensions"
            )
        return r + bias
    r = core("linear")(input, weight, bias)
    if r._e is not None and (bias is None or len(a) != 2):
        name_node(r, _NODES[bias is not None, len(a) == 2])
    return r


_at: Any = tuple.__getitem__  # that of a shape, which makes shapes of slices, takes longer
_NODES = {
    (True, False): "ViewBackward0",
    (False, True): "MmBackward0",
    (False, False): "UnsafeViewBackward0",
}
"""What PyTorch calls the nodes of linear maps, by whether there is a bias and whether *input* is a
matrix, where that is not the row's own name."""


def _refuse_mixed(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """The error for operands of several devices or dtypes."""
    if bias is None:
        check_operands("linear", input, weight)
        return
    check_device(input, weight)
    check_device(input, bias)
    for name, x in (("self", bias), ("mat1", input)):
        if x._k.dtype is not weight._k.dtype:
            raise RuntimeError(different_dtypes(name, x, weight))


@autocasts("cpu given, device widest")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x1 A x2 + b`` for each output: weight is (out, in1, in2)."""
    _check_bilinear(input1, input2, weight, bias)
    o, m, n = weight.shape
    lead = input1.shape[:-1]
    rows = lead.numel()
    a, b = input1.reshape(rows, m), input2.reshape(rows, n)
    left = (a @ weight.permute(1, 0, 2).reshape(m, o * n)).view(rows, o, n)
    y = (left * b.unsqueeze(1)).sum(-1, dtype=left.dtype).reshape(*lead, o)
    return y if bias is None else y + bias


def _check_bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if len(x1._s) != len(x2._s):
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {len(x1._s)} and {len(x2._s)}"
        )
    if not x1._s:
        raise RuntimeError("bilinear(): inputs must have at least one dimension")
    for d, (a, b) in enumerate(zip(x1._s[:-1], x2._s[:-1], strict=True)):
        if a != b:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {d}: got {a} and {b}"
            )
    operands = {"input1": x1, "input2": x2, "weight": weight, "bias": bias}
    for t in operands.values():
        if t is not None:
            check_device(x1, t)
            if t._k is not x1._k:
                listed = ", ".join(
                    f"{name}: {x._k.dtype.name}" for name, x in operands.items() if x is not None
                )
                raise RuntimeError(f"All tensors must have the same dtype, got {listed}")
    for d, x in ((1, x1), (2, x2)):
        if len(weight._s) <= d:
            raise IndexError(f"bilinear(): weight must have 3 dimensions, but got {len(weight._s)}")
        if x._s[-1] != weight._s[d]:
            raise RuntimeError(
                f"bilinear(): input{d} size does not match weight size: got {x._s[-1]} but "
                f"expected {weight._s[d]}"
            )
    if len(weight._s) > 3:
        raise RuntimeError(f"bilinear(): weight must have 3 dimensions, but got {len(weight._s)}")
    if bias is not None and tuple(bias._s) != (weight._s[0],):
        kind = RuntimeError if bias._s else IndexError
        raise kind(
            f"bilinear(): bias size does not match weight size: got {list(bias._s)} but expected "
            f"[{weight._s[0]}]"
        )


_OUTSIDE = Wording(
    "index out of range in self: index {value} is out of bounds for dimension 0 with size {n}"
)


@composed(node="EmbeddingBackward0")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of *weight* that integers name; the row *padding_idx* gets no gradient.

    *max_norm* scales rows that are looked up and have a larger *norm_type*-norm down to it, in
    place; *scale_grad_by_freq* divides the gradient of a row by how often it is looked up.
    """
    if padding_idx is not None:
        n = weight.shape[0]
        if not -n <= padding_idx < n:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= n
    if max_norm is not None:
        check_indices("embedding_renorm_", input, 2)
        renormalise(input, weight, max_norm, norm_type)
    check_indices("embedding", input)
    check_device(input, weight)
    if len(weight._s) != 2:
        raise RuntimeError("'weight' must be 2-D")
    indices = input.long().reshape(-1)
    sync = weight._k.backend.traits.host_sync
    if sparse and weight.requires_grad:
        check_frequency(scale_grad_by_freq)
        sparse_rows = registered.embedding_with_sparse_gradient
        rows = told(_OUTSIDE, sync, sparse_rows, weight, indices, padding_idx)
        return rows.view(*tuple(input.shape), *tuple(weight.shape[1:]))
    if scale_grad_by_freq:
        weight = divided_by_frequency(weight, indices)
    rows = told(_OUTSIDE, sync, core("take"), weight, 0, indices, False)
    found = rows.view(*tuple(input.shape), *tuple(weight.shape[1:]))
    if padding_idx is None or found._e is None:
        return found
    row = weight.detach()[padding_idx].clone()
    padded = (input == padding_idx).view(*tuple(input.shape), *(1,) * (weight.dim() - 1))
    return core("where")(padded, row.expand(found.shape), found)


def check_indices(function: str, input: Tensor, position: int = 1) -> None:
    """RuntimeError, as of a function's argument at a position, unless they are int64 or int32."""
    if input.dtype is not dtypes.int64 and input.dtype is not dtypes.int32:
        raise RuntimeError(
            f"Expected tensor for argument #{position} 'indices' to have one of the following "
            f"scalar types: Long, Int; but got {input.type()} instead (while checking arguments "
            f"for {function})"
        )


def check_frequency(by_frequency: bool) -> None:
    """RuntimeError where sparse gradients are to be divided by how often a row was looked up."""
    if by_frequency:
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
        )


def divided_by_frequency(weight: Tensor, indices: Tensor) -> Tensor:
    """The table, the gradient of whose rows is divided by how often each was looked up."""
    if not weight.requires_grad:
        return weight
    ones = indices.new_ones(indices.shape)
    times = indices.new_zeros(weight.shape[0]).index_add(0, indices, ones).clamp(min=1)
    column = times.to(weight.dtype).unsqueeze(1)
    seen = core("alias")(weight)
    seen.register_hook(lambda g: g / column)
    return seen


def renormalise(input: Tensor, weight: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are looked up and have a larger norm down to *max_norm*, in place."""
    with no_grad():
        used = input.reshape(-1).long().unique()
        rows = weight.index_select(0, used)
        norms = rows.norm(norm_type, 1, keepdim=True)
        shorter = rows * (max_norm / (norms + 1e-7))
        weight.index_copy_(0, used, core("where")(norms > max_norm, shorter, rows))


@composed(layout="row_major")
@also_named(tensor="input")
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the index that each integer names, in a new last dimension."""
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes < 1 and num_classes != -1 and not tensor.numel():
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if num_classes == -1:
        if not tensor.numel():
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(tensor.max().item()) + 1
    if tensor.numel() and tensor._k.has_values:
        if every_value(tensor.max()).max() >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
        if every_value(tensor.min()).min() < 0:
            raise RuntimeError("Class values must be non-negative.")
    from tensorbus import arange

    return (tensor.unsqueeze(-1) == arange(num_classes, device=tensor._k.device)).long()


@composed(node="PixelShuffleBackward0", layout="channels_last")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C * r * r, H, W) to (..., C, H * r, W * r)."""
    r = upscale_factor
    _check_planes("pixel_shuffle", "upscale_factor", input, r)
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(lead)
    x = input.reshape(*lead, c // (r * r), r, r, h, w)
    x = x.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    x = x.clone(memory_format=contiguous_format)  # where a reshape would be a view, too
    return x.view(*lead, c // (r * r), h * r, w * r)


@composed(node="ChannelShuffleBackward0", layout="channels_last")
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """(N, C, ...) with the channels of the *groups* taken in turn (arXiv:1707.01083)."""
    if len(input._s) < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(input._s)}"
        )
    if groups < 1:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    n, c, *rest = input.shape
    if c % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups."
        )
    apart = input.reshape(n, groups, c // groups, *rest)
    shuffled = apart.transpose(1, 2).clone(memory_format=contiguous_format)
    return shuffled.view(n, c, *rest)


def _check_planes(name: str, argument: str, input: Tensor, factor: int) -> None:
    if len(input._s) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with "
            f"{len(input._s)} dimension(s)"
        )
    if factor < 1:
        raise RuntimeError(f"{name} expects a positive {argument}, but got {factor}")


@composed(node="PixelUnshuffleBackward0", layout="channels_last")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H * r, W * r) to (..., C * r * r, H, W)."""
    r = downscale_factor
    _check_planes("pixel_unshuffle", "downscale_factor", input, r)
    *lead, c, h, w = input.shape
    for what, at, size in (("height", -2, h), ("width", -1, w)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {what} to be divisible by downscale_factor, but "
                f"input.size({at})={size} is not divisible by {r}"
            )
    n = len(lead)
    x = input.reshape(*lead, c, h // r, r, w // r, r)
    x = x.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    x = x.clone(memory_format=contiguous_format)
    return x.view(*lead, c * r * r, h // r, w // r)
