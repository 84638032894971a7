"""What users see: every public name is documented and annotated, every example runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import io
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import tensorbus
from tensorbus import nn, optim
from tensorbus.op_engine.names import FUNCTIONS, METHODS, Lazy

MODULES = (
    "tensorbus",
    "tensorbus.__config__",
    "tensorbus.amp",
    "tensorbus.autograd",
    "tensorbus.autograd.forward_ad",
    "tensorbus.autograd.functional",
    "tensorbus.autograd.graph",
    "tensorbus.autograd.profiler",
    "tensorbus.backends.cpu",
    "tensorbus.backends.cuda",
    "tensorbus.backends.cudnn",
    "tensorbus.backends.mkl",
    "tensorbus.backends.mkldnn",
    "tensorbus.backends.mps",
    "tensorbus.backends.openmp",
    "tensorbus.compiler",
    "tensorbus.cpu",
    "tensorbus.cpu.amp",
    "tensorbus.cuda.amp",
    "tensorbus.distributed",
    "tensorbus.distributed.algorithms",
    "tensorbus.distributed.optim",
    "tensorbus.distributed.run",
    "tensorbus.distributions",
    "tensorbus.distributions.constraints",
    "tensorbus.distributions.kl",
    "tensorbus.distributions.transforms",
    "tensorbus.func",
    "tensorbus.futures",
    "tensorbus.fft",
    "tensorbus.func",
    "tensorbus.hub",
    "tensorbus.linalg",
    "tensorbus.nn",
    "tensorbus.nn.functional",
    "tensorbus.nn.init",
    "tensorbus.nn.parallel",
    "tensorbus.nn.utils",
    "tensorbus.nn.utils.parametrizations",
    "tensorbus.nn.utils.parametrize",
    "tensorbus.nn.utils.prune",
    "tensorbus.nn.utils.stateless",
    "tensorbus.optim",
    "tensorbus.optim.lr_scheduler",
    "tensorbus.optim.swa_utils",
    "tensorbus.overrides",
    "tensorbus.plugin",
    "tensorbus.profiler",
    "tensorbus.serialization",
    "tensorbus.signal",
    "tensorbus.signal.windows",
    "tensorbus.special",
    "tensorbus.sparse",
    "tensorbus.testing",
    "tensorbus.utils.backcompat",
    "tensorbus.utils.benchmark",
    "tensorbus.utils.checkpoint",
    "tensorbus.utils.data",
    "tensorbus.utils.dlpack",
)


def is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("tensorbus")


def exported(module: ModuleType) -> dict[str, Any]:
    """The public classes and functions of a module, those reached later too."""
    names = {*vars(module).get("_LATER", ()), *vars(module).get("__all__", ())}
    own = module.__name__
    names.update(
        n for n, v in vars(module).items() if str(getattr(v, "__module__", "")).startswith(own)
    )
    found = {n: getattr(module, n) for n in sorted(names) if not n.startswith("_")}
    return {n: v for n, v in found.items() if inspect.isroutine(v) or inspect.isclass(v)}


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class has from classes of ours."""
    bases = [c for c in reversed(cls.__mro__) if is_ours(c) and c is not tensorbus.Tensor]
    ours = {n: v for base in bases for n, v in vars(base).items()}
    for name, value in ours.items():
        value = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        public = name == "__init__" or not name.startswith("_")
        if public and (
            isinstance(value, property) or (inspect.isroutine(value) and is_ours(value))
        ):
            yield name, value


def everything() -> dict[str, Any]:
    """All public functions, classes, methods and properties, by their dotted names."""
    found: dict[str, Any] = {}
    for path in MODULES:
        for name, value in exported(importlib.import_module(path)).items():
            found[f"{path}.{name}"] = value
            if inspect.isclass(value) and is_ours(value) and value is not tensorbus.Tensor:
                found.update({f"{path}.{name}.{n}": v for n, v in members(value)})
    functions = (n for n in FUNCTIONS if not n.startswith("_"))  # touched or not
    found.update({f"tensorbus.{n}": FUNCTIONS[n] for n in functions})
    methods = (n for n in METHODS if not n.startswith("_"))
    found.update({f"tensorbus.Tensor.{n}": getattr(tensorbus.Tensor, n) for n in methods})
    return found


PUBLIC = everything()


def test_all_of_the_public_interface_is_looked_at():
    assert len(PUBLIC) > 1200
    assert {
        "tensorbus.add",
        "tensorbus.save",
        "tensorbus.Tensor.exp",
        "tensorbus.Tensor.add_",
        "tensorbus.autograd.gradcheck",
        "tensorbus.nn.Module.state_dict",
        "tensorbus.nn.functional.relu",
        "tensorbus.nn.init.zeros_",
        "tensorbus.optim.lr_scheduler.StepLR.step",
        "tensorbus.plugin.Backend.empty",
    } <= set(PUBLIC)


def test_every_public_name_is_documented_by_a_sentence():
    beginnings = {
        name: (inspect.getdoc(value) or "").split("\n\n")[0]
        for name, value in PUBLIC.items()
        if not name.endswith(".__init__")
    }
    without = [n for n, text in beginnings.items() if not re.search(r"\w.*\.(\s|$)", text, re.S)]
    assert without == []


def test_every_public_function_is_annotated():
    """Generated methods are not: what they take and give is in the stub of Tensor."""
    gaps = {}
    generated = {f"tensorbus.Tensor.{n}" for n, m in METHODS.items() if isinstance(m, Lazy)}
    for name, value in PUBLIC.items():
        value = value.fget if isinstance(value, property) else value
        value = value if callable(value) else inspect.unwrap(value)  # a lazy property
        if name in generated or not inspect.isroutine(value):
            continue
        signature = inspect.signature(value)
        given = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
        missing = [p.name for p in given if p.annotation is p.empty]
        if signature.return_annotation is signature.empty and not name.endswith("__init__"):
            missing.append("return")
        if missing:
            gaps[name] = missing
    assert gaps == {}


def examples() -> Iterator[doctest.DocTest]:
    """Every docstring of core that shows a session."""
    parse = doctest.DocTestParser().get_doctest
    for found in pkgutil.walk_packages(tensorbus.__path__, "tensorbus."):
        spec = found.module_finder.find_spec(found.name, None)  # type: ignore[call-arg]
        text = Path(spec.origin).read_text("utf-8")
        if ">>>" not in text:
            continue
        module = importlib.import_module(found.name)
        names = {**vars(module), "tensorbus": tensorbus, "nn": nn, "optim": optim}
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                document = ast.get_docstring(node)
                if document and ">>>" in document:
                    title = f"{found.name}.{getattr(node, 'name', '')}".rstrip(".")
                    yield parse(document, dict(names), title, spec.origin, 0)


def test_every_example_in_core_gives_what_it_shows():
    told = io.StringIO()
    run = 0
    for example in examples():
        runner = doctest.DocTestRunner()
        run += runner.run(example, out=told.write).attempted
        skipped = [e for e in example.examples if doctest.SKIP in e.options]
        assert not skipped, f"{example.name}: an example that never runs"
    assert not told.getvalue(), told.getvalue()
    assert run > 150
