"""Orthogonal polynomials of a degree that is a number or a tensor: ``torch.special``.

A recurrence leads from each degree to the next. Chebyshev's of a high degree have a closed form.
Gradients are not defined, as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.op_engine.argument_values import every_value
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.op_engine.operands import EITHER, NUMBERS, check_operands
from tensorbus.op_engine.out import CAST
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.public import with_out
from tensorbus.ops.pointwise.declaring import SPECIAL
from tensorbus.ops.pointwise.special import widest

Step = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""The polynomial of degree k + 1 from k, x and those of the degrees k - 1 and k."""

_HIGH = 32
"""Above this degree Chebyshev's polynomials are computed by their closed form."""


def _operands(name: str, input: Any, n: Any) -> tuple[Tensor, Any, dtypes.dtype]:
    """Both in the widest floating point dtype, *n* whole, and the dtype of the result."""
    check_operands(f"special_{name}", name, input, n)
    d = result_type(input, n)
    if d.is_complex:
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_name(d)}'")
    d = d if d.category == dtypes.FLOAT else dtypes.get_default_dtype()
    kind = (input if isinstance(input, Tensor) else n)._k.of(d)
    wide = widest(kind)
    wide = kind if wide is kind else kind.of(wide.dtype)
    if isinstance(input, Tensor):
        x = to_kind(input, wide)
    else:
        x = FUNCTIONS["full"]((), float(input), dtype=wide.dtype, device=n._k.device)
    if isinstance(n, Tensor):
        return *FUNCTIONS["broadcast_tensors"](x, to_kind(n, wide).trunc()), d
    return x, int(n), d


def _highest(n: Any) -> int:
    """The highest degree that is asked for."""
    if not isinstance(n, Tensor):
        return int(n)
    known = n._s.numel() and n._k.has_values
    return int(every_value(n.nan_to_num(-1.0, -1.0, -1.0)).max()) if known else 0


def _by_recurrence(x: Tensor, n: Any, first: Tensor, step: Step, highest: int) -> Tensor:
    """The polynomial of degree n, 0 below degree 0."""
    before, value = x * 0.0 + 1.0, first
    if not isinstance(n, Tensor):
        if n <= 0:
            return before if n == 0 else x * 0.0
        for k in range(1, n):
            before, value = value, step(k, x, before, value)
        return value
    where = core("where")
    found = where(n == 0, before, before * 0.0)
    for k in range(1, highest + 1):
        if k > 1:
            before, value = value, step(k - 1, x, before, value)
        found = where(n == k, value, found)
    return found


def _second_kind(x: Tensor, n: Any) -> Tensor:
    """Chebyshev's polynomial of the second kind: ``sin((n + 1) * t) / sin(t)`` at ``cos(t)``."""
    where, a = core("where"), x.abs()
    root = ((1 - a) * (1 + a)).abs().sqrt()
    one = root == 0
    root = root.masked_fill(one, 1.0)
    inner = ((n + 1) * a.clamp(max=1.0).acos()).sin() / root
    outer = ((n + 1) * a.clamp(min=1.0).acosh()).sinh() / root
    value = where(one, root * (n + 1), where(a < 1, inner, outer))
    return where((x < 0) & (_odd(x, n)), -value, value)


def _first_kind(x: Tensor, n: Any) -> Tensor:
    where, a = core("where"), x.abs()
    inner, outer = (n * a.clamp(max=1.0).acos()).cos(), (n * a.clamp(min=1.0).acosh()).cosh()
    value = where(a < 1, inner, outer)
    return where((x < 0) & _odd(x, n), -value, value)


def _odd(x: Tensor, n: Any) -> Tensor:
    return (x * 0.0 + n) % 2 == 1


def _publish(name: str, doc: str, compute: Callable[[Tensor, Any, dtypes.dtype], Tensor]) -> None:
    def function(input: Any, n: Any) -> Tensor:
        with no_grad():
            x, degree, d = _operands(name, input, n)
            value = compute(x, degree, d)
            return to_kind(value, value._k.of(d))

    NUMBERS[name] = EITHER
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{doc} of degree *n* at *input*, 0 where *n* is negative; the operands broadcast.\n\n"
        "One of both may be a number. A fraction of *n* is cut off. There are no gradients."
    )
    SPECIAL[name] = with_out(function, f"special_{name}", CAST)


def _chebyshev(first: Callable[[Tensor], Tensor], closed: Any, shifted: bool) -> Any:
    def compute(x: Tensor, n: Any, d: dtypes.dtype) -> Tensor:
        if shifted:
            x = x + x - 1.0
        highest = _highest(n)
        if highest <= _HIGH:
            return _by_recurrence(x, n, first(x), _chebyshev_step, highest)
        if not isinstance(n, Tensor):
            return closed(x, n)
        low = _by_recurrence(x, n, first(x), _chebyshev_step, _HIGH)
        return core("where")(n > _HIGH, closed(x, n), low)

    return compute


def _chebyshev_step(k: int, x: Tensor, before: Tensor, value: Tensor) -> Tensor:
    return (x + x) * value - before


def _plain(first: Callable[[Tensor], Tensor], step: Step, limited: bool = False) -> Any:
    def compute(x: Tensor, n: Any, d: dtypes.dtype) -> Tensor:
        # Hermite's polynomials of higher degrees are beyond the dtype, and no number in PyTorch.
        limit = (512 if d is dtypes.float64 else 128) if limited else math.inf
        highest = _highest(n)
        if highest <= limit:
            return _by_recurrence(x, n, first(x), step, highest)
        if not isinstance(n, Tensor):
            return x * math.nan
        found = _by_recurrence(x, n, first(x), step, int(limit))
        return found.masked_fill(n > limit, math.nan)

    return compute


_KINDS: tuple[tuple[str, str, Any, Any], ...] = (
    ("t", "first", lambda x: x, _first_kind),
    ("u", "second", lambda x: x + x, _second_kind),
    ("v", "third", lambda x: x + x - 1.0,
     lambda x, n: _second_kind(x, n) - _second_kind(x, n - 1)),
    ("w", "fourth", lambda x: x + x + 1.0,
     lambda x, n: _second_kind(x, n) + _second_kind(x, n - 1)),
)  # fmt: skip
for _letter, _kind, _first, _closed in _KINDS:
    _doc = f"Chebyshev's polynomial of the {_kind} kind"
    _publish(f"chebyshev_polynomial_{_letter}", _doc, _chebyshev(_first, _closed, False))
    _name = f"shifted_chebyshev_polynomial_{_letter}"
    _publish(_name, f"{_doc} on [0, 1],", _chebyshev(_first, _closed, True))
_publish(
    "hermite_polynomial_h",
    "The physicists' Hermite polynomial",
    _plain(lambda x: x + x, lambda k, x, p, q: (x + x) * q - p * (2.0 * k), True),
)
_publish(
    "hermite_polynomial_he",
    "The probabilists' Hermite polynomial",
    _plain(lambda x: x, lambda k, x, p, q: x * q - p * float(k), True),
)
_publish(
    "laguerre_polynomial_l",
    "The Laguerre polynomial",
    _plain(lambda x: 1.0 - x, lambda k, x, p, q: ((2.0 * k + 1.0 - x) * q - p * k) / (k + 1.0)),
)
_publish(
    "legendre_polynomial_p",
    "The Legendre polynomial",
    _plain(lambda x: x, lambda k, x, p, q: (x * q * (2.0 * k + 1.0) - p * k) / (k + 1.0)),
)
