"""The cost of single ops beside PyTorch's: ``python -m benchmarks.overhead``.

Both libraries run in the same process on one thread, (16, 16) float32, in alternating rounds. The
clock is the thread's own processor time, which other programs on the machine disturb less.
``np.add`` alone is printed beside: what a frontend that costs nothing would reach.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from benchmarks import environment
from benchmarks.harness import (
    Case,
    Row,
    interleaved,
    merge,
    parser,
    private_copy,
    run_worker,
    show,
    write_json,
)
from benchmarks.overhead_cases import CASES, SHAPE

NUMPY_ALONE = "np.add alone, beside torch's a + b"
ROUND_SECONDS = 0.005


def cases() -> list[Case]:
    """All rows of the table, in order."""
    return [*CASES, Case(NUMPY_ALONE, None, numpy_add)]


def numpy_add(np: Any) -> Any:
    a, b = np.full(SHAPE, 0.5, np.float32), np.full(SHAPE, 0.25, np.float32)

    def loop(n: int) -> object:
        for _ in range(n):
            result = np.add(a, b)
        return result

    return loop


def measure(only: str, rounds: int, seconds: float = ROUND_SECONDS) -> dict[str, dict[str, Any]]:
    """Measure in this process: ``{case: {"ours": µs, "theirs": µs}}`` or ``{"error": text}``."""
    import numpy as np
    import torch

    import tensorbus

    torch.set_num_threads(1)
    ours = {case.name: case for case in private_copy("overhead_cases").CASES}
    theirs = {case.name: case for case in private_copy("overhead_cases").CASES}
    ours[NUMPY_ALONE], theirs[NUMPY_ALONE] = Case(NUMPY_ALONE, None, numpy_add), theirs["a + b"]
    results: dict[str, dict[str, Any]] = {}
    for name, case in ours.items():
        if only not in name:
            continue
        try:
            our_loop = case.make(np if name == NUMPY_ALONE else tensorbus)
            our_loop(1)
        except Exception as error:
            results[name] = {"error": f"{type(error).__name__}: {error}"}
            continue
        loops = {"ours": our_loop, "theirs": theirs[name].make(torch)}
        results[name] = interleaved(loops, rounds, seconds, time.thread_time)
    return results


def collect(processes: int, rounds: int, only: str = "") -> list[Row]:
    """Measure in *processes* processes, one after the other."""
    arguments = ["--rounds", str(rounds), "--only", only]
    found = [run_worker("overhead", arguments, threads=1) for _ in range(processes)]
    return merge(cases(), found)


def main() -> int:
    args = parser(__doc__.splitlines()[0], processes=5, rounds=21).parse_args()
    if args.worker:
        print(json.dumps(measure(args.only, args.rounds)))
        return 0
    header = environment.describe()
    environment.show(header)
    rows = collect(args.processes, args.rounds, args.only)
    show("Overhead per op, (16, 16) float32, one thread", rows)
    if args.json:
        write_json(args.json, header, {"overhead": rows})
    return 1 if any(row.error for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
