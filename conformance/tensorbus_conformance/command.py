"""``tensorbus conformance DEVICE``: run the suite on a device and report what it found.

``--comm NAME`` checks a communication plugin instead; ``--compare`` and ``--matrix`` read the
reports of earlier runs.

The entry point ``conformance = "tensorbus_conformance.command:command"`` in the group
``tensorbus.commands`` brings it. A command is an object with ``name``, ``help``,
``add_arguments(parser)`` and ``run(args) -> int``, the exit status.
"""

from __future__ import annotations

import argparse
import sys

from tensorbus_conformance import exceptions, exploration, runner
from tensorbus_conformance.comms import command as comms
from tensorbus_conformance.profile import PROFILES
from tensorbus_conformance.reporting import options
from tensorbus_conformance.reporting.progress import Progress
from tensorbus_conformance.reporting.summary import print_summary


class ConformanceCommand:
    """Exit status 0: everything passes or is declared; 1: something fails; 2: it can't be run."""

    name = "conformance"
    help = "check a device or a comm against its contract"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the device and the options."""
        purposes = "; ".join(f"{p.name}: {p.purpose}" for p in PROFILES.values())
        parser.add_argument("device", metavar="DEVICE", nargs="?", help="such as cpu or opencl:1")
        parser.add_argument(
            "--profile", default="full", choices=PROFILES, help=f"{purposes} (default: full)"
        )
        parser.add_argument(
            "--level", metavar="LEVELS", help="only these levels, with commas between"
        )
        options.add_arguments(parser)
        parser.add_argument(
            "-k", dest="pattern", metavar="PATTERN", help="a glob over case ids, or a part of them"
        )
        parser.add_argument(
            "--jobs",
            type=int,
            default=1,
            metavar="N",
            help="run in so many processes at a time (default: 1)",
        )
        parser.add_argument(
            "--in-process", action="store_true", help="run in this process, for a debugger"
        )

        comms.add_arguments(parser)
        exploration.add_arguments(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Run the cases and print the summary, or do what is asked with earlier reports."""
        try:
            if options.reads_reports(args):
                return options.use_reports(args)
            if comms.asked(args):
                return comms.run(args)
            options.check(args)
            if args.explore:
                return exploration.run(args)
            with Progress() as progress:
                found = runner.run(
                    args.device,
                    args.level,
                    args.pattern,
                    profile=args.profile,
                    jobs=args.jobs,
                    samples=args.samples,
                    isolate=not args.in_process,
                    progress=progress,
                )
            print_summary(found)
            options.write(found, args)
        except (ValueError, RuntimeError, exceptions.ExceptionsError) as error:
            print(f"tensorbus conformance: {error}", file=sys.stderr)
            return 2
        return found.exit_code


command = ConformanceCommand()
