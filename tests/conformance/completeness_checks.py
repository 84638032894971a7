"""Nothing public is without a case.

What has none is found by introspection: while the suite runs, every Python function that is
called is recorded, and each public function, method, layer, optimiser and derivative rule has to
be among them.
"""

from __future__ import annotations

import cProfile
import inspect
import re
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import pytest

import tensorbus
import tensorbus.linalg
import tensorbus.nn.functional
from tensorbus import discovery
from tensorbus.op_engine.names import FUNCTIONS, METHODS
from tensorbus.rows.registry import ROWS
from tensorbus_conformance import Case, Device, run_case, select

_SAME_CALLS = re.compile(
    "empty|steady|large|lines|threads|together|marked|fused-|kink-|promotion-|other-device|out-"
    "|as-on-meta"
)
"""Variants that call what others do, with other operands or in other circumstances."""


def _recorded(case: Case) -> bool:
    return not _SAME_CALLS.search(case.id.split("/", 3)[3])


def _one_dtype_each() -> list[Case]:
    """Every variant in one dtype: float32 where it has that, in the levels above the kernels.

    Rules of complex numbers alone are called by one gradient of each op. Cases that are not
    recorded are only to pass: those of profile core, which scripts/check runs as they are, and
    ``as-on-meta``, which test_meta_shapes runs, are left to these.
    """
    elsewhere = {case.id for case in select(profile="core")}
    chosen: dict[tuple[str, str, str], Case] = {}
    for case in select(("L2", "L3", "L4", "L5")):
        level, op, dtype, *variant = case.id.split("/")
        key = level, op, "/".join(variant)
        if dtype == "complex64" and variant[-1] == "grad2":
            chosen.setdefault((level, op, "complex"), case)
        laid_out = re.search("-(transposed|strided|expanded)", key[2])
        if not laid_out and (key not in chosen or dtype == "float32"):
            chosen[key] = case
    return [
        case for case in chosen.values()
        if _recorded(case) or not (case.id in elsewhere or case.id.endswith("/as-on-meta"))
    ]  # fmt: skip


@pytest.fixture(scope="module")
def called() -> set[CodeType]:
    """The code of every Python function that the suite calls."""
    # Compiled code, which notes the same calls as a trace function in less time.
    record = cProfile.Profile(builtins=False, subcalls=False)
    device = Device(discovery.backend("cpu"))
    bad = []
    for case in _one_dtype_each():
        recorded = _recorded(case)
        if recorded:
            record.enable()
        try:
            result = run_case(case, device)
        finally:
            record.disable()
        if result.bad:
            bad.append(result)
    assert not bad, bad[:3]
    return {entry.code for entry in record.getstats()}


def _shows_a_stub(function: Any) -> bool:
    """Whether what a function wraps is there for its signature, with no body to call."""
    code = getattr(function.__wrapped__, "__code__", None)
    return code is not None and code.co_code == (lambda: None).__code__.co_code


def _code(function: Any) -> CodeType | None:
    """The code that runs when a public function is called."""
    if isinstance(function, property):
        function = function.fget
    function = inspect.unwrap(getattr(function, "__func__", function), stop=_shows_a_stub)
    return getattr(function, "__code__", None)


def _public(namespace: Any) -> Iterator[tuple[str, Any]]:
    for name in dir(namespace):
        if not name.startswith("_") and inspect.isroutine(getattr(namespace, name)):
            yield name, getattr(namespace, name)


def _missing(named: Iterator[tuple[str, Any]], called: set[CodeType]) -> list[str]:
    found = ((name, _code(function)) for name, function in named)
    return sorted(name for name, code in found if code is not None and code not in called)


@pytest.mark.parametrize(
    "named",
    [
        lambda: ((name, getattr(tensorbus, name)) for name in FUNCTIONS),
        lambda: ((name, getattr(tensorbus.Tensor, name)) for name in METHODS),
        lambda: _public(tensorbus.nn.functional),
        lambda: _public(tensorbus.linalg),
        lambda: _public(tensorbus.nn.init),
        lambda: (
            (name, inspect.getattr_static(tensorbus.Tensor, name))
            for name in dir(tensorbus.Tensor)
            if not name.startswith("_")
        ),
    ],
    ids=["functions", "methods", "nn.functional", "linalg", "nn.init", "Tensor"],
)
def test_every_public_function_has_a_case(
    called: set[CodeType], named: Callable[[], Iterator[tuple[str, Any]]]
) -> None:
    assert not (left := _missing(named(), called)), " ".join(left)


def test_every_rule_and_composite_has_a_case(called: set[CodeType]) -> None:
    rules = (
        (f"{row.name}: derivative of {argument}", rule)
        for row in ROWS.values()
        for argument, rule in row.rules.items()
    )
    composites = ((row.name, row.composite) for row in ROWS.values() if row.composite)
    assert not (left := _missing(rules, called)), " ".join(left)
    assert not (left := _missing(composites, called)), " ".join(left)


def _classes(module: Any, base: type) -> Iterator[type]:
    for name in dir(module):
        found = getattr(module, name)
        # Layers over several devices have tests of their own: tests/nn_parallel.
        apart = getattr(found, "__module__", "").startswith("tensorbus.nn.parallel")
        if inspect.isclass(found) and issubclass(found, base) and found is not base and not apart:
            yield found


def test_every_layer_and_optimiser_has_a_case(called: set[CodeType]) -> None:
    layers = ((c.__name__, c.__init__) for c in _classes(tensorbus.nn, tensorbus.nn.Module))
    optimisers = (
        (c.__name__, c.step) for c in _classes(tensorbus.optim, tensorbus.optim.Optimizer)
    )
    schedulers = (
        (c.__name__, c.step)
        for c in _classes(tensorbus.optim.lr_scheduler, tensorbus.optim.lr_scheduler.LRScheduler)
    )
    assert not (left := _missing(layers, called)), " ".join(left)
    assert not (left := _missing(optimisers, called)), " ".join(left)
    assert not (left := _missing(schedulers, called)), " ".join(left)
