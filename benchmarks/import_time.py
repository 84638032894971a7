"""What ``import tensorbus`` adds to ``import numpy``: ``python -m benchmarks.import_time``.

Measured inside fresh processes, with a bytecode cache and without any: where
PYTHONDONTWRITEBYTECODE is set, as it often is in containers, nothing is cached.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks import environment
from benchmarks.harness import Row, parser, show, write_json

LIMIT_MS = 80.0
CHILD = """
import time
start = time.perf_counter()
import numpy
middle = time.perf_counter()
import {library}
end = time.perf_counter()
import json, sys
print(json.dumps([(middle - start) * 1e3, (end - middle) * 1e3, len(sys.modules)]))
"""


def once(library: str, cache: str, write: bool) -> list[float]:
    """Milliseconds of ``import numpy`` and of *library* after it, and the number of modules."""
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environ["PYTHONPYCACHEPREFIX"] = cache
    if not write:
        environ["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", CHILD.format(library=library)],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[float] = json.loads(done.stdout)
    return found


def collect(processes: int, libraries: tuple[str, ...] = ("tensorbus", "torch")) -> list[Row]:
    """Median of *processes* fresh processes for each library; torch is shown for comparison."""
    times: dict[tuple[str, bool], list[float]] = {}
    numpy_times: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as empty:
        for library in libraries:
            once(library, cache, write=True)
        for _ in range(processes):
            for library in libraries:
                for cached in (True, False):
                    base, more, _ = once(library, cache if cached else empty, write=False)
                    times.setdefault((library, cached), []).append(more)
                    numpy_times[cached].append(base)
    rows = []
    for cached, text in ((True, "with a bytecode cache"), (False, "without any bytecode")):
        base = statistics.median(numpy_times[cached])
        rows.append(Row(f"import numpy, {text} (for comparison)", ours=base, unit="ms"))
        found = {name: statistics.median(times[name, cached]) for name in libraries}
        row = Row(f"import tensorbus after numpy, {text}", ours=found["tensorbus"], unit="ms")
        row.theirs = found.get("torch")
        if row.theirs:
            row.ratio = found["tensorbus"] / row.theirs
        if cached and found["tensorbus"] > LIMIT_MS:
            row.error = f"more than {LIMIT_MS:g} ms"
        rows.append(row)
    return rows


def main() -> int:
    args = parser(__doc__.splitlines()[0], processes=9).parse_args()
    header = environment.describe()
    environment.show(header)
    rows = collect(args.processes)
    show(f"Import time (limit: {LIMIT_MS:g} ms after numpy, with a bytecode cache)", rows)
    if args.json:
        write_json(args.json, header, {"import_time": rows})
    return 1 if any(row.error for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
