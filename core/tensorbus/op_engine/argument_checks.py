"""Public functions check their arguments by the types that their annotations name.

PyTorch refuses ``keepdim=1``, ``dim=True`` and ``dim=0.0`` before a function runs, and takes
NumPy's integers and 0-dim tensors where it wants numbers. ``checked`` puts such a check before a
function: a few tests of types, written as text when the function is first called.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.errors import no_tensor, type_error
from tensorbus._tensor.tensor import Tensor

_UNSET = object()
_SIZES = frozenset(
    ["diagonal", "groups", "ignore_index", "index", "k", "length", "m", "n", "output_size",
     "padding_idx", "split_size"]
)  # fmt: skip
"""The ints that PyTorch also takes from tensors and arrays of one element, of any rank."""
_TENSORS = frozenset(["matrices", "tensors"])
"""Any number of tensors: one by one, or as one sequence."""
_NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims"}
"""NumPy's argument names, which PyTorch takes too."""
_INTS = frozenset(["int", "Sequence[int]", "int | Sequence[int]", "int | Tensor"])
"""The annotations of integers, of which none may have more than 64 bits."""
_OWN = frozenset(["inplace", "return_indices", "size_average", "reduce", "reduction"])
"""Arguments that a function looks at itself: flags of which the truth counts, names it lists."""


class Late:
    """A function to call by ``late.call(...)``; *write* makes it when it is first called."""

    __slots__ = ("call", "write")

    def __init__(
        self, f: Callable[..., Any], write: Callable[[], Callable[..., Any]] | None = None
    ):
        self.write = write
        self.call: Callable[..., Any] = f if write is None else self._first

    def _first(self, *args: Any, **kwargs: Any) -> Any:
        return self.made()(*args, **kwargs)

    def made(self) -> Callable[..., Any]:
        """The function itself."""
        if self.write is not None:
            self.call, self.write = self.write(), None
        return self.call


def checked(f: Callable[..., Any], name: str, method: bool = False) -> Late:
    """*f* behind a check of its arguments; a *method*'s positions are counted after ``self``."""
    return Late(f, (lambda: _written(f, name, method)) if asks(f, method) else None)


def asks(f: Callable[..., Any], method: bool) -> bool:
    """Whether there is anything to check, or to rename, in the arguments of a function."""
    notes = [(n, _parts(str(a))[0]) for n, a in f.__annotations__.items() if n != "return"]
    return any(note in _CHECKS or n in _NUMPY_NAMES or n in _TENSORS for n, note in notes[method:])


def _parts(annotation: str) -> tuple[str, bool]:
    """The type that an annotation names, and whether None is allowed too."""
    plain = annotation.removesuffix(" | None")
    return plain, plain != annotation


def _written(f: Callable[..., Any], name: str, method: bool) -> Callable[..., Any]:
    parameters = list(inspect.signature(f).parameters.values())
    code = inspect.unwrap(f).__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if options := [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in own]:
        # A factory, which looks at its options itself.
        parameters = [p for p in parameters if p not in options and p.kind is not p.VAR_KEYWORD]
        parameters.append(inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD))
    stars = [p for p in parameters if p.kind is p.VAR_POSITIONAL]
    renamed = {} if stars else {p.name: p.name in _NUMPY_NAMES for p in parameters}
    positional: list[str] = []
    keywords: list[str] = []
    passed: list[str] = []
    factors, without_factors = getattr(f, "older_form", ((), None))
    lines = _unfactored(parameters, factors, name, method)
    namespace: dict[str, Any] = {"function": f, "Tensor": Tensor, "unset": _UNSET}
    namespace["dtype"] = dtypes.dtype
    late = False  # whether what follows has a default value, so that this has to have one
    for position, p in enumerate(parameters, 1 - method):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            passed.append("*" * (1 + (p.kind is p.VAR_KEYWORD)) + p.name)
            if p.name in _TENSORS:
                lines.append(f"    check_many({p.name})")
            continue
        named = p.kind is p.KEYWORD_ONLY
        passed.append(f"{p.name}={p.name}" if named else p.name)
        required = p.default is p.empty
        late = late or renamed.get(p.name, False)
        if late or not required:
            namespace[f"default_{p.name}"] = _UNSET if required else p.default
        text = f"{p.name}=default_{p.name}" if late or not required else p.name
        (keywords if named else positional).append(text)
        if renamed.get(p.name):
            theirs = _NUMPY_NAMES[p.name]
            lines += [
                f"    if {theirs} is not unset:",
                f"        if {p.name} is not default_{p.name}:",
                f"            twice({name!r}, {p.name!r})",
                f"        {p.name} = {theirs}",
            ]
        if late and required:
            lines += [f"    if {p.name} is unset:", f"        missing({name!r}, {p.name!r})"]
        if not position and str(p.annotation) == "Any":  # takes numbers too, but not as a method
            lines += [f"    if not isinstance({p.name}, Tensor):"]
            lines += [f"        explain({name!r}, {p.name}, ())"]
        if position:  # the tensor of a method is one
            lines += _check_text(p, name, None if named else position)
    keywords += [f"{_NUMPY_NAMES[n]}=unset" for n, both in renamed.items() if both]
    star = [f"*{p.name}" for p in stars] or ["*more"] * bool(factors) or ["*"] * bool(keywords)
    rest = [f"**{p.name}" for p in parameters if p.kind is p.VAR_KEYWORD]
    head = ", ".join([*positional, *star, *keywords, *rest])
    lines += _call_text(", ".join(passed), parameters, name, method)
    source = "\n".join([f"def made({head}):", *lines])
    namespace.update({f"check_{k}": v for k, v in _CHECKERS.items()})
    namespace.update(missing=_missing, twice=_twice, check_many=check_many)
    namespace.update(without_factors=without_factors, explain=explain)
    exec(compile(source, f"<arguments of {name}>", "exec"), namespace)
    made: Callable[..., Any] = functools.wraps(f)(namespace["made"])
    if made.__name__[0] == "_":  # one of several functions of the public name
        made.__name__ = made.__qualname__ = name
    return made


def _unfactored(
    parameters: list[inspect.Parameter], factors: tuple[str, ...], function: str, method: bool
) -> list[str]:
    """The lines that take a call in PyTorch's older order."""
    if not factors:
        return []
    tensors = [p.name for p in parameters if p.name not in factors]
    given, values = ", ".join(tensors), ", ".join(factors)
    return [
        "    if more:",
        f"        {given}, {values} = without_factors(",
        f"            {function!r}, {len(tensors)}, ({given}, *more), ({values},), {method})",
    ]


def _call_text(
    passed: str, parameters: list[inspect.Parameter], function: str, method: bool
) -> list[str]:
    """The lines that call the function; what it raises may come of arguments not yet looked at."""
    ints = [p.name for p in parameters if _parts(str(p.annotation))[0] in _INTS]
    if not ints and not method:
        return [f"    return function({passed})"]
    tensor = parameters[0].name if method else "unset"
    given = "".join(f"({n!r}, {n}), " for n in ints)
    return [
        f"    try: return function({passed})",
        "    except Exception:",
        f"        explain({function!r}, {tensor}, ({given}))",
        "        raise",
    ]


def explain(function: str, tensor: Any, ints: tuple[tuple[str, Any], ...]) -> None:
    """The user's error where a method was called on no tensor, or an int is beyond 64 bits."""
    if tensor is not _UNSET and not isinstance(tensor, Tensor):
        raise no_tensor(function, tensor) from None
    for argument, value in ints:
        if isinstance(value, (tuple, list)):
            check_words(function, argument, value)
        elif type(value) is int and not -(1 << 63) <= value < 1 << 63:
            raise ValueError("Overflow when unpacking long long") from None


def check_words(function: str, argument: str, values: Any) -> None:
    """TypeError for an integer in a sequence that has more than 64 bits."""
    for at, value in enumerate(values):
        if type(value) is int and not -(1 << 63) <= value < 1 << 63:
            raise TypeError(
                f"{function}(): argument '{argument}' must be tuple of ints of 64 bits, but it has "
                f"{value} at pos {at}"
            ) from None


def _check_text(p: inspect.Parameter, function: str, position: int | None) -> list[str]:
    """The lines that test one argument; what is not the common case is looked at once more."""
    note, none = _parts(str(p.annotation))
    own = p.name in _OWN and (p.name, note) != ("reduce", "str")
    if note not in _CHECKS or own or p.name[0] == "_":
        return []
    common, check = _CHECKS[note]
    if note == "int" and p.name in _SIZES:
        check = "size"
    allowed = [f"{p.name} is None"] * none + [common.format(p.name)]
    return [
        f"    if not ({' or '.join(allowed)}):",
        f"        {p.name} = check_{check}({p.name}, {function!r}, {p.name!r}, {position})",
    ]


def _missing(function: str, argument: str) -> None:
    raise TypeError(f"{function}() missing 1 required positional argument: '{argument}'")


def _twice(function: str, argument: str) -> None:
    raise TypeError(f"{function}() got multiple values for argument '{argument}'")


# -- what is taken beside the common case ----------------------------------------------------
def is_number(value: Any, any_rank: bool = False) -> bool:
    """Whether a value is a tensor that stands for a number."""
    return (
        isinstance(value, Tensor)
        and not value.requires_grad
        and (not value._s or (any_rank and value._s.numel() == 1))
    )


def as_int(value: Any, any_rank: bool = False) -> int | None:
    """The int that a value stands for; None where PyTorch refuses it for one."""
    if isinstance(value, Tensor):
        whole = value._k.dtype.category == dtypes.INTEGER
        return int(value.item()) if whole and is_number(value, any_rank) else None
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, np.ndarray) and not any_rank):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def as_ints(value: Any) -> tuple[int, ...] | None:
    """The ints of a sequence; None where PyTorch refuses the value for such a one."""
    if not isinstance(value, (tuple, list)):
        return None
    found = tuple(n if type(n) is int else as_int(n, any_rank=True) for n in value)
    return None if None in found else found  # type: ignore[return-value]


def _operand(value: Any) -> Any:
    return value if isinstance(value, Tensor) else as_number(value)


def as_float(value: Any) -> Any:
    """The real number that a value stands for; None where PyTorch refuses it for one."""
    found = as_number(value)
    if isinstance(found, complex) and isinstance(value, Tensor):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if isinstance(found, int):
        return int(found) if -(1 << 63) <= found < 1 << 63 else float(found)
    return None if isinstance(found, complex) else found


def as_number(value: Any) -> Any:
    """The number that a value stands for; None where PyTorch refuses it for one."""
    if isinstance(value, (np.number, np.bool_)) or is_number(value):
        return value.item()
    return value if isinstance(value, (int, float, complex)) else None


def tensor_or_number(function: str, argument: str, position: int, value: Any) -> Any:
    """The value where it is a tensor, else the number that it stands for; TypeError."""
    found = value if isinstance(value, Tensor) else as_number(value)
    if found is None:
        raise type_error(function, argument, position, "Tensor", value)
    return found


def number_of(function: str, argument: str, position: int, value: Any) -> Any:
    """The number that a value stands for; TypeError."""
    found = as_number(value)
    if found is None:
        raise type_error(function, argument, position, "Number", value)
    return found


def _none(value: Any) -> None:
    """Nothing but the common case is taken."""


def _check(expected: str, fit: Callable[[Any], Any]) -> Callable[..., Any]:
    def check(value: Any, function: str, argument: str, position: int | None) -> Any:
        found = fit(value)
        if found is None:
            raise type_error(function, argument, position, expected, value)
        return found

    return check


def ints_of(value: Any, function: str, argument: str, position: int | None) -> tuple[int, ...]:
    """The ints of a sequence; TypeError for anything else, and for other elements."""
    if not isinstance(value, (tuple, list)):
        raise type_error(function, argument, position, "tuple of ints", value)
    found = []
    for at, element in enumerate(value):
        n = element if type(element) is int else as_int(element, any_rank=True)
        if at and element.__class__ is bool:  # PyTorch looks for truth values at the first only
            n = int(element)
        if n is None:
            where = "" if position is None else f" (position {position})"
            raise TypeError(
                f"{function}(): argument '{argument}'{where} must be tuple of ints, but found "
                f"element of type {type(element).__name__} at pos {at}"
            )
        found.append(n)
    return tuple(found)


def _int_or_ints(value: Any, function: str, argument: str, position: int | None) -> Any:
    if isinstance(value, (tuple, list)):
        return ints_of(value, function, argument, position)
    found = as_int(value, any_rank=True)
    return ints_of(value, function, argument, position) if found is None else found


def _tensors(value: Any, function: str, argument: str, position: int | None) -> Any:
    if not isinstance(value, (tuple, list)):
        raise type_error(function, argument, position, "tuple of Tensors", value)
    for i, element in enumerate(value):
        if not isinstance(element, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument {(position or 1) - 1}, "
                f"but got {type(element).__name__}"
            )
    return value


def check_many(tensors: Any) -> None:
    """TypeError for the first that is no tensor, of some tensors or of the one sequence of them."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    for i, element in enumerate(tensors):
        if not isinstance(element, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(element).__name__}"
            )


def _dtype(value: Any, function: str, argument: str, position: int | None) -> Any:
    return dtypes.checked(value, function)


_CHECKS = {
    "Tensor": ("isinstance({}, Tensor)", "tensor"),
    "Sequence[Tensor]": ("False", "tensors"),
    "bool": ("{0} is True or {0} is False", "bool"),
    "int": ("type({}) is int", "int"),
    "float": ("type({}) is float", "float"),
    "complex": ("type({0}) is float or type({0}) is int", "number"),
    "str": ("isinstance({}, str)", "str"),
    "Sequence[int]": ("False", "ints"),
    "int | Sequence[int]": ("type({}) is int", "int_or_ints"),
    "Tensor | complex": (
        "isinstance({0}, Tensor) or type({0}) is float or type({0}) is int",
        "operand",
    ),
    "dtypes.dtype": ("type({}) is dtype", "dtype"),
}
"""For a type's name: the test of the common case, and who looks at the rest."""

_CHECKERS = {
    "tensor": _check("Tensor", _none),
    "tensors": _tensors,
    "bool": _check("bool", _none),
    "int": _check("int", as_int),
    "size": _check("int", lambda value: as_int(value, any_rank=True)),
    "ints": ints_of,
    "int_or_ints": _int_or_ints,
    "operand": _check("Tensor", lambda value: _operand(value)),
    "float": _check("float", as_float),
    "number": _check("Number", as_number),
    "str": _check("str", _none),
    "dtype": _dtype,
}


def takes(annotation: str, cls: type, name: str) -> None:
    """Check parameters with an annotation for instances of a class, which errors call *name*."""

    def fit(value: Any) -> Any:
        return value if isinstance(value, cls) else None

    _CHECKS[annotation] = ("False", annotation)
    _CHECKERS[annotation] = _check(name, fit)
