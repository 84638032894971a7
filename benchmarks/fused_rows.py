"""Composed ops compiled, beside the same ops step by step, on one device:
``python -m benchmarks fused_rows [DEVICE]``.

Each op of the conformance suite is called with its first sample's operands, brought to some numbers
of elements, with fusion and without; of those that ran compiled, forward and backward, the times
are compared. It is the processor time of the whole process: a device that is this machine's
processor works in threads of its own, and other programs on the machine count little.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tensorbus as torch
from benchmarks.fused_cases import CASES, Call, Maker, of_op
from benchmarks.harness import interleaved
from tensorbus import discovery
from tensorbus_conformance import clones
from tensorbus_conformance.cases.op_values import level
from tensorbus_conformance.samples import all_ops

SMALL = 1_024
SIZES = (4_096, 65_536, 1_048_576)
ROUND_SECONDS = 0.01
NOISE = 1.1
"""What is less slower than this, or only so in one of the repetitions, is not told from noise."""
REPETITIONS = 3
LONGEST = 0.2
"""Seconds: a composition that takes longer is not repeated at this size."""
CALLS = 3
"""Calls until a pattern of sizes is compiled."""


class Timed(NamedTuple):
    """A call that ran compiled: microseconds of it, and of its composition."""

    name: str
    elements: int
    fused: float
    composed: float

    @property
    def ratio(self) -> float:
        return self.fused / self.composed


class Pair:
    """A device, and a copy of it that compiles nothing."""

    def __init__(self, device: str):
        backend = discovery.backend(device)
        if not discovery.compilers(backend):
            raise SystemExit(f"{device} compiles nothing")
        self.ran: list[Any] = []
        self._plugged = [
            discovery.plugged(clones.compiling(backend, self.ran)),
            discovery.plugged(clones.uncompiled(backend)),
        ]

    def __enter__(self) -> Pair:
        self.fused, self.composed = [each.__enter__() for each in self._plugged]
        return self

    def __exit__(self, *error: Any) -> None:
        for each in self._plugged:
            each.__exit__(*error)

    def compiles(self, make: Maker) -> bool:
        """Whether anything of a small call runs compiled."""
        return self._warm(make(self.fused, SMALL))

    def _warm(self, call: Call) -> bool:
        for _ in range(CALLS):
            call()
        self.ran.clear()
        call()
        return bool(self.ran)

    def times(self, make: Maker, elements: int, rounds: int) -> tuple[float, float] | None:
        """Microseconds of a call compiled and composed; None where nothing of it is compiled."""
        calls = {device: make(device, elements) for device in (self.fused, self.composed)}
        if not self._warm(calls[self.fused]):
            return None
        loops = {device: _loop(call, device) for device, call in calls.items()}
        start = time.process_time()
        loops[self.composed](1)
        if time.process_time() - start > LONGEST:
            return None
        found = interleaved(loops, rounds, ROUND_SECONDS, time.process_time)
        self.ran.clear()
        return found[self.fused], found[self.composed]


def _loop(call: Call, device: str) -> Callable[[int], object]:
    def run(turns: int) -> None:
        for _ in range(turns):
            call()
        torch.accelerator.synchronize(device)

    return run


def makers(only: str) -> Iterator[tuple[str, Maker]]:
    """Names of calls, and what prepares each."""
    for op in all_ops():
        if only in op.name and level(op) == "L4":
            yield from of_op(op)
    yield from ((name, make) for name, make in CASES.items() if only in name)


def measure(pair: Pair, only: str, sizes: list[int], rounds: int) -> list[Timed]:
    """All calls that ran compiled; what is slower is measured again, and the least ratio counts."""
    found = []
    for name, make in makers(only):
        try:
            if not pair.compiles(make):
                continue
            for elements in sizes:
                timed = _least(pair, name, make, elements, rounds)
                if timed is not None:
                    found.append(timed)
                    print(f"{name} {elements}: {timed.ratio:.2f}", file=sys.stderr, flush=True)
        except Exception as error:  # whatever parameters that do not fit these sizes lead to
            print(f"{name} is left out: {type(error).__name__}", file=sys.stderr, flush=True)
    return found


def _least(pair: Pair, name: str, make: Maker, elements: int, rounds: int) -> Timed | None:
    found: list[Timed] = []
    while len(found) < REPETITIONS and all(one.ratio > NOISE for one in found):
        times = pair.times(make, elements, rounds)
        if times is None:
            return None
        found.append(Timed(name, elements, *times))
    return min(found, key=lambda one: one.ratio)


def show(found: list[Timed], most: int) -> None:
    """Print the mean at each size, and those that are slowest by the ratio."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 100)
    means = Table("elements", "calls", "geometric mean", "slower", title="Compiled over composed")
    for elements in sorted({one.elements for one in found}):
        ratios = [one.ratio for one in found if one.elements == elements]
        slower = sum(ratio > NOISE for ratio in ratios)
        mean = f"{statistics.geometric_mean(ratios):.2f}"
        means.add_row(f"{elements:,}", str(len(ratios)), mean, str(slower))
    console.print(means)
    table = Table("call", "elements", "compiled", "composed", "ratio", title="The slowest")
    for one in sorted(found, key=lambda one: -one.ratio)[:most]:
        style = "red" if one.ratio > NOISE else None
        times = (f"{t:,.0f} µs" for t in (one.fused, one.composed))
        table.add_row(one.name, f"{one.elements:,}", *times, f"{one.ratio:.2f}", style=style)
    console.print(table)


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.fused_rows", description=__doc__)
    options.add_argument("device", nargs="?", default="opencl")
    options.add_argument("--only", default="", help="ops with this in their names")
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--most", type=int, default=20, help="how many calls to name")
    args = options.parse_args()
    with Pair(args.device) as pair, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = measure(pair, args.only, args.sizes, args.rounds)
    show(found, args.most)
    return 1 if any(one.ratio > NOISE for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
