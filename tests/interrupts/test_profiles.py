"""Ctrl-C while a program is profiled: no record stays open, and no hook is left."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.interrupts.injector import interrupt

import tensorbus as torch
from tensorbus.nn.modules._hooks import EVERYWHERE
from tensorbus.profiler import recording
from tensorbus.profiler.modules import watch_modules

ALL = 10**6
X = torch.ones(2, requires_grad=True)


def _labels() -> None:
    with torch.profiler.record_function("block"), torch.profiler.record_function("part"):
        pass


@pytest.mark.parametrize(
    "run", [_labels, lambda: X + X, lambda: X.sum().backward()], ids=["labels", "op", "node"]
)
def test_records_are_closed(run):
    with torch.profiler.profile(record_shapes=True, profile_memory=True):
        interrupt(lambda: SimpleNamespace(run=run, seen=lambda: recording.current().depth), 100)


def test_hooks_of_modules_can_be_removed():
    def make() -> SimpleNamespace:
        handles: list[Any] = []

        def seen() -> list[Any]:
            for handle in handles:
                handle.remove()
            return [
                list(table) for table in (EVERYWHERE.hooks.forward_pre, EVERYWHERE.hooks.forward)
            ]

        return SimpleNamespace(run=lambda: watch_modules(handles), seen=seen)

    interrupt(make, ALL)
    make().seen()
