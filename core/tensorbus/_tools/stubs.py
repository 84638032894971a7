"""Writes the type stubs: names that are made at run time, as type checkers and editors need them.

``scripts/stubs`` writes what ``stubs`` returns. Signatures, annotations and the first sentences of
documentation come from the functions themselves, imports from the modules that define them.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import math
import pkgutil
import re
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import tensorbus
from tensorbus import return_types
from tensorbus._base import dtypes
from tensorbus._tensor import tensor as _tensor
from tensorbus._tools.overloads import forms
from tensorbus.op_engine.names import FUNCTIONS, METHODS, Lazy
from tensorbus.op_engine.signatures import signature_with_out
from tensorbus.rows.registry import ROWS

HEADER = "# Made by scripts/stubs from the functions and methods in core/tensorbus: not edited.\n"

_PROTOCOL = {
    "__abs__": "Tensor", "__bool__": "bool", "__complex__": "complex", "__contains__": "bool",
    "__float__": "float", "__hash__": "int", "__index__": "int", "__int__": "int",
    "__getitem__": "Tensor", "__iter__": "Iterator[Tensor]", "__len__": "int",
    "__neg__": "Tensor", "__nonzero__": "bool", "__pos__": "Tensor",
}  # fmt: skip
"""What Python expects of a method whose own text does not say it."""

_ARITHMETIC = "add and floordiv lshift mod mul or pow rshift sub truediv xor".split()
_COMPARISONS = {f"__{name}__" for name in "eq ge gt le lt ne".split()}
_OPERATORS = {f"__{side}{name}__": side for side in ("", "r", "i") for name in _ARITHMETIC}
_OPERATORS.update(dict.fromkeys(_COMPARISONS, ""), __matmul__="", __rmatmul__="r")
"""Each operator's method, and what marks its form: in place, reflected, or neither."""

_OWN = {
    "Any": ("typing", "Any"),
    "Literal": ("typing", "Literal"),
    "NamedTuple": ("typing", "NamedTuple"),
    "Iterator": ("collections.abc", "Iterator"),
    "Self": ("typing", "Self"),
    "Sequence": ("collections.abc", "Sequence"),
    "Tensor": ("tensorbus._tensor.tensor", "Tensor"),
    "_Operand": ("tensorbus._tensor.tensor", "_Operand"),
    "device": ("tensorbus._device.device", "device"),
    "dtype": ("tensorbus._base.dtypes", "dtype"),
    "layout": ("tensorbus._base.formats", "layout"),
    "memory_format": ("tensorbus._base.formats", "memory_format"),
    "np": ("numpy", ""),
    "return_types": ("tensorbus", "return_types"),
    "overload": ("typing", "overload"),
    "tensortype": ("tensorbus.ops.creation.typed_constructors", "tensortype"),
}
"""The names that this module, overloads and factories write, and where they come from."""


def stubs() -> dict[Path, str]:
    """The files and their texts."""
    folder = Path(tensorbus.__path__[0])
    return {
        folder / "__init__.pyi": package_stub(),
        folder / "_tensor" / "tensor.pyi": tensor_stub(),
        folder / "linalg.pyi": functions_stub("tensorbus.linalg"),
        folder / "nn" / "functional" / "__init__.pyi": functions_stub("tensorbus.nn.functional"),
        folder / "return_types.pyi": results_stub(),
    }


def package_stub() -> str:
    """The package: what its text imports, what is reached later, dtypes, functions."""
    exported = {
        name: origin
        for name, origin in _origins("tensorbus").items()
        if not name.startswith("_") and origin[0].startswith("tensorbus.")
    }
    later = vars(tensorbus)["_LATER"]
    exported.update({n: (f"tensorbus.{m}", n) for n, m in later.items()})
    types = {n: v for n, v in vars(dtypes).items() if isinstance(v, dtypes.dtype)}
    submodules = {m.name for m in pkgutil.iter_modules(tensorbus.__path__)}
    submodules = {n for n in submodules if not n.startswith("_")} - set(exported)
    file = _File("tensorbus", {*exported, *types, *submodules, *FUNCTIONS})
    for name, (source, original) in exported.items():
        file.exports[source, original] = name
        file.imports.setdefault(source, set()).add(f"{original} as {name}")
    file.imports["tensorbus"] = {f"{n} as {n}" for n in submodules - set(FUNCTIONS)}
    file.lines += ["__version__: str", ""]
    file.lines += [f"{n}: {file.annotation('dtype')}" for n in sorted(types)]
    constants = {n: v for n, v in vars(tensorbus).items() if isinstance(v, float)}
    file.lines += [f"{n}: {file.annotation('float')}" for n in sorted(constants)]
    file.lines += ["newaxis: None"]
    for name, f in sorted(FUNCTIONS.items()):
        if isinstance(f, type):
            file.lines.append(f"{name}: {file.name(type(f).__name__)}")
        else:
            _define(file, name, f)
    file.lines += ["", f"__all__ = {sorted(tensorbus.__all__)!r}"]
    return file.text()


def tensor_stub() -> str:
    """The module of Tensor: the class with all its methods, and what else the module defines."""
    tree = ast.parse(inspect.getsource(_tensor))
    file = _File("tensorbus._tensor.tensor", METHODS)
    operand = "Tensor | complex | np.number[Any] | np.bool_"
    file.lines += [f"_Operand = {file.annotation(operand)}", ""]
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name == "Tensor":
            file.lines += ["class Tensor:", f'    """{_summary(_tensor.Tensor)}"""']
            for part in statement.body:
                if isinstance(part, ast.AnnAssign):
                    note = file.annotation(ast.unparse(part.annotation), file.module)
                    file.lines.append(f"    {ast.unparse(part.target)}: {note}")
                elif isinstance(part, ast.FunctionDef):
                    f = vars(_tensor.Tensor)[part.name]
                    bound = isinstance(f, (classmethod, staticmethod))
                    file.lines += ["    @classmethod"] * isinstance(f, classmethod)
                    _define(file, part.name, f.__func__ if bound else f, first="cls")
            for name, method in sorted(METHODS.items()):
                _member(file, name, method)
            file.lines.append("")
        elif isinstance(statement, ast.FunctionDef):
            _define(file, statement.name, vars(_tensor)[statement.name])
        elif isinstance(statement, ast.AnnAssign):
            note = file.annotation(ast.unparse(statement.annotation), file.module)
            file.lines.append(f"{ast.unparse(statement.target)}: {note}")
        elif isinstance(statement, ast.Assign):
            file.lines.append(ast.unparse(statement))
    return file.text()


def functions_stub(name: str) -> str:
    """A module of functions that are made at run time, and of classes that it only shows."""
    module = importlib.import_module(name)
    file = _File(name, module.__all__)
    for exported in module.__all__:
        found = vars(module)[exported]
        if isinstance(found, type):
            source, original = _origins(name)[exported]
            file.exports[source, original] = exported
            file.imports.setdefault(source, set()).add(f"{original} as {exported}")
        elif isinstance(found, dict):  # the numbers of modes
            file.lines.append(f"{exported}: dict[str, int]")
        else:
            _define(file, exported, found)
    file.lines += ["", f"__all__ = {module.__all__!r}"]
    return file.text()


def results_stub() -> str:
    """The classes of results with named parts."""
    classes = {n: c for n, c in vars(return_types).items() if hasattr(c, "_fields")}
    file = _File("tensorbus.return_types", classes)
    for name, cls in sorted(classes.items()):
        file.lines.append(f"class {name}({file.name('NamedTuple')}):")
        file.lines += [f"    {field}: {file.annotation('Tensor')}" for field in cls._fields]
    return file.text()


class _File:
    """The text of one stub: what it defines, and the imports that its annotations need."""

    def __init__(self, module: str, defined: Iterable[str]):
        self.module = module
        self.defined = set(defined)
        self.exports: dict[tuple[str, str], str] = {}
        self.imports: dict[str, set[str]] = {}
        self.lines: list[str] = []

    def name(self, name: str, module: str = "") -> str:
        """A name in an annotation of *module* (or of this one), as the file has to write it."""
        origin = (_origins(module).get(name) if module else None) or _OWN.get(name)
        if origin is None and not hasattr(builtins, name):
            raise NameError(f"{module}: an annotation names {name!r}, which nothing there defines")
        source, original = origin or ("builtins", name)
        if (source, original) in self.exports:
            return self.exports[source, original]
        if source == self.module or (source == "builtins" and name not in self.defined):
            return original
        local = f"_{name}" if name in self.defined else name
        if original:
            part = original if local == original else f"{original} as {local}"
            self.imports.setdefault(source, set()).add(part)
        else:
            self.imports.setdefault("", set()).add(f"import {source} as {local}")
        return local

    def annotation(self, text: str, module: str = "") -> str:
        """An annotation of *module* (or of this one) as the file has to write it."""
        # What may be left out, but not be None, has a default value and the type itself.
        tree = ast.parse(re.sub(r"\bGiven\[(.*)\]", r"\1", text), mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = self.name(node.id, module)
        return ast.unparse(tree)

    def text(self) -> str:
        """The whole file."""
        lines = sorted(self.imports.get("", ()))
        for source, names in sorted(self.imports.items(), key=lambda i: ("tensorbus" in i[0], i)):
            if source:
                lines += [f"from {source} import {name}" for name in sorted(names)]
        return "\n".join([HEADER, *lines, "", *self.lines]) + "\n"


@functools.cache
def _origins(module: str) -> dict[str, tuple[str, str]]:
    """For each name at the top of a module: the module that has it, and its name there."""
    found: dict[str, tuple[str, str]] = {}
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    for_checkers = [s for block in tree.body if isinstance(block, ast.If) for s in block.body]
    for statement in [*tree.body, *for_checkers]:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            source = statement.module
            if statement.names[0].name == "*":
                names = importlib.import_module(source).__all__
                found.update({name: (source, name) for name in names})
            else:
                found.update({a.asname or a.name: (source, a.name) for a in statement.names})
        elif isinstance(statement, ast.Import):
            found.update({a.asname or a.name: (a.name, "") for a in statement.names})
        elif isinstance(statement, ast.ClassDef):
            found[statement.name] = (module, statement.name)
        elif isinstance(statement, ast.Assign):
            names = [t.id for t in statement.targets if isinstance(t, ast.Name)]
            found.update({name: (module, name) for name in names})
    return found


# -- members of the class --------------------------------------------------------------------
def _member(file: _File, name: str, method: Any) -> None:
    if isinstance(method, property):
        _property(file, name, method)
    elif name in _OPERATORS:
        _operator(file, name)
    elif not callable(method) and not isinstance(method, Lazy):
        file.lines.append(f"    {name}: {file.annotation(type(method).__name__)}")
    else:
        f = getattr(_tensor.Tensor, name)
        in_place = name.endswith("_") and not name.startswith("_")
        plain = FUNCTIONS.get(name.removesuffix("_")) or METHODS.get(name.removesuffix("_"))
        if inspect.isfunction(plain) and not _says_something(f):
            f = plain
        result = "Self" if in_place else _PROTOCOL.get(name, "")
        _define(file, name, f, first="self", result=result)


def _says_something(f: Callable[..., Any]) -> bool:
    """Whether a signature says more than that there are arguments."""
    own = list(inspect.signature(f).parameters.values())[1:]
    stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return bool(f.__annotations__) and not (own and all(p.kind in stars for p in own))


def _operator(file: _File, name: str) -> None:
    """Python's own signature; what is compared for equality may be anything."""
    other = "Any" if name in ("__eq__", "__ne__") else "Tensor" if "matmul" in name else "_Operand"
    result = "Self" if _OPERATORS[name] == "i" else "Tensor"
    line = f"    def {name}(self, other: {file.annotation(other)}, /) -> {file.annotation(result)}"
    file.lines.append(line + ": ..." + "  # type: ignore[override]" * (other == "Any"))


def _property(file: _File, name: str, p: property) -> None:
    get = inspect.unwrap(p.fget)  # type: ignore[arg-type]
    text = inspect.signature(get).return_annotation
    note = _annotation(file, text, _home(get))
    file.lines += ["    @property", f"    def {name}(self) -> {note}:"]
    file.lines.append(f'        """{_summary(p)}"""')
    if p.fset is not None:
        file.lines += [f"    @{name}.setter", f"    def {name}(self, value: {note}) -> None: ..."]
    if p.fdel is not None:
        file.lines += [f"    @{name}.deleter", f"    def {name}(self) -> None: ..."]


# -- functions -------------------------------------------------------------------------------
def _define(
    file: _File, name: str, f: Callable[..., Any], *, first: str = "", result: str = ""
) -> None:
    """A function, or a method whose *first* parameter is called so; its overloads, if it has some.

    *result* replaces what the function itself says of its result.
    """
    overloads = typing.get_overloads(inspect.unwrap(f)) or forms(name, bool(first))
    indent = "    " if first else ""
    with_out = "out" in inspect.signature(f).parameters
    doc = _summary(f) if first != "cls" else ""
    for variant in overloads or [f]:
        if overloads:
            file.lines.append(f"{indent}@{file.name('overload')}")
        signature = inspect.signature(variant)
        if overloads and with_out:
            signature = signature_with_out(variant)
        text = signature.return_annotation
        note = file.annotation(result) if result else _annotation(file, text, _home(variant))
        parameters = ", ".join(_parameters(file, variant, first, signature))
        line = f"{indent}def {name}({parameters}) -> {note}:"
        file.lines += [line, f'{indent}    """{doc}"""'] if doc else [f"{line} ..."]


def _home(f: Callable[..., Any]) -> str:
    """The module whose names the annotations of a function mean."""
    own: str = inspect.unwrap(f).__globals__["__name__"]
    return own


def _annotation(file: _File, given: Any, module: str) -> str:
    said = given is not inspect.Signature.empty
    return file.annotation(given, module) if said else file.annotation("Any")


def _parameters(
    file: _File, f: Callable[..., Any], first: str, signature: inspect.Signature
) -> list[str]:
    module = _home(f)
    form = ROWS[f.__name__.strip("_")].form if f.__name__.strip("_") in ROWS else ""
    parameters = list(signature.parameters.values())
    written = []
    if first:
        parameters = [p for p in parameters if p.name != "out"]
        if parameters and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL:
            del parameters[0]
        written.append(first)
    starred = False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not starred:
            written.append("*")
        starred = starred or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        if form == "binary" and p.kind is p.POSITIONAL_OR_KEYWORD and p.annotation == "Any":
            note = file.annotation("_Operand")
        else:
            note = _annotation(file, p.annotation, module)
        mark = "*" * (p.kind is p.VAR_POSITIONAL) + "**" * (p.kind is p.VAR_KEYWORD)
        if str(p.annotation).startswith("Given["):
            default = " = ..."
        else:
            default = "" if p.default is p.empty else f" = {_default(p.default)}"
        written.append(f"{mark}{p.name}: {note}{default}")
        if p.kind is p.POSITIONAL_ONLY:
            written = [w for w in written if w != "/"] + ["/"]
    return written


def _default(value: Any) -> str:
    plain = value is None or value == () or type(value) in (bool, int, str)
    return repr(value) if plain or (type(value) is float and math.isfinite(value)) else "..."


def _summary(documented: Any) -> str:
    """The first sentence of the documentation."""
    paragraph = " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())
    sentence = re.split(r"(?<=\.) (?=[A-Z*`])", paragraph)[0]
    return sentence.replace("\\", "\\\\").replace('"', "'")


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
