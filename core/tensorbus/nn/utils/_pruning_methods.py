"""Methods of pruning: which entries or channels of a tensor each of them masks."""

from __future__ import annotations

import math
import numbers

import tensorbus
from tensorbus._base.public_place import show_in as _show_in
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.utils._pruning_hooks import BasePruningMethod


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the parameter and the mask that other methods make.

    >>> from tensorbus import nn
    >>> layer = nn.Linear(2, 1)
    >>> method = nn.utils.prune.Identity.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[1., 1.]])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.Identity.html
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far."""
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given.

    >>> import tensorbus as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> mask = torch.tensor([[1, 0]])
    >>> method = torch.nn.utils.prune.CustomFromMask.apply(layer, "weight", mask)
    >>> layer.weight_mask
    tensor([[1., 0.]])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.CustomFromMask.html
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far times the given one."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


class AmountMethod(BasePruningMethod):
    """Base of methods that prune a share or a number of entries or channels."""

    def __init__(self, amount: float) -> None:
        self.amount = amount
        self._is_count = isinstance(amount, numbers.Integral)
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if not 0 <= self.amount <= (math.inf if self._is_count else 1):
            raise ValueError(
                f"amount={amount} should either be a float in the range [0, 1] "
                "or a non-negative integer"
            )

    def count(self, size: int) -> int:
        """How many of so many are pruned; ValueError where there are not as many."""
        if not self._is_count:
            return round(self.amount * size)
        if self.amount > size:
            raise ValueError(
                f"amount={self.amount} should be smaller than the number of parameters to "
                f"prune={size}"
            )
        return int(self.amount)


class _Unstructured(AmountMethod):
    """Base of methods that prune entries: those of the least importance."""

    PRUNING_TYPE = "unstructured"

    def importance(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far, with zeros for the least important entries."""
        count = self.count(t.numel())
        mask = default_mask.clone(memory_format=tensorbus.contiguous_format)
        if count:
            least = self.importance(t).reshape(-1).topk(count, largest=False).indices
            mask.view(-1)[least] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes entries that are drawn at random.

    >>> from tensorbus import nn
    >>> layer = nn.Linear(4, 4)
    >>> method = nn.utils.prune.RandomUnstructured.apply(layer, "weight", amount=0.25)
    >>> layer.weight_mask.sum()
    tensor(12.)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.RandomUnstructured.html
    """

    def importance(self, t: Tensor) -> Tensor:
        """Uniform numbers."""
        return tensorbus.rand_like(t)


class L1Unstructured(_Unstructured):
    """Prunes the entries of the least absolute value.

    >>> import tensorbus as torch
    >>> method = torch.nn.utils.prune.L1Unstructured(amount=1)
    >>> method.prune(torch.tensor([3.0, -1.0, 2.0]))
    tensor([3., -0., 2.])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.L1Unstructured.html
    """

    def importance(self, t: Tensor) -> Tensor:
        """The absolute values."""
        return t.abs()


class _Structured(AmountMethod):
    """Base of methods that prune channels: those of the least importance."""

    PRUNING_TYPE = "structured"
    dim: int

    def importance(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far, with zeros for the least important channels."""
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = self.count(size)
        if not count:
            return default_mask
        kept = self.importance(t).topk(size - count).indices
        mask = tensorbus.zeros_like(t).index_fill_(self.dim, kept, 1)
        return mask.mul_(default_mask.to(dtype=mask.dtype))


class RandomStructured(_Structured):
    """Prunes channels that are drawn at random.

    >>> from tensorbus import nn
    >>> layer = nn.Linear(4, 2)
    >>> method = nn.utils.prune.RandomStructured.apply(layer, "weight", amount=1, dim=0)
    >>> layer.weight_mask.sum(dim=1).sort().values
    tensor([0., 4.])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.RandomStructured.html
    """

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def importance(self, t: Tensor) -> Tensor:
        """Uniform numbers."""
        return tensorbus.rand(t.shape[self.dim], device=t.device)


class LnStructured(_Structured):
    """Prunes the channels with the least norm.

    >>> import tensorbus as torch
    >>> method = torch.nn.utils.prune.LnStructured(amount=1, n=2, dim=0)
    >>> method.prune(torch.tensor([[3.0, 4.0], [1.0, 1.0]]))
    tensor([[3., 4.],
            [0., 0.]])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.LnStructured.html
    """

    def __init__(self, amount: float, n: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def importance(self, t: Tensor) -> Tensor:
        """The norms of order n."""
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        return tensorbus.norm(t, p=self.n, dim=others)


_METHODS = (
    Identity,
    CustomFromMask,
    RandomUnstructured,
    L1Unstructured,
    RandomStructured,
    LnStructured,
)
_show_in("tensorbus.nn.utils.prune", [(each.__name__, each) for each in _METHODS])
