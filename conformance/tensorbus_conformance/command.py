"""``tensorbus conformance DEVICE``: run the suite on a device and print what it found.

The entry point ``conformance = "tensorbus_conformance.command:command"`` in the group
``tensorbus.commands`` brings it. A command is an object with ``name``, ``help``,
``add_arguments(parser)`` and ``run(args) -> int``, the exit status.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from tensorbus_conformance import exceptions, report, runner
from tensorbus_conformance.case import LEVELS
from tensorbus_conformance.report import Result


class ConformanceCommand:
    """Exit status 0: everything passes or is declared; 1: something fails; 2: it can't be run."""

    name = "conformance"
    help = "check a device against the contract of a backend"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the device and the options."""
        parser.add_argument("device", metavar="DEVICE", help="such as cpu or opencl:1")
        parser.add_argument(
            "--level",
            default=",".join(LEVELS),
            metavar="LEVELS",
            help="levels to run, with commas between (default: %(default)s)",
        )
        parser.add_argument("--json", metavar="FILE", help="write the whole report to a file")
        parser.add_argument(
            "-k", dest="pattern", metavar="PATTERN", help="a glob over case ids, or a part of them"
        )

        parser.add_argument(
            "--quick",
            action="store_true",
            help="all variants for float32, the chief ones for other dtypes",
        )
        parser.add_argument(
            "--in-process", action="store_true", help="run in this process, for a debugger"
        )

    def run(self, args: argparse.Namespace) -> int:
        """Run the cases and print the summary."""
        try:
            with _Progress() as progress:
                found = runner.run(
                    args.device,
                    args.level,
                    args.pattern,
                    quick=args.quick,
                    isolate=not args.in_process,
                    progress=progress,
                )
        except (ValueError, RuntimeError, exceptions.ExceptionsError) as error:
            print(f"tensorbus conformance: {error}", file=sys.stderr)
            return 2
        report.print_summary(found)
        if args.json:
            found.write_json(args.json)
        return found.exit_code


class _Progress:
    """A live count on a terminal; silent elsewhere."""

    def __enter__(self) -> Callable[[Result], None] | None:
        if not sys.stderr.isatty():
            return None
        self.done = self.bad = 0
        return self._tell

    def _tell(self, result: Result) -> None:
        self.done += 1
        self.bad += result.bad
        if self.done % 50 == 0 or result.bad:
            line = f"{self.done} cases, {self.bad} failed  {result.id}"
            print(f"\r\x1b[K{line[:100]}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *exc: object) -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


command = ConformanceCommand()
