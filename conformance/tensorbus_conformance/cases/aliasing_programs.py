"""Programs that write into views of a copy of x (3, 4), scaled by w (4,), and the same over NumPy.

One function serves for both where both spell it alike; else a pair has the device's and NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance.cases.aliasing import on

Program = Callable[[Any, Any], Any]


def _copy(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x.clone()


def _row(x: Any, w: Any) -> Any:
    b = _copy(x)
    b[1] = w
    return b * b


def _row_scaled(x: Any, w: Any) -> Any:
    b = _copy(x)
    b[1] *= w
    return b * b


def _column(x: Any, w: Any) -> Any:
    b = _copy(x)
    b.T[2] = w[:3] * x[:, 0]
    return b * x


def _chain(x: Any, w: Any) -> Any:
    b = _copy(x)
    v = b[1:][:, ::2]
    v *= w[:2]
    v[0] += x[0, :2]
    return b * b


def _twice(x: Any, w: Any) -> Any:
    b = _copy(x)
    b[0] *= w
    b[:2] *= w
    return b * b[0]


def _base_first(x: Any, w: Any) -> Any:
    """The view is older than the write to its base, and follows it."""
    b = _copy(x)
    v = b[1]
    b *= w
    return v * v


def _constant(x: Any, w: Any) -> Any:
    """A view whose base came to require a gradient after the view was made."""
    b = x * 0 if isinstance(x, np.ndarray) else tensorbus.zeros_like(x)
    v = b[1:]
    b += x * w
    v[0] = 3.0
    return b * b


def _stale_copy(x: Any, w: Any) -> Any:
    b = x * 0 if isinstance(x, np.ndarray) else tensorbus.zeros_like(x)
    v = b[0]
    b += x * w
    if isinstance(x, np.ndarray):
        v[...] = 2.0
    else:
        v.copy_(tensorbus.full_like(w, 2.0, requires_grad=False))
    return b * b


def _stale_method(write: Callable[[Any], Any]) -> Program:
    """The same through a method that writes constants into the old view."""

    def program(x: Any, w: Any) -> Any:
        b = tensorbus.zeros_like(x)
        v = b[1:, 1:]
        b += x * w
        write(v)
        return b * b

    return program


def _stale_here(write: Callable[[np.ndarray], Any]) -> Program:
    def program(x: Any, w: Any) -> Any:
        b = x * w
        write(b[1:, 1:])
        return b * b

    return program


def _constant_scaled(x: Any, w: Any) -> Any:
    """Constants that become a product keep what they were for the gradient of the factor."""
    b = 0 * x + 2 if isinstance(x, np.ndarray) else tensorbus.full_like(x, 2.0)
    b *= w
    b[1] *= x[0]
    return b * b


def _constant_view_scaled(x: Any, w: Any) -> Any:
    b = 0 * x + 2 if isinstance(x, np.ndarray) else tensorbus.full_like(x, 2.0)
    v = b[1:]
    v[0] *= w
    v *= x[1:]
    return b * b


def _constant_power(x: Any, w: Any) -> Any:
    if isinstance(x, np.ndarray):
        return (0 * x + 2) ** w
    return tensorbus.full_like(x, 2.0).pow_(w)


def _constant_product_here(x: Any, w: Any) -> Any:
    b = 0 * w + 2
    b[[0, 2]] *= w[:2]
    return b * b


def _constant_product(x: Any, w: Any) -> Any:
    b = tensorbus.full_like(w, 2.0)
    b.scatter_(0, on(x, [0, 2]), w[:2], reduce="multiply")
    return b * b


def _zeroed(v: np.ndarray) -> None:
    v[...] = 0


def _first_zeroed(v: np.ndarray) -> None:
    v[0] = 0


def _corner_zeroed(v: np.ndarray) -> None:
    v[0, 2] = 0


def _permuted(x: Any, w: Any) -> Any:
    """A base whose own dimensions lie in another order."""
    b = _copy(x.T)
    b[1:3] *= w[:3]
    b[0] = w[:3]
    return b * b


def _written_source(x: Any, w: Any) -> Any:
    b = _copy(x)
    b[0] = _copy(b[1]) * w
    b[1] = _copy(b[0]) * w
    return b


def _overlapping(x: Any, w: Any) -> Any:
    b = x * w
    b[1:] = _copy(b[:-1]) if isinstance(b, np.ndarray) else b[:-1]
    return b * x


def _masked(x: Any, w: Any) -> Any:
    b = x * x
    mask = np.array([True, False, True])
    b[mask if isinstance(x, np.ndarray) else on(x, mask.tolist())] = w
    return b * w


def _indexed(x: Any, w: Any) -> Any:
    b = x * x
    indices = [2, 0]
    b[1:, indices if isinstance(x, np.ndarray) else on(x, indices)] = w[:2]
    return b * w


def _added(x: Any, w: Any) -> Any:
    b = _copy(x)
    b[:, 1] += w[:3]
    b[:, 1] *= _copy(b[:, 2])
    return b * b


def _unsqueezed(x: Any, w: Any) -> Any:
    b = x * w
    b.unsqueeze_(1)
    b[:, 0, 1] = w[:3]
    b.squeeze_(1)
    b.t_()
    return b * b


def _unsqueezed_here(x: Any, w: Any) -> Any:
    b = x * w
    b[:, 1] = w[:3]
    return b.T * b.T


def _set_window(b: Any, value: Any) -> Any:
    b.reshape(-1)[[1, 2, 6, 7]] = np.asarray(value).reshape(-1)
    return b


def _diagonal_set(b: np.ndarray, value: np.ndarray) -> np.ndarray:
    for i in range(3):
        b[i, i + 1] = value[i]
    return b


def _method(write: Callable[[Any, Any, Any], Any]) -> Program:
    """A program over tensors alone that writes into a copy of x."""

    def program(x: Any, w: Any) -> Any:
        b = x * w
        write(b, x, w)
        return b * b

    return program


def _host(write: Callable[[np.ndarray, np.ndarray, np.ndarray], Any]) -> Program:
    def program(x: Any, w: Any) -> Any:
        b = x * w
        write(b, x, w)
        return b * b

    return program


def _scatter_here(b: np.ndarray, x: np.ndarray, w: np.ndarray) -> None:
    b[[2, 0], [1, 1]] = w[:2]


def _index_add_here(b: np.ndarray, x: np.ndarray, w: np.ndarray) -> None:
    for i, column in enumerate([2, 2, 0]):
        b[:, column] += x[:, i]


def _fill_diagonal_here(b: np.ndarray, x: np.ndarray, w: np.ndarray) -> None:
    np.fill_diagonal(b, 2.0)


def _put_here(b: np.ndarray, x: np.ndarray, w: np.ndarray) -> None:
    b.T[1, 0], b.T[2, 1] = w[0], w[1]


def _old_view(read: Callable[[Any], Any]) -> Program:
    """What reads a view that is older than the history of its base."""

    def program(x: Any, w: Any) -> Any:
        b = tensorbus.zeros_like(x)
        v = b[1]
        b += x * w
        return read(v) * w

    return program


def _assigned(v: Any, index: Any) -> Any:
    made = tensorbus.zeros_like(v.detach())
    made[index if isinstance(index, slice) else on(v, index)] = v
    return made


def _old_row(x: Any, w: Any) -> Any:
    return (x * w)[1] * w


def _multiplied(part: np.ndarray, by: np.ndarray) -> None:
    part *= by


PROGRAMS: dict[str, Any] = {
    "row": _row,
    "row-scaled": _row_scaled,
    "column": _column,
    "chain": _chain,
    "twice": _twice,
    "base-first": _base_first,
    "constant-into-old-view": _constant,
    "copy-into-old-view": _stale_copy,
    "zero-into-old-view": (_stale_method(lambda v: v.zero_()), _stale_here(_zeroed)),
    "fill-into-old-view": (_stale_method(lambda v: v.fill_(0)), _stale_here(_zeroed)),
    "setitem-into-old-view": (
        _stale_method(lambda v: v.__setitem__(0, 0)), _stale_here(_first_zeroed)),
    "mask-into-old-view": (
        _stale_method(lambda v: v.masked_fill_(on(v, [[True] * 3, [False] * 3]), 0.0)),
        _stale_here(_first_zeroed)),
    "index-into-old-view": (
        _stale_method(lambda v: v.index_fill_(0, on(v, [0]), 0.0)), _stale_here(_first_zeroed)),
    "index-copy-into-old-view": (
        _stale_method(lambda v: v.index_copy_(0, on(v, [0]), on(v, [[0.0] * 3]))),
        _stale_here(_first_zeroed)),
    "list-into-old-view": (
        _stale_method(lambda v: v.__setitem__([0], 0.0)), _stale_here(_first_zeroed)),
    "scatter-into-old-view": (
        _stale_method(lambda v: v.scatter_(1, on(v, [[2]]), 0.0)), _stale_here(_corner_zeroed)),
    "multiply-old-view": (_stale_method(lambda v: v.mul_(0)), _stale_here(_zeroed)),
    "constant-scaled": _constant_scaled,
    "constant-view-scaled": _constant_view_scaled,
    "constant-power": _constant_power,
    "constant-scattered": (_constant_product, _constant_product_here),
    "old-view-joined": (_old_view(lambda v: tensorbus.cat([v])), _old_row),
    "old-view-stacked": (_old_view(lambda v: tensorbus.stack([v])[0]), _old_row),
    "old-view-cast": (
        _old_view(lambda v: v.to(v.dtype, copy=True)), _old_row),
    "old-view-copied": (_old_view(lambda v: tensorbus.zeros_like(v.detach()).copy_(v)), _old_row),
    "old-view-assigned": (_old_view(lambda v: _assigned(v, slice(None))), _old_row),
    "old-view-put": (_old_view(lambda v: _assigned(v, [0, 1, 2, 3])), _old_row),
    "old-view-scattered": (
        _old_view(lambda v: tensorbus.zeros_like(v.detach()).scatter_(
            0, on(v, [0, 1, 2, 3]), v)), _old_row),
    "old-view-indexed": (_old_view(lambda v: v[on(v, [0, 1, 2, 3])]), _old_row),
    "old-view-masked": (_old_view(lambda v: v[on(v, [True] * 4)]), _old_row),
    "old-view-viewed": (_old_view(lambda v: v[None, :][0]), _old_row),
    "old-view-summed": (
        _old_view(lambda v: v.sum()), lambda x, w: (x * w)[1].sum() * w),
    "permuted": _permuted,
    "written-source": _written_source,
    "overlapping": _overlapping,
    "masked": _masked,
    "indexed": _indexed,
    "added": _added,
    "shapes-in-place": (_unsqueezed, _unsqueezed_here),
    "diagonal": (
        _method(lambda b, x, w: b.diagonal(1).copy_(w[:3])),
        _host(lambda b, x, w: _diagonal_set(b, w[:3]))),
    "diagonal-of-transposed": (
        _method(lambda b, x, w: b.t().diagonal(-1).mul_(x[0, :3])),
        _host(lambda b, x, w: _diagonal_set(b, b[[0, 1, 2], [1, 2, 3]] * x[0, :3]))),
    "window": (
        _method(lambda b, x, w: b.as_strided((2, 2), (5, 1), 1).copy_(x[:2, :2])),
        _host(lambda b, x, w: _set_window(b, x[:2, :2]))),
    "window-of-view": (
        _method(lambda b, x, w: b[1:].as_strided((2, 2), (5, 1), 1).copy_(x[:2, :2])),
        _host(lambda b, x, w: _set_window(b, x[:2, :2]))),
    "window-read": (
        lambda x, w: (x * w)[:, 1:].as_strided((2, 2), (4, 1), 2) * w[:2],
        lambda x, w: (x * w)[:2, 2:] * w[:2]),
    "window-read-twice": (
        lambda x, w: (x * w).t()[1:].as_strided((2, 2), (1, 1), 5) * w[0],
        lambda x, w: np.lib.stride_tricks.sliding_window_view((x * w)[1, 1:], 2) * w[0]),
    "diagonal-read": (
        lambda x, w: (x * w).t().diagonal(-1) * w[:3], lambda x, w: np.diagonal(x * w, 1) * w[:3]),
    "windows-read": (
        lambda x, w: (x * w).t().unfold(0, 2, 1) * w[0],
        lambda x, w: np.lib.stride_tricks.sliding_window_view((x * w).T, 2, axis=0) * w[0]),
    "fill-diagonal": (
        _method(lambda b, x, w: b.fill_diagonal_(2.0)), _host(_fill_diagonal_here)),
    "scattered": (
        _method(lambda b, x, w: b[:, 1].scatter_(0, on(b, [2, 0]), w[:2])), _host(_scatter_here)),
    "index-added": (
        _method(lambda b, x, w: b.t().index_add_(0, on(b, [2, 2, 0]), x.t()[:3])),
        _host(_index_add_here)),
    "put": (_method(lambda b, x, w: b.t().put_(on(b, [3, 7]), w[:2])), _host(_put_here)),
    "whole-zeroed": (_method(lambda b, x, w: b.zero_()), _host(lambda b, x, w: _zeroed(b))),
    "whole-copied": (
        _method(lambda b, x, w: b.copy_(w)), _host(lambda b, x, w: b.__setitem__(..., w))),
    "real": (
        _method(lambda b, x, w: b.view(4, 3)[1].mul_(w[:3])),
        _host(lambda b, x, w: _multiplied(b.reshape(-1)[3:6], w[:3]))),
}  # fmt: skip
