"""Functions of layers as ``torch`` itself spells them: other orders, and reductions as numbers.

Their arguments are those of PyTorch's operators of the same names, which programs call as
``torch.layer_norm`` or ``torch.embedding``; the functions in ``nn.functional`` compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorbus._base.dtypes import get_default_dtype
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.functional.linear import renormalise
from tensorbus.op_engine.names import FUNCTIONS

_REDUCTIONS = ("none", "mean", "sum")


def _reduction(code: int) -> str:
    """A reduction by its number. Their default is none, though PyTorch's schemas say mean."""
    if not 0 <= code < len(_REDUCTIONS):
        raise ValueError(f"{code} is not a valid value for reduction")
    return _REDUCTIONS[code]


# -- normalization ---------------------------------------------------------------------------
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """``nn.functional.batch_norm``; *cudnn_enabled* changes nothing."""
    return F.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )  # fmt: skip


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """``nn.functional.instance_norm``; *cudnn_enabled* changes nothing."""
    return F.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """``nn.functional.layer_norm``; *cudnn_enable* changes nothing."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """``nn.functional.group_norm``; *cudnn_enabled* changes nothing."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The *pow*-norms over all dimensions but *dim*, which keep their rank; -1: over all."""
    if dim == -1:
        return v.norm(pow)
    v.size(dim)  # IndexError for a dimension that it lacks
    return v.norm(pow, [d for d in range(v.dim()) if d != dim % v.dim()], True)


# -- embedding -------------------------------------------------------------------------------
def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """``nn.functional.embedding`` with the weight first; a negative *padding_idx* is none."""
    padding = padding_idx if padding_idx >= 0 else None
    return F.embedding(
        indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows that *indices* name down to *max_norm*, in place."""
    renormalise(indices, input, max_norm, norm_type)
    return input


# -- losses ----------------------------------------------------------------------------------
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    """``nn.functional.binary_cross_entropy_with_logits``; *reduction* 0: none, 1: mean, 2: sum."""
    return F.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight
    )


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``nn.functional.cosine_embedding_loss``; *reduction* 0: none, 1: mean, 2: sum."""
    return F.cosine_embedding_loss(
        input1, input2, target, margin, reduction=_reduction(reduction)
    )  # fmt: skip


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """``nn.functional.ctc_loss``; *reduction* 0: none, 1: mean, 2: sum."""
    return F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction),
        zero_infinity,
    )  # fmt: skip


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0
) -> Tensor:
    """``nn.functional.hinge_embedding_loss``; *reduction* 0: none, 1: mean, 2: sum."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Tensor:
    """``nn.functional.kl_div``; *reduction* 0: none, 1: mean, 2: sum."""
    return F.kl_div(input, target, reduction=_reduction(reduction), log_target=log_target)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``nn.functional.margin_ranking_loss``; *reduction* 0: none, 1: mean, 2: sum."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """``nn.functional.poisson_nll_loss``; *reduction* 0: none, 1: mean, 2: sum."""
    return F.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=_reduction(reduction)
    )


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """``nn.functional.triplet_margin_loss``; *reduction* 0: none, 1: mean, 2: sum."""
    return F.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction)
    )


# -- windows ---------------------------------------------------------------------------------
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """``nn.functional.adaptive_max_pool1d``: the values and their indices."""
    return F.adaptive_max_pool1d(input, output_size, True)


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """``nn.functional.max_pool1d`` without indices."""
    return F.max_pool1d(input, kernel_size, stride or None, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """``nn.functional.max_pool2d`` without indices."""
    return F.max_pool2d(input, kernel_size, stride or None, padding, dilation, ceil_mode)


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """``nn.functional.max_pool3d`` without indices."""
    return F.max_pool3d(input, kernel_size, stride or None, padding, dilation, ceil_mode)


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """``nn.functional.max_pool1d`` with its indices."""
    return F.max_pool1d(input, kernel_size, stride or None, padding, dilation, ceil_mode, True)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``nn.functional.grid_sample`` with its modes by number."""
    mode, padding = (
        {number: name for name, number in numbers.items()}.get(given, str(given))
        for numbers, given in (
            (F.GRID_SAMPLE_INTERPOLATION_MODES, interpolation_mode),
            (F.GRID_SAMPLE_PADDING_MODES, padding_mode),
        )
    )
    return F.grid_sample(input, grid, mode, padding, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """``nn.functional.pad`` with a number."""
    return F.pad(input, pad, "constant", value)


# -- dropout ---------------------------------------------------------------------------------
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``nn.functional.alpha_dropout``."""
    return F.alpha_dropout(input, p, train)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``nn.functional.alpha_dropout``, in place."""
    return F.alpha_dropout(input, p, train, True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``nn.functional.feature_alpha_dropout``."""
    return F.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``nn.functional.feature_alpha_dropout``, in place."""
    return F.feature_alpha_dropout(input, p, train, True)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``nn.functional.dropout``, in place."""
    return F.dropout(input, p, train, True)


# -- numbers ---------------------------------------------------------------------------------
def scalar_tensor(s: Any, **options: Any) -> Tensor:
    """A number as a tensor of rank 0; of the default dtype, unless options say another."""
    return FUNCTIONS["full"]((), s, **{"dtype": get_default_dtype(), **options})
