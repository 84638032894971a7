"""Public functions check their arguments by the types that their annotations name.

PyTorch refuses ``keepdim=1``, ``dim=True`` and ``dim=0.0`` before a function runs, and takes
NumPy's integers and 0-dim tensors where it wants numbers. ``checked`` puts such a check before a
function: a few tests of types, written as text when the function is first called.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Union

from tensorbus._base import dtypes
from tensorbus._base.errors import no_tensor
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_forms import form_lines, form_names, mixed_error, with_lists
from tensorbus.op_engine.argument_values import (
    as_float,
    as_int,
    as_number,
    check_bits_of,
    check_many,
    checker,
    dtype_of,
    int_or_ints,
    ints_of,
    none,
    operand,
    tensors_of,
    whole,
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
_NUMPY_NAMES = {"dim": ("axis",), "keepdim": ("keepdims",)}
"""NumPy's argument names, which PyTorch takes too."""
_OWN = frozenset([
    "create_graph", "gradient", "inplace", "reduce", "reduction", "retain_graph", "return_indices",
    "size_average",
])  # fmt: skip
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


def also_named(**names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let arguments of a function be given under the names, too, that PyTorch's overloads have.

    Several names of one argument stand side by side: ``sections="sections indices"``.
    """

    def mark(f: Callable[..., Any]) -> Callable[..., Any]:
        f.other_names = {name: more.split() for name, more in names.items()}  # type: ignore[attr-defined]
        return f

    return mark


def either(
    argument: str, cls: type, other: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a value of class *cls* at the position of an argument, alone, be the keyword *other*."""

    def mark(f: Callable[..., Any]) -> Callable[..., Any]:
        f.either = argument, cls, other  # type: ignore[attr-defined]
        return f

    return mark


def one_by_one(argument: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a method take the ints of its last argument one by one, too: ``x.squeeze(0, 1)``."""

    def mark(f: Callable[..., Any]) -> Callable[..., Any]:
        f.one_by_one = argument  # type: ignore[attr-defined]
        return f

    return mark


def _other_names(f: Callable[..., Any]) -> dict[str, Sequence[str]]:
    return {**_NUMPY_NAMES, **getattr(f, "other_names", {})}


def asks(f: Callable[..., Any], method: bool) -> bool:
    """Whether there is anything to check, or to rename, in the arguments of a function."""
    notes = [(n, _parts(str(a))[0]) for n, a in f.__annotations__.items() if n != "return"]
    names = _other_names(f)
    return any(note in _CHECKS or n in names or n in _TENSORS for n, note in notes[method:])


@functools.cache
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
    renamed = {} if stars else _other_names(f)
    positional: list[str] = []
    keywords: list[str] = []
    passed: list[str] = []
    factors, without_factors = getattr(f, "older_form", ((), None))
    renames = _unfactored(parameters, factors, name, method)
    ints_apart = getattr(f, "one_by_one", "") if method else ""
    if ints_apart:
        renames += [f"    if more: {ints_apart} = joined({name!r}, {ints_apart}, more)"]
    shared, shared_by, alone = getattr(f, "either", ("", object, ""))
    lines: list[str] = []
    others: list[str] = []
    namespace: dict[str, Any] = {"function": f, "Tensor": Tensor, "unset": _UNSET}
    namespace.update(dtype=dtypes.dtype, shared_by=shared_by)
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
        late = late or p.name in renamed
        if late or not required:
            left_out = required or p.name in unset
            namespace[f"default_{p.name}"] = _UNSET if left_out else p.default
        text = f"{p.name}=default_{p.name}" if late or not required else p.name
        (keywords if named or p.name == shared else positional).append(text)
        if p.name == shared:
            p = p.replace(annotation=str(p.annotation).replace(f" | {shared_by.__name__}", ""))
            positional.append("_first=unset")
            free = " and ".join(f"{n} is unset" for n in form_names(forms) if n != "out")
            renames += [
                "    if _first is not unset:",
                f"        if isinstance(_first, shared_by) and {free}:",
                f"            {alone} = _first",
                f"        elif {shared} is not unset:",
                f"            twice({name!r}, {shared!r})",
                "        else:",
                f"            {shared} = _first",
            ]
        for theirs in renamed.get(p.name, ()):
            others.append(theirs)
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
            lines += [f"        raise no_tensor({name!r}, {p.name})"]
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
    keywords += [f"{name}=unset" for name in others]
    star = [f"*{p.name}" for p in stars] or ["*more"] * bool(factors or ints_apart)
    star = star or ["*"] * bool(keywords)
    rest = [f"**{p.name}" for p in parameters if p.kind is p.VAR_KEYWORD]
    head = ", ".join([*positional, *star, *keywords, *rest])
    if ints := [p.name for p in parameters if _parts(str(p.annotation))[0] in _INTS]:
        # All types are right before the bits count.
        bits = f"        check_bits_of({', '.join(ints)})"
        lines = ["    rare = False", *lines, "    if rare:", bits]
    lines += _call_text(", ".join(passed), parameters, name, method)
    source = "\n".join([f"def made({head}):", *renames, *lines])
    namespace.update({f"check_{k}": v for k, v in _CHECKERS.items()})
    namespace.update(missing=_missing, twice=_twice, mixed=_mixed, check_many=check_many)
    namespace.update(check_bits_of=check_bits_of, joined=_joined)
    namespace.update(without_factors=without_factors, no_tensor=no_tensor)
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
    named = ", ".join(f"{factor}={factor}" for factor in factors)
    return [
        "    if more:",
        f"        {given}, {values} = without_factors({function!r}, {tuple(tensors)},",
        f"            ({given}, *more), dict({named}), {method})",
    ]


def _call_text(
    passed: str, parameters: list[inspect.Parameter], function: str, method: bool
) -> list[str]:
    """The lines that call the function; a method fails where it is called on no tensor."""
    if not method:
        return [f"    return function({passed})"]
    tensor = parameters[0].name
    return [
        f"    try: return function({passed})",
        "    except Exception:",
        f"        if not isinstance({tensor}, Tensor):",
        f"            raise no_tensor({function!r}, {tensor}) from None",
        "        raise",
    ]


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
        *["        rare = True"] * (common.startswith(_INT)),
    ]


def _missing(function: str, argument: str) -> None:
    raise TypeError(f"{function}() missing 1 required positional argument: '{argument}'")


def _twice(function: str, argument: str) -> None:
    raise TypeError(f"{function}() got multiple values for argument '{argument}'")


def _joined(function: str, first: Any, more: tuple[Any, ...]) -> tuple[Any, ...]:
    """The ints of an argument that a method got one by one; TypeError where the first is none."""
    if as_int(first, any_rank=True) is None:
        given = ", ".join(type(value).__name__ for value in (first, *more))
        raise TypeError(
            f"{function}() received an invalid combination of arguments - got ({given}): it takes "
            "one int, a tuple of ints, or ints one by one"
        )
    return (first, *more)


def _mixed(function: str, /, **arguments: Any) -> None:
    raise mixed_error(function, {n: v for n, v in arguments.items() if v is not _UNSET})


_INT = f"type({{0}}) is int and {1 - 2**30} <= {{0}} < {2**30}"
"""The common integers, which Python compares fast; the rest may have more than 64 bits."""
_INTS = frozenset(["int", "int | Sequence[int]", "int | Tensor"])
"""The annotations of integers, of which none may have more than 64 bits."""
_CHECKS = {
    "Tensor": ("isinstance({}, Tensor)", "tensor"),
    "Sequence[Tensor]": ("False", "tensors"),
    "bool": ("{0} is True or {0} is False", "bool"),
    "int": (_INT, "int"),
    "float": ("type({}) is float", "float"),
    "complex": ("type({0}) is float or type({0}) is int", "number"),
    "str": ("isinstance({}, str)", "str"),
    "Sequence[int]": ("False", "ints"),
    "int | Sequence[int]": (_INT, "int_or_ints"),
    "int | Tensor": (f"{_INT} or isinstance({{0}}, Tensor)", "int"),
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
    "int": checker("int", whole),
    "size": checker("int", lambda value: whole(value, any_rank=True)),
    "ints": ints_of,
    "int_or_ints": int_or_ints,
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
