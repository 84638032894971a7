"""Ctrl-C anywhere leaves nothing behind in the library."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.interrupts.injector import Injector
from tests.interrupts.programs import LONG, PROGRAMS
from tests.interrupts.state import RESULT, small_program, state

import tensorbus as torch


def settled() -> dict[str, Any]:
    """The state, after what is found out late: which tensors live no more."""
    gc.collect()
    torch.ones(1).exp()  # finds that no class is to be asked
    return state()


def interrupt(name: str, most: int) -> int:
    """Interrupt a program at up to *most* places; how many were tried."""
    run = PROGRAMS[name]
    gc.collect()  # what other tests have left, modes that last as long as a tensor among it
    run()  # what is made at the first use
    run()
    assert small_program() == RESULT
    counter = Injector()
    assert not counter.run(run)
    places = list(range(counter.count))
    if len(places) > most:
        places = sorted(random.Random(f"{name} {most}").sample(places, most))
    before = settled()
    for at in places:
        injector = Injector(at)
        assert injector.run(run), injector.place
        found = state()
        if any(found[late] != before[late] for late in ("early leaves", "classes")):
            found = settled()
        assert found == before, (at, injector.place)
        assert small_program() == RESULT, (at, injector.place)
    return len(places)


class Left:
    """Garbage that only the collector finds, and that uses the library then."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        torch.ones(2).add_(1)


@pytest.mark.slow
def test_what_others_left_to_the_collector_is_no_place_of_a_program():
    run = PROGRAMS["second_order"]
    for _ in range(2):
        run()
    counts, before = [], gc.get_threshold()
    for later in range(0, 60, 3):
        gc.collect()
        gc.disable()
        garbage = [Left() for _ in range(20)]
        del garbage
        counter = Injector()
        gc.set_threshold(gc.get_count()[0] + later)  # somewhere in the program, if it runs at all
        gc.enable()
        try:
            assert not counter.run(run)
        finally:
            gc.set_threshold(*before)
        counts.append(counter.count)
    assert len(set(counts)) == 1, counts


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in LONG])
def test_some_places(name):
    assert interrupt(name, 25) == 25


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_two_thousand_places(name):
    assert interrupt(name, 400) > 25


WRITES = {
    "a tensor": lambda x, y: x.add_(y),
    "a number": lambda x, y: x.mul_(2),
    "another dtype": lambda x, y: x.add_(y.int()),
    "a unary op": lambda x, y: x.exp_(),
    "zeros": lambda x, y: x.zero_(),
    "a copy": lambda x, y: x.copy_(y),
    "a fill": lambda x, y: x.fill_(7),
    "a view": lambda x, y: x[1:3].mul_(3),
    "an item": lambda x, y: x.__setitem__(1, 9.0),
    "a mask": lambda x, y: x.masked_fill_(y > 1, 4.0),
    "indices": lambda x, y: x.index_add_(0, torch.tensor([1, 1]), torch.ones(2)),
    "out": lambda x, y: torch.add(x, y, out=x),
    "random numbers": lambda x, y: x.uniform_(),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_counted_or_did_not_happen(name):
    write, y = WRITES[name], torch.tensor([1.0, 2.0, 3.0, 4.0])

    def run() -> None:
        write(x, y)

    x = y.clone() * 5
    run()
    x = y.clone() * 5
    counter = Injector()
    counter.run(run)
    for at in range(counter.count):
        x = y.clone() * 5
        before, version = x.tolist(), x._version
        injector = Injector(at)
        assert injector.run(run)
        if x.tolist() != before:
            assert x._version > version, injector.place


SIGNALLED = """
import faulthandler, random, signal, time
import tensorbus as torch
from tests.interrupts.programs import PROGRAMS
from tests.interrupts.state import RESULT, small_program, state

faulthandler.dump_traceback_later(280, exit=True)  # says where it hangs, if it does
assert small_program() == RESULT
for run in PROGRAMS.values():
    run()
before = state()
chosen = random.Random(0)
# The signal comes when the program has used the processor for some time, however busy that is.
signal.signal(signal.SIGPROF, signal.default_int_handler)
for turn in range(60):
    try:
        signal.setitimer(signal.ITIMER_PROF, 1e-4 + chosen.random() / 50)
        end = time.process_time() + 5
        while time.process_time() < end:
            PROGRAMS["perceptron"]()
            PROGRAMS["modes"]()
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError(f"interrupt {turn} was lost")
    found = state()
    assert found == before, (turn, found, before)
    assert small_program() == RESULT
print("nothing left")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a timer of the processor's time")
def test_real_signals():
    root = Path(__file__).parents[2]
    made = subprocess.run(
        [sys.executable, "-c", SIGNALLED],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
    )
    assert made.stdout == "nothing left\n", made.stderr
