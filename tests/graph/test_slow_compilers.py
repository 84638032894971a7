"""A plugin that takes too long to compile: users learn whom they wait for, and wait once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from graph_interpreter import Interpreter

import tensorbus as torch
from tensorbus import discovery
from tensorbus.graph import asking
from tensorbus.plugin import Graph

F = torch.nn.functional
Cpu: Any = type(discovery.backend("cpu"))


class Slow(Cpu):  # type: ignore[misc]
    """The device cpu with a compiler that waits for something before it does its work."""

    def __init__(self, wait: Callable[[], Any]) -> None:
        super().__init__()
        self.wait, self.asked = wait, 0

    def kernel(self, op: str, dtype: Any, index: int) -> Any:
        return None if op in ("gelu", "silu") else super().kernel(op, dtype, index)

    def compile(self, graph: Graph, index: int) -> Any:
        self.asked += 1
        self.wait()
        return Interpreter(self).compile(graph, index)


@pytest.fixture
def warned(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, list[Any]]]:
    """An event that is set when a warning is shown, and the warnings."""
    shown, found = threading.Event(), []

    def show(*warning: Any, **options: Any) -> None:
        found.append(warning)
        shown.set()

    monkeypatch.setattr(asking, "_too_slow", [])
    monkeypatch.setenv(asking.VARIABLE, "0.01")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield shown, found


X = torch.linspace(-2, 2, 12).reshape(3, 4)


def right(function: Any, device: str) -> None:
    torch.testing.assert_close(function(X.to(device)).cpu(), function(X))


def test_a_warning_names_the_plugin_and_the_op_and_it_is_asked_once(
    warned: tuple[threading.Event, list[Any]],
) -> None:
    shown, found = warned
    backend = Slow(lambda: shown.wait(60))
    with discovery.plugged(backend) as device:
        for _ in range(5):
            right(F.gelu, device)
            right(F.silu, device)
    assert backend.asked == 1 and len(found) == 1
    message, category, file, *_ = found[0]
    assert category is UserWarning and file == __file__
    said = str(message)
    assert said.startswith(f"{device} has been compiling gelu for 0.01 seconds")
    assert "Ctrl-C" in said
    assert asking.VARIABLE in said and "TENSORBUS_FUSION=0" in said


def test_gradients_and_steps_are_named_too(warned: tuple[threading.Event, list[Any]]) -> None:
    shown, found = warned
    backend = Slow(lambda: shown.wait(60))

    def again() -> None:
        asking._too_slow.clear()
        shown.clear()

    with discovery.plugged(backend) as device:
        p = torch.nn.Parameter(torch.ones(3, device=device))
        optimizer = torch.optim.Adam([p])
        p.grad = torch.ones(3, device=device)
        for _ in range(4):
            optimizer.step()
        for _ in range(4):
            again()
            y = F.silu(X.to(device).requires_grad_()).sum()
            again()
            y.backward()
    said = " ".join(str(message) for message, *_ in found)
    for what in ("adam_step", "silu", "the gradient of silu"):
        assert f"{device} has been compiling {what} for" in said


def test_what_was_interrupted_after_the_warning_is_left(
    warned: tuple[threading.Event, list[Any]],
) -> None:
    shown, found = warned

    def interrupted() -> None:
        shown.wait(60)
        raise KeyboardInterrupt

    backend = Slow(interrupted)
    with discovery.plugged(backend) as device:
        for _ in range(2):
            right(F.gelu, device)
        with pytest.raises(KeyboardInterrupt):
            F.gelu(X.to(device))
        for _ in range(3):
            right(F.gelu, device)
    assert backend.asked == 1 and len(found) == 1


def test_a_plugin_in_time_is_watched_by_nobody_afterwards(
    warned: tuple[threading.Event, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(asking.VARIABLE, "1000")
    before = threading.active_count()
    backend = Slow(lambda: None)
    with discovery.plugged(backend) as device:
        for _ in range(4):
            right(F.gelu, device)
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(60)
    assert backend.asked == 1 and not warned[1] and threading.active_count() <= before


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf"])
def test_a_patience_that_is_none_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(asking.VARIABLE, text)
    with pytest.raises(ValueError, match=f"{asking.VARIABLE} is a number of seconds above 0"):
        asking.patience()


PROGRAM = """
import threading
import tensorbus as torch
from tensorbus import discovery

class Hanging(type(discovery.backend("cpu"))):
    def kernel(self, op, dtype, index):
        return None if op == "gelu" else super().kernel(op, dtype, index)

    def compile(self, graph, index):
        threading.Event().wait()

with discovery.plugged(Hanging()) as device:
    x = torch.ones(3, device=device)
    for _ in range(5):
        try:
            y = torch.nn.functional.gelu(x)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    print(y.cpu().tolist())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_ends_a_compiler_that_never_returns() -> None:
    environment = {**os.environ, asking.VARIABLE: "0.01"}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as run:
        try:
            assert run.stderr is not None
            assert "has been compiling gelu for" in run.stderr.readline()
            run.send_signal(signal.SIGINT)
            said, errors = run.communicate(timeout=60)
        finally:
            run.kill()
    assert not run.returncode, errors
    first, values = said.splitlines()
    assert first == "interrupted" and values.startswith("[0.8413")
