"""Normalisation of each channel of each sample."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import names_of as _names_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.modules.batchnorm import _NormBase

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _InstanceNorm(_NormBase):
    """Normalises each channel of each sample over all other dims, which are ``_dims``.

    The input may lack the batch. With *track_running_stats* the estimates are used in evaluation.
    """

    _dims: ClassVar[int]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        dim = input.dim() - 1 - self._dims
        if input.shape[dim] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features "
                    f"({self.num_features}), but got: {input.shape[dim]}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        x = input if dim else input.unsqueeze(0)
        made = F.instance_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, self.momentum or 0.0, self.eps,
        )  # fmt: skip
        return made if dim else made.squeeze(0)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            names = [n for n in ("running_mean", "running_var") if prefix + n in state_dict]
            if names:
                told, name = " and ".join(f'"{prefix}{n}"' for n in names), type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {told} for {name} with "
                    "track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, "
                    f"this may be expected because {name} does not track running stats by default "
                    "since 0.4.0. Please remove these keys from state_dict. If the running stats "
                    f"are actually needed, instead set track_running_stats=True in {name} to "
                    f"enable them. See the documentation of {name} for details."
                )
                for n in names:
                    state_dict.pop(prefix + n)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each sample of (N, C, L) or (C, L).

    Args: as for ``InstanceNorm2d``.

    Example:
        >>> nn.InstanceNorm1d(3)(tensorbus.ones(2, 3, 4)).shape
        torch.Size([2, 3, 4])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.InstanceNorm1d.html
    """

    _dims, _ranks = 1, (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalises each channel of each sample of (N, C, H, W) or (C, H, W).

    y = (x - mean) / sqrt(var + eps) weight + bias with the mean and the biased variance of each
    channel of each sample.

    Args:
        num_features: C.
        eps: added to the variance.
        momentum: weight of the new value in the running estimates.
        affine: whether to learn weight and bias.
        track_running_stats: whether to keep running estimates, and use them in evaluation.
        bias: with ``affine``, whether to learn a bias.

    Raises:
        ValueError: the input has other dims, or with ``affine`` another C.

    Example:
        >>> nn.InstanceNorm2d(3)(tensorbus.ones(2, 3, 4, 5)).shape
        torch.Size([2, 3, 4, 5])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.InstanceNorm2d.html
    """

    _dims, _ranks = 2, (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalises each channel of each sample of (N, C, D, H, W) or (C, D, H, W).

    Args: as for ``InstanceNorm2d``.

    Example:
        >>> nn.InstanceNorm3d(3)(tensorbus.ones(2, 3, 4, 5, 6)).shape
        torch.Size([2, 3, 4, 5, 6])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.InstanceNorm3d.html
    """

    _dims, _ranks = 3, (4, 5)


if not TYPE_CHECKING:  # what PyTorch keeps in this module
    __getattr__ = _attributes(__name__, others=_names_of("tensorbus.nn.modules.lazy_layers"))
