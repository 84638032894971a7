"""Executes the examples of the reference and writes what they print: ``scripts/examples``.

A new example is a name and lines with ``>>>`` in ``examples.txt``; this program adds the rest, and
entries for methods and in-place forms of functions that have one. Beside each result it writes
what calls with other arguments have shown: which dtypes and shapes are taken, which errors come.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeGuard

import tensorbus
from tensorbus._base import absent
from tensorbus._reference import pages
from tensorbus._reference.pages import Entry
from tensorbus._tools import rank_examples

_DTYPES = {
    "bool": ("bool",),
    "integer": ("uint8", "int8", "int16", "int32", "int64"),
    "float": ("float16", "bfloat16", "float32", "float64"),
    "complex": ("complex64", "complex128"),
}


def run(statements: list[str], library: Any = tensorbus, **names: Any) -> list[str]:
    """The lines that a session prints that has the library as ``torch``, and further names."""
    space: dict[str, Any] = {"torch": library, **names}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for statement in statements:
            exec(compile(statement + "\n", "<example>", "single"), space)
    return out.getvalue().splitlines()


def executed(entry: Entry) -> Entry:
    """The entry with what its example prints and its calls show."""
    lines = [f">>> {s}" for s in entry.statements] + run(entry.statements)
    with contextlib.suppress(NotACall):
        return Entry(entry.name, lines, Call(entry).facts())
    return Entry(entry.name, lines)


class NotACall(Exception):
    """The example's last statement does not call what it is about with tensors."""


class Call:
    """The call in an example, to be repeated with other arguments."""

    def __init__(self, entry: Entry):
        space: dict[str, Any] = {"torch": tensorbus}
        *before, last = entry.statements
        target, _, own = entry.name.rpartition(".")
        method = target == "Tensor"
        call = next((n for n in ast.walk(ast.parse(last)) if _calls(n, entry.name)), None)
        if call is None or before or isinstance(ast.parse(last).body[0], (ast.If, ast.Assign)):
            raise NotACall

        def value(node: ast.expr) -> Any:
            return eval(ast.unparse(node), space)

        self.function: Callable[..., Any] = (
            getattr(tensorbus.Tensor, own) if method else value(call.func)
        )
        if isinstance(self.function, type):
            raise NotACall
        own_tensor = [value(call.func.value)] if method else []  # type: ignore[attr-defined]
        self.args = own_tensor + [value(n) for n in call.args]
        self.kwargs = {str(k.arg): value(k.value) for k in call.keywords}
        self.method = method
        signature = inspect.signature(self.function)
        self.reduces = "keepdim" in signature.parameters
        given = signature.bind(*self.args, **self.kwargs).arguments
        self.tensors = [n for n, v in given.items() if isinstance(v, tensorbus.Tensor)]
        self.names = list(given)
        if not self.tensors:
            raise NotACall

    def facts(self) -> dict[str, str]:
        """What the calls show."""
        found = {"shapes": self.shapes(), "dtypes": self.dtypes(), "errors": self.errors()}
        return {what: text for what, text in found.items() if text}

    def again(self, replace: Callable[[str, Any], Any]) -> Any:
        """The call with each argument replaced; the error where it raises."""
        args = [replace(n, v) for n, v in zip(self.names, self.args, strict=False)]
        kwargs = {n: replace(n, v) for n, v in self.kwargs.items()}
        try:
            return self.function(*args, **kwargs)
        except Exception as error:
            return error

    def with_argument(self, name: str, value: Any) -> Any:
        """The call with another value of one argument; the error where it raises."""
        return self.again(lambda n, v: value if n == name else _copied(v))

    def shaped(self, shapes: list[tuple[int, ...]]) -> Any:
        """The call with its tensors in other shapes."""
        of = dict(zip(self.tensors, shapes, strict=True))
        return self.again(
            lambda n, v: tensorbus.ones(of[n], dtype=v.dtype) if n in of else _copied(v)
        )

    def shapes(self) -> str:
        """The rule for shapes, or the shapes in the example."""

        def holds(cases: list[tuple[list[tuple[int, ...]], tuple[int, ...]]]) -> bool:
            return all(_shape(self.shaped(given)) == result for given, result in cases)

        if self.reduces:
            return "reduced"
        if len(self.tensors) == 1:
            own = next(tuple(v.shape) for v in (*self.args, *self.kwargs.values()) if _is_tensor(v))
            larger = tuple(n + 1 + i for i, n in enumerate(own))
            if holds([([own], own), ([larger], larger)]):
                return f"same {self.tensors[0]}"
        elif len(self.tensors) == 2 and holds([([(2, 1), (3,)], (2, 3)), ([(3,), ()], (3,))]):
            return f"broadcast {' '.join(self.tensors)}"
        result = self.again(lambda _, v: _copied(v))
        parts = result if isinstance(result, tuple) else (result,)
        if not all(isinstance(r, tensorbus.Tensor) for r in parts) or isinstance(
            result, tensorbus.Size
        ):
            return ""
        given = [tuple(v.shape) for v in (*self.args, *self.kwargs.values()) if _is_tensor(v)]
        return f"example {_texts(given)} -> {_texts(tuple(r.shape) for r in parts)}"

    def dtypes(self) -> str:
        """The dtypes taken, and the results' where they are others."""
        own = next(v.dtype for v in (*self.args, *self.kwargs.values()) if _is_tensor(v))
        taken = []
        for category, names in _DTYPES.items():
            results = {}
            for name in names:
                result = self.result_in(own, name)
                if result is not None:
                    results[name] = result
            if not results:
                continue
            marks = {_mark(name, result) for name, result in results.items()}
            if "default" not in marks and category in ("bool", "integer") and marks == {"float32"}:
                tensorbus.set_default_dtype(tensorbus.float64)
                again = {self.result_in(own, name) for name in results}
                tensorbus.set_default_dtype(tensorbus.float32)
                marks = {"default"} if again == {"float64"} else marks
            if category == "integer" and set(results.values()) == {"int64"}:
                marks = {"int64"}
            mark = marks.pop() if len(marks) == 1 else ""
            whole = [category] if len(results) == len(names) else list(results)
            taken += [f"{name}:{mark}" if mark else name for name in whole]
        return " ".join(taken)

    def result_in(self, own: Any, name: str) -> str | None:
        """The result's dtype where tensors of dtype *own* have another one; None for an error."""
        d = getattr(tensorbus, name)
        result = self.again(
            lambda _, v: v.to(d, copy=True) if _is_tensor(v) and v.dtype is own else _copied(v)
        )
        if isinstance(result, Exception):
            return None
        first = result[0] if isinstance(result, tuple) and result else result
        return first.dtype.name if _is_tensor(first) else ""

    def errors(self) -> str:
        """The errors of arguments that do not fit."""
        found: dict[tuple[str, str], list[str]] = {}

        def tell(fault: str, name: str, result: Any) -> None:
            if isinstance(result, (TypeError, ValueError, IndexError, RuntimeError)):
                found.setdefault((type(result).__name__, fault), []).append(name)

        for wrong in self.tensors[self.method :]:
            number = self.with_argument(wrong, 2.0)
            fault = "tensor" if isinstance(number, Exception) else "operand"
            tell(fault, wrong, self.with_argument(wrong, "x"))
        if "dim" in self.names:
            tell("dim", "dim", self.with_argument("dim", 99))
        if self.shapes().startswith("broadcast"):
            tell("shapes", "", self.shaped([(2,), (3,)]))
        return "; ".join(f"{e} {f} {' '.join(n)}".strip() for (e, f), n in found.items())


def _calls(node: ast.AST, name: str) -> TypeGuard[ast.Call]:
    """Whether a part of an example is the call of the function, or method, with this name."""
    if not isinstance(node, ast.Call):
        return False
    target, _, own = name.rpartition(".")
    if target == "Tensor":
        return isinstance(node.func, ast.Attribute) and node.func.attr == own
    return ast.unparse(node.func) == f"torch.{name}"


def _is_tensor(value: Any) -> bool:
    return isinstance(value, tensorbus.Tensor)


def _copied(value: Any) -> Any:
    return value.detach().clone() if _is_tensor(value) else value


def _shape(value: Any) -> tuple[int, ...] | None:
    return tuple(value.shape) if _is_tensor(value) else None


def _texts(shapes: Any) -> str:
    return ", ".join(map(str, shapes))


def _mark(name: str, result: str) -> str:
    real = {"complex64": "float32", "complex128": "float64"}
    return "" if result in (name, "") else "real" if real.get(name) == result else result


# -- forms of a function ---------------------------------------------------------------------
def derived(entry: Entry) -> Iterator[Entry]:
    """Entries for the method and the in-place forms of a function."""
    (statement, *more), name = entry.statements, entry.name
    call = ast.parse(statement).body[0]
    if more or "." in name or not isinstance(call, ast.Expr):
        return
    expression = call.value
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    if not isinstance(expression, ast.Call) or not expression.args:
        return
    text, rest = ast.unparse(expression), [ast.unparse(a) for a in expression.args[1:]]
    if not text.startswith(f"torch.{name}("):
        return
    rest += [f"{k.arg}={ast.unparse(k.value)}" for k in expression.keywords]
    first, tail = ast.unparse(expression.args[0]), ast.unparse(call.value)[len(text) :]
    given = ", ".join(rest)
    for form in (name, f"{name}_"):
        yield Entry(f"Tensor.{form}", [f">>> {first}.{form}({given}){tail}".replace("'", '"')])
    given = ", ".join([first, *rest])
    yield Entry(f"{name}_", [f">>> torch.{name}_({given}){tail}".replace("'", '"')])


def of_ranks(entries: Iterable[Entry]) -> list[Entry]:
    """The entries with what the last of several ranks prints, which run all of them."""
    found = list(entries)
    printed = rank_examples.run([entry.statements for entry in found])
    return [
        Entry(entry.name, [f">>> {s}" for s in entry.statements] + lines, entry.facts)
        for entry, lines in zip(found, printed, strict=True)
    ]


def text(derive: bool = True) -> str:
    """The text of the file, with all examples executed; *derive* adds forms of functions."""
    entries = dict(pages.entries())
    names = absent.documented()
    for entry in list(entries.values()) if derive else ():
        for form in derived(entry):
            space, _, own = form.name.rpartition(".")
            if form.name not in entries and own in names[space or "torch"]:
                with contextlib.suppress(Exception):
                    run(form.statements)
                    entries[form.name] = form
    blocks = []
    together = {e.name: e for e in of_ranks(e for e in entries.values() if "ranks" in e.facts)}
    for _, entry in sorted(entries.items()):
        entry = together.get(entry.name) or executed(entry)
        facts = [f"@{what} {fact}" for what, fact in entry.facts.items()]
        blocks.append("\n".join([entry.name, *entry.lines, *facts]))
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    pages.FILE.write_text(text(), encoding="utf-8")
