"""Installs libraries that are written over torch and runs their programs: ``scripts/ecosystem``.

What a program needs stands in its head: ``dependencies`` are installed as they are, those under
``[tool.ecosystem]`` ``alone`` without what they depend on, which is PyTorch.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import time
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

PROGRAMS = Path(__file__).parents[1] / "as_torch" / "ecosystem"
_HEAD = re.compile(r"(?m)^# /// script$\n((?:^#.*$\n)*?)^# ///$")
_WITH_PYTORCH = """
import os, runpy, sys, torch
for op in ("nms", "qnms"):  # torchvision names them; its extension may be for another PyTorch
    torch.library.define(f"torchvision::{op}", "(Tensor dets, Tensor scores, float iou) -> Tensor")
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""
LIMIT = 600
"""Seconds that a program may take."""


@dataclass(frozen=True)
class Program:
    """A program, the library that it shows, and what is to be installed for it."""

    path: Path
    ordinary: tuple[str, ...]
    alone: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.stem.removeprefix("run_")

    @property
    def library(self) -> str:
        """The distribution that is shown: the first that is named."""
        return (*self.alone, *self.ordinary)[0].partition("==")[0]


def read(path: Path) -> Program:
    """A program with what its head says."""
    found = _HEAD.search(path.read_text(encoding="utf-8"))
    if found is None:
        sys.exit(f"{path} does not say what it needs: it has no block '# /// script'")
    head = tomllib.loads("".join(line[2:] for line in found[1].splitlines(keepends=True)))
    alone = head.get("tool", {}).get("ecosystem", {}).get("alone", [])
    return Program(path, tuple(head.get("dependencies", ())), tuple(alone))


def all_programs() -> dict[str, Program]:
    """The programs by name."""
    programs = map(read, sorted(PROGRAMS.glob("run_*.py")))
    return {program.name: program for program in programs}


def _missing(requirement: str) -> bool:
    """Whether a distribution is not there, or not in the version that is asked for."""
    name, _, version = requirement.partition("==")
    try:
        return metadata.version(name) != (version or metadata.version(name))
    except metadata.PackageNotFoundError:
        return True


def install(programs: list[Program]) -> None:
    """Install what is missing; PyTorch never is."""
    for option, wanted in (
        ("--no-deps", {r for p in programs for r in p.alone}),
        (None, {r for p in programs for r in p.ordinary}),
    ):
        missing = sorted(filter(_missing, wanted))
        if missing:
            command = [sys.executable, "-m", "pip", "install", "-q", *filter(None, [option])]
            subprocess.run([*command, *missing], check=True)
    if any(d.metadata["Name"] == "torch" for d in metadata.distributions()):
        sys.exit("PyTorch has been installed: a library under 'dependencies' asks for it")


def run(program: Program, record: str | None) -> tuple[bool, float, str]:
    """Whether it ran to its end, the seconds, and the last of what it wrote."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "tensorbus.as_torch", str(program.path)]
    if record:
        command = [record, "-c", _WITH_PYTORCH, str(program.path)]
        environment["PYTHONPATH"] = sysconfig.get_path("purelib")
        environment["ECOSYSTEM_RECORD"] = "1"
    start = time.monotonic()
    try:
        done = subprocess.run(
            command, env=environment, timeout=LIMIT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False, LIMIT, f"not done after {LIMIT} s"
    return done.returncode == 0, time.monotonic() - start, done.stdout[-3000:]


def main() -> None:
    """Run the programs that the command line names, or all."""
    parser = argparse.ArgumentParser(prog="scripts/ecosystem")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--record", metavar="PYTHON", help=argparse.SUPPRESS)
    options = parser.parse_args()
    known = all_programs()
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"no program {', '.join(unknown)}: there are {', '.join(known)}")
    programs = [known[name] for name in options.names or known]
    install(programs)
    failed = []
    print(f"{'library':<30} {'version':<20} {'result':<7} seconds")
    for program in programs:
        fine, seconds, output = run(program, options.record)
        if not fine:
            failed.append(program.name)
            print(output, file=sys.stderr)
        result = "ok" if fine else "FAILED"
        version = metadata.version(program.library)
        print(f"{program.library:<30} {version:<20} {result:<7} {seconds:7.1f}", flush=True)
    if failed:
        sys.exit(f"{len(failed)} of {len(programs)} failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
