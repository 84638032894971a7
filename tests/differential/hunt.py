"""Runs programs of all families in both libraries: ``python -m tests.differential.hunt``."""

from __future__ import annotations

import argparse
import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.differential.comparison import difference, strides, zeros
from tests.differential.conditioning import roundings, wobbled
from tests.differential.drawing import Draw, drawn
from tests.differential.explained import explained, mended, unpromised
from tests.differential.programs import Program, read, run, told
from tests.differential.seen import Seen

FAMILIES = "indexing views promotion reductions linalg autograd printing functions".split()


def rule(family: str) -> Callable[[Draw], None]:
    return importlib.import_module(f"tests.differential.family_{family}").program


def compared(program: Program, ours: list[Seen], theirs: list[Seen], torch: Any = None) -> str:
    """Where they differ first, if anywhere; *torch* is asked how well conditioned a number is."""
    runs: tuple[list[Seen], ...] | None = None
    reordered: set[str] = set()
    vanished: set[str] = set()
    for n, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        line = program.lines[n] if n < len(program.lines) else f"at the end, {b.name}"
        without = unpromised(program, n, b.name)
        found = difference(a, b, (), without)
        if not found:
            if strides(a) != strides(b):  # where an order has two readings
                reordered.add(b.name)
            continue
        used = read(line) if n < len(program.lines) else frozenset()
        values = found.endswith("differ)")
        if (found.startswith("stride") and reordered & used) or (values and vanished & used):
            return ""  # of such a result, or of what is 0 but for roundings
        if explained(program, n, found, a, b):
            return ""  # the two go different ways from here
        if torch is not None:
            other = mended(program, b)
            if other is not None:
                return compared(other, ours, run(other, torch), torch)
            runs = runs if runs is not None else wobbled(program, torch)
            others = tuple(w[n] for w in runs if len(w) == len(theirs))
            found = difference(a, b, others, without, roundings(program, b.name, theirs))
            if not found and zeros(a) != zeros(b):
                vanished.add(b.name)
        if found:
            return f"{line}\n    {found}"
    if len(ours) != len(theirs):
        return f"at the end\n    {len(ours)} things seen instead of {len(theirs)}"
    return ""


def shrunk(program: Program, asked: Callable[[Program], str]) -> tuple[Program, str]:
    """A difference in fewer lines: drops what can be dropped, last lines first."""
    found = asked(program)
    lines = list(program.lines)
    for n in reversed(range(len(lines))):
        fewer = [line for k, line in enumerate(lines) if k != n]
        used = frozenset().union(*map(read, fewer)) if fewer else frozenset()
        if told(lines[n]) in used and " = " in lines[n] and not _assigned(fewer, told(lines[n])):
            continue
        smaller = Program(program.family, program.seed, fewer)
        still = asked(smaller)
        if still:
            lines, found = fewer, still
    return Program(program.family, program.seed, lines), found


def _assigned(lines: Iterable[str], name: str) -> bool:
    return any(line.startswith(f"{name} = ") for line in lines)


def hunt(
    family: str, seeds: Iterable[int], ours: Any, torch: Any, counts: Counter[str] | None = None
) -> Iterator[tuple[Program, str]]:
    """The programs that differ, shrunk, and where."""
    draw = rule(family)

    def ask(smaller: Program) -> str:
        return compared(smaller, run(smaller, ours), run(smaller, torch), torch)

    counts = Counter() if counts is None else counts
    for seed in seeds:
        program, theirs = drawn(family, seed, torch, draw)
        counts["programs"] += 1
        counts["lines"] += len(program.lines)
        counts["errors"] += sum(s.kind == "error" for s in theirs)
        mine = run(program, ours)
        if compared(program, mine, theirs):
            counts["asked how well conditioned"] += 1
            if compared(program, mine, theirs, torch):
                counts["different"] += 1
                yield shrunk(program, ask)


def main() -> None:
    import torch

    import tensorbus

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", default=FAMILIES, metavar="FAMILY")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="programs of each family")
    options = parser.parse_args()
    torch.set_num_threads(1)
    total: Counter[str] = Counter()
    for family in options.families:
        counts: Counter[str] = Counter()
        seeds = range(options.start, options.start + options.count)
        for program, found in hunt(family, seeds, tensorbus, torch, counts):
            print(f"{program.script()}\n--> {found}\n", flush=True)
        print(f"{family}: seeds {seeds.start} to {seeds.stop - 1}, {dict(counts)}", flush=True)
        total += counts
    raise SystemExit(1 if total["different"] else 0)


if __name__ == "__main__":
    main()
