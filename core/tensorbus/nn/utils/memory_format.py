"""The memory format of convolutions' weights alone."""

from __future__ import annotations

from typing import Any, cast

import tensorbus
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from tensorbus.nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Module, memory_format: Any, layers: tuple[type, ...]) -> Module:
    for layer in module.modules():
        if isinstance(layer, layers):
            weight = cast(Any, layer).weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(
    module: Module, memory_format: tensorbus.memory_format
) -> Module:
    """Give the weights of all 2-d convolutions in a module a memory format.

    What else is in it stays, other than with ``module.to(memory_format=...)``.

    >>> import tensorbus as torch
    >>> net = torch.nn.Sequential(torch.nn.Conv2d(8, 4, 3))
    >>> net = torch.nn.utils.convert_conv2d_weight_memory_format(net, torch.channels_last)
    >>> net[0].weight.stride()
    (72, 1, 24, 8)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.convert_conv2d_weight_memory_format.html
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(
    module: Module, memory_format: tensorbus.memory_format
) -> Module:
    """Give the weights of all 3-d convolutions in a module a memory format.

    >>> import tensorbus as torch
    >>> layer = torch.nn.Conv3d(8, 4, 3)
    >>> layer = torch.nn.utils.convert_conv3d_weight_memory_format(layer, torch.channels_last_3d)
    >>> layer.weight.stride()
    (216, 1, 72, 24, 8)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.convert_conv3d_weight_memory_format.html
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))


_show_pages(__name__, [(name, globals()[name]) for name in __all__])
