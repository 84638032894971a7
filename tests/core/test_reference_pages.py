"""What ``help`` shows: a sentence, shapes, dtypes, errors, an example that was executed."""

from __future__ import annotations

import copy
import doctest
import importlib
import inspect
import multiprocessing
import pickle
import pydoc
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import tensorbus
from tensorbus._base import absent
from tensorbus._base.page import Page, show_pages
from tensorbus._reference import pages
from tensorbus._tools import examples, rank_examples

WRITTEN = """
import sys, warnings
warnings.simplefilter("ignore")
from tensorbus._tools import examples
sys.stdout.write(examples.text(derive=False))
"""


def test_each_example_prints_what_the_file_says_and_calls_show_the_facts_in_it():
    done = subprocess.run([sys.executable, "-c", WRITTEN], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    old = pages.FILE.read_text("utf-8").split("\n\n")
    assert done.stdout.split("\n\n") == old, "examples.txt is old: run scripts/examples"


WITH_A_GPU_ALONE = {"distributed.split_group", "nn.parallel.data_parallel"}
"""Refused by PyTorch where there is none."""
_EQUATIONS = "gesv lstsq potrf potri potrs solve trtrs btrifact btrifact_with_info btrisolve"
OLDER = {
    name
    for older in f"{_EQUATIONS} btriunpack eig symeig matrix_rank".split()
    for name in (older, f"Tensor.{older}")
} - {"Tensor.matrix_rank"}
"""Removed from PyTorch."""


def test_pytorch_prints_the_same(live_torch: Any) -> None:
    wrong = {}
    ours = pages.entries()
    shown = [entry for name, entry in ours.items() if name not in WITH_A_GPU_ALONE | OLDER]
    of_ranks = [entry for entry in shown if "ranks" in entry.facts]
    theirs = rank_examples.run([entry.statements for entry in of_ranks], "torch")
    found = dict(zip((entry.name for entry in of_ranks), theirs, strict=True))
    with pytest.warns(Warning):  # PyTorch's own, of old names
        for entry in shown:
            printed = [line for line in entry.lines if line[:4] != ">>> "]
            if entry.name not in found:
                found[entry.name] = examples.run(entry.statements, live_torch)
            if found[entry.name] != printed:
                wrong[entry.name] = found[entry.name]
    live_torch.set_default_device(None)  # one of the examples has set it
    assert not wrong


def public() -> Iterator[tuple[str, Any]]:
    """The public callables, under PyTorch's names."""
    for space, names in absent.documented().items():
        try:
            module = importlib.import_module(f"tensorbus.{space}".replace(".torch", ""))
        except ModuleNotFoundError:
            module = tensorbus.Tensor if space == "Tensor" else None
        for name in sorted(names):
            found = getattr(module, name, None)
            if callable(found) and not inspect.ismodule(found):
                yield f"{space}.{name}".removeprefix("torch."), found
    for name in ("set_fallback", "get_fallback", "fallback_counts"):
        yield name, getattr(tensorbus, name)
    for name in tensorbus.serialization.__all__:
        yield f"serialization.{name}", getattr(tensorbus.serialization, name)


WITHOUT_EXAMPLE = {
    "Tensor.__delitem__": "it always raises",
    **dict.fromkeys(
        (
            *(
                f"cuda.{name}"
                for name in "CUDAGraph CUDAPluggableAllocator GreenContext MemPool "
                "caching_allocator_alloc caching_allocator_delete caching_allocator_disabled "
                "change_current_allocator clock_rate current_blas_handle current_solver_handle "
                "graph graph_pool_handle make_graphed_callables memory_snapshot memory_usage "
                "power_draw temperature use_mem_pool utilization".split()
            ),
            "accelerator.Graph",
            "autograd.graph.region_activation_memory_budget",
            "distributed.nn.RemoteModule",
            "sparse.SparseSemiStructuredTensorCUSPARSELT",
            "sparse.SparseSemiStructuredTensorCUTLASS",
            "sparse.to_sparse_semi_structured",
        ),
        "it always raises",
    ),
    "cuda.device_memory_used": "it needs a device of the type",
    "cuda.list_gpu_processes": "it needs a device of the type",
    "distributed.breakpoint": "it stops in the debugger",
    "Tensor.pin_memory": "no backend allocates pinned memory",
    **{
        f"hub.{name}": "it reads folders and files, of which a reader has none at hand"
        for name in "download_url_to_file help list load load_state_dict_from_url set_dir".split()
    },
}
STANDARD = "multiprocessing."
"""Names of Python's own module that are handed on with their documentation."""


def test_all_public_callables_have_an_executed_example():
    shown = dict(public())
    assert len(shown) > 1200
    lacking = {name for name, found in shown.items() if ">>>" not in (inspect.getdoc(found) or "")}
    handed_on = {
        name
        for name in lacking
        if name.startswith(STANDARD) and hasattr(multiprocessing, name.removeprefix(STANDARD))
    }
    assert lacking - handed_on == {*WITHOUT_EXAMPLE}


def test_no_private_parameter_is_shown():
    shown = [
        (name, parameter)
        for name, found in public()
        if not (isinstance(found, type) and issubclass(found, Exception))
        for parameter in inspect.signature(found).parameters
        if parameter[0] == "_"
    ]
    assert not shown
    shown = inspect.signature(tensorbus.nn.functional.softmax).parameters
    assert shown["dtype"].kind is inspect.Parameter.KEYWORD_ONLY
    x = tensorbus.zeros(2)
    assert tensorbus.nn.functional.softmax(x, 0, 3, tensorbus.float64).dtype is tensorbus.float64


def test_the_first_parameter_of_a_method_has_a_public_name():
    for name in absent.documented()["Tensor"]:
        found = getattr(tensorbus.Tensor, name, None)
        if inspect.isfunction(found) and not name.startswith("__"):
            first = next(iter(inspect.signature(found).parameters))
            assert first in ("self", "input"), name  # input where the method is the function


PAGE = """\
``exp(input) / sum(exp(input))`` along a dimension.

Shapes: the result has the shape of *input*.

Dtypes: floating point.

Errors: TypeError where *input* is not a tensor; IndexError where *dim* is out of range.

Example:
    >>> import tensorbus as torch
    >>> torch.softmax(torch.tensor([[0.0, 0.0], [0.0, 1.0]]), dim=1)
    tensor([[0.5000, 0.5000],
            [0.2689, 0.7311]])"""


def test_a_page_is_a_sentence_with_shapes_dtypes_errors_and_an_example():
    assert inspect.getdoc(tensorbus.softmax) == PAGE
    assert str(tensorbus.softmax.__doc__) == PAGE
    told = pydoc.plain(pydoc.render_doc(tensorbus.softmax))
    assert "softmax(input: 'Tensor', dim: 'int'" in told
    assert "    Dtypes: floating point." in told
    assert ">>> torch.tensor([[0.0, 0.0], [0.0, 1.0]]).softmax(dim=1)" in (
        tensorbus.Tensor.softmax.__doc__
    )


@pytest.mark.parametrize("name", ["exp", "Tensor.add_", "nn.Conv1d", "optim.Adam", "no_grad"])
def test_the_example_on_a_page_runs_as_it_stands(name):
    found: Any = tensorbus
    for part in name.split("."):
        found = getattr(found, part)
    text = inspect.getdoc(found)
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert test.examples
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_a_page_names_the_dtypes_that_results_have():
    assert "the result has dtype int64 for bool and integers." in tensorbus.sum.__doc__
    assert "the result has the default dtype for bool and integers." in tensorbus.exp.__doc__
    assert "*input* and *other* broadcast; the result has" in tensorbus.maximum.__doc__
    assert "of size 1 where *keepdim*." in tensorbus.amax.__doc__


def test_a_page_is_a_str_of_all_its_text():
    doc: Any = tensorbus.softmax.__doc__
    assert isinstance(doc, Page) and isinstance(doc, str)
    assert (len(doc), hash(doc), doc == PAGE, f"{doc}") == (len(PAGE), hash(PAGE), True, PAGE)
    assert doc.splitlines() == list(map(str, PAGE.splitlines()))
    assert (repr(doc), doc[3:9], doc + "!", "Dtypes" in doc) == (
        repr(PAGE), PAGE[3:9], PAGE + "!", True,
    )  # fmt: skip
    assert pickle.loads(pickle.dumps(doc)) == copy.copy(doc) == PAGE


def test_a_function_with_two_names_has_the_example_of_one():
    def shifted() -> None:
        """Nothing."""

    show_pages("tensorbus", [("no_such_name", shifted), ("exp", shifted)])
    assert ">>> torch.exp(" in (shifted.__doc__ or "")
    show_pages("tensorbus", [("alone", shifted.__class__(shifted.__code__, {}))])  # without a text


def test_start_up_makes_no_page():
    program = """if True:
        import sys, tensorbus as torch
        print("tensorbus._reference.pages" in sys.modules)
        print("Example:" in torch.softmax.__doc__)
        """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\nTrue\n", done.stderr


def test_dir_lists_what_is_found_when_it_is_asked_for():
    program = """if True:
        import tensorbus as torch
        there = "nn optim linalg save Generator channels_last distributed utils".split()
        assert not set(there) - set(dir(torch)), set(there) - set(dir(torch))
        assert {"parallel", "DataParallel", "functional", "Linear"} <= set(dir(torch.nn))
        assert {"grad", "gradcheck", "Function"} <= set(dir(torch.autograd))
        assert "data" in dir(torch.utils) and "lr_scheduler" in dir(torch.optim)
        assert "fft" in dir(torch) or not hasattr(torch, "fft")
        assert [n for n in dir(torch) if not hasattr(torch, n)] == []
        """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr
