"""Batch normalisation."""

from __future__ import annotations

from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn import init
from tensorbus.nn.parameter import Parameter

from .module import Module


class _BatchNorm(Module):
    """Normalises each channel over the batch and all other dims.

    In training the mean and variance are the batch's, and running estimates follow them; in
    evaluation they are the running estimates (or the batch's, without `track_running_stats`).
    """

    _version = 2
    _ranks: ClassVar[tuple[int, ...]]
    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = None
            if wanted:
                value = Parameter(tensorbus.empty(num_features, device=device, dtype=dtype))
            self.register_parameter(name, value)
        mean = var = count = None
        if track_running_stats:
            mean = tensorbus.zeros(num_features, device=device, dtype=dtype)
            var = tensorbus.ones(num_features, device=device, dtype=dtype)
            count = tensorbus.tensor(0, dtype=tensorbus.int64, device=device)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", var)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Sets the running estimates back to mean 0 and variance 1."""
        for stats, start in (
            (self.running_mean, 0),
            (self.running_var, 1),
            (self.num_batches_tracked, 0),
        ):
            if stats is not None:
                stats.fill_(start)

    def reset_parameters(self) -> None:
        """Sets weight 1 and bias 0, and the running estimates back."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in self._ranks:
            allowed = " or ".join(f"{rank}D" for rank in self._ranks)
            raise ValueError(f"expected {allowed} input (got {input.dim()}D input)")
        training = self.training
        momentum = self.momentum
        if training and self.track_running_stats:
            count = self.num_batches_tracked
            if count is not None:
                count.add_(1)
                if momentum is None:
                    momentum = 1.0 / float(count)
        mean, var = self.running_mean, self.running_var
        use_batch = training or (mean is None and var is None)
        if training and not self.track_running_stats:
            mean = var = None
        return F.batch_norm(
            input,
            mean,
            var,
            self.weight,
            self.bias,
            use_batch,
            0.0 if momentum is None else momentum,
            self.eps,
        )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        *rest: Any,
    ) -> None:
        if local_metadata.get("version", 1) < 2 and self.track_running_stats:
            # Checkpoints from before version 2 have no count of batches.
            key = prefix + "num_batches_tracked"
            count = self.num_batches_tracked
            state_dict.setdefault(
                key, tensorbus.tensor(0, dtype=tensorbus.int64) if count is None else count
            )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class BatchNorm1d(_BatchNorm):
    """Normalises each channel of (N, C) or (N, C, L) over the batch.

    Args: as for `BatchNorm2d`.
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalises each channel of (N, C, H, W): y = (x - mean) / sqrt(var + eps) weight + bias.

    In training the mean and variance are the batch's (biased), and running estimates follow them
    (unbiased); in evaluation the running estimates are used.

    Args:
        num_features: C.
        eps: added to the variance.
        momentum: weight of the new value in the running estimates; None for a plain average.
        affine: whether to learn weight and bias.
        track_running_stats: whether to keep running estimates.
        bias: with `affine`, whether to learn a bias.

    Raises:
        ValueError: the input has not four dims.

    Example:
        >>> nn.BatchNorm2d(100)(tensorbus.ones(20, 100, 5, 5)).shape
        torch.Size([20, 100, 5, 5])
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalises each channel of (N, C, D, H, W) over the batch.

    Args: as for `BatchNorm2d`.
    """

    _ranks = (5,)
