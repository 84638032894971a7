"""``tensorbus devices``: a row for each device, or for each plugin that has none to offer."""

from __future__ import annotations

import argparse
import sys

from tensorbus import discovery
from tensorbus._base.dtypes import ALL
from tensorbus.cli import UsageError
from tensorbus.cli.probe import UNUSABLE, USABLE, Answer, ask_each
from tensorbus.discovery.metadata import BACKENDS, OVERLAYS, VARIABLE, Record

TIMEOUT = 30.0
_WIDE = 110
COLUMNS = ("device", "plugin", "distribution", "state", "dtypes", "memory", "name, or why not")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare ``--timeout``."""
    parser.add_argument(
        "--timeout",
        type=float,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"how long a plugin may take to answer (default: {TIMEOUT:g})",
    )


def run(args: argparse.Namespace) -> int:
    """Ask every plugin and print the table."""
    if not args.timeout > 0:
        raise UsageError(f"--timeout must be a positive number of seconds, but is {args.timeout:g}")
    print_table(rows(answers(args.timeout)))
    return 0


def answers(timeout: float) -> list[Answer]:
    """What every backend and overlay here answers, also those that are left out."""
    try:
        chosen, overlays = discovery.backend_names(), discovery.overlay_names()
    except ValueError as e:
        raise UsageError(str(e)) from e
    found = ask_each(chosen, timeout, overlays)
    for group, names in ((BACKENDS, chosen), (OVERLAYS, overlays)):
        left_out = {r.name for r in discovery.records(group)} - {*names}
        why = f"{VARIABLE} does not name it"
        found += [Answer(n, "left out", reason=why, group=group) for n in sorted(left_out)]
    found += [_displaced(record) for record in discovery.displaced([BACKENDS, OVERLAYS])]
    return found + [_unreadable(record) for record in discovery.records("")]


def _displaced(record: Record) -> Answer:
    return Answer(
        record.name, "left out", [], str(record.exception), record.remedy, group=record.group
    )


def _unreadable(record: Record) -> Answer:
    return Answer(
        record.name, UNUSABLE, [], str(record.exception), record.remedy, record.traceback, ""
    )


def owners(answer: Answer) -> list[Record]:
    """The records of the plugin that answered, or that did not."""
    records = [r for r in discovery.records(answer.group) if r.name == answer.type]
    told = [r for r in records if str(r.exception) == answer.reason]
    return told or [r for r in records if r.exception is None] or records


def rows(answers: list[Answer]) -> list[tuple[str, ...]]:
    """The cells of the table, as text."""
    table: list[tuple[str, ...]] = []
    for answer in answers:
        records = owners(answer)
        plugin = "\n".join(r.entry_point.value for r in records if r.entry_point)
        owner = "\n".join(r.owner for r in records)
        if not answer.devices:
            why = answer.reason + (f"\nWhat to do: {answer.remedy}" if answer.remedy else "")
            table.append((answer.label, plugin, owner, answer.state, "", "", why))
        for device in answer.devices:
            table.append(
                (
                    f"{answer.type}:{device.index}",
                    plugin,
                    owner,
                    answer.state,
                    _dtypes(device.dtypes),
                    _memory(device.memory_total),
                    device.name,
                )
            )
    return table


def _dtypes(names: list[str]) -> str:
    missing = [d.name for d in ALL if d.name not in names]
    if not missing:
        return f"all {len(ALL)}"
    if len(missing) <= len(ALL) // 2:
        return f"all but {', '.join(missing)}"
    return ", ".join(d.name for d in ALL if d.name in names)


def _memory(size: int | None) -> str:
    return "" if size is None else f"{size / 2**30:.1f} GiB"


def print_table(rows: list[tuple[str, ...]]) -> None:
    """Print the rows with rich, wider than a terminal's 80 columns where there is no terminal.

    Why a plugin can't be used stands below the table, where no line is broken: it names commands.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 150)
    table = Table(title="tensorbus devices")
    # On a narrow terminal the plugin's module, which the distribution's name tells nearly as well,
    # would leave no room for the rest.
    shown = [i for i, c in enumerate(COLUMNS) if c != "plugin" or console.width >= _WIDE]
    for i in shown:
        table.add_column(COLUMNS[i], no_wrap=COLUMNS[i] in ("device", "state", "memory"))
    notes = []
    for row in rows:
        usable = row[3] == USABLE
        if not usable:
            notes.append(f"{row[0]}: {row[6]}".replace("\n", "\n  "))
        cells = [Text(cell, overflow="fold") for cell in (*row[:6], row[6] if usable else "below")]
        cells[3].stylize("green" if usable else "yellow")
        table.add_row(*(cells[i] for i in shown))
    if rows:
        console.print(table)
    else:
        console.print("No plugin is installed: install tensorbus with pip, so that it is found.")
    for note in notes:
        print(note)
