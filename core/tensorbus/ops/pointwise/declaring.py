"""How a pointwise op is declared: its row, function, methods, operators and in-place forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import DuckError, no_tensor, type_error
from tensorbus._base.modes import OVERRIDES
from tensorbus._dispatch.wrapping import wrap_number
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.op_engine.argument_values import as_number
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.asking_in_place import asked_in_place
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.in_place import in_place
from tensorbus.op_engine.mixed_operands import binary as mixed
from tensorbus.op_engine.mixed_operands import number_first
from tensorbus.op_engine.names import FUNCTIONS, METHODS, SPECIAL, Lazy
from tensorbus.op_engine.older_forms import without_factors
from tensorbus.op_engine.operands import BOTH, NUMBERS, check_operands
from tensorbus.op_engine.out import CAST, SAME, write_out
from tensorbus.op_engine.override import dispatch, overriding
from tensorbus.op_engine.pointwise_in_place import fast_binary
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.scalars import ANY_HOLDS, fitted
from tensorbus.rows.registry import ROWS, row


def _checked(name: str, value: Any, argument: str = "input") -> None:
    if not isinstance(value, Tensor):
        raise type_error(name, argument, 1, "Tensor", value)


def _given(out: Any, **keywords: Any) -> dict[str, Any]:
    """The keywords of a call, *out* where there is one."""
    return keywords if out is None else {**keywords, "out": out}


_OPERANDS = {"input": "x", "other": "y", "exponent": "y", "values": "y"}


def _of_row(doc: str) -> str:
    """What is said of the public arguments, said of the row's: names stand in `` or between *."""

    def renamed(quoted: re.Match[str]) -> str:
        return re.sub(r"[a-z]\w*", lambda name: _OPERANDS.get(name[0], name[0]), quoted[0])

    return re.sub(r"``[^`]+``|\*\w+\*", renamed, doc)


def unary(
    name: str,
    *,
    doc: str,
    x: Any = None,
    aliases: tuple[str, ...] = (),
    out: str | None = "",
    special: bool = False,
    argument: str = "input",
    **fields: Any,
) -> None:
    """Declare a pointwise op of one tensor, with everything that follows from it.

    *out* is the rule for the dtype of ``out=``, None where it is not taken: by default ``CAST``
    where the op computes in floating point, else ``SAME``. One that is *special* is a function of
    ``torch.special`` and nothing else; its *argument* may be named ``x``.
    """
    rule = out or (CAST if fields.get("domain") in ("float", "ordered float") else SAME)
    rules = {} if x is None else {"x": x}
    shown_name = f"special_{name}" if special else name
    doc = f"{doc}, element by element"
    row(name, "x:T", "unary", doc=f"{_of_row(doc)}.", **fields, **rules)

    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        if OVERRIDES.on and (asked := overriding((input, out))):
            return dispatch(shown, asked, (input,), _given(out))
        if type(input) is not Tensor:
            try:
                _checked(shown_name, input, argument)
            except DuckError:
                return shown(input, **_given(out))
        result = core(name)(input)
        return result if out is None else write_out(result, out, shown_name, rule)

    def without_out(input: Tensor) -> Tensor:
        return function(input)

    def of_x(x: Tensor, *, out: Tensor | None = None) -> Tensor:
        return function(x, out=out)

    def inplace(self: Tensor) -> Tensor:
        try:
            return in_place(self, core(name), ())
        except AttributeError:
            if isinstance(self, Tensor):
                raise
            raise no_tensor(name + "_", self) from None

    shown: Callable[..., Any] = function
    if out is None:
        shown = without_out
        shown.__doc__ = f"{doc}."
    else:
        shown = of_x if argument == "x" else function
        shown.__doc__ = f"{doc}; *out* receives the result where given."
    for f in (function, shown):
        f.__name__ = f.__qualname__ = name
    if special:
        SPECIAL[name] = shown
        return
    inplace.__name__ = inplace.__qualname__ = name + "_"
    inplace.__doc__ = f"In-place version of ``{name}``."
    for n in (name, *aliases):
        METHODS[n] = Lazy(n, lambda: core(name))
        if n.startswith("__"):
            continue  # an operator is a method alone
        FUNCTIONS[n] = shown
        if fields.get("result", "same") == "same":
            METHODS[n + "_"] = inplace


def binary(
    name: str,
    *,
    doc: str,
    operator: str = "",
    reverse: bool = True,
    inplace: bool = True,
    alpha: bool = False,
    numbers: str = BOTH,
    aliases: tuple[str, ...] = (),
    special: bool = False,
    **fields: Any,
) -> None:
    """Declare a pointwise op of two operands that broadcast, with everything that follows.

    *numbers* says which of its operands its functions take as numbers; operators take any. What is
    *special* is a function of ``torch.special`` and nothing else.
    """
    doc = f"{doc}; the operands broadcast"
    row(name, "x:T, y:T", "binary", doc=f"{_of_row(doc)}.", **fields)
    NUMBERS[name] = numbers
    shown_name = f"special_{name}" if special else name

    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        if OVERRIDES.on and (asked := overriding((input, other, out))):
            return dispatch(function, asked, (input, other), _given(out))
        if type(other) is not Tensor or type(input) is not Tensor:
            try:
                check_operands(shown_name, name, input, other)
            except DuckError:
                return function(input, other, out=out)
        result = (
            core(name)(input, other) if isinstance(input, Tensor) else _left(name, input, other)
        )
        if out is None:
            return result
        return write_out(result, out, shown_name, operands=(input, other))

    def method(self: Tensor, other: Any) -> Tensor:
        if OVERRIDES.on and (asked := overriding((self, other))):
            return dispatch(method, asked, (self, other), {})
        if type(other) is not Tensor or type(self) is not Tensor:
            try:
                check_operands(name, name, self, other, method=True)
            except DuckError:
                return method(self, other)
        return core(name)(self, other)

    if alpha:
        function, method = _scaled(name, function), _scaled_method(name, method)
    function.__doc__ = f"{doc}. *out* receives the result where given."
    method.__doc__ = f"{doc}."
    for f in (function, method):
        f.__name__ = f.__qualname__ = name
    if special:
        SPECIAL[name] = function
        return
    for n in (name, *aliases):
        FUNCTIONS[n] = function
        METHODS[n] = method
        if inplace and alpha:
            METHODS[n + "_"] = Lazy(n + "_", lambda: _scaled_in_place(name))
        elif inplace:
            METHODS[n + "_"] = Lazy(n + "_", lambda: fast_binary(name, numbers))
    if operator:
        METHODS[f"__{operator}__"] = Lazy(f"__{operator}__", lambda: core(name))
        if reverse:

            def reflected(self: Tensor, other: Any) -> Tensor:
                return _left(name, other, self)

            reflected.__doc__ = f"{doc}, where this tensor is the right operand."
            METHODS[f"__r{operator}__"] = reflected
            METHODS[f"__i{operator}__"] = Lazy(f"__i{operator}__", lambda: fast_binary(name))


def refuse_complex(text: str, error: type[Exception] = NotImplementedError) -> Callable[..., None]:
    """A check that no operand of an op is complex; *text* is PyTorch's."""

    def check(*operands: Any) -> None:
        if any(x._k.dtype.is_complex for x in operands if isinstance(x, Tensor)):
            raise error(text)

    return check


def refuse_whole(name: str) -> Callable[..., None]:
    """A check that the result of an op of two operands is in floating point by their dtypes."""

    def check(x: Any, y: Any) -> None:
        if result_type(x, y).category < dtypes.FLOAT:
            raise not_implemented(f"{name}_cpu", x)

    return check


_ONE = 1


def scaled(input: Any, other: Any, alpha: Any) -> Any:
    """``alpha * other`` in the dtype of the result, where PyTorch allows the factor."""
    d = result_type(input, other)
    if isinstance(alpha, bool) and d is not dtypes.bool:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and d.category < dtypes.FLOAT:
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if isinstance(alpha, complex) and not d.is_complex:
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )
    alpha = fitted(alpha, d)
    if not isinstance(other, Tensor):
        number = wrap_number(other, d) * alpha
        if d.category == dtypes.INTEGER:
            number %= 1 << 64
        return bool(number) if d is dtypes.bool else number
    if OVERRIDES.on and overriding((other,)):
        return other * alpha
    return core("mul")(to_kind(other, other._k.of(d)), alpha)


def _with_factor(
    function: str, op: str, given: tuple[Any, ...], alpha: Any, method: bool = False
) -> tuple[Any, Any]:
    """The two operands of a sum or difference, the second one scaled."""
    if len(given) > 2:
        first, second, alpha = without_factors(
            function, ("input", "other"), given, {"alpha": alpha}, method
        )
        given = (first, second)
    factor = as_number(alpha)
    if factor is None:
        raise type_error(function, "alpha", None, "Number", alpha)
    first, second = given
    check_operands(function, op, first, second, method=method)
    input, other = (x if isinstance(x, Tensor) else as_number(x) for x in given)
    if check := ROWS[op].check:
        check(input, other)
    return input, scaled(input, other, factor)


def _function(  # type: ignore[empty-body]
    input: Any, other: Any, *, alpha: complex = 1, out: Tensor | None = None
) -> Tensor: ...


def _method(self: Tensor, other: Any, *, alpha: complex = 1) -> Tensor: ...  # type: ignore[empty-body]


def _scaled(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def function(
        input: Any, other: Any, *more: Any, alpha: complex = 1, out: Tensor | None = None
    ) -> Tensor:
        if alpha is not _ONE or more:
            operands = input, other, *more
            if OVERRIDES.on and (asked := overriding((*operands, out))):
                return dispatch(function, asked, operands, _given(out, alpha=alpha))
            input, other = _with_factor(name, name, operands, alpha)
            if out is not None:
                return write_out(plain(input, other), out, name, operands=operands)
        return plain(input, other, out=out)

    function.__wrapped__ = _function  # type: ignore[attr-defined]
    return function


def _scaled_method(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tensor, other: Any, *more: Any, alpha: complex = 1) -> Tensor:
        if alpha is not _ONE or more:
            operands = self, other, *more
            if OVERRIDES.on and (asked := overriding(operands)):
                return dispatch(method, asked, operands, {"alpha": alpha})
            self, other = _with_factor(name, name, operands, alpha, method=True)
        return plain(self, other)

    method.__wrapped__ = _method  # type: ignore[attr-defined]
    return method


def _scaled_in_place(name: str) -> Callable[..., Any]:
    plain = fast_binary(name, BOTH)

    def form(self: Tensor, other: Any, *more: Any, alpha: complex = 1) -> Any:
        if alpha is _ONE and not more:
            return plain(self, other)
        try:
            k = self._k
        except AttributeError:
            raise no_tensor(name + "_", self) from None
        if (
            type(other) is Tensor
            and other._k is k
            and other._e is None
            and other._b is None
            and k.is_float
            and type(alpha) is float
            and -ANY_HOLDS < alpha < ANY_HOLDS
            and not more
        ):
            # A tensor for the product that skips the records of one: optimizers call this most.
            product = from_array(k.mul(other._a, k.const(alpha)), k)
            if product._s:
                return plain(self, product)
        operands, factor = (self, other, *more), {"alpha": alpha}
        if (answer := asked_in_place(name + "_", operands, factor)) is not NotImplemented:
            return answer
        return plain(*_with_factor(name + "_", name, operands, alpha, method=True))

    form.__wrapped__ = _method  # type: ignore[attr-defined]

    form.__name__ = form.__qualname__ = name + "_"
    form.__doc__ = f"In-place version of ``{name}``."
    return form


def _left(name: str, value: Any, tensor: Any) -> Any:
    """The op with a number on the left."""
    row = ROWS[name]
    if not isinstance(tensor, Tensor):
        return mixed(row, value, tensor)
    return core(name)(tensor, value) if row.commutes else number_first(row, value, tensor)
