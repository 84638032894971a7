"""Schemas of ops: ``mylib::add(Tensor x, float y=1.0, *, str how="fast") -> Tensor`` and the like.

A type is a base such as ``Tensor`` or ``int``, perhaps marked as one that may be None (``?``), and
perhaps a list of such (``[]``, ``[2]``). ``Tensor(a!)`` is written to, ``Tensor(a)`` is a view.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from tensorbus._base import dtypes
from tensorbus._device.device import device as Device

BASES = {
    "Tensor": "Tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool",
    "str": "str", "Scalar": "Scalar", "ScalarType": "dtype", "Device": "Device",
    "Layout": "Layout", "MemoryFormat": "MemoryFormat", "Generator": "Generator",
}  # fmt: skip
"""The types that a schema names, and how an error calls them."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"[^"]*"|'[^']*')|(?P<arrow>->)
    |(?P<number>[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|inf|nan))
    |(?P<name>[A-Za-z_][\w]*(?:::[A-Za-z_]\w*)?(?:\.[A-Za-z_]\w*)?)|(?P<mark>[^\s]))""",
    re.X,
)


class Type:
    """The type of an argument or a result."""

    def __init__(
        self, base: str, optional: bool, sized: int | None, listed: bool, whole_optional: bool
    ):
        self.base = base
        self.optional = optional
        """Whether it, or each item of the list, may be None."""
        self.listed = listed
        self.sized = sized
        """The length of the list where a single item stands for all."""
        self.whole_optional = whole_optional
        """Whether the list itself may be None."""

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, or a list of tensors."""
        return self.base == "Tensor"

    def text(self, alias: str = "") -> str:
        """As a schema writes it."""
        made = self.base + alias + "?" * self.optional
        if self.listed:
            made += f"[{'' if self.sized is None else self.sized}]" + "?" * self.whole_optional
        return made

    def __str__(self) -> str:
        made = BASES[self.base]
        if self.optional:
            made = f"Optional[{made}]"
        if self.listed:
            made = f"List[{made}]"
        return f"Optional[{made}]" if self.whole_optional else made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(self.text())


class AliasInfo:
    """What an argument or result shares memory with."""

    def __init__(self, name: str, is_write: bool):
        self.before_set = self.after_set = {f"alias::{name}"}
        self.is_write = is_write
        self.name = name


class Argument:
    """An argument of an op, or one of its results."""

    def __init__(self, name: str, type: Type, alias_info: AliasInfo | None):
        self.name = name
        self.type = type
        self.alias_info = alias_info
        self.kwarg_only = False
        self.default_value: Any = None
        self._has_default = False

    @property
    def is_write(self) -> bool:
        """Whether the op writes to it."""
        return self.alias_info is not None and self.alias_info.is_write

    def has_default_value(self) -> bool:
        """Whether a call may leave it out."""
        return self._has_default

    def set_default(self, value: Any) -> None:
        """Let calls leave it out."""
        self.default_value, self._has_default = value, True

    def __str__(self) -> str:
        alias = self.alias_info
        made = self.type.text(f"({alias.name}{'!' * alias.is_write})" if alias else "")
        if self.name:
            made += f" {self.name}"
        return made + (f"={_shown(self.default_value)}" if self._has_default else "")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value).removeprefix("torch.")


class FunctionSchema:
    """The name of an op, its arguments and its results."""

    def __init__(
        self, name: str, overload: str, arguments: list[Argument], returns: list[Argument]
    ):
        self.name = name
        self.overload_name = overload
        self.arguments = arguments
        self.returns = returns
        self.single = False
        """Whether the one result was written in parentheses of its own, and is a tuple."""

    @property
    def is_mutable(self) -> bool:
        """Whether it writes to an argument."""
        return any(a.is_write for a in self.arguments)

    @property
    def returns_views(self) -> bool:
        """Whether a result is a view of an argument."""
        return any(r.alias_info is not None and not r.is_write for r in self.returns)

    @property
    def is_functional(self) -> bool:
        """Whether it only computes new results."""
        return not self.is_mutable and not self.returns_views and bool(self.returns)

    @property
    def full_name(self) -> str:
        """The name with the overload's."""
        return f"{self.name}.{self.overload_name}" if self.overload_name else self.name

    def __str__(self) -> str:
        parts: list[str] = []
        for a in self.arguments:
            if a.kwarg_only and "*" not in parts:
                parts.append("*")
            parts.append(str(a))
        results = ", ".join(map(str, self.returns))
        if len(self.returns) != 1 or self.single:
            results = f"({results})"
        return f"{self.full_name}({', '.join(parts)}) -> {results}"

    __repr__ = __str__


def parse_schema(text: str, namespace: str = "") -> FunctionSchema:
    """The schema in a text; RuntimeError that shows the place where it is none.

    >>> import tensorbus
    >>> schema = tensorbus.parse_schema("ns::op(Tensor x, int n=2) -> Tensor")
    >>> schema.name, [a.name for a in schema.arguments]
    ('ns::op', ['x', 'n'])
    """
    return _Parser(text).schema(namespace)


class _Parser:
    def __init__(self, text: str):
        self.text = text
        self.tokens = list(self._tokens())
        self.at = 0

    def _tokens(self) -> Iterator[tuple[str, str, int]]:
        place = 0
        while (found := _TOKEN.match(self.text, place)) is not None:
            kind = str(found.lastgroup)
            yield kind, found.group(kind), found.start(kind)
            place = found.end()
        yield "end", "", len(self.text)

    def fail(self, what: str) -> NoReturn:
        _, found, place = self.tokens[self.at]
        marks = " " * place + "~" * max(1, len(found))
        raise RuntimeError(f"{what}:\n{self.text}\n{marks} <--- HERE\n")

    def take(self, wanted: str = "") -> str:
        """The next token, which must be *wanted* if that is given."""
        _, found, _ = self.tokens[self.at]
        if wanted and found != wanted:
            self.fail(f"expected {wanted} but found '{found or 'eof'}' here")
        self.at += 1
        return found

    def has(self, mark: str) -> bool:
        """Whether the next token is *mark*; then it is taken."""
        if self.tokens[self.at][1] != mark:
            return False
        self.at += 1
        return True

    def word(self) -> str:
        if self.tokens[self.at][0] != "name":
            self.fail(f"expected ident but found '{self.tokens[self.at][1] or 'eof'}' here")
        return self.take()

    def schema(self, namespace: str) -> FunctionSchema:
        name, _, overload = self.word().partition(".")
        if "::" not in name:
            name = f"{namespace}::{name}"
        arguments: list[Argument] = []
        self.take("(")
        keyword = False
        while not self.has(")"):
            if arguments or keyword:
                self.take(",")
            if not keyword and self.has("*"):
                keyword = True
                continue
            made = self.argument(True)
            made.kwarg_only = keyword
            arguments.append(made)
        self.take("->")
        schema = FunctionSchema(name, overload, arguments, [])
        if self.has("("):
            schema.single = self.has("(")
            while not self.has(")"):
                if schema.returns:
                    self.take(",")
                schema.returns.append(self.argument(False))
            if schema.single:
                self.take(")")
        else:
            schema.returns.append(self.argument(False))
        if self.tokens[self.at][0] != "end":
            self.fail(f"expected eof but found '{self.tokens[self.at][1]}' here")
        return schema

    def argument(self, named: bool) -> Argument:
        base = self.tokens[self.at][1]
        if base not in BASES:
            self.fail(
                "\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, "
                "float, bool, Scalar"
            )
        self.take()
        alias = None
        if self.has("("):
            name = self.word()
            alias = AliasInfo(name, self.has("!"))
            self.take(")")
        optional, listed, size, whole = self.has("?"), False, None, False
        if self.has("["):
            listed = True
            if not self.has("]"):
                size = int(self.take())
                self.take("]")
            whole = self.has("?")
        made = Argument("", Type(base, optional, size, listed, whole), alias)
        if named or self.tokens[self.at][0] == "name":
            made.name = self.word()
        if named and self.has("="):
            made.set_default(self.default(made.type))
        return made

    def default(self, type: Type) -> Any:
        if self.has("["):
            items: list[Any] = []
            while not self.has("]"):
                if items:
                    self.take(",")
                items.append(self.value(type))
            return items
        value = self.value(type)
        return [value] * type.sized if type.sized and value is not None else value

    def value(self, type: Type) -> Any:
        kind, found, _ = self.tokens[self.at]
        if kind == "name" and found in ("None", "True", "False"):
            self.take()
            return {"None": None, "True": True, "False": False}[found]
        base = BASES[type.base]
        if kind == "string":
            self.take()
            return Device(found[1:-1]) if base == "Device" else found[1:-1]
        if base == "dtype" and kind == "name" and isinstance(getattr(dtypes, found, None), DTYPE):
            self.take()
            return getattr(dtypes, found)
        if kind != "number":
            self.fail(f"expected number but found '{found or 'eof'}' here")
        self.take()
        whole = base == "int" or (base == "Scalar" and found.lstrip("+-").isdigit())
        return int(found) if whole else float(found)


DTYPE = type(dtypes.float32)
