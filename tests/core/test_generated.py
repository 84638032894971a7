"""Generated functions: made on first use, readable in tracebacks, free of cycles."""

from __future__ import annotations

import ast
import gc
import linecache
import re
import subprocess
import sys
import traceback
import weakref
from collections.abc import Callable

import pytest

import tensorbus as torch
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.generate import source_of
from tensorbus.rows.registry import ROWS, rule_arguments

TENSOR_ROWS = sorted(name for name, row in ROWS.items() if "same" in row.operands.values())
"""Those whose dtype a tensor says; of the others, which draw numbers, there are kernels alone."""


@pytest.mark.parametrize("name", TENSOR_ROWS)
def test_every_row_gives_a_function_with_its_name(name: str) -> None:
    function = core(name)
    assert function.__name__ == name
    assert core(name) is function
    assert function.__globals__["__name__"] == f"tensorbus.ops.generated.{name}"
    compile(source_of(name), name, "exec")


@pytest.mark.parametrize("name", TENSOR_ROWS)
def test_every_function_shows_its_sentence_and_its_arguments(name: str) -> None:
    assert (core(name).__doc__ or "").split("\n")[0] == ROWS[name].doc
    sentence, empty, *lines = ROWS[name].documentation.split("\n")
    described = dict(line.split(": ") for line in lines if ": " in line)
    assert sentence == ROWS[name].doc and empty == ""
    code = core(name).__code__
    assert [*described] == [*code.co_varnames[: code.co_argcount]]
    parameters = {a for a, what in described.items() if what in ("parameter", "number")}
    assert parameters == {*ROWS[name].arguments} - {*ROWS[name].tensors}


def test_every_row_is_documented_by_one_sentence_of_its_own_arguments() -> None:
    elsewhere = {"input", "other", "exponent", "values"}  # names of public functions' arguments
    for row in ROWS.values():
        assert re.fullmatch(r"\S[^\n]*[^.\s]\.", row.doc), row.name
        assert not re.search(r"[.] +[A-Z`*]", row.doc), row.name
        arguments = {*row.arguments, *row.outputs}
        assert {*re.findall(r"(?<!\*)\*(\w+)\*", row.doc)} <= arguments, row.name
        code = re.findall(r"``([^`]+)``", row.doc)
        assert not {*re.findall(r"\w+", " ".join(code))} & elsewhere - arguments, row.name
    docs = [row.doc for row in ROWS.values()]
    shared = {doc for doc in docs if docs.count(doc) > 1}
    assert shared == {ROWS["clamp"].doc}  # hardtanh has another derivative


ARGUMENTS = {
    "softmax_backward": "g: tensor\nout: tensor\ndim: parameter",
    "where": "c: tensor of truth values\nx: tensor\ny: tensor",
    "gather": "x: tensor\ndim: parameter\ni: tensor of int64 indices",
    "linear": "x: tensor\nw: tensor\nb: tensor, or None",
    "add": "x: tensor\ny: tensor or number",
    "concatenate": "x: sequence of tensors\ndim: parameter",
    "sum": "x: tensor\ndims: parameter\nA kernel gets the dtype of the result as a last argument.",
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_kinds_of_arguments_are_told(name: str) -> None:
    assert ROWS[name].documentation == f"{ROWS[name].doc}\n\n{ARGUMENTS[name]}"


def test_names_of_public_arguments_are_changed_in_the_row_alone() -> None:
    assert ROWS["pow"].doc == "``x ** y``; the operands broadcast."
    assert str(torch.mul.__doc__).startswith("``input * other``; the operands broadcast.")
    assert ROWS["xlogy"].doc == "``x * log(y)``, 0 where *x* is 0; the operands broadcast."
    assert ROWS["exp"].doc == "The exponential, element by element."


@pytest.mark.parametrize("name", TENSOR_ROWS)
def test_no_argument_has_a_name_that_the_text_uses_for_itself(name: str) -> None:
    (function,) = (
        node for node in ast.parse(source_of(name)).body if isinstance(node, ast.FunctionDef)
    )
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    own |= {
        handler.name for handler in ast.walk(function) if isinstance(handler, ast.ExceptHandler)
    }
    used = own | {*core(name).__globals__} - {name}
    assert not used & {*ROWS[name].arguments}


def test_every_rule_names_what_there_is() -> None:
    for row in ROWS.values():
        allowed = {*row.arguments, *(row.outputs or ["out"])}
        allowed |= {f"{t}_wanted" for t in row.sequences}
        for t in row.tensors:
            allowed |= {f"{t}_shape", f"{t}_number"}
        if row.shared is not None:
            assert set(rule_arguments(row.shared)) <= allowed, row.name
            allowed.add("shared")
        for t, rule in row.rules.items():
            assert set(rule_arguments(rule)) <= allowed, (row.name, t)


def test_every_fused_row_has_a_rule_for_each_input() -> None:
    for row in ROWS.values():
        if row.composite is not None and row.rules and row.result == "same":
            real = {t for t in row.tensors if row.operands[t] == "same"} - set(row.optional)
            assert set(row.rules) & real, row.name


def test_nothing_is_generated_at_import() -> None:
    program = (
        "import linecache, tensorbus as t; "
        "n = lambda: sum(k.startswith('<tensorbus op') for k in linecache.cache); "
        "print(n()); t.ones(2) + 1; print(n())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    before, after = map(int, done.stdout.split())
    assert before == 0 and 1 <= after <= 5


def test_the_stub_is_replaced_once_and_serves_subclasses() -> None:
    assert torch.Tensor.__add__ is torch.Tensor.__add__ is core("add")
    assert torch.Tensor.__dict__["__add__"] is core("add")

    class Meters(torch.Tensor):
        pass

    assert type(torch.ones(2).as_subclass(Meters).atan()) is Meters
    assert not hasattr(Meters.__dict__, "atan")


def test_tracebacks_show_the_generated_text() -> None:
    try:
        torch.ones(2) + torch.ones(3)
    except RuntimeError as e:
        shown = "".join(traceback.format_exception(e))
    assert "<tensorbus op add>" in shown
    assert "return failed(ROW, (x, y), error)" in shown
    assert linecache.getline("<tensorbus op add>", 1).startswith("class AddBackward0")


def test_nodes_carry_the_names_of_pytorch() -> None:
    x = torch.ones(2, requires_grad=True)
    for y, name in (
        (x + x, "AddBackward0"),
        (x * 2, "MulBackward0"),
        (x.exp(), "ExpBackward0"),
        (x.sum(), "SumBackward0"),
        (x[:1], "SliceBackward0"),
    ):
        assert y.grad_fn.name() == type(y.grad_fn).__name__ == name


FAILING: dict[str, Callable[[torch.Tensor], object]] = {
    "broadcast": lambda y: y + torch.ones(3),
    "matmul": lambda y: y @ torch.ones(5),
    "index": lambda y: y[7],
    "view": lambda y: y.view(3),
    "dtype": lambda y: y & y,
    "gather": lambda y: y.gather(0, torch.tensor([9])),
    "in place": lambda y: y.add_(torch.ones(3)),
    "override": lambda y: torch.cat([y, y.reshape(1, 2)], 1),
}


@pytest.mark.parametrize("name", FAILING)
def test_errors_leave_no_cycle_that_holds_the_graph(name: str) -> None:
    gc.collect()
    gc.disable()
    try:
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        node = weakref.ref(y.grad_fn)
        with pytest.raises((RuntimeError, IndexError, NotImplementedError)):
            FAILING[name](y)
        del y
        alive = node() is not None
    finally:
        gc.enable()
    assert not alive
