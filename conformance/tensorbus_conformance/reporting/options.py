"""The options of ``tensorbus conformance`` that have to do with reports."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tensorbus_conformance.report import Report, ReportError

_KINDS = ("json", "junit", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is written after a run, and what is done with the reports of earlier ones."""
    group = parser.add_argument_group("reports")
    group.add_argument("--json", metavar="FILE", help="write the whole report, for --compare")
    group.add_argument("--junit", metavar="FILE", help="write JUnit XML, for CI systems")
    group.add_argument("--html", metavar="FILE", help="write a page with the capability matrix")
    group.add_argument(
        "--compare",
        nargs=2,
        metavar=("BEFORE", "AFTER"),
        help="run nothing; print what changed between two JSON reports (exit status 1: worse)",
    )
    group.add_argument(
        "--matrix",
        nargs="+",
        metavar=("PAGE", "REPORT"),
        help="run nothing; write a Markdown page of what JSON reports say their devices can do",
    )


def check(args: argparse.Namespace) -> None:
    """``ReportError`` where there is nothing to run, or what is to be written cannot be."""
    if args.device is None:
        raise ReportError(
            "which device, or which comm? for example: tensorbus conformance cpu, or --comm tcp"
        )
    check_files(args)


def check_files(args: argparse.Namespace) -> None:
    """``ReportError`` where what is to be written cannot be."""
    for kind in _KINDS:
        file = getattr(args, kind)
        if file and not Path(file).absolute().parent.is_dir():
            raise ReportError(f"--{kind} {file}: there is no folder {Path(file).parent}")


def write(report: Report, args: argparse.Namespace) -> None:
    """Write the files that the options name; ``ReportError`` where one can't be written."""
    if args.json:
        _put(args.json, lambda: report.to_json() + "\n")
    if args.junit:
        from tensorbus_conformance.reporting.junit import to_junit

        _put(args.junit, lambda: to_junit(report))
    if args.html:
        from tensorbus_conformance.reporting.html import to_html

        _put(args.html, lambda: to_html(report))


def reads_reports(args: argparse.Namespace) -> bool:
    """Whether the options ask for something that is made from reports, without a run."""
    return args.compare is not None or args.matrix is not None


def use_reports(args: argparse.Namespace) -> int:
    """Do what ``--compare`` or ``--matrix`` asks; the exit status."""
    if args.device is not None or args.comm is not None or (args.compare and args.matrix):
        raise ReportError("--compare and --matrix stand alone: they read reports and run nothing")
    if args.compare:
        return _compare(*args.compare)
    page, *files = args.matrix
    if not files:
        raise ReportError("--matrix PAGE REPORT...: name the JSON reports after the page")
    from tensorbus_conformance.reporting.capabilities import to_markdown

    reports = [Report.read_json(file) for file in files]
    _put(page, lambda: to_markdown(reports))
    return 0


def _compare(before: str, after: str) -> int:
    from tensorbus_conformance.reporting.comparison import compare_reports, print_comparison

    found = compare_reports(Report.read_json(before), Report.read_json(after))
    print_comparison(found)
    return 1 if found.regressed else 0


def _put(file: str, text: Callable[[], str]) -> None:
    try:
        Path(file).write_text(text(), encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{file} can't be written: {error.strerror}") from error
    print(f"wrote {file}", file=sys.stderr)
