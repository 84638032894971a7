"""The arguments of a call, bound to a schema: checked, converted, with the defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base import formats
from tensorbus._device.device import device as Device
from tensorbus._tensor.tensor import Tensor
from tensorbus.library.schema import DTYPE, Argument, FunctionSchema, Type

Values = tuple[Any, ...]
"""A value for each argument of a schema, in its order."""


def bind(schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Values:
    """The values of a call; RuntimeError, with PyTorch's text, where they do not fit."""
    name = schema.name
    positional = sum(not a.kwarg_only for a in schema.arguments)
    total = len(args) + len(kwargs)
    if total > len(schema.arguments):
        raise RuntimeError(
            f"{name}() expected at most {len(schema.arguments)} argument(s) but received {total} "
            f"argument(s). Declaration: {schema}"
        )
    if len(args) > positional:
        raise RuntimeError(
            f"{name}() takes {positional} positional argument(s) but {len(args)} was/were given.  "
            f"Declaration: {schema}"
        )
    values: list[Any] = []
    used = 0
    for i, a in enumerate(schema.arguments):
        if i < len(args):
            if a.name in kwargs:
                raise RuntimeError(
                    f"Argument '{a.name}' specified both as positional and keyword argument. "
                    f"Schema: {schema}"
                )
            values.append(_checked(schema, i, a, args[i]))
        elif a.name in kwargs:
            used += 1
            values.append(_checked(schema, i, a, kwargs[a.name]))
        elif a.has_default_value():
            values.append(list(a.default_value) if type(a.default_value) is list else
                          a.default_value)  # fmt: skip
        else:
            raise RuntimeError(
                f"{name}() is missing value for argument '{a.name}'. Declaration: {schema}"
            )
    if used < len(kwargs):
        known = {a.name for a in schema.arguments}
        unknown = next(n for n in kwargs if n not in known)
        raise RuntimeError(
            f"Unknown keyword argument '{unknown}' for operator '{schema.full_name}'. "
            f"Schema: {schema}"
        )
    return tuple(values)


def split(schema: FunctionSchema, values: Values) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The values as a kernel is called with them: arguments by position, those by keyword."""
    args: list[Any] = []
    kwargs = {}
    for a, value in zip(schema.arguments, values, strict=True):
        if a.kwarg_only:
            kwargs[a.name] = value
        else:
            args.append(value)
    return tuple(args), kwargs


def shortened(schema: FunctionSchema, values: Values) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """As ``split``, without what is as the schema has it: so ``__torch_dispatch__`` sees a call."""
    args, kwargs = split(schema, values)
    n = len(args)
    while n and _is_default(schema.arguments[n - 1], args[n - 1]):
        n -= 1
    by_name = {a.name: a for a in schema.arguments}
    given = {name: v for name, v in kwargs.items() if not _is_default(by_name[name], v)}
    return args[:n], given


def _is_default(a: Argument, value: Any) -> bool:
    same = a.has_default_value() and type(value) is type(a.default_value)
    return same and bool(value == a.default_value)


def tensors_of(values: Any) -> list[Tensor]:
    """The tensors among the values, and in their lists."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif type(value) in (list, tuple):
            found += [t for t in value if isinstance(t, Tensor)]
    return found


class _Wrong(Exception):
    """A value is not of the type."""


def _checked(schema: FunctionSchema, i: int, a: Argument, value: Any) -> Any:
    try:
        return _converted(a.type, value)
    except _Wrong:
        raise RuntimeError(
            f"{schema.name}() Expected a value of type '{a.type}' for argument '{a.name}' but "
            f"instead found type '{type(value).__name__}'.\nPosition: {i}\nValue: {value!r}\n"
            f"Declaration: {schema}"
        ) from None


def _converted(type: Type, value: Any) -> Any:
    if not type.listed:
        return _item(type, value, type.optional or type.base == "Tensor")
    if value is None and type.whole_optional:
        return None
    if isinstance(value, (list, tuple)):
        return [_item(type, v, type.optional) for v in value]
    if type.sized is not None and not isinstance(value, Tensor):
        return [_item(type, value, type.optional)] * type.sized
    raise _Wrong


def _item(type: Type, value: Any, optional: bool) -> Any:
    if value is None and optional:
        return None
    return _CONVERSIONS[type.base](value)


def _number(value: Any) -> Any:
    """A number, which a tensor with one element is too."""
    if isinstance(value, Tensor) and not value.dim() and not value.requires_grad:
        return value.item()
    if hasattr(value, "dtype") and hasattr(value, "item") and not isinstance(value, Tensor):
        return value.item()
    return value


def _tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    raise _Wrong


def _integer(value: Any) -> int:
    value = _number(value)
    if isinstance(value, int):
        return int(value)
    if hasattr(value, "__index__") and not isinstance(value, Tensor):
        return int(value.__index__())
    raise _Wrong


def _real(value: Any) -> float:
    value = _number(value)
    if isinstance(value, (int, float)):
        return float(value)
    raise _Wrong


def _truth(value: Any) -> bool:
    value = _number(value)
    if value is None or isinstance(value, (int, float)):
        return bool(value)
    raise _Wrong


def _scalar(value: Any) -> Any:
    value = _number(value)
    if isinstance(value, (int, float, complex)):
        return value
    raise _Wrong


def _device(value: Any) -> Device:
    if isinstance(value, (str, int, Device)) and not isinstance(value, bool):
        return Device(value)
    raise _Wrong


def _instance(*types: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if isinstance(value, types):
            return value
        raise _Wrong

    return check


def _generator(value: Any) -> Any:
    from tensorbus.random import Generator  # here: few ops have one

    return _instance(Generator)(value)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "Tensor": _tensor,
    "int": _integer,
    "SymInt": _integer,
    "float": _real,
    "bool": _truth,
    "str": _instance(str),
    "Scalar": _scalar,
    "ScalarType": _instance(DTYPE),
    "Device": _device,
    "Layout": _instance(formats.layout),
    "MemoryFormat": _instance(formats.memory_format),
    "Generator": _generator,
}


def check_results(schema: FunctionSchema, made: Any) -> Any:
    """What a kernel returned, which must be what the schema says; RuntimeError."""
    returns = schema.returns
    if not returns:
        if made is not None:
            raise RuntimeError(
                f"Expected the kernel for {schema.full_name} to return None but it returned "
                f"{type(made).__name__}."
            )
        return None
    several = len(returns) > 1 or schema.single
    if several and (not isinstance(made, (tuple, list)) or len(made) != len(returns)):
        raise RuntimeError(
            f"The kernel for {schema.full_name} must return {len(returns)} values, but it returned "
            f"{_described(made)}. Declaration: {schema}"
        )
    results = tuple(made) if several else (made,)
    for a, value in zip(returns, results, strict=True):
        try:
            _converted(a.type, value)
        except _Wrong:
            raise RuntimeError(
                f"Unable to cast {value!r} to {a.type}: the kernel for {schema.full_name} returned "
                f"a value of type '{type(value).__name__}'. Declaration: {schema}"
            ) from None
    return results if several else made


def _described(made: Any) -> str:
    if isinstance(made, (tuple, list)):
        return f"{len(made)}"
    return f"an object of type '{type(made).__name__}'"
