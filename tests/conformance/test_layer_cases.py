"""Every layer, optimiser, schedule and helper of training has cases in the suite."""

from __future__ import annotations

import inspect

import pytest

from tensorbus import nn, optim
from tensorbus_conformance import all_cases
from tensorbus_conformance.cases import (
    layer_behaviour,
    optimizers,
    schedules,
    training_helpers,
    weight_helpers,
)
from tensorbus_conformance.layer_samples import all_layers
from tensorbus_conformance.optimizer_reference import ALGORITHMS


def test_every_layer_has_cases() -> None:
    public = {
        name
        for name in nn.__all__
        if inspect.isclass(getattr(nn, name)) and issubclass(getattr(nn, name), nn.Module)
    }
    have = {layer.name for layer in all_layers()} | set(layer_behaviour.LAYERS)
    assert public - have == set()
    assert have - public == set()


def test_every_case_of_a_layer_says_what_it_needs() -> None:
    found = [case for case in all_cases() if case.op.startswith("nn.") and case.level == "L5"]
    assert len(found) > 1000
    assert all(case.dtypes for case in found)


def test_every_optimiser_has_cases() -> None:
    public = {name for name in optim.__all__ if inspect.isclass(getattr(optim, name))}
    ops = {case.op for case in all_cases() if case.family == "optimisers"}
    have = {op.removeprefix("optim.") for op in ops if op.count(".") == 1}
    assert have == public - {"Optimizer"}
    assert set(optimizers.OPTIONS) == set(ALGORITHMS)


def test_every_schedule_has_cases() -> None:
    assert {s.name for s in schedules.SCHEDULES} == set(optim.lr_scheduler.__all__) - {
        "LRScheduler"
    }


@pytest.mark.parametrize("module", ["init", "utils"])
def test_every_helper_has_cases(module: str) -> None:
    home = getattr(nn, module)
    names = getattr(home, "__all__", None) or vars(home)
    public = {
        name
        for name in names
        if inspect.isfunction(value := getattr(home, name))
        and not name.startswith("_")
        and value.__module__.startswith("tensorbus.nn.")
    }
    utils = {**training_helpers.UTILS, **weight_helpers.UTILS}
    table = {"init": training_helpers.INIT, "utils": utils}[module]
    assert {name for name, _ in table if "." not in name} == public
