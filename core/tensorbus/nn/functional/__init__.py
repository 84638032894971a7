"""The functions behind the layers, by family: activations, losses, normalisation, windows."""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import names_of as _names_of
from tensorbus._base.public_place import show_in as _show_in
from tensorbus.nn.functional import (
    activations,
    activations_in_place,
    class_margins,
    losses,
    probabilities,
)
from tensorbus.nn.functional import (
    dropout as _dropouts,
)
from tensorbus.nn.functional import grouped_products as _grouped_products
from tensorbus.nn.functional import pools_with_indices as _pools_with_indices
from tensorbus.nn.functional.activations import *  # noqa: F403
from tensorbus.nn.functional.activations_in_place import *  # noqa: F403
from tensorbus.nn.functional.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
)
from tensorbus.nn.functional.attention import scaled_dot_product_attention
from tensorbus.nn.functional.class_margins import *  # noqa: F403
from tensorbus.nn.functional.classification import cross_entropy, nll_loss
from tensorbus.nn.functional.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from tensorbus.nn.functional.ctc import ctc_loss
from tensorbus.nn.functional.dropout import *  # noqa: F403
from tensorbus.nn.functional.embedding_bags import embedding_bag
from tensorbus.nn.functional.fractional_pools import (
    fractional_max_pool2d,
    fractional_max_pool3d,
)
from tensorbus.nn.functional.grid_sampling import (
    GRID_SAMPLE_INTERPOLATION_MODES,
    GRID_SAMPLE_PADDING_MODES,
    affine_grid,
    grid_sample,
)
from tensorbus.nn.functional.grouped_products import *  # noqa: F403
from tensorbus.nn.functional.interpolation import (
    interpolate,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from tensorbus.nn.functional.linear import (
    bilinear,
    channel_shuffle,
    embedding,
    linear,
    one_hot,
    pixel_shuffle,
    pixel_unshuffle,
)
from tensorbus.nn.functional.linear_classes import linear_cross_entropy
from tensorbus.nn.functional.losses import *  # noqa: F403
from tensorbus.nn.functional.multihead import multi_head_attention_forward
from tensorbus.nn.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    rms_norm,
)
from tensorbus.nn.functional.pools_with_indices import *  # noqa: F403
from tensorbus.nn.functional.power_pools import lp_pool1d, lp_pool2d, lp_pool3d
from tensorbus.nn.functional.probabilities import *  # noqa: F403
from tensorbus.nn.functional.sliding_blocks import fold, unfold
from tensorbus.nn.functional.unpooling import max_unpool1d, max_unpool2d, max_unpool3d
from tensorbus.nn.functional.volume_pools import (
    adaptive_avg_pool3d,
    adaptive_max_pool3d,
    avg_pool3d,
    max_pool3d,
)
from tensorbus.nn.functional.windows import (
    avg_pool1d,
    avg_pool2d,
    max_pool1d,
    max_pool2d,
    pad,
)
from tensorbus.op_engine.override import publish as _publish

_publish(globals())
_show_in(__name__, [(n, f) for n, f in globals().items() if not n.startswith("_")])

from tensorbus.overrides import (  # noqa: E402 -- behind what is published here
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__, others=_names_of("tensorbus.nn.functional.helpers"))

__all__ = [
    "GRID_SAMPLE_INTERPOLATION_MODES",
    "GRID_SAMPLE_PADDING_MODES",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "ctc_loss",
    "embedding",
    "embedding_bag",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "grid_sample",
    "group_norm",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "instance_norm",
    "interpolate",
    "layer_norm",
    "linear",
    "linear_cross_entropy",
    "local_response_norm",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "multi_head_attention_forward",
    "nll_loss",
    "one_hot",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "rms_norm",
    "scaled_dot_product_attention",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]
__all__ += activations.__all__
__all__ += activations_in_place.__all__
__all__ += class_margins.__all__
__all__ += _dropouts.__all__
__all__ += _grouped_products.__all__
__all__ += losses.__all__
__all__ += _pools_with_indices.__all__
__all__ += probabilities.__all__
