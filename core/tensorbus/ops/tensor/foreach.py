"""``torch._foreach_add`` and its like: one operation on each tensor of a list.

>>> import tensorbus as torch
>>> torch._foreach_mul([torch.tensor(2.0), torch.tensor(3.0)], [10.0, 100.0])
(tensor(20.), tensor(300.))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorbus._tensor.tensor import Tensor

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 "
    "neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
).split()
_WITH_OTHERS = (
    "add addcdiv addcmul clamp_max clamp_min div lerp maximum minimum mul pow sub"
).split()
_METHODS = {"maximum": "clamp_min", "minimum": "clamp_max", "max": "amax"}
"""The methods that are called otherwise, and take numbers too."""
_FACTORS = {"addcdiv", "addcmul"}
"""Where what follows the two lists of tensors is the keyword ``value``."""


def _checked(tensors: Sequence[Any]) -> int:
    if not len(tensors):
        raise RuntimeError("Tensor list must have at least one tensor.")
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(tensor).__name__}"
            )
    return len(tensors)


def _spread(argument: Any, count: int) -> Sequence[Any]:
    """An argument for each tensor of the list: a list has one for each."""
    if not isinstance(argument, (list, tuple)):
        return [argument] * count
    if len(argument) == count:
        return argument
    if any(isinstance(value, Tensor) for value in argument):
        raise RuntimeError(
            f"Tensor lists must have the same number of tensors, got {count} and {len(argument)}"
        )
    raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def _values(given: Any) -> Any:
    """The numbers of a tensor that gives one for each member."""
    return given.tolist() if isinstance(given, Tensor) and given.dim() == 1 else given


def _function(op: str, in_place: bool) -> Callable[..., Any]:
    method = _METHODS.get(op, op) + ("_" if in_place else "")

    def run(self: Any, *others: Any, **named: Any) -> Any:
        if isinstance(self, (int, float, complex)):  # a number to the power of each
            count = _checked(others[0])
            return tuple(self**other for other in others[0])
        count = _checked(self)
        if op in _FACTORS:
            factors = [named.pop("value")] if "value" in named else list(others[2:])
            scalars = named.pop("scalars", factors[0] if factors else 1)
            others, named = others[:2], {"value": _values(scalars)}
        columns = [_spread(other, count) for other in others]
        options = {name: _spread(value, count) for name, value in named.items()}
        results = [
            getattr(tensor, method)(
                *(column[i] for column in columns),
                **{name: values[i] for name, values in options.items()},
            )
            for i, tensor in enumerate(self)
        ]
        return self if in_place else tuple(results)

    run.__name__ = run.__qualname__ = f"_foreach_{op}" + ("_" if in_place else "")
    run.__doc__ = f"``Tensor.{op}`` of each tensor of a list."
    return run


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> Any:
    """The norm of each tensor of a list."""
    _checked(self)
    return tuple(tensor.norm(p=ord, dtype=dtype) for tensor in self)


def _foreach_zero_(self: Any) -> Any:
    """Make each tensor of a list zero."""
    _checked(self)
    for tensor in self:
        tensor.zero_()
    return self


def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Copy the values of a list's tensors into those of another."""
    for tensor, values in zip(self, _spread(src, _checked(self)), strict=True):
        tensor.copy_(values, non_blocking)
    return self


NAMES = (
    *(f"_foreach_{op}{end}" for op in (*_UNARY, *_WITH_OTHERS) for end in ("", "_")),
    *(f"_foreach_{op}" for op in ("clone", "copy_", "max", "norm", "zero_")),
)


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    op = name.removeprefix("_foreach_")
    made = globals()[name] = _function(op.removesuffix("_"), op.endswith("_"))
    return made


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[Any, Any]:
    """The tensors of several lists, grouped by the device and dtype of the first list's.

    For each pair ``(lists, indices)``: as many lists, of the tensors that are of this pair, and
    their places if *with_indices*.
    """
    groups: dict[Any, tuple[list[list[Tensor | None]], list[int]]] = {}
    for i, first in enumerate(tensorlistlist[0]):
        if first is None:
            raise RuntimeError("Tensors of the first list must not be None")
        key = (first.device, first.dtype)
        lists, places = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for found, given in zip(lists, tensorlistlist, strict=True):
            if given:
                found.append(given[i])
        if with_indices:
            places.append(i)
    return groups


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The device types on which lists are one kernel: none."""
    return []


_get_fused_kernels_supported_devices = _get_foreach_kernels_supported_devices
