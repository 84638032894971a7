"""What all benchmarks share: interleaved rounds, worker processes, medians, the table, the JSON.

Two libraries are compared inside one process, in short rounds that alternate, because the speed
of a shared machine drifts by more than what is measured. Several processes are run, because two
identical functions can differ by a tenth within one (memory layout, hash seeds). What is reported
is the median over processes of each process's ratio of medians.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
Loop = Callable[[int], object]
"""Runs what is measured *n* times."""


@dataclass(frozen=True)
class Case:
    """One thing that is measured: ``make(torch)`` prepares it for one library."""

    name: str
    limit: float | None
    """The most that our time over PyTorch's may be; None where no limit was set."""
    make: Callable[[Any], Loop]
    per_call: int = 1
    """How many ops one turn of the loop counts for."""


@dataclass
class Row:
    """A case's result: microseconds (or megabytes, milliseconds) of both, and the ratio."""

    name: str
    ours: float | None = None
    theirs: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    unit: str = "µs"
    error: str | None = None
    beside: dict[str, float] = field(default_factory=dict)
    """The times of all other libraries, where there is more than one."""

    @property
    def verdict(self) -> str:
        if self.error:
            return "error"
        if self.limit is None or self.ratio is None:
            return ""
        return "ok" if self.ratio <= self.limit else "OVER"


def private_copy(module: str) -> ModuleType:
    """Load ``benchmarks/<module>.py`` anew.

    CPython specialises bytecode for the types it meets. Were the two libraries to share one code
    object, each would spoil the other's specialisation; a program uses only one of them.
    """
    spec = importlib.util.spec_from_file_location(
        f"benchmarks._private_{module}_{random.getrandbits(32):08x}",
        ROOT / "benchmarks" / f"{module}.py",
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"benchmarks/{module}.py cannot be loaded")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


Clock = Callable[[], float]


def turns_for(loop: Loop, seconds: float, clock: Clock = time.perf_counter) -> int:
    """How many turns of *loop* take about *seconds*; also warms it up."""
    turns = 1
    while True:
        # The best of a few: a first call also pays for what is made on first use, and a round of
        # too few turns would measure cold caches.
        spent = min(_timed(loop, turns, clock) for _ in range(4))
        if spent >= seconds / 4:
            return max(1, round(turns * seconds / spent))
        turns *= 4


def _timed(loop: Loop, turns: int, clock: Clock) -> float:
    start = clock()
    loop(turns)
    return clock() - start


def interleaved(
    loops: dict[str, Loop], rounds: int, seconds: float, clock: Clock = time.perf_counter
) -> dict[str, float]:
    """The median time of one turn of each loop, in microseconds.

    The rounds alternate, in a shuffled order. The garbage collector stays on, as in a program: its
    work on our Python objects is a cost of ours.
    """
    turns = {name: turns_for(loop, seconds, clock) for name, loop in loops.items()}
    times: dict[str, list[float]] = {name: [] for name in loops}
    names = list(loops)
    gc.collect()
    for _ in range(rounds):
        random.shuffle(names)
        for name in names:
            spent = _timed(loops[name], turns[name], clock)
            times[name].append(spent / turns[name] * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


def beside(
    module: str, only: str, rounds: int, seconds: float, clock: Clock
) -> dict[str, dict[str, Any]]:
    """Each case of a module made for both libraries: ``{case: {"ours": µs, "theirs": µs}}``.

    A case that can't run on ours is ``{"error": text}``; those without *only* in their name are
    left out.
    """
    import torch

    import tensorbus

    results: dict[str, dict[str, Any]] = {}
    cases = zip(private_copy(module).CASES, private_copy(module).CASES, strict=True)
    for our_case, their_case in cases:
        if only not in our_case.name:
            continue
        try:
            our_loop = our_case.make(tensorbus)
            our_loop(1)
        except Exception as error:
            results[our_case.name] = {"error": f"{type(error).__name__}: {error}"}
            continue
        loops = {"ours": our_loop, "theirs": their_case.make(torch)}
        results[our_case.name] = interleaved(loops, rounds, seconds, clock)
    return results


def run_worker(module: str, arguments: Iterable[str], threads: int) -> Any:
    """Run ``python -m benchmarks.<module> --worker ...`` and return the JSON on its last line."""
    count = str(threads)
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(variables, count)}
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", "--worker", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"benchmarks.{module} failed in its worker process:\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def merge(cases: Iterable[Case], results: list[dict[str, Any]], suffix: str = "") -> list[Row]:
    """One row for each case from the workers' ``{case: {"ours", "theirs"} or {"error"}}``."""
    rows = []
    for case in cases:
        found = [result[case.name] for result in results if case.name in result]
        if not found:
            continue
        row = Row(case.name + suffix, limit=case.limit)
        errors = [one["error"] for one in found if "error" in one]
        if errors:
            row.error = errors[0]
        else:
            ratios = [one["ours"] / one["theirs"] for one in found]
            row.ours = statistics.median(one["ours"] for one in found) / case.per_call
            row.theirs = statistics.median(one["theirs"] for one in found) / case.per_call
            row.ratio, row.low, row.high = statistics.median(ratios), min(ratios), max(ratios)
        rows.append(row)
    return rows


def parser(description: str, **defaults: int) -> argparse.ArgumentParser:
    """The options that the benchmarks share; *defaults* are theirs."""
    out = argparse.ArgumentParser(description=description)
    out.add_argument("--processes", type=int, default=defaults.get("processes", 5))
    out.add_argument("--rounds", type=int, default=defaults.get("rounds", 21))
    out.add_argument("--only", default="", help="run only the cases whose name contains this")
    out.add_argument("--json", type=Path, help="write the results to this file")
    out.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return out


def show(title: str, rows: list[Row]) -> None:
    """Print *rows* as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table("case", "tensorbus", "PyTorch", "ratio", "range", "limit", "", title=title)
    for column in table.columns[1:6]:
        column.justify = "right"

    def number(value: float | None, unit: str = "") -> str:
        return "" if value is None else f"{value:,.{2 if value < 100 else 0}f} {unit}".strip()

    for row in rows:
        span = "" if row.low is None or row.high is None else f"{row.low:.2f}-{row.high:.2f}"
        verdict = row.error or row.verdict
        style = "red" if row.verdict in ("OVER", "error") else ""
        table.add_row(
            row.name,
            number(row.ours, row.unit),
            number(row.theirs, row.unit),
            number(row.ratio),
            span,
            number(row.limit),
            verdict,
            style=style,
        )
    # A file or a pipe has no width; 80 columns would fold the names of the cases.
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def write_json(path: Path, environment: dict[str, str], tables: dict[str, list[Row]]) -> None:
    """Write what was measured, and on what, to *path*."""
    content = {
        "environment": environment,
        "tables": {name: [asdict(row) for row in rows] for name, rows in tables.items()},
    }
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
