# Made by scripts/stubs from the functions and methods in core/tensorbus: not edited.

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.grouped_products import ScalingType as ScalingType
from tensorbus.nn.functional.grouped_products import SwizzleType as SwizzleType
from tensorbus.nn.functional.linear_classes import LinearCrossEntropyOptions
from tensorbus.nn.functional.pools_with_indices import Found

GRID_SAMPLE_INTERPOLATION_MODES: dict[str, int]
GRID_SAMPLE_PADDING_MODES: dict[str, int]
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over windows of (N, C, L) chosen so that the result has a given length."""
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over windows chosen so that the result has a given size."""
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over windows chosen so that the volumes of the result have a given size."""
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over windows of (N, C, L) chosen so that the result has a given length."""
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over windows chosen so that the result has a given size."""
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over windows chosen so that the volumes of the result have a given size."""
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Where the affine maps *theta* take the pixels of a result of *size*, for ``grid_sample``."""
def avg_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean over windows of (N, C, L) or (C, L)."""
def avg_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean over windows of the planes."""
def avg_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean over windows of the volumes."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Channels (dimension 1) with mean 0 and variance 1 over all other dimensions, then scaled."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x1 A x2 + b`` for each output: weight is (out, in1, in2)."""
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """(N, C, ...) with the channels of the *groups* taken in turn (arXiv:1707.01083)."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """Cross-correlation of (N, C, L) or (C, L) with (O, C / groups, k)."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """Cross-correlation of (N, C, H, W) or (C, H, W) with (O, C / groups, kh, kw)."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """Cross-correlation of (N, C, D, H, W) or (C, D, H, W) with (O, C / groups, kd, kh, kw)."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """``conv1d`` of (L, N, C) with (k, C, O)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:
    """The transpose of ``conv1d``."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:
    """The transpose of ``conv2d``: (N, C, H, W) with (C, O / groups, kh, kw)."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:
    """The transpose of ``conv3d``: (N, C, D, H, W) with (C, O / groups, kd, kh, kw)."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None, reduction: str = 'mean', label_smoothing: float = 0.0) -> Tensor:
    """``nll_loss`` of ``log_softmax``; targets are class numbers, or probabilities of all classes."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) -> Tensor:
    """The negated log-probability of *targets*, summed over their alignments to *log_probs*."""
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows of *weight* that integers name; the row *padding_idx* gets no gradient."""
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None) -> Tensor:
    """The sum, mean or max over each bag of the rows of *weight* that integers name."""
def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Planes of a size from the columns of their windows, added where windows overlap."""
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False) -> Any:
    """The maximum over windows at random places of the planes (arXiv:1412.6071)."""
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False) -> Any:
    """``fractional_max_pool2d`` for volumes: (N, C, D, H, W) or (C, D, H, W)."""
def grid_sample(input: Tensor, grid: Tensor, mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: bool | None = None) -> Tensor:
    """The values of planes or volumes at the places of *grid*."""
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """Groups of channels with mean 0 and variance 1 for each sample, then scaled by channel."""
def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """What those among the arguments that override make of a call of the function *public_api*."""
def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a call with these arguments is to be given to ``handle_torch_function``."""
def has_torch_function_unary(input: Any) -> bool:
    """``has_torch_function`` of one argument."""
def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """``has_torch_function`` of arguments one by one."""
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Each channel of each sample with mean 0 and variance 1, then scaled by channel."""
def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:
    """The lines, planes or volumes of *input* with another *size*, or scaled by *scale_factor*."""
def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """The last dimensions with mean 0 and variance 1, then scaled."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``: (..., in) with (out, in) gives (..., out)."""
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None, reduction: str = 'mean', ignore_index: int | None = None, label_smoothing: float = 0.0, options: LinearCrossEntropyOptions | None = None) -> Tensor:
    """``cross_entropy`` of ``linear(input, linear_weight, linear_bias)``."""
def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """``input / (k + alpha * mean)**beta``, where ``mean`` is that of some squares."""
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The *norm_type*-norm over windows of (N, C, L) or (C, L), as if no element were negative."""
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """``lp_pool1d`` for planes: (N, C, H, W) or (C, H, W)."""
def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """``lp_pool1d`` for volumes: (N, C, D, H, W) or (C, D, H, W)."""
def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum over windows of (N, C, L) or (C, L)."""
def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum over windows of the planes, and its index where asked for."""
def max_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum over windows of the volumes, and its index where asked for."""
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """Zeros with the values of ``max_pool1d`` at the indices that it returned."""
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """``max_unpool1d`` for planes: (N, C, H, W) or (C, H, W)."""
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """``max_unpool1d`` for volumes: (N, C, D, H, W) or (C, D, H, W)."""
def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """What ``nn.MultiheadAttention`` computes of (L, N, E), (S, N, Ek) and (S, N, Ev)."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None, reduction: str = 'mean') -> Tensor:
    """The negated log-probability of each row's class, averaged by the classes' weights."""
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the index that each integer names, in a new last dimension."""
def pad(input: Tensor, pad: Any, mode: str = 'constant', value: float | None = None) -> Tensor:
    """A border around the last dimensions; negative widths cut."""
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C * r * r, H, W) to (..., C, H * r, W * r)."""
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H * r, W * r) to (..., C * r * r, H, W)."""
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """The last dimensions divided by their root mean square, then scaled."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    """softmax(query key^T scale + mask) value: each query's mean of the values whose keys fit it."""
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of the planes, each as a column."""
def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None) -> Tensor:
    """``interpolate`` under its older name, with a warning."""
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` of planes with aligned corners, with a warning."""
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` to the nearest element, with a warning."""
def celu(input: Tensor, alpha: complex = 1.0, inplace: bool = False) -> Tensor:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``."""
def elu(input: Tensor, alpha: complex = 1.0, inplace: bool = False) -> Tensor:
    """The values, those below 0 as ``alpha * (exp(x) - 1)``."""
def gelu(input: Tensor, *, approximate: str = 'none') -> Tensor:
    """``x`` times the normal distribution function at ``x``, exact or by ``tanh``."""
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """One half times the sigmoid of the other half."""
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A draw from the Gumbel-Softmax distribution with temperature *tau* (arXiv:1611.01144)."""
def hardshrink(input: Tensor, lambd: complex = 0.5) -> Tensor:
    """The values outside [-lambd, lambd], else 0."""
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``clamp(x / 6 + 1 / 2, 0, 1)``."""
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``."""
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The values cut to [min_val, max_val]."""
def leaky_relu(input: Tensor, negative_slope: complex = 0.01, inplace: bool = False) -> Tensor:
    """The values, those below 0 times *negative_slope*."""
def log_softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """``log(softmax(input))`` along a dimension, without overflow."""
def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(x))`` without overflow."""
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``."""
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """The values divided by their norm along a dimension or several, at least *eps*."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``leaky_relu`` with a slope that is learnt, one for all or one for each channel."""
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``."""
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """The values cut to [0, 6]."""
def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, inplace: bool = False) -> Tensor:
    """``leaky_relu`` whose slopes are drawn between *lower* and *upper* while training, and halfway between them else (arXiv:1505.00853)."""
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``elu`` with the scale and alpha that keep mean and variance (arXiv:1706.02515)."""
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / (1 + exp(-input))``, element by element; *out* receives the result where given."""
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``."""
def softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along a dimension."""
def softmin(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """``softmax`` of the negated values."""
def softplus(input: Tensor, beta: complex = 1, threshold: complex = 20) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, and ``x`` itself above the threshold."""
def softshrink(input: Tensor, lambd: complex = 0.5) -> Tensor:
    """The values moved by *lambd* towards 0, no further than 0."""
def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent, element by element; *out* receives the result where given."""
def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""
def threshold(input: Tensor, threshold: complex, value: complex, inplace: bool = False) -> Tensor:
    """The values above *threshold*, else *value*."""
def celu_(input: Tensor, alpha: complex = 1.0) -> Tensor:
    """``celu`` in place."""
def elu_(input: Tensor, alpha: complex = 1.0) -> Tensor:
    """``elu`` in place."""
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """``hardtanh`` in place."""
def leaky_relu_(input: Tensor, negative_slope: complex = 0.01) -> Tensor:
    """``leaky_relu`` in place."""
def relu_(input: Tensor) -> Tensor:
    """``relu`` in place."""
def rrelu_(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False) -> Tensor:
    """``rrelu`` in place."""
def selu_(input: Tensor) -> Tensor:
    """``selu`` in place."""
def threshold_(input: Tensor, threshold: complex, value: complex) -> Tensor:
    """``threshold`` in place."""
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-06, reduction: str = 'mean') -> Tensor:
    """``(log(max(var, eps)) + (input - target)**2 / max(var, eps)) / 2``; *full* adds its constant."""
def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = 'mean') -> Tensor:
    """The mean over classes of ``max(0, margin - x[y] + x[i]) ** p``, of all but the target y."""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = 'mean') -> Tensor:
    """The mean over classes of ``max(0, 1 - (x[y] - x[i]))``, summed over targets y and others i."""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = 'mean') -> Tensor:
    """The mean over classes, the last dimension, of the binary cross entropies of logits."""
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0, swap: bool = False, reduction: str = 'mean') -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` for a distance d."""
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps the mean and the variance of SELU's outputs (arXiv:1706.02515)."""
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability *p* while training, and scale the others."""
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of (N, C, L) or (C, L)."""
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of (N, C, H, W)."""
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of (N, C, D, H, W)."""
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """``alpha_dropout`` of whole channels, which are dimension 1."""
def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None) -> Tensor:
    """A product for each group of rows or columns, as mixtures of experts need."""
def scaled_grouped_mm(mat_a: Tensor, mat_b: Tensor, scale_a: Tensor | list[Tensor], scale_recipe_a: ScalingType | list[ScalingType], scale_b: Tensor | list[Tensor], scale_recipe_b: ScalingType | list[ScalingType], swizzle_a: SwizzleType | list[SwizzleType] | None = None, swizzle_b: SwizzleType | list[SwizzleType] | None = None, bias: Tensor | None = None, offs: Tensor | None = None, output_dtype: Any = ..., contraction_dim: Sequence[int] = (), use_fast_accum: bool = False) -> Tensor:
    """``grouped_mm`` of matrices with a scale for each row of *mat_a* and column of *mat_b*."""
def scaled_mm(mat_a: Tensor, mat_b: Tensor, scale_a: Tensor | list[Tensor], scale_recipe_a: ScalingType | list[ScalingType], scale_b: Tensor | list[Tensor], scale_recipe_b: ScalingType | list[ScalingType], swizzle_a: SwizzleType | list[SwizzleType] | None = None, swizzle_b: SwizzleType | list[SwizzleType] | None = None, bias: Tensor | None = None, output_dtype: Any = ..., contraction_dim: Sequence[int] = (), use_fast_accum: bool = False) -> Tensor:
    """The product of two matrices that are multiplied by scales, usually of a float8 dtype."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None, reduction: str = 'mean') -> Tensor:
    """``1 - cos`` for target 1, what the cosine exceeds the margin by for -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along a dimension."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = 'mean') -> Tensor:
    """The distance itself for target 1, what it lacks of the margin for -1."""
def huber_loss(input: Tensor, target: Tensor, reduction: str = 'mean', delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """``smooth_l1_loss`` times *delta*."""
def l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The mean of absolute differences."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None, reduction: str = 'mean') -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``."""
def mse_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The mean of squared differences."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
    """The p-norm of the differences along the last dimension."""
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norms of the differences of all pairs of rows: (N, M) to N * (N - 1) / 2 values."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = 'mean', beta: float = 1.0) -> Tensor:
    """Squares of differences below *beta*, absolute values beyond."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = 'mean') -> Tensor:
    """``log(1 + exp(-target * input))``."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-06, swap: bool = False, size_average: Any = None, reduce: Any = None, reduction: str = 'mean') -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``."""
def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False) -> Found:
    """``max_pool1d`` with its indices, whatever *return_indices* says."""
def max_pool2d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False) -> Found:
    """``max_pool2d`` with its indices, whatever *return_indices* says."""
def max_pool3d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False) -> Found:
    """``max_pool3d`` with its indices, whatever *return_indices* says."""
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Found:
    """``adaptive_max_pool1d`` with its indices, whatever *return_indices* says."""
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Found:
    """``adaptive_max_pool2d`` with its indices, whatever *return_indices* says."""
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Found:
    """``adaptive_max_pool3d`` with its indices, whatever *return_indices* says."""
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False) -> Found:
    """``fractional_max_pool2d`` with its indices, whatever *return_indices* says."""
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False) -> Found:
    """``fractional_max_pool3d`` with its indices, whatever *return_indices* says."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = 'mean') -> Tensor:
    """Cross-entropy of probabilities; logarithms are cut at -100."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """``binary_cross_entropy`` of ``sigmoid(input)``, without overflow."""
def kl_div(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = 'mean', log_target: bool = False) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities *input* from *target*."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Any = None, eps: float = 1e-08, reduce: Any = None, reduction: str = 'mean') -> Tensor:
    """The negated log-likelihood of Poisson counts."""

__all__ = ['GRID_SAMPLE_INTERPOLATION_MODES', 'GRID_SAMPLE_PADDING_MODES', 'adaptive_avg_pool1d', 'adaptive_avg_pool2d', 'adaptive_avg_pool3d', 'adaptive_max_pool1d', 'adaptive_max_pool2d', 'adaptive_max_pool3d', 'affine_grid', 'avg_pool1d', 'avg_pool2d', 'avg_pool3d', 'batch_norm', 'bilinear', 'channel_shuffle', 'conv1d', 'conv2d', 'conv3d', 'conv_tbc', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d', 'cross_entropy', 'ctc_loss', 'embedding', 'embedding_bag', 'fold', 'fractional_max_pool2d', 'fractional_max_pool3d', 'grid_sample', 'group_norm', 'handle_torch_function', 'has_torch_function', 'has_torch_function_unary', 'has_torch_function_variadic', 'instance_norm', 'interpolate', 'layer_norm', 'linear', 'linear_cross_entropy', 'local_response_norm', 'lp_pool1d', 'lp_pool2d', 'lp_pool3d', 'max_pool1d', 'max_pool2d', 'max_pool3d', 'max_unpool1d', 'max_unpool2d', 'max_unpool3d', 'multi_head_attention_forward', 'nll_loss', 'one_hot', 'pad', 'pixel_shuffle', 'pixel_unshuffle', 'rms_norm', 'scaled_dot_product_attention', 'unfold', 'upsample', 'upsample_bilinear', 'upsample_nearest', 'celu', 'elu', 'gelu', 'glu', 'gumbel_softmax', 'hardshrink', 'hardsigmoid', 'hardswish', 'hardtanh', 'leaky_relu', 'log_softmax', 'logsigmoid', 'mish', 'normalize', 'prelu', 'relu', 'relu6', 'rrelu', 'selu', 'sigmoid', 'silu', 'softmax', 'softmin', 'softplus', 'softshrink', 'softsign', 'tanh', 'tanhshrink', 'threshold', 'celu_', 'elu_', 'hardtanh_', 'leaky_relu_', 'relu_', 'rrelu_', 'selu_', 'threshold_', 'gaussian_nll_loss', 'multi_margin_loss', 'multilabel_margin_loss', 'multilabel_soft_margin_loss', 'triplet_margin_with_distance_loss', 'alpha_dropout', 'dropout', 'dropout1d', 'dropout2d', 'dropout3d', 'feature_alpha_dropout', 'ScalingType', 'SwizzleType', 'grouped_mm', 'scaled_grouped_mm', 'scaled_mm', 'cosine_embedding_loss', 'cosine_similarity', 'hinge_embedding_loss', 'huber_loss', 'l1_loss', 'margin_ranking_loss', 'mse_loss', 'pairwise_distance', 'pdist', 'smooth_l1_loss', 'soft_margin_loss', 'triplet_margin_loss', 'max_pool1d_with_indices', 'max_pool2d_with_indices', 'max_pool3d_with_indices', 'adaptive_max_pool1d_with_indices', 'adaptive_max_pool2d_with_indices', 'adaptive_max_pool3d_with_indices', 'fractional_max_pool2d_with_indices', 'fractional_max_pool3d_with_indices', 'binary_cross_entropy', 'binary_cross_entropy_with_logits', 'kl_div', 'poisson_nll_loss']
