"""Kernels beside PyTorch's: ``python -m benchmarks kernels``.

One thread is the figure: the thread's processor time, so that other programs on the machine count
little. With more threads the clock on the wall counts, and so does what else the machine does:
PyTorch's OpenMP threads wait at barriers for cores that others hold. Each time is also shown as a
share of the machine's limit, which the same processes measure: the bandwidth of a copy of 64 MiB,
or the rate of a product of 1024 x 1024 matrices.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from typing import Any

import numpy as np

from benchmarks import environment
from benchmarks.harness import (
    Clock,
    Row,
    beside,
    merge,
    parser,
    run_worker,
    write_json,
)
from benchmarks.kernel_cases import CASES, COPY, PRODUCT

ROUND_SECONDS = 0.02
MEAN = "geometric mean"
Limits = dict[str, float]
"""By what bounds a case: bytes, or floating-point operations, in a microsecond."""


def measure(only: str, rounds: int, seconds: float = ROUND_SECONDS) -> dict[str, Any]:
    """Measure in this process: microseconds by case and library, and the machine's limits."""
    import torch

    import tensorbus

    threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    torch.set_num_threads(threads)
    tensorbus.set_num_threads(threads)
    clock = time.thread_time if threads == 1 else time.perf_counter
    before = limits(clock)
    results = beside("kernel_cases", only, rounds, seconds, clock)
    after = limits(clock)
    return {"cases": results, "limits": {kind: max(before[kind], after[kind]) for kind in before}}


def limits(clock: Clock, rounds: int = 5) -> Limits:
    """The best of a few copies, and of a few products of NumPy's and PyTorch's BLAS."""
    import torch

    source = np.ones(1 << 24, np.float32)
    target = np.zeros_like(source)
    a = np.ones((1024, 1024), np.float32)
    matrix = torch.from_numpy(a)
    products = (lambda: np.matmul(a, a), lambda: torch.mm(matrix, matrix))
    copy = min(_spent(lambda: np.copyto(target, source), clock) for _ in range(rounds))
    product = min(_spent(call, clock) for call in products for _ in range(rounds))
    return {COPY: 2 * source.nbytes / copy, PRODUCT: 2 * 1024**3 / product}


def _spent(call: Any, clock: Clock) -> float:
    """Microseconds."""
    start = clock()
    call()
    return (clock() - start) * 1e6


def merged(found: list[dict[str, Any]]) -> tuple[list[Row], Limits]:
    """One row for each case, with its time at the machine's limit, and at last their mean."""
    most = {kind: max(one["limits"][kind] for one in found) for kind in (COPY, PRODUCT)}
    rows = merge(CASES, [one["cases"] for one in found])
    cases = {case.name: case for case in CASES}
    for row in rows:
        case = cases[row.name]
        row.beside[case.bound] = case.work / most[case.bound]
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if ratios:
        rows.append(Row(MEAN, ratio=statistics.geometric_mean(ratios)))
    return rows, most


def show(title: str, rows: list[Row]) -> None:
    """Print *rows*: times, their ratio, and both libraries' shares of the machine's limit."""
    from rich.console import Console
    from rich.table import Table

    columns = ("tensorbus", "PyTorch", "ratio", "range", "of the limit", "PyTorch's", "limit")
    table = Table("case", *columns, title=title)
    for column in table.columns[1:7]:
        column.justify = "right"
    for row in rows:
        if row.error or row.ratio is None:
            table.add_row(row.name, row.error, style="red")
        elif row.ours is None or row.theirs is None:
            table.add_section()
            table.add_row(row.name, "", "", f"{row.ratio:.2f}")
        else:
            [(bound, least)] = row.beside.items()
            table.add_row(
                row.name,
                *(f"{time:,.0f} µs" for time in (row.ours, row.theirs)),
                f"{row.ratio:.2f}",
                f"{row.low:.2f}-{row.high:.2f}",
                *(f"{least / time:.0%}" for time in (row.ours, row.theirs)),
                bound,
            )
    Console(width=140).print(table)


def main() -> int:
    options = parser(__doc__.splitlines()[0], processes=3, rounds=7)
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    args = options.parse_args()
    if args.worker:
        print(json.dumps(measure(args.only, args.rounds)))
        return 0
    header = environment.describe()
    environment.show(header)
    tables: dict[str, list[Row]] = {}
    arguments = ["--rounds", str(args.rounds), "--only", args.only]
    for threads in args.threads:
        found = [run_worker("kernels", arguments, threads) for _ in range(args.processes)]
        title = f"Kernels, {threads} thread{'s' * (threads > 1)}"
        tables[title], most = merged(found)
        reached = f"copy {most[COPY] / 1e3:.1f} GB/s, product {most[PRODUCT] / 1e3:.0f} GFLOP/s"
        header[title] = reached
        show(f"{title}; the machine's limits: {reached}", tables[title])
    if args.json:
        write_json(args.json, header, tables)
    return 1 if any(row.error for rows in tables.values() for row in rows) else 0


if __name__ == "__main__":
    import sys

    sys.exit(main())
