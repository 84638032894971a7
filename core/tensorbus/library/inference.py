"""The schema of a function, from its annotations: ``infer_schema``."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Callable, Iterable, Sequence
from types import GenericAlias
from typing import Any, NoReturn

from tensorbus._base.dtypes import dtype
from tensorbus._device.device import device
from tensorbus._tensor.tensor import Tensor
from tensorbus.library.tags import Tag, tuple_of

Number = int | float | bool


def _parameter_types() -> dict[Any, str]:
    """Each annotation that a parameter may have, and what stands for it in a schema."""
    found: dict[Any, str] = {}
    for base, name, lists, lists_of_optional, optional_lists in (
        (Tensor, "Tensor", True, True, False),
        (int, "SymInt", True, False, True),
        (float, "float", True, False, True),
        (bool, "bool", True, False, True),
        (str, "str", False, False, False),
        (Number, "Scalar", True, False, False),
        (dtype, "ScalarType", False, False, False),
        (device, "Device", False, False, False),
    ):
        optional: Any = typing.Optional[base]  # noqa: UP045 (it is what programs write)
        found[base], found[optional] = name, f"{name}?"
        if lists:
            found.update((t, f"{name}[]") for t in _sequences(base))
        if lists_of_optional:
            found.update((t, f"{name}?[]") for t in _sequences(optional))
        if optional_lists:
            whole: list[Any] = [typing.Optional[t] for t in _sequences(base)]  # noqa: UP045
            found.update((t, f"{name}[]?") for t in whole)
    return found


def _sequences(item: Any) -> list[Any]:
    return [
        typing.Sequence[item],
        typing.List[item],  # noqa: UP006
        GenericAlias(collections.abc.Sequence, (item,)),
        GenericAlias(list, (item,)),
    ]


PARAMETER_TYPES = _parameter_types()
RETURN_TYPES: dict[Any, str] = {
    Tensor: "Tensor",
    typing.List[Tensor]: "Tensor[]",  # noqa: UP006
    list[Tensor]: "Tensor[]",
    int: "SymInt",
    float: "float",
    bool: "bool",
    Number: "Scalar",
}


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Tag | Sequence[Tag] | None = (),
) -> str:
    """The schema that a function's annotations say, as ``define`` takes it.

    *mutates_args* names the arguments that the function writes to, or is ``"unknown"``: then it
    may be all tensors. With *op_name* the schema begins with that name. ValueError for annotations
    and defaults that no schema has.

    >>> import tensorbus as torch
    >>> def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor: ...
    >>> torch.library.infer_schema(scaled, op_name="scaled", mutates_args=())
    'scaled(Tensor x, float by=2.0) -> Tensor'
    """
    written = mutates_args if isinstance(mutates_args, str) else tuple(mutates_args)
    return f"{op_name or ''}{_Inferred(prototype_function, written, tuple_of(tags)).schema()}"


class _Inferred:
    def __init__(self, f: Any, written: str | tuple[str, ...], tags: tuple[Tag, ...]):
        self.f = f
        self.signature = inspect.signature(f)
        self.written = written
        self.in_place, self.out = Tag.inplace in tags, Tag.out in tags
        self.outputs: list[tuple[str, str]] = []
        """The name and the alias of each argument that an op with ``Tag.out`` fills."""
        if self.in_place and self.out:
            raise AssertionError("torch.Tag.inplace and torch.Tag.out are mutually exclusive")

    def fail(self, what: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {self.signature})")

    def schema(self) -> str:
        parts: list[str] = []
        first: tuple[str, str, str] | None = None
        for i, (name, parameter) in enumerate(self.signature.parameters.items()):
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                self.fail("We do not support positional-only args, varargs, or varkwargs.")
            if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
                parts.append("*")
            type = self._type(name, parameter)
            if first is None and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                first = name, type, f"a{i}"
            if self._writes(name, type):
                type = f"Tensor(a{i}!){type[len('Tensor') :]}"
                self._check_output(i, name, type, parameter)
            parts.append(f"{type} {name}" + self._default(name, parameter))
        self._check_names()
        return f"({', '.join(parts)}) -> {self._results(first)}"

    def _type(self, name: str, parameter: inspect.Parameter) -> str:
        if parameter.annotation is parameter.empty:
            self.fail(f"Parameter {name} must have a type annotation.")
        found = self.evaluated(parameter.annotation)
        if found in PARAMETER_TYPES:
            return PARAMETER_TYPES[found]
        told = f"Parameter {name} has unsupported type {parameter.annotation}. "
        if getattr(found, "__origin__", None) is tuple:
            listed = _list_for(found)
            told += (
                "We do not support Tuple inputs in schema. As a workaround, please try to use List "
                "instead. "
            ) + (f"For example, {listed}.\n\n" if listed in PARAMETER_TYPES else "\n\n")
        self.fail(f"{told}The valid types are: {PARAMETER_TYPES.keys()}.")

    def evaluated(self, annotation: Any) -> Any:
        """An annotation with the texts in it read as types."""
        if isinstance(annotation, str):
            try:
                return eval(annotation, self.f.__globals__)
            except NameError as error:
                self.fail(
                    f"Unsupported type annotation {annotation}. It is not a type. ({error}). If "
                    "you are using 'from __future__ import annotations', note that annotations "
                    "are evaluated lazily as strings; make sure all types referenced in "
                    "annotations are importable at module scope, not only inside a local function."
                )
            except Exception as error:
                self.fail(
                    f"Unsupported type annotation {annotation}. It is not a type. "
                    f"({type(error).__name__}: {error})"
                )
        origin, given = typing.get_origin(annotation), typing.get_args(annotation)
        made = tuple(self.evaluated(a) for a in given)
        changed = any(new is not old for new, old in zip(made, given, strict=True))
        return GenericAlias(origin, made) if origin and changed else annotation

    def _writes(self, name: str, type: str) -> bool:
        if isinstance(self.written, str):
            if self.written != "unknown":
                raise ValueError(
                    "mutates_args must either be a sequence of the names of the arguments that are "
                    "mutated or the string 'unknown'. "
                )
            return type.startswith("Tensor")
        if name in self.written and not type.startswith("Tensor"):
            self.fail(
                f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors "
                "can be mutated"
            )
        return name in self.written

    def _check_output(self, i: int, name: str, type: str, parameter: inspect.Parameter) -> None:
        if self.out:
            if parameter.kind is not parameter.KEYWORD_ONLY:
                self.fail("torch.Tag.out requires mutable arguments to be keyword-only.")
            if type != f"Tensor(a{i}!)":
                self.fail("torch.Tag.out only supports mutable keyword-only Tensor arguments.")
            self.outputs.append((name, f"a{i}"))

    def _default(self, name: str, parameter: inspect.Parameter) -> str:
        value = parameter.default
        if value is parameter.empty:
            return ""
        if value is None or isinstance(value, (int, float)):
            return f"={value}"
        if isinstance(value, (str, device)):
            return f'="{value}"'
        if isinstance(value, dtype):
            return f"={str(value).removeprefix('torch.')}"
        self.fail(
            f"Parameter {name} has an unsupported default value type {type(value)}. Please file an "
            "issue on GitHub so we can prioritize this."
        )

    def _check_names(self) -> None:
        unknown = () if isinstance(self.written, str) else self.written
        missing = set(unknown) - set(self.signature.parameters)
        if missing:
            self.fail(
                f"{missing} in mutates_args were not found in the custom op's signature. "
                "mutates_args should contain the names of all args that the custom op mutates, or "
                "just the string 'unknown' if you don't know."
            )

    def _results(self, first: tuple[str, str, str] | None) -> str:
        annotation = self.evaluated(self.signature.return_annotation)
        if self.in_place:
            return self._returned_in_place(first, annotation)
        if self.out:
            return self._returned_outputs(annotation)
        return self._returned(annotation)

    def _returned(self, annotation: Any) -> str:
        if annotation is None:
            return "()"
        if annotation is inspect.Parameter.empty:
            self.fail("No return type annotation was provided. Please add one.")
        several = typing.get_origin(annotation) is tuple
        given = typing.get_args(annotation) if several else (annotation,)
        if any(each not in RETURN_TYPES for each in given):
            self.fail(
                f"Return has unsupported type {annotation}. The valid types are: {RETURN_TYPES}."
            )
        made = ", ".join(RETURN_TYPES[each] for each in given)
        if not several:
            return made
        return f"(({made}))" if len(given) == 1 else f"({made})"

    def _returned_in_place(self, first: tuple[str, str, str] | None, annotation: Any) -> str:
        if first is None:
            self.fail("torch.Tag.inplace requires a positional Tensor argument.")
        name, type, alias = first
        if type != "Tensor":
            self.fail("torch.Tag.inplace requires the first positional argument to be a Tensor.")
        if isinstance(self.written, str) or set(self.written) != {name}:
            self.fail(
                "torch.Tag.inplace requires mutates_args to contain exactly the first positional "
                f"argument, got {self.written}."
            )
        if self._returned(annotation) != "Tensor":
            self.fail("torch.Tag.inplace requires the return annotation to be torch.Tensor.")
        return f"Tensor({alias}!)"

    def _returned_outputs(self, annotation: Any) -> str:
        if not self.outputs:
            self.fail("torch.Tag.out requires at least one mutable keyword-only Tensor argument.")
        several = len(self.outputs) > 1
        given = typing.get_args(annotation) if several else (annotation,)
        fits = given == (Tensor,) * len(self.outputs)
        if not fits or (several and typing.get_origin(annotation) is not tuple):
            self.fail(
                "torch.Tag.out requires the return annotation to match the mutable keyword-only "
                f"Tensor arguments {tuple(name for name, _ in self.outputs)}."
            )
        made = ", ".join(f"Tensor({alias}!)" for _, alias in self.outputs)
        return f"({made})" if several else made


def _list_for(annotation: Any) -> Any:
    """The type of lists to use instead of one of tuples."""
    given = typing.get_args(annotation)
    if not given:
        return list
    if len(given) == 1 or given[1:] == (Ellipsis,):
        return GenericAlias(list, (given[0],))
    return GenericAlias(list, (typing.Union[given],))  # noqa: UP007
