"""Channels of groups, one of each in turn."""

from __future__ import annotations

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.modules.module import Module


class ChannelShuffle(Module):
    """Takes the channels of (N, C, *) from *groups* groups in turn: the first of each, and so on.

    Example:
        >>> nn.ChannelShuffle(2)(tensorbus.arange(4).view(1, 4, 1, 1)).flatten()
        tensor([0, 2, 1, 3])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.ChannelShuffle.html
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
