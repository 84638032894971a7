"""Training steps and a whole process beside PyTorch: ``python -m benchmarks.training``.

Steps are those of the demo, a small GPT, an MLP, recurrent networks, bags of embeddings and a
network of ResNet-18's shape. Each is measured twice: with the threads of all cores by the clock on
the wall, as a user runs it, and with one by that thread's processor time (``--threads 1`` for this
alone). The whole process is ``examples/digits.py``, run once on each library: its time and peak
memory. The peak memory of some steps' processes stands beside PyTorch's as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from typing import Any

from benchmarks import environment
from benchmarks.harness import (
    ROOT,
    Row,
    beside,
    merge,
    parser,
    run_worker,
    show,
    write_json,
)
from benchmarks.training_cases import CASES, ONE_THREAD

ROUND_SECONDS = 0.15
EXAMPLE = "examples/digits.py"
LIBRARIES = ("tensorbus", "torch")
PROGRAMS = {
    **{
        name: ("benchmarks/recurrent.py", name)
        for name in ("char-LSTM", "char-GRU", "BiLSTM tagger")
    },
    "EmbeddingBag": ("benchmarks/bags.py", "sum"),
    "ResNet-18": ("benchmarks/resnet.py",),
}
"""Programs of a few steps, whose memory is measured."""


def measure(only: str, rounds: int, seconds: float = ROUND_SECONDS) -> dict[str, dict[str, Any]]:
    """Measure in this process: ``{case: {"ours": µs, "theirs": µs}}`` or ``{"error": text}``."""
    import torch

    threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    torch.set_num_threads(threads)
    clock = time.thread_time if threads == 1 else time.perf_counter
    return beside("training_cases", only, rounds, seconds, clock)


def collect(processes: int, rounds: int, threads: int, only: str = "") -> list[Row]:
    """Measure the steps in *processes* processes with *threads* threads each."""
    arguments = ["--rounds", str(rounds), "--only", only]
    found = [run_worker("training", arguments, threads) for _ in range(processes)]
    limits = ONE_THREAD if threads == 1 else {}
    cases = [replace(case, limit=limits.get(case.name, case.limit)) for case in CASES]
    return merge(cases, found, suffix=f", {threads} thread{'s' * (threads > 1)}")


def whole_process(epochs: int) -> list[Row]:
    """Run the example once on each library: time, and peak memory, which must not be above."""
    found = {library: _run_example(library, epochs) for library in LIBRARIES}
    rows = []
    for name, key, unit, limit in (
        ("peak memory (RSS)", "megabytes", "MB", 1.0),
        ("time", "seconds", "s", None),
    ):
        ours, theirs = found["tensorbus"][key], found["torch"][key]
        title = f"{EXAMPLE}, {epochs} epochs: {name}"
        rows.append(Row(title, ours, theirs, ours / theirs, limit=limit, unit=unit))
    return rows


def peak_memory(only: str = "") -> list[Row]:
    """Run each program of a few steps once on each library: the process's peak memory."""
    rows = []
    for name, program in PROGRAMS.items():
        if only not in name:
            continue
        ours, theirs = (_run(library, *program)["megabytes"] for library in LIBRARIES)
        title = f"{name}: peak memory (RSS)"
        rows.append(Row(title, ours, theirs, ours / theirs, limit=1.0, unit="MB"))
    return rows


def _run_example(library: str, epochs: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        return _run(library, EXAMPLE, "--epochs", str(epochs), "--out", f"{folder}/digits")


def _run(library: str, path: str, *arguments: str) -> dict[str, float]:
    """What ``benchmarks.program`` measures of a program."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.program", library, path, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{path} failed on {library}:\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def main() -> int:
    options = parser(__doc__.splitlines()[0], processes=3, rounds=9)
    options.add_argument("--epochs", type=int, default=12, help="of the whole process; 0: skip it")
    options.add_argument("--threads", type=int, help="measure steps with so many threads alone")
    args = options.parse_args()
    if args.worker:
        print(json.dumps(measure(args.only, args.rounds)))
        return 0
    header = environment.describe()
    environment.show(header)
    threads = [args.threads] if args.threads else [environment.usable_cores(), 1]
    rows = [row for n in threads for row in collect(args.processes, args.rounds, n, args.only)]
    rows += peak_memory(args.only)
    if args.epochs and not args.only:
        rows += whole_process(args.epochs)
    show("Training", rows)
    if args.json:
        write_json(args.json, header, {"training": rows})
    return 1 if any(row.error for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
