"""Orthogonal polynomials of a degree that is a number or a tensor: ``torch.special``.

A recurrence leads from each degree to the next. Chebyshev's of a high degree have a closed form.
Gradients are not defined, as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.op_engine.argument_values import every_value
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import FUNCTIONS, SPECIAL
from tensorbus.op_engine.operands import EITHER, NUMBERS, check_operands
from tensorbus.op_engine.out import CAST
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.public import with_out
from tensorbus.ops.pointwise.special import widened, widest
from tensorbus.rows.registry import row

First = Callable[[Any, Any], tuple[Any, Any]]
"""What the steps multiply with, and the polynomial of degree 1, from F and x."""
Step = Callable[[Any, int, Any, Any, Any], Any]
"""The polynomial of degree k + 1 from F, k, that factor and those of the degrees k - 1 and k."""

_HIGH = 32
"""Above this degree Chebyshev's polynomials are computed by their closed form."""


def _operands(name: str, input: Any, n: Any) -> tuple[Tensor, Any, dtypes.dtype]:
    """Both, *n* whole, and the dtype of the result; in the widest one where *n* is a tensor."""
    check_operands(f"special_{name}", name, input, n)
    d = result_type(input, n)
    if d.is_complex:
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_name(d)}'")
    d = d if d.category == dtypes.FLOAT else dtypes.get_default_dtype()
    kind = (input if isinstance(input, Tensor) else n)._k.of(d)
    if not isinstance(n, Tensor):
        return to_kind(input, kind), int(n), d
    wide = widest(kind)
    if isinstance(input, Tensor):
        x = to_kind(input, wide)
    else:
        x = FUNCTIONS["full"]((), float(input), dtype=wide.dtype, device=n._k.device)
    return *FUNCTIONS["broadcast_tensors"](x, to_kind(n, wide).trunc()), d


def _highest(n: Any) -> int:
    """The highest degree that is asked for."""
    if not isinstance(n, Tensor):
        return int(n)
    known = n._s.numel() and n._k.has_values
    return int(every_value(n.nan_to_num(-1.0, -1.0, -1.0)).max()) if known else 0


def _recurrence(F: Any, x: Any, family: str, n: int) -> Iterator[Any]:
    """The polynomials of the degrees 0 to n."""
    first, step = FAMILIES[family]
    before = F.add(F.mul(x, 0.0), 1.0)
    yield before
    factor, value = first(F, x)
    yield value
    for k in range(1, n):
        before, value = value, step(F, k, factor, before, value)
        yield value


def _of_degree(F: Any, x: Any, family: str, degree: int) -> Any:
    return next(islice(_recurrence(F, x, family, degree), degree, None))


row(
    "orthogonal_polynomial",
    "x:T, family, degree",
    "unary",
    doc="The polynomial of a family and of a degree, by the recurrence.",
    domain="ordered float",
    composite=lambda F, x, family, degree: widened(F, x, _of_degree, family, degree),
)


def _by_recurrence(x: Tensor, n: Any, family: str, highest: int) -> Tensor:
    """The polynomial of degree n, 0 below degree 0."""
    if not isinstance(n, Tensor):
        return core("orthogonal_polynomial")(x, family, n) if n >= 0 else x * 0.0
    where = core("where")
    found = x * 0.0
    for k, value in enumerate(islice(_recurrence(x._k.T, x, family, highest), highest + 1)):
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


def _chebyshev(family: str, closed: Any, shifted: bool) -> Any:
    def compute(x: Tensor, n: Any, d: dtypes.dtype) -> Tensor:
        highest = _highest(n)
        if highest <= _HIGH:
            return _by_recurrence(x, n, family, highest)
        low = _by_recurrence(x, n, family, _HIGH) if isinstance(n, Tensor) else None
        x = to_kind(x, widest(x._k))
        high = closed(x + x - 1.0 if shifted else x, n)
        return high if low is None else core("where")(n > _HIGH, high, low)

    return compute


def _plain(family: str, limited: bool = False) -> Any:
    def compute(x: Tensor, n: Any, d: dtypes.dtype) -> Tensor:
        # Hermite's polynomials of higher degrees are beyond the dtype, and no number in PyTorch.
        limit = (512 if d is dtypes.float64 else 128) if limited else math.inf
        highest = _highest(n)
        if highest <= limit:
            return _by_recurrence(x, n, family, highest)
        if not isinstance(n, Tensor):
            return x * math.nan
        found = _by_recurrence(x, n, family, int(limit))
        return found.masked_fill(n > limit, math.nan)

    return compute


def _doubled(less: float | None) -> First:
    """Twice x, and that with a number added to it."""

    def first(F: Any, x: Any) -> tuple[Any, Any]:
        twice = F.add(x, x)
        return twice, twice if less is None else F.sub(twice, less)

    return first


def _shifted(first: First) -> First:
    """The same of ``2 * x - 1``."""
    return lambda F, x: first(F, F.sub(F.add(x, x), 1.0))


def _less(F: Any, product: Any, before: Any, number: float, factor: Any) -> Any:
    """``product - before * number``, in their own arrays where no step is recorded."""
    if F.records or not len(product.shape):
        return F.sub(product, F.mul(before, number))
    own = before is not factor  # which the first of them may be
    return F.sub(product, F.mul(before, number, out=before if own else None), out=product)


def _chebyshev_step(F: Any, k: int, twice: Any, before: Any, value: Any) -> Any:
    product = F.mul(twice, value)
    if F.records or not len(product.shape):
        return F.sub(product, before)
    return F.sub(product, before, out=product)


def _hermite_step(F: Any, k: int, twice: Any, before: Any, value: Any) -> Any:
    return _less(F, F.mul(twice, value), before, 2.0 * k, twice)


def _probabilists_step(F: Any, k: int, x: Any, before: Any, value: Any) -> Any:
    return _less(F, F.mul(x, value), before, float(k), x)


def _laguerre_step(F: Any, k: int, x: Any, before: Any, value: Any) -> Any:
    product = F.mul(F.sub(F.number(2.0 * k + 1.0), x), value)
    return F.div(_less(F, product, before, float(k), x), k + 1.0)


def _legendre_step(F: Any, k: int, x: Any, before: Any, value: Any) -> Any:
    product = F.mul(F.mul(x, value), 2.0 * k + 1.0)
    return F.div(_less(F, product, before, float(k), x), k + 1.0)


_CHEBYSHEV: dict[str, First] = {
    "chebyshev_t": lambda F, x: (F.add(x, x), x),
    "chebyshev_u": _doubled(None),
    "chebyshev_v": _doubled(1.0),
    "chebyshev_w": _doubled(-1.0),
}
FAMILIES: dict[str, tuple[First, Step]] = {
    **{name: (first, _chebyshev_step) for name, first in _CHEBYSHEV.items()},
    **{f"shifted_{name}": (_shifted(first), _chebyshev_step)
       for name, first in _CHEBYSHEV.items()},
    "hermite_h": (_doubled(None), _hermite_step),
    "hermite_he": (lambda F, x: (x, x), _probabilists_step),
    "laguerre": (lambda F, x: (x, F.sub(F.number(1.0), x)), _laguerre_step),
    "legendre": (lambda F, x: (x, x), _legendre_step),
}  # fmt: skip

_KINDS: tuple[tuple[str, str, Any], ...] = (
    ("t", "first", _first_kind),
    ("u", "second", _second_kind),
    ("v", "third", lambda x, n: _second_kind(x, n) - _second_kind(x, n - 1)),
    ("w", "fourth", lambda x, n: _second_kind(x, n) + _second_kind(x, n - 1)),
)
for _letter, _kind, _closed in _KINDS:
    _doc = f"Chebyshev's polynomial of the {_kind} kind"
    _family = f"chebyshev_{_letter}"
    _publish(f"chebyshev_polynomial_{_letter}", _doc, _chebyshev(_family, _closed, False))
    _name = f"shifted_chebyshev_polynomial_{_letter}"
    _publish(_name, f"{_doc} on [0, 1],", _chebyshev(f"shifted_{_family}", _closed, True))
_publish("hermite_polynomial_h", "The physicists' Hermite polynomial", _plain("hermite_h", True))
_publish(
    "hermite_polynomial_he", "The probabilists' Hermite polynomial", _plain("hermite_he", True)
)
_publish("laguerre_polynomial_l", "The Laguerre polynomial", _plain("laguerre"))
_publish("legendre_polynomial_p", "The Legendre polynomial", _plain("legendre"))
