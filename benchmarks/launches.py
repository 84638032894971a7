"""Kernels that a device launches for one training step of the demo, with fusion on and off:
``python -m benchmarks.launches [DEVICE]``.

It counts what a device over ``KernelLanguageBackend`` launches, by the kernels' names. What is
compiled of an op that is composed is called k_graph or k_nest.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorbus as torch
from tensorbus import discovery
from tensorbus.demo.training import BATCH, LeNet, Trainer
from tensorbus.plugin.kernel_language import KernelLanguageBackend

WARM_UP = 5
"""Steps before the one that is counted: what is called often is compiled by then."""


@contextmanager
def counted(backend: KernelLanguageBackend) -> Iterator[Counter[str]]:
    """The launches by the kernels' names. Kernels that were built before are not seen."""
    launches: Counter[str] = Counter()
    build = backend.build

    def building(index: int, source: str, name: str, types: Sequence[str | None]) -> Any:
        launch: Callable[..., None] = build(index, source, name, types)

        def count(*arguments: Any) -> None:
            launches[name] += 1
            launch(*arguments)

        return count

    backend.build = building  # type: ignore[method-assign]
    try:
        yield launches
    finally:
        del backend.build


def of_a_step(device: str) -> list[Counter[str]]:
    """The launches of one step with fusion off, and on."""
    backend = discovery.backend(device)
    if not isinstance(backend, KernelLanguageBackend):
        raise SystemExit(f"launches of {device} can't be counted: its kernels are no text")
    before = torch.get_fusion()
    found = []
    try:
        with counted(backend) as launches:
            for fusion in (False, True):
                torch.set_fusion(fusion)
                torch.manual_seed(0)
                count = BATCH * (WARM_UP + 1)
                images = torch.rand(count, 28, 28).to(device)
                labels = (torch.arange(count) % 10).to(device)
                steps = Trainer(LeNet().to(device), images, labels, epochs=1).epoch()
                for _ in range(WARM_UP):
                    next(steps)
                launches.clear()
                next(steps)
                found.append(launches.copy())
        return found
    finally:
        torch.set_fusion(before)


def show(off: Counter[str], on: Counter[str], most: int) -> None:
    """Print both counts, those first that differ most."""
    from rich.console import Console
    from rich.table import Table

    table = Table("kernel", "fusion off", "on", title="Launches of one step of the demo")
    for column in table.columns[1:]:
        column.justify = "right"
    names = sorted({*on, *off}, key=lambda name: (-abs(off[name] - on[name]), -on[name], name))
    for name in names[:most]:
        table.add_row(name, str(off[name]), str(on[name]))
    if rest := names[most:]:
        table.add_row(
            f"{len(rest)} more", str(sum(off[n] for n in rest)), str(sum(on[n] for n in rest))
        )
    table.add_section()
    table.add_row("all", str(off.total()), f"{on.total()} ({on.total() / off.total():.0%})")
    Console(width=None if sys.stdout.isatty() else 100).print(table)


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.launches", description=__doc__)
    options.add_argument("device", nargs="?", default="opencl")
    options.add_argument("--most", type=int, default=30, help="how many kernels to name")
    args = options.parse_args()
    off, on = of_a_step(args.device)
    show(off, on, args.most)
    return 0


if __name__ == "__main__":
    sys.exit(main())
