"""torch.compile and what stands around it: nothing is compiled, programs run as they stand."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

import tensorbus as torch
from tensorbus import nn


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.usefixtures("quiet")
def test_compile_gives_functions_and_modules_that_compute_as_before():
    def square(x):
        return x * x

    assert torch.compile(square)(torch.tensor(3.0)).item() == 9.0
    assert torch.compile(square, mode="max-autotune", fullgraph=True)(2) == 4
    assert torch.compile is torch.compiler.compile

    @torch.compile
    def plain(x):
        return x + 1

    @torch.compile(dynamic=True, backend="inductor")
    def called(x):
        return x + 2

    assert plain(1) == 2 and called(1) == 3

    torch.manual_seed(0)
    layer = nn.Linear(2, 1)
    compiled = torch.compile(layer)
    x = torch.tensor([[1.0, 2.0]])
    assert isinstance(compiled, nn.Module) and torch.equal(compiled(x), layer(x))
    compiled(x).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 2.0]]


NOTE = """
import warnings
import tensorbus as torch
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    torch.compile(len, disable=True)
    torch.compile(len)
    torch.compile(backend="inductor")(len)
    torch.compile(torch.nn.Linear(1, 1))
print([(w.category.__name__, w.lineno, "compiles nothing" in str(w.message)) for w in found])
print(found[0].filename)
"""


def test_one_note_at_the_users_line_says_that_nothing_is_compiled(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(NOTE)
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == f"[('UserWarning', 7, True)]\n{program}\n", done.stderr


@pytest.mark.usefixtures("quiet")
def test_what_compile_refuses():
    for call in (lambda: torch.compile(3), lambda: torch.compile()(3)):
        with pytest.raises(AssertionError, match="A callable function is expected, but <class 'in"):
            call()
    with pytest.raises(RuntimeError, match="Unrecognized mode=zz, should be one of: default"):
        torch.compile(len, mode="zz")
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        torch.compile(len, mode="default", options={"a": 1})
    with pytest.raises(TypeError, match="foo"):
        torch.compile(len, foo=3)
    with pytest.raises(AssertionError, match="fn must be callable"):
        torch.compiler.disable(3)


def test_what_stands_around_it_tells_the_truth():
    compiler = torch.compiler
    asked = (compiler.is_compiling, compiler.is_dynamo_compiling, compiler.is_exporting)
    assert [ask() for ask in asked] == [False, False, False]
    assert compiler.disable(len) is len
    assert compiler.disable(recursive=False)(len) is len
    assert compiler.allow_in_graph(len) is len and compiler.assume_constant_result(len) is len
    assert compiler.reset() is None and compiler.cudagraph_mark_step_begin() is None
    assert compiler.list_backends() == [] and compiler.get_default_backend() == "eager"


def test_stances_and_default_backends_are_taken():
    with torch.compiler.set_stance("fail_on_recompile"):
        assert not torch.compiler.is_compiling()

    @torch.compiler.set_stance("force_eager", force_backend="eager")
    def f(x):
        return x + 1

    torch.compiler.set_stance()
    assert f(1) == 2
    with pytest.raises(RuntimeError, match=r"invalid stance: 'fast'; choose one of default"):
        torch.compiler.set_stance("fast")
    torch.compiler.set_default_backend("inductor")
    assert torch.compiler.get_default_backend() == "inductor"
    torch.compiler.set_default_backend(None)
    assert torch.compiler.get_default_backend() == "eager"
