"""What distributions are written with: parameters that broadcast, lazy properties."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor

euler_constant = 0.57721566490153286060

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]


def is_number(value: Any) -> bool:
    """Whether a parameter was given as a number."""
    return isinstance(value, int | float)


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """The values as tensors of one shape.

    Numbers become tensors with the dtype and device of the first tensor among the values, and have
    the default dtype where there is none. ValueError for what is neither number nor tensor.

    Example:
        >>> broadcast_all(1.0, tensorbus.tensor([2.0, 3.0]))
        (tensor([1., 1.]), tensor([2., 3.]))
    """
    if not all(_is_tensor_like(v) or is_number(v) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects "
            "implementing __torch_function__."
        )
    first = next((v for v in values if isinstance(v, Tensor)), None)
    options: dict[str, Any] = {"dtype": tensorbus.get_default_dtype()}
    if first is not None:
        options = {"dtype": first.dtype, "device": first.device}
    made = [tensorbus.tensor(v, **options) if is_number(v) else v for v in values]
    return tuple(tensorbus.broadcast_tensors(*made))


def standard_normal(shape: Any, like: Tensor) -> Tensor:
    """Normal random numbers with the dtype and device of *like*."""
    return tensorbus.randn(shape, dtype=like.dtype, device=like.device)


def standard_uniform(shape: Any, like: Tensor) -> Tensor:
    """Uniform random numbers in [0, 1) with the dtype and device of *like*."""
    return tensorbus.rand(shape, dtype=like.dtype, device=like.device)


def positive_uniform(shape: Any, like: Tensor) -> Tensor:
    """Uniform random numbers of which none is 0."""
    return standard_uniform(shape, like).clamp(min=tensorbus.finfo(like.dtype).tiny)


def open_uniform(shape: Any, like: Tensor) -> Tensor:
    """Uniform random numbers of which none is 0 or rounds to 1."""
    return clamp_probs(standard_uniform(shape, like))


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last *dim* dimensions."""
    return value.flatten(-dim).sum(-1) if dim else value


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The probabilities of classes along the last dimension, or of each one where *is_binary*.

    Example:
        >>> logits_to_probs(tensorbus.tensor([0.0, 0.0]))
        tensor([0.5000, 0.5000])
    """
    return tensorbus.sigmoid(logits) if is_binary else tensorbus.softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities moved away from 0 and 1 by the dtype's ``eps``.

    Example:
        >>> clamp_probs(tensorbus.tensor([0.0, 0.5]))
        tensor([1.1921e-07, 5.0000e-01])
    """
    eps = tensorbus.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logits of probabilities: logarithms, or log odds where *is_binary*.

    Example:
        >>> probs_to_logits(tensorbus.tensor([0.5]), is_binary=True)
        tensor([0.])
    """
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:
    """A property that is computed when it is first asked for, and kept.

    Example:
        >>> class Circle:
        ...     radius = 2
        ...
        ...     @lazy_property
        ...     def area(self):
        ...         return 3 * self.radius**2
        >>> circle = Circle()
        >>> circle.area, vars(circle)
        (12, {'area': 12})
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return _LazyPropertyOfClass(self.wrapped)
        with tensorbus.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _LazyPropertyOfClass(lazy_property, property):
    """What a class shows of a lazy property: a property, for tools that look for one."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def _lower_triangle(n: int, diag: int, device: Any) -> Tensor:
    places = tensorbus.arange(n, device=device)
    return places < places.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of square matrices on and below diagonal *diag*, row by row.

    ValueError where there is no such diagonal.

    Example:
        >>> tril_matrix_to_vec(tensorbus.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([1., 3., 4.])
    """
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _lower_triangle(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Matrices that have the vectors' elements on and below diagonal *diag*, row by row; else 0.

    ValueError where no square matrix has so many elements there.

    Example:
        >>> vec_to_tril_matrix(tensorbus.tensor([1.0, 3.0, 4.0]))
        tensor([[1., 0.],
                [3., 4.]])
    """
    count = vec.shape[-1]
    root: float = ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5
    n = (root - (1 + 2 * diag)) / 2
    if abs(round(n) - n) > tensorbus.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix."
        )
    size = round(n)
    rows, columns = tensorbus.tril_indices(size, size, diag, device=vec.device).unbind()
    flat = vec.new_zeros((*vec.shape[:-1], size * size))
    return flat.index_copy(-1, rows * size + columns, vec).unflatten(-1, (size, size))


# The names under which PyTorch has them, and libraries of distributions import them.
_standard_normal, _sum_rightmost = standard_normal, sum_rightmost
