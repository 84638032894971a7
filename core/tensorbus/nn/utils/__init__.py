"""Helpers for training: gradient clipping, flat views of parameters, and other weights for them."""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import listing as _listing
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from tensorbus.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from tensorbus.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from tensorbus.nn.utils.weight_norm import remove_weight_norm, weight_norm

_LATER = {
    "convert_conv2d_weight_memory_format": "memory_format",
    "convert_conv3d_weight_memory_format": "memory_format",
    "fuse_conv_bn_eval": "fusion",
    "fuse_conv_bn_weights": "fusion",
    "fuse_linear_bn_eval": "fusion",
    "fuse_linear_bn_weights": "fusion",
    "skip_init": "init",
}

if TYPE_CHECKING:
    from tensorbus.nn.utils.fusion import (
        fuse_conv_bn_eval,
        fuse_conv_bn_weights,
        fuse_linear_bn_eval,
        fuse_linear_bn_weights,
    )
    from tensorbus.nn.utils.init import skip_init
    from tensorbus.nn.utils.memory_format import (
        convert_conv2d_weight_memory_format,
        convert_conv3d_weight_memory_format,
    )
else:
    __getattr__ = _attributes(__name__, _LATER)
    __dir__ = _listing(__name__, _LATER)

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "remove_spectral_norm",
    "remove_weight_norm",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]

_show_pages(__name__, [(n, globals().get(n)) for n in __all__])
