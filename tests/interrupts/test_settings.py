"""Ctrl-C where a switch or a block sets what a whole thread or process has."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from tests.interrupts.injector import Injector, interrupt

import tensorbus as torch
from tensorbus import discovery
from tensorbus._dispatch import kinds
from tensorbus.autograd.anomaly_mode import ANOMALY
from tensorbus.autograd.grad_mode import GRAD
from tensorbus.autograd.node import Node


@pytest.mark.parametrize("switch", [
    lambda: torch.set_grad_enabled(False), lambda: torch.autograd.set_detect_anomaly(True),
    lambda: torch.set_fusion(False),
], ids=["set_grad_enabled", "set_detect_anomaly", "set_fusion"])  # fmt: skip
def test_a_switch_that_is_interrupted_does_nothing(switch):
    def seen() -> Any:
        anomaly = ANOMALY.on, "__init__" in vars(Node)
        return torch.is_grad_enabled(), GRAD.off_count, anomaly, torch.get_fusion()

    before, at = seen(), 0
    injector = Injector(at)
    try:
        while injector.run(switch):
            assert seen() == before, injector.place
            at += 1
            injector = Injector(at)
        assert at > 1 and seen() != before
    finally:
        torch.set_grad_enabled(True)
        torch.autograd.set_detect_anomaly(False)
        torch.set_fusion(True)


@pytest.mark.parametrize("block", [torch.accelerator.device_index, torch.cuda.device])
def test_the_current_device(block, monkeypatch):
    class Two(type(discovery.backend("cpu"))):
        def device_count(self) -> int:
            return 2

    with discovery.plugged(Two()) as name, torch.device(name):
        monkeypatch.setattr(torch.cuda, "_TYPE", name)

        def make() -> SimpleNamespace:
            def run() -> None:
                with block(1):
                    assert kinds.current_index(name) == 1

            return SimpleNamespace(run=run, seen=lambda: kinds.current_index(name))

        interrupt(make, 10**6)


def test_the_path_of_a_hub(tmp_path):
    (tmp_path / "hubconf.py").write_text("def model(): ...")

    def make() -> SimpleNamespace:
        return SimpleNamespace(
            run=lambda: torch.hub.load(str(tmp_path), "model", source="local"),
            seen=lambda: list(sys.path),
        )

    interrupt(make, 100)
