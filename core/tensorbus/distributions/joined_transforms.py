"""Transforms of the parts of a tensor, which lie one behind the other along a dimension."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.transform import Transform
from tensorbus.distributions.utils import lazy_property, sum_rightmost


class _Joined(Transform):
    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:
        """Whether all transforms are."""
        return all(t.bijective for t in self.transforms)

    def _check(self, name: str, value: Tensor, size: int, meant: str) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for tensor with {value.dim()} dimensions"
            )
        if value.size(self.dim) != size:
            raise AssertionError(
                f"{name}.size({self.dim}) = {value.size(self.dim)} must equal {meant} {size}"
            )


class CatTransform(_Joined):
    """Transforms of parts along *dim*, as ``cat`` puts them.

    Args:
        tseq: the transforms.
        dim: the dimension.
        lengths: the sizes of the parts along it, 1 each by default.
        cache_size: that of the transforms.

    Errors: AssertionError where the lengths are not those of the transforms or of the tensor.

    Example:
        >>> transforms = tensorbus.distributions.transforms
        >>> parts = [transforms.ExpTransform(), transforms.identity_transform]
        >>> transforms.CatTransform(parts, lengths=[1, 2])(tensorbus.ones(3))
        tensor([2.7183, 1.0000, 1.0000])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )

    @lazy_property
    def event_dim(self) -> int:
        """How many of the last dimensions make one event."""
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The size along the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, value: Tensor) -> list[Tensor]:
        return list(value.split(self.lengths, self.dim))

    def _each(self, name: str, value: Tensor, function: Callable[..., Tensor]) -> Tensor:
        self._check(name, value, self.length, "length")
        parts = zip(self.transforms, self._parts(value), strict=True)
        return tensorbus.cat([function(t, v) for t, v in parts], self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return self._each("x", x, lambda t, v: t(v))

    def _inverse(self, y: Tensor) -> Tensor:
        return self._each("y", y, lambda t, v: t.inv(v))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        self._check("x", x, self.length, "length")
        self._check("y", y, self.length, "length")
        parts = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        found = [
            sum_rightmost(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim)
            for t, a, b in parts
        ]
        # The parts lie along a dimension of the batch, or inside of the event.
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return tensorbus.cat(found, dim) if dim < 0 else functools.reduce(operator.add, found)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The constraint of the arguments."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The constraint of the values."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """Transforms of slices along *dim*, as ``stack`` puts them.

    Args:
        tseq: the transforms, one for each slice.
        dim: the dimension.
        cache_size: that of the transforms.

    Errors: AssertionError where the tensor has another number of slices.

    Example:
        >>> transforms = tensorbus.distributions.transforms
        >>> t = transforms.StackTransform([transforms.ExpTransform(), transforms.TanhTransform()])
        >>> t(tensorbus.ones(2, 2))
        tensor([[2.7183, 2.7183],
                [0.7616, 0.7616]])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, name: str, value: Tensor) -> list[Tensor]:
        self._check(name, value, len(self.transforms), "len(transforms)")
        return list(value.unbind(self.dim))

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slices("x", x), strict=True)
        return tensorbus.stack([t(v) for t, v in parts], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slices("y", y), strict=True)
        return tensorbus.stack([t.inv(v) for t, v in parts], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slices("x", x), self._slices("y", y), strict=True)
        return tensorbus.stack([t.log_abs_det_jacobian(a, b) for t, a, b in parts], self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The constraint of the arguments."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The constraint of the values."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
