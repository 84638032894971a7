"""Helpers for training: gradient clipping and flat views of parameters."""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from tensorbus.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "vector_to_parameters",
]

_show_pages(__name__, [(n, globals().get(n)) for n in __all__])
