"""Epochs of the digits through loaders with two workers: ``python -m benchmarks.loading``.

Each library runs ``benchmarks/digits_loader.py`` in processes of its own, in turn, once with
workers that are started for each epoch and once with workers that stay. The limit is on the
processor time of an epoch, workers included; the time by the clock stands beside it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

from benchmarks import environment
from benchmarks.harness import ROOT, Row, parser, show, write_json

PROGRAM = "benchmarks/digits_loader.py"
LIMIT = 1.1
WAYS = {"new workers each": (), "workers kept": ("--keep",)}


def run(library: str, arguments: tuple[str, ...], epochs: int) -> dict[str, float]:
    """Seconds of an epoch, by the clock and of processors."""
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    command = ["-m", "benchmarks.program", library, PROGRAM, "--epochs", str(epochs), *arguments]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **dict.fromkeys(variables, "1")},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{PROGRAM} failed on {library}:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-2])
    return found


def collect(processes: int, epochs: int, only: str = "") -> list[Row]:
    """A row for each way and clock: medians over processes of both libraries in turn."""
    rows = []
    for way, arguments in WAYS.items():
        if only not in way:
            continue
        pairs = [
            (run("tensorbus", arguments, epochs), run("torch", arguments, epochs))
            for _ in range(processes)
        ]
        for clock, limit in (("processor", LIMIT), ("clock", None)):
            ours, theirs = ([one[clock] * 1e3 for one in each] for each in zip(*pairs, strict=True))
            ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
            row = Row(f"epoch of the digits, {way}: {clock}", limit=limit, unit="ms")
            row.ours, row.theirs = statistics.median(ours), statistics.median(theirs)
            row.ratio, row.low, row.high = statistics.median(ratios), min(ratios), max(ratios)
            rows.append(row)
    return rows


def main() -> int:
    options = parser(__doc__.splitlines()[0], processes=5, rounds=10)
    args = options.parse_args()
    header = environment.describe()
    environment.show(header)
    rows = collect(args.processes, args.rounds, args.only)
    show("Loading, two workers", rows)
    if args.json:
        write_json(args.json, header, {"loading": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
