"""Where a training step spends its time, op by op: ``python -m benchmarks.profile_step [mlp|gpt]``.

Every kernel and runtime call of the ``cpu`` backend is timed; what is left is the frontend: Python
code of ops, autograd, modules and the optimiser. PyTorch's own profile of the same step is printed
beside. The timers cost about a third of a microsecond a call, which counts as frontend.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from benchmarks import environment
from benchmarks.harness import Loop, parser
from benchmarks.overhead_cases import mlp_step
from benchmarks.training_cases import GPT, RECURRENT, step, trained

STEPS = {
    "demo": step,
    "mlp": mlp_step,
    "gpt": trained(GPT, True),
    **{name: trained(RECURRENT, name) for name in ("char-LSTM", "BiLSTM tagger")},
}
RUNTIME = ("empty", "copy_", "from_host", "to_host", "as_strided")


class Profile:
    """Seconds and calls by name, each without the time of the timed calls inside it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)
        self._inner = [0.0]

    def clear(self) -> None:
        self.seconds.clear()
        self.calls.clear()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            self._inner.append(0.0)
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                spent = time.perf_counter() - start
                self.seconds[name] += spent - self._inner.pop()
                self.calls[name] += 1
                self._inner[-1] += spent

        return run


@contextmanager
def profiled(backend: Any) -> Iterator[Profile]:
    """Time what *backend* does. Kernels that were resolved before are not seen."""
    profile = Profile()
    find = backend.kernel

    @wraps(find)
    def kernel(op: str, *rest: Any) -> Callable[..., Any] | None:
        found = find(op, *rest)
        return None if found is None else profile.timed(op, found)

    replaced = {name: profile.timed(name, getattr(backend, name)) for name in RUNTIME}
    for name, function in {**replaced, "kernel": kernel}.items():
        setattr(backend, name, function)
    try:
        yield profile
    finally:
        for name in (*replaced, "kernel"):
            delattr(backend, name)


def ours(make: Callable[[Any], Loop], steps: int) -> tuple[Profile, float]:
    """The profile of *steps* steps on tensorbus, and their seconds."""
    import tensorbus
    from tensorbus import discovery

    with profiled(discovery.backend("cpu")) as profile:
        loop = make(tensorbus)
        loop(3)
        profile.clear()
        start = time.perf_counter()
        loop(steps)
        return profile, time.perf_counter() - start


def theirs(make: Callable[[Any], Loop], steps: int) -> list[tuple[str, float, float]]:
    """PyTorch's profile: (op, microseconds of its own, calls), per step."""
    # The profiler announces itself on standard output unless this is set before PyTorch is loaded.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.set_num_threads(1)
    loop = make(torch)
    loop(3)
    with profile(activities=[ProfilerActivity.CPU]) as found:
        loop(steps)
    return [
        (event.key, event.self_cpu_time_total / steps, event.count / steps)
        for event in found.key_averages()
    ]


def show(title: str, rows: list[tuple[str, float, float]], total: float, most: int) -> None:
    """Print the *most* expensive of (name, microseconds, calls) per step."""
    from rich.console import Console
    from rich.table import Table

    table = Table("op", "calls", "µs per step", "share", title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, spent, calls in sorted(rows, key=lambda row: -row[1])[:most]:
        table.add_row(name, f"{calls:.4g}", f"{spent:,.0f}", f"{spent / total:.1%}")
    Console(width=None if sys.stdout.isatty() else 100).print(table)


def main() -> int:
    options = parser(__doc__.splitlines()[0], rounds=50)
    options.add_argument("step", nargs="?", choices=[*STEPS], default="demo")
    options.add_argument("--most", type=int, default=18, help="how many rows of each table")
    args = options.parse_args()
    steps = args.rounds
    profile, seconds = ours(STEPS[args.step], steps)
    total = seconds / steps * 1e6
    rows = [
        (name, spent / steps * 1e6, profile.calls[name] / steps)
        for name, spent in profile.seconds.items()
    ]
    kernels = sum(spent for _, spent, _ in rows)
    rows.append(("the frontend: all that is not in the backend", total - kernels, 1))
    show(f"tensorbus: {total:,.0f} µs per step", rows, total, args.most)
    others = theirs(STEPS[args.step], steps)
    all_of_them = sum(spent for _, spent, _ in others)
    show(f"PyTorch, one thread: {all_of_them:,.0f} µs per step", others, all_of_them, args.most)
    environment.show(environment.describe())
    return 0


if __name__ == "__main__":
    sys.exit(main())
