"""All benchmarks in one run: ``python -m benchmarks [--json FILE] [--quick]``.

With the name of one first, as in ``python -m benchmarks kernels``, that one alone.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from benchmarks import environment, import_time, overhead, training
from benchmarks.harness import Row, show, write_json

ALONE = (
    "distributed",
    "fused_rows",
    "import_time",
    "kernels",
    "launches",
    "libraries",
    "loading",
    "overhead",
    "profile_step",
    "training",
)


def main() -> int:
    name, *arguments = sys.argv[1:] or [""]
    if name in ALONE:
        sys.argv = [f"python -m benchmarks {name}", *arguments]
        return int(import_module(f"benchmarks.{name}").main())
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--quick", action="store_true", help="fewer processes and rounds")
    args = parser.parse_args()
    processes, rounds = (2, 7) if args.quick else (5, 21)
    header = environment.describe()
    environment.show(header)
    tables: dict[str, list[Row]] = {}

    tables["overhead"] = overhead.collect(processes, rounds)
    show("Overhead per op, (16, 16) float32, one thread", tables["overhead"])
    steps = [
        row
        for threads in sorted({environment.usable_cores(), 1}, reverse=True)
        for row in training.collect(min(processes, 3), min(rounds, 9), threads)
    ]
    tables["training"] = steps + training.whole_process(epochs=2 if args.quick else 12)
    show("Training", tables["training"])
    tables["import_time"] = import_time.collect(3 if args.quick else 9)
    show(f"Import time (limit: {import_time.LIMIT_MS:g} ms)", tables["import_time"])

    if args.json:
        write_json(args.json, header, tables)
    rows = [row for table in tables.values() for row in table]
    over = [row.name for row in rows if row.verdict in ("OVER", "error")]
    print("Over their limit: " + "; ".join(over) if over else "Every limit is met.")
    return 1 if any(row.error for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
