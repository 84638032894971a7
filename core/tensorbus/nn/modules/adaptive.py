"""Softmax over many classes, of which the rare ones stand in clusters with smaller weights."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules.container import ModuleList, Sequential
from tensorbus.nn.modules.linear import Linear
from tensorbus.nn.modules.module import Module


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-probability of each target, by a head of frequent classes and clusters of others.

    Args:
        in_features: size of each input.
        n_classes: number of classes; 0 is the most frequent one.
        cutoffs: where the clusters begin, ascending; the classes below the first are the head's.
        div_value: by which factor the projections get smaller from cluster to cluster.
        head_bias: whether the head has a bias.

    Shapes: (N, in_features) and integers (N), or (in_features) and (); ``output`` has the target's,
    ``loss`` is a number, the negated mean. RuntimeError for targets that are no class.

    Example:
        >>> layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10], div_value=2)
        >>> layer(tensorbus.ones(3, 8), tensorbus.tensor([0, 5, 19])).output.shape
        torch.Size([3])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveLogSoftmaxWithLoss.html
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or not 0 < cutoffs[0] <= cutoffs[-1] < n_classes
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i, (start, stop) in enumerate(itertools.pairwise(self.cutoffs)):
            size = int(in_features // div_value ** (i + 1))
            down = Linear(in_features, size, bias=False, **options)
            self.tail.append(Sequential(down, Linear(size, stop - start, bias=False, **options)))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for down, up in self.tail:
            down.reset_parameters()
            up.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        batched = _check_shapes(input_, target_)
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        low, high = target.min().item(), target.max().item()
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{low}, {high}] were found. "
            )
        place, output = target, None
        for i, (start, stop) in enumerate(itertools.pairwise(self.cutoffs)):
            inside = (target >= start) & (target < stop)
            rows = inside.nonzero().flatten()
            if not rows.numel():
                continue
            place = place.masked_fill(inside, self.shortlist_size + i)
            scores = self.tail[i](input.index_select(0, rows)).log_softmax(1)
            local = (target.index_select(0, rows) - start).unsqueeze(1)
            found = scores.gather(1, local).squeeze(1)
            known = found.new_zeros(len(target)) if output is None else output
            output = known.index_add(0, rows, found)
        head = self.head(input).log_softmax(1).gather(1, place.unsqueeze(1)).squeeze(1)
        output = head if output is None else head + output
        return _ASMoutput(output if batched else output.squeeze(0), -output.mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes: (N, in_features) gives (N, n_classes)."""
        return self._all(input, self.head(input))

    def _all(self, input: Tensor, head: Tensor) -> Tensor:
        found = head.log_softmax(1)
        shares = found[:, self.shortlist_size :].unsqueeze(2).unbind(1)
        clusters = [
            projection(input).log_softmax(1) + share
            for projection, share in zip(self.tail, shares, strict=True)
        ]
        return tensorbus.cat([found[:, : self.shortlist_size], *clusters], 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row; clusters are computed where one may have it."""
        head = self.head(input)
        output = head.argmax(1)
        rows = (output >= self.shortlist_size).nonzero().flatten()
        if not rows.numel():
            return output
        some = self._all(input.index_select(0, rows), head.index_select(0, rows))
        return output.index_copy(0, rows, some.argmax(1))


def _check_shapes(input: Tensor, target: Tensor) -> bool:
    """Whether there is a batch; RuntimeError for shapes that do not go together."""
    rank = target.dim()
    if rank > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if rank and input.shape[0] != target.shape[0]:
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != rank + 1:
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with size "
            f"{input.size()}"
        )
    return bool(rank)
