"""``tensorbus conformance --comm NAME``: the options of the comm suite, and its run."""

from __future__ import annotations

import argparse
import secrets

from tensorbus_conformance.comms.report import CommReport
from tensorbus_conformance.report import ReportError
from tensorbus_conformance.reporting import options
from tensorbus_conformance.reporting.progress import Progress
from tensorbus_conformance.reporting.summary import print_summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    group = parser.add_argument_group("communication plugins")
    group.add_argument("--comm", metavar="NAME", help="check a comm, such as tcp, not a device")
    group.add_argument(
        "--ranks", metavar="N,M", help="on so many ranks, each number in turn (default: 2,4)"
    )
    group.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="for each call of the comm (default: 10)"
    )
    group.add_argument(
        "--soak", type=int, metavar="N", help="N rounds of random collectives in place of the cases"
    )
    group.add_argument(
        "--launcher", metavar="COMMAND", help="starts the processes: 'mpiexec -n {ranks}'"
    )
    group.add_argument(
        "--threads", action="store_true", help="the ranks are threads of one process"
    )


def asked(args: argparse.Namespace) -> bool:
    """Whether a comm is to be checked; ``ReportError`` for options that do not go together."""
    if args.comm is None:
        for name in ("ranks", "timeout", "soak", "launcher", "threads"):
            if getattr(args, name):
                raise ReportError(f"--{name} goes with --comm NAME")
        return False
    for given, option in (
        (args.device is not None, f"the device {args.device}"),
        (args.explore, "--explore"),
        (args.samples, "--samples"),
        (args.in_process, "--in-process"),
    ):
        if given:
            raise ReportError(f"--comm {args.comm} and {option} do not go together")
    options.check_files(args)
    return True


def run(args: argparse.Namespace) -> int:
    """Run the suite, print the summary, write the files asked for; the exit status."""
    report = _run(args)
    print_summary(report)
    for part, seed in report.seeds.items():
        print(f"seed of the {part}: {seed}; --seed {seed} repeats it")
    options.write(report, args)
    return report.exit_code


def _run(args: argparse.Namespace) -> CommReport:
    from tensorbus_conformance.comms.runner import TIMEOUT, run_comm

    if args.soak is not None and args.soak < 1:
        raise ReportError(f"--soak {args.soak}: the number of rounds is 1 or more")
    default = "4" if args.soak else "2,4"
    try:
        ranks = [int(word) for word in (args.ranks or default).split(",")]
    except ValueError:
        raise ReportError(f"--ranks {args.ranks}: give numbers with commas, such as 2,4") from None
    if args.timeout is not None and not args.timeout > 0:
        raise ReportError(f"--timeout {args.timeout:g}: give a number of seconds above 0")
    seed = args.seed
    if args.soak and seed is None:
        seed = secrets.randbelow(2**31)
    with Progress() as progress:
        return run_comm(
            args.comm,
            ranks,
            args.level,
            args.pattern,
            profile=args.profile,
            timeout=args.timeout or TIMEOUT,
            jobs=args.jobs,
            soak=args.soak or 0,
            seed=seed or 0,
            threads=args.threads or None,
            launcher=args.launcher,
            progress=progress,
        )
