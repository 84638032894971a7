"""Linear algebra, FFTs, special functions beside NumPy, SciPy, PyTorch: ``benchmarks.libraries``.

All libraries run in the same process on one thread, in alternating rounds. The limit is on our
time over the quicker one of NumPy's and SciPy's own calls; PyTorch's time is printed beside.
``--without-scipy`` hides SciPy from tensorbus, but not from the benchmark.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import environment
from benchmarks.harness import Loop, Row, interleaved, parser, run_worker, write_json
from benchmarks.library_cases import BACKWARD, FFT, LINALG, LibraryCase
from benchmarks.special_cases import SPECIAL

TABLES = {
    "linear algebra": LINALG,
    "backward": BACKWARD,
    "Fourier transforms": FFT,
    "special functions of 1,000,000 elements": SPECIAL,
}
ROUND_SECONDS = 0.003
Operands = tuple[np.ndarray, ...]


class _Hidden:
    """A finder that lets nobody import SciPy."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] == "scipy":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _ours(case: LibraryCase, operands: Operands, device: str) -> Loop:
    """Our loop, after its kernels have been found."""
    import tensorbus

    loop = _loop(case.tensors, tensorbus, _tensors(tensorbus, case, operands, device))
    loop(2)
    return loop


def _tensors(library: Any, case: LibraryCase, operands: Operands, device: str = "cpu") -> list[Any]:
    # In NumPy's memory: where a large array lies can be worth half of the time to read it.
    tensors = [library.from_numpy(x).to(device) for x in operands]
    if case.backward:
        tensors[0].requires_grad_()
    return tensors


def _loop(call: Callable[..., Any], library: Any, operands: Any) -> Loop:
    def loop(n: int) -> object:
        for _ in range(n):
            result = call(library, *operands)
        return result

    return loop


def _synchronised(loop: Loop, device: str) -> Loop:
    import tensorbus

    def run(n: int) -> object:
        result = loop(n)
        tensorbus.accelerator.synchronize(device)
        return result

    return loop if device == "cpu" else run


def measure(
    only: str, rounds: int, device: str, without_scipy: bool
) -> dict[str, dict[str, dict[str, Any]]]:
    """Measure in this process: microseconds by table, case and library."""
    import scipy.fft
    import scipy.linalg
    import scipy.special
    import torch

    torch.set_num_threads(1)
    scipy_modules = {k: v for k, v in sys.modules.items() if k.partition(".")[0] == "scipy"}
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for table, cases in TABLES.items():
        found = results.setdefault(table, {})
        for case in cases:
            for dtype in case.dtypes:
                name = f"{case.name}, {dtype}"
                if only not in f"{table}: {name}":
                    continue
                operands = case.operands(np.dtype(dtype))  # SciPy may have to factor these
                try:
                    if without_scipy:
                        for module in scipy_modules:
                            sys.modules.pop(module, None)
                        sys.meta_path.insert(0, _Hidden())  # type: ignore[arg-type]
                    ours = _ours(case, operands, device)
                except Exception as error:
                    found[name] = {"error": f"{type(error).__name__}: {error}"}
                    continue
                finally:
                    if without_scipy:
                        sys.meta_path.pop(0)
                        sys.modules.update(scipy_modules)
                loops = {"ours": _synchronised(ours, device)}
                if case.numpy is not None:
                    loops["NumPy"] = _loop(case.numpy, np, operands)
                if case.scipy is not None:
                    loops["SciPy"] = _loop(case.scipy, scipy, operands)
                loops["PyTorch"] = _loop(case.tensors, torch, _tensors(torch, case, operands))
                # Of a device that works in threads of its own, the time until it is done.
                clock = time.thread_time if device == "cpu" else time.perf_counter
                found[name] = interleaved(loops, rounds, ROUND_SECONDS, clock)
    return results


def merged(results: list[dict[str, dict[str, Any]]]) -> list[Row]:
    """One row for each case: the ratio is to the quicker of NumPy and SciPy."""
    limits = {c.name: c.limit for cases in TABLES.values() for c in cases}
    rows = []
    for name in results[0]:
        found = [result[name] for result in results]
        row = Row(name, limit=limits[name.rpartition(",")[0]])
        errors = [one["error"] for one in found if "error" in one]
        rows.append(row)
        if errors:
            row.error = errors[0]
            continue
        row.ours = statistics.median(one["ours"] for one in found)
        row.beside = {
            library: statistics.median(one[library] for one in found)
            for library in found[0]
            if library != "ours"
        }
        own = [library for library in row.beside if library != "PyTorch"] or ["PyTorch"]
        ratios = [one["ours"] / min(one[library] for library in own) for one in found]
        row.theirs = min(row.beside[library] for library in own)
        row.ratio, row.low, row.high = statistics.median(ratios), min(ratios), max(ratios)
    return rows


def show(title: str, rows: list[Row]) -> None:
    """Print *rows*, microseconds of each library."""
    from rich.console import Console
    from rich.table import Table

    columns = ("NumPy", "SciPy", "PyTorch")
    table = Table("case", "tensorbus", *columns, "ratio", "range", "to PyTorch", "", title=title)
    for column in table.columns[1:8]:
        column.justify = "right"
    for row in rows:
        if row.error or row.ours is None or row.ratio is None:
            table.add_row(row.name, *[""] * 7, row.error, style="red")
            continue
        times = [row.beside.get(library) for library in columns]
        table.add_row(
            row.name,
            f"{row.ours:,.0f} µs",
            *("" if t is None else f"{t:,.0f}" for t in times),
            f"{row.ratio:.2f}",
            f"{row.low:.2f}-{row.high:.2f}",
            f"{row.ours / row.beside['PyTorch']:.2f}",
            row.verdict,
            style="red" if row.verdict == "OVER" else "",
        )
    Console(width=None if sys.stdout.isatty() else 150).print(table)


def main() -> int:
    options = parser(__doc__.splitlines()[0], processes=3, rounds=9)
    options.add_argument("--device", default="cpu", help="ours")
    options.add_argument("--without-scipy", action="store_true", help="hide SciPy from tensorbus")
    args = options.parse_args()
    if args.worker:
        print(json.dumps(measure(args.only, args.rounds, args.device, args.without_scipy)))
        return 0
    header = environment.describe()
    header["scipy"] = environment.installed("scipy")
    environment.show(header)
    arguments = ["--rounds", str(args.rounds), "--only", args.only, "--device", args.device]
    if args.without_scipy:
        arguments.append("--without-scipy")
    found = [run_worker("libraries", arguments, threads=1) for _ in range(args.processes)]
    tables = {table: merged([one[table] for one in found]) for table in TABLES}
    for table, rows in tables.items():
        if rows:
            show(f"{table.capitalize()}, one thread", rows)
    if args.json:
        write_json(args.json, header, tables)
    over = [row.name for rows in tables.values() for row in rows if row.verdict == "OVER"]
    print("Over the limit: " + "; ".join(over) if over else "Every limit is met.")
    return 1 if any(row.error for rows in tables.values() for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
