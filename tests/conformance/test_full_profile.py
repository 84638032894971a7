"""The full profile on ``cpu``, and what of the library its cases run: nothing public is left out.

What has no case is found by introspection: while the suite runs, every Python function that is
called is recorded, and each public function, method, layer, optimiser and derivative rule has to
be among them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import pytest

import tensorbus
import tensorbus.linalg
import tensorbus.nn.functional
from tensorbus.ops.public import FUNCTIONS, METHODS
from tensorbus.ops.registry import ROWS
from tensorbus_conformance import Report, run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def recorded() -> tuple[Report, set[CodeType]]:
    called: set[CodeType] = set()

    def record(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            called.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        report = run("cpu")
    finally:
        sys.setprofile(before)
    return report, called


def test_cpu_passes_the_full_profile(recorded: tuple[Report, set[CodeType]]) -> None:
    report, _ = recorded
    assert report.ok, [f"{r.id}: {r.message}" for r in report.failures[:10]]
    assert not [r.id for r in report.results if r.stale], "exceptions that are needed no more"
    assert {r.level for r in report.results} == {"L0", "L1", "L2", "L3", "L4", "L5"}
    # A skip is not a pass: what this device lacks is bfloat16 and a second device, nothing else.
    lacking = {r.id for r in report.results if r.outcome == "not supported"}
    others = {id for id in lacking if "bfloat16" not in id}
    assert others <= {"L0/copy_/devices"}, sorted(others)[:10]
    assert report.counts()["pass"] > 40_000


def _code(function: Any) -> CodeType | None:
    """The code that runs when a public function is called."""
    if isinstance(function, property):
        function = function.fget
    function = inspect.unwrap(getattr(function, "__func__", function))
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
    recorded: tuple[Report, set[CodeType]], named: Callable[[], Iterator[tuple[str, Any]]]
) -> None:
    assert _missing(named(), recorded[1]) == []


def test_every_rule_and_composite_has_a_case(recorded: tuple[Report, set[CodeType]]) -> None:
    rules = (
        (f"{row.name}: derivative of {argument}", rule)
        for row in ROWS.values()
        for argument, rule in row.rules.items()
    )
    composites = ((row.name, row.composite) for row in ROWS.values() if row.composite)
    assert _missing(rules, recorded[1]) == []
    assert _missing(composites, recorded[1]) == []


def _classes(module: Any, base: type) -> Iterator[type]:
    for name in dir(module):
        found = getattr(module, name)
        if inspect.isclass(found) and issubclass(found, base) and found is not base:
            yield found


def test_every_layer_and_optimiser_has_a_case(recorded: tuple[Report, set[CodeType]]) -> None:
    layers = ((c.__name__, c.__init__) for c in _classes(tensorbus.nn, tensorbus.nn.Module))
    optimisers = (
        (c.__name__, c.step) for c in _classes(tensorbus.optim, tensorbus.optim.Optimizer)
    )
    schedulers = (
        (c.__name__, c.get_lr)
        for c in _classes(tensorbus.optim.lr_scheduler, tensorbus.optim.lr_scheduler.LRScheduler)
    )
    assert _missing(layers, recorded[1]) == []
    assert _missing(optimisers, recorded[1]) == []
    assert _missing(schedulers, recorded[1]) == []
