"""Public functions check their arguments by the types that their annotations name.

PyTorch refuses ``keepdim=1``, ``dim=True`` and ``dim=0.0`` before a function runs, and takes
NumPy's integers and 0-dim tensors where it wants numbers. ``checked`` puts such a check before a
function: a few tests of types, written as text when the function is first called.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, Union

from tensorbus._base import dtypes
from tensorbus._base.errors import no_tensor
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_forms import form_lines, form_names, mixed_error, with_lists
from tensorbus.op_engine.argument_values import (
    as_float,
    as_int,
    as_number,
    bool_or_ints,
    check_many,
    checker,
    dtype_of,
    int_or_ints,
    ints_of,
    none,
    operand,
    tensors_of,
)

_T = TypeVar("_T")
Given = Union[_T, None]  # noqa: UP007 -- a name for it, which takes a type
"""The annotation of an argument that may be left out, but not be None where it is given."""

_UNSET = object()
_SIZES = frozenset([
    "diagonal", "groups", "ignore_index", "index", "k", "length", "m", "minlength", "n",
    "num_samples", "output_size", "padding_idx", "split_size",
])  # fmt: skip
"""The ints that PyTorch also takes from tensors and arrays of one element, of any rank."""
_TENSORS = frozenset(["matrices", "tensors"])
"""Any number of tensors: one by one, or as one sequence."""
_NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims"}
"""NumPy's argument names, which PyTorch takes too."""
_INTS = frozenset(["int", "Sequence[int]", "int | Sequence[int]", "int | Tensor"])
"""The annotations of integers, of which none may have more than 64 bits."""
_PLACES = frozenset(["dim", "dim0", "dim1", "end", "index", "length", "start", "step"])
"""The ints that are looked up in a shape: those beyond 64 bits make the function itself fail."""
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

    def _first(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.made()(*args, **kwargs)

    def made(self) -> Callable[..., Any]:
        """The function itself."""
        if self.write is not None:
            self.call, self.write = self.write(), None
        return self.call


def checked(
    f: Callable[..., Any], name: str, method: bool = False, forms: tuple[str, ...] = ()
) -> Late:
    """*f* behind a check of its arguments; a *method*'s positions are counted after ``self``.

    The *forms* say which arguments go together, where not all do.
    """
    write = asks(f, method) or forms
    return Late(f, (lambda: _written(f, name, method, forms)) if write else None)


def asks(f: Callable[..., Any], method: bool) -> bool:
    """Whether there is anything to check, or to rename, in the arguments of a function."""
    notes = [(n, _parts(str(a))[0]) for n, a in f.__annotations__.items() if n != "return"]
    return any(note in _CHECKS or n in _NUMPY_NAMES or n in _TENSORS for n, note in notes[method:])


def _parts(annotation: str) -> tuple[str, bool]:
    """The type that an annotation names, and whether None is allowed too."""
    plain = annotation.removesuffix(" | None")
    if plain.startswith("Given["):
        return plain[len("Given[") : -1], False
    return plain, plain != annotation


def _written(
    f: Callable[..., Any], name: str, method: bool, forms: tuple[str, ...] = ()
) -> Callable[..., Any]:
    parameters = list(inspect.signature(f).parameters.values())
    lists: list[str] = []
    if not method:
        parameters, lists = with_lists(parameters)
    code = inspect.unwrap(f).__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if options := [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in own]:
        # A factory, which looks at its options itself.
        parameters = [p for p in parameters if p not in options and p.kind is not p.VAR_KEYWORD]
        parameters.append(inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD))
    if method:
        forms = tuple(form.replace(", out=", "") for form in forms)
    unset = set(form_names(forms))
    unset.update(p.name for p in parameters if str(p.annotation).startswith("Given["))
    stars = [p for p in parameters if p.kind is p.VAR_POSITIONAL]
    renamed = {} if stars else {p.name: p.name in _NUMPY_NAMES for p in parameters}
    positional: list[str] = []
    keywords: list[str] = []
    passed: list[str] = []
    factors, without_factors = getattr(f, "older_form", ((), None))
    renames = _unfactored(parameters, factors, name, method)
    lines: list[str] = []
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
        passed.append(f"{p.name}={p.name}" if named or p.name in lists else p.name)
        required = p.default is p.empty
        late = late or renamed.get(p.name, False)
        if late or not required:
            left_out = required or p.name in unset
            namespace[f"default_{p.name}"] = _UNSET if left_out else p.default
        text = f"{p.name}=default_{p.name}" if late or not required else p.name
        (keywords if named else positional).append(text)
        if renamed.get(p.name):
            theirs = _NUMPY_NAMES[p.name]
            renames += [
                f"    if {theirs} is not unset:",
                f"        if {p.name} is not default_{p.name}:",
                f"            twice({name!r}, {p.name!r})",
                f"        {p.name} = {theirs}",
            ]
        if late and required:
            renames += [f"    if {p.name} is unset:", f"        missing({name!r}, {p.name!r})"]
        if not position and str(p.annotation) == "Any":  # takes numbers too, but not as a method
            lines += [f"    if not isinstance({p.name}, Tensor):"]
            lines += [f"        explain({name!r}, {p.name}, ())"]
        # The tensor of a method is one.
        check = _check_text(p, name, None if named else position) if position else []
        if p.name in unset:
            namespace[f"missing_{p.name}"] = p.default
            lines += [f"    if {p.name} is unset:", f"        {p.name} = missing_{p.name}"]
            check = [check[0].replace("if", "elif", 1), *check[1:]] if check else []
        lines += check
    if forms:
        renames += form_lines(name, forms)
        keywords += ["out=unset"] * ("out" in unset)
    keywords += [f"{_NUMPY_NAMES[n]}=unset" for n, both in renamed.items() if both]
    star = [f"*{p.name}" for p in stars] or ["*more"] * bool(factors) or ["*"] * bool(keywords)
    rest = [f"**{p.name}" for p in parameters if p.kind is p.VAR_KEYWORD]
    head = ", ".join([*positional, *star, *keywords, *rest])
    lines += _call_text(", ".join(passed), parameters, name, method)
    source = "\n".join([f"def made({head}):", *renames, *lines])
    namespace.update({f"check_{k}": v for k, v in _CHECKERS.items()})
    namespace.update(missing=_missing, twice=_twice, mixed=_mixed, check_many=check_many)
    namespace.update(without_factors=without_factors, explain=explain)
    exec(compile(source, f"<arguments of {name}>", "exec"), namespace)
    made: Callable[..., Any] = functools.wraps(f)(namespace["made"])
    made.__name__ = made.__qualname__ = name  # in errors; the function may be a method too
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
    if note == "int" and p.name not in _PLACES:
        common += f" and {-(2**63)} <= {{0}} < {2**63}"
    allowed = [f"{p.name} is None"] * none + [common.format(p.name)]
    return [
        f"    if not ({' or '.join(allowed)}):",
        f"        {p.name} = check_{check}({p.name}, {function!r}, {p.name!r}, {position})",
    ]


def _missing(function: str, argument: str) -> None:
    raise TypeError(f"{function}() missing 1 required positional argument: '{argument}'")


def _twice(function: str, argument: str) -> None:
    raise TypeError(f"{function}() got multiple values for argument '{argument}'")


def _mixed(function: str, /, **arguments: Any) -> None:
    raise mixed_error(function, {n: v for n, v in arguments.items() if v is not _UNSET})


_CHECKS = {
    "Tensor": ("isinstance({}, Tensor)", "tensor"),
    "Sequence[Tensor]": ("False", "tensors"),
    "bool": ("{0} is True or {0} is False", "bool"),
    "int": ("type({0}) is int", "int"),
    "float": ("type({}) is float", "float"),
    "complex": ("type({0}) is float or type({0}) is int", "number"),
    "str": ("isinstance({}, str)", "str"),
    "Sequence[int]": ("False", "ints"),
    "int | Sequence[int]": ("type({}) is int", "int_or_ints"),
    "int | Tensor": ("type({0}) is int or isinstance({0}, Tensor)", "int"),
    "bool | int | Sequence[int]": ("type({}) is int", "bool_or_ints"),
    "Tensor | complex": (
        "isinstance({0}, Tensor) or type({0}) is float or type({0}) is int",
        "operand",
    ),
    "dtypes.dtype": ("type({}) is dtype", "dtype"),
}
"""For a type's name: the test of the common case, and who looks at the rest."""

_CHECKERS = {
    "tensor": checker("Tensor", none),
    "tensors": tensors_of,
    "bool": checker("bool", none),
    "int": checker("int", as_int),
    "size": checker("int", lambda value: as_int(value, any_rank=True)),
    "ints": ints_of,
    "int_or_ints": int_or_ints,
    "bool_or_ints": bool_or_ints,
    "operand": checker("Tensor", lambda value: operand(value)),
    "float": checker("float", as_float),
    "number": checker("Number", as_number),
    "str": checker("str", none),
    "dtype": dtype_of,
}


def takes(annotation: str, cls: type, name: str) -> None:
    """Check parameters with an annotation for instances of a class, which errors call *name*."""

    def fit(value: Any) -> Any:
        return value if isinstance(value, cls) else None

    _CHECKS[annotation] = ("False", annotation)
    _CHECKERS[annotation] = checker(name, fit)
