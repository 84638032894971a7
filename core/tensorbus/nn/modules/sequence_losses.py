"""The loss of sequences whose alignment is not known, and that of linear maps to classes."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.functional.linear_classes import LinearCrossEntropyOptions
from tensorbus.nn.modules.linear import Linear
from tensorbus.nn.modules.loss import _Loss, _WeightedLoss


class CTCLoss(_Loss):
    """The negated log-probability of label sequences, summed over their alignments to the input.

    Args:
        blank: the class that stands between labels.
        zero_infinity: whether losses of targets that do not fit are 0, and their gradients.

    Shapes: log-probabilities (T, N, C) or (T, C), integer targets (N, S) or concatenated, and N
    lengths of both.

    Example:
        >>> even = tensorbus.full((3, 1, 2), 0.5).log()
        >>> nn.CTCLoss()(even, tensorbus.tensor([[1]]), [3], [1]).exp()
        tensor(1.3333)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.CTCLoss.html
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of a linear map of the input, which is its layer ``linear``.

    Args:
        in_features: size of each input.
        num_classes: number of classes C.
        out_features: further dimensions of the target.
        bias: whether the map has one.
        weight: a weight for each class.
        ignore_index: a target that does not count; None is -100.
        label_smoothing: how much of each target all classes share.
        options: how to compute a batch in chunks.

    Shapes: (N, in_features) or (in_features), and targets as of ``CrossEntropyLoss``.

    Example:
        >>> loss = nn.LinearCrossEntropyLoss(5, 10, out_features=(4, 3))
        >>> loss(tensorbus.ones(2, 5), tensorbus.zeros(2, 4, 3).long()).shape
        torch.Size([])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.LinearCrossEntropyLoss.html
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        size = num_classes * math.prod(out_features)
        self.linear = Linear(in_features, size, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
