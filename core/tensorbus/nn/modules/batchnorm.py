"""Batch normalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import tensorbus
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import names_of as _names_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn import init
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parameter import Parameter


class _NormBase(Module):
    """The parameters and running estimates of layers that normalise each channel."""

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
        """Set the running estimates back to mean 0 and variance 1."""
        for stats, start in (
            (self.running_mean, 0),
            (self.running_var, 1),
            (self.num_batches_tracked, 0),
        ):
            if stats is not None:
                stats.fill_(start)

    def reset_parameters(self) -> None:
        """Set weight 1 and bias 0, and the running estimates back."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self._ranks:
            allowed = " or ".join(f"{rank}D" for rank in self._ranks)
            raise ValueError(f"expected {allowed} input (got {input.dim()}D input)")

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


class _BatchNorm(_NormBase):
    """Normalises each channel over the batch and all other dims.

    In training the mean and variance are the batch's, and running estimates follow them; in
    evaluation they are the running estimates (or the batch's, without *track_running_stats*).
    """

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        training = self.training
        momentum = self._counted_momentum()
        mean, var = self.running_mean, self.running_var
        use_batch = training or (mean is None and var is None)
        if training and not self.track_running_stats:
            mean = var = None
        return self._normalize(input, mean, var, use_batch, momentum)

    def _counted_momentum(self) -> float:
        """The weight of this batch in the running estimates, after counting it."""
        momentum = self.momentum
        if self.training and self.track_running_stats:
            count = self.num_batches_tracked
            if count is not None:
                count.add_(1)
                if momentum is None:
                    momentum = 1.0 / float(count)
        return 0.0 if momentum is None else momentum

    def _normalize(
        self,
        input: Tensor,
        mean: Tensor | None,
        var: Tensor | None,
        use_batch: bool,
        momentum: float,
    ) -> Tensor:
        return F.batch_norm(input, mean, var, self.weight, self.bias, use_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalises each channel of (N, C) or (N, C, L) over the batch.

    Args: as for ``BatchNorm2d``.
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
        bias: with ``affine``, whether to learn a bias.

    Raises:
        ValueError: the input has not four dims.

    Example:
        >>> nn.BatchNorm2d(100)(tensorbus.ones(20, 100, 5, 5)).shape
        torch.Size([20, 100, 5, 5])
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalises each channel of (N, C, D, H, W) over the batch.

    Args: as for ``BatchNorm2d``.
    """

    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Normalises each channel over the inputs of all ranks of a group, of any sizes.

    While training the statistics are those of all ranks' inputs together, forward and backward.
    In evaluation, and on one rank, it is ``BatchNorm``. Gradients of weight and bias are the rank's
    own: ``DistributedDataParallel`` averages them.

    Args:
        num_features: C.
        process_group: the ranks; all of them by default.

    The others are as for ``BatchNorm2d``.

    Raises:
        ValueError: the input has less than two dims, or all ranks together have one value per
            channel.

    Example:
        >>> import tensorbus.distributed as dist
        >>> def rank():
        ...     x = tensorbus.tensor([[1.0], [2.0]]) + 2 * dist.get_rank()
        ...     norm = nn.SyncBatchNorm(1, momentum=1.0)
        ...     norm(x)
        ...     return norm.running_mean.item()
        >>> dist.local.run(rank, 2)
        [2.5, 2.5]
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def _normalize(
        self,
        input: Tensor,
        mean: Tensor | None,
        var: Tensor | None,
        use_batch: bool,
        momentum: float,
    ) -> Tensor:
        group = self._group() if use_batch and self.training else None
        if group is None or group.size() == 1:
            return super()._normalize(input, mean, var, use_batch, momentum)
        if input.shape[1] != self.num_features:
            raise RuntimeError(
                f"SyncBatchNorm of {self.num_features} features got an input of size "
                f"{tuple(input.shape)} with {input.shape[1]} channels"
            )
        from tensorbus.nn.modules._sync_batchnorm import SyncBatchNormFunction

        made: Tensor = SyncBatchNormFunction.apply(
            input, self.weight, self.bias, mean, var, self.eps, momentum, group
        )
        return made

    def _group(self) -> Any:
        """The ranks to exchange with; None outside of a job."""
        from tensorbus import distributed as dist

        if self.process_group is not None:
            return self.process_group
        return dist.group.WORLD

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace every ``BatchNorm`` in a module; parameters and buffers stay the same tensors.

        Returns the module, or, where it is a ``BatchNorm`` itself, what replaces it.

        Example:
            >>> net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4))
            >>> type(nn.SyncBatchNorm.convert_sync_batchnorm(net)[1]).__name__
            'SyncBatchNorm'
        """
        return cls._converted(module, process_group, {})

    @classmethod
    def _converted(cls, module: Module, group: Any, done: dict[Module, Module]) -> Module:
        if module in done:
            return done[module]
        made: Module = module
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                group,
                bias=module.bias is not None,
            )
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            made.training = module.training
        done[module] = made
        for name, child in module._modules.items():
            if child is not None:
                made._modules[name] = cls._converted(child, group, done)
        return made


if not TYPE_CHECKING:  # what PyTorch keeps in this module
    __getattr__ = _attributes(__name__, others=_names_of("tensorbus.nn.modules.lazy_layers"))
