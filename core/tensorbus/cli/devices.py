"""``tensorbus devices``: a row for each device, or for each plugin that has none to offer."""

from __future__ import annotations

import argparse
import sys

from tensorbus import discovery
from tensorbus._base.dtypes import ALL
from tensorbus.cli import UsageError
from tensorbus.cli.probe import USABLE, Answer, ask_each
from tensorbus.discovery.metadata import BACKENDS, VARIABLE

TIMEOUT = 30.0
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
    """What every backend here answers, also those that ``TENSORBUS_PLUGINS`` leaves out."""
    try:
        chosen = discovery.backend_names()
    except ValueError as e:
        raise UsageError(str(e)) from e
    left_out = {r.name for r in discovery.records(BACKENDS)} - {*chosen}
    return ask_each(chosen, timeout) + [
        Answer(name, "left out", reason=f"{VARIABLE} does not name it") for name in sorted(left_out)
    ]


def rows(answers: list[Answer]) -> list[tuple[str, ...]]:
    """The cells of the table, as text."""
    table: list[tuple[str, ...]] = []
    for answer in answers:
        records = [r for r in discovery.records(BACKENDS) if r.name == answer.type]
        plugin = "\n".join(r.entry_point.value for r in records if r.entry_point)
        owner = "\n".join(r.owner for r in records)
        if answer.state != USABLE:
            why = answer.reason + (f"\nWhat to do: {answer.remedy}" if answer.remedy else "")
            table.append((answer.type, plugin, owner, answer.state, "", "", why))
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
    """Print the rows with rich, wider than a terminal's 80 columns where there is no terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 150)
    table = Table(*COLUMNS, title="tensorbus devices")
    for row in rows:
        style = "green" if row[3] == USABLE else "yellow"
        cells = [Text(cell, overflow="fold") for cell in row]
        cells[3].stylize(style)
        table.add_row(*cells)
    if rows:
        console.print(table)
    else:
        console.print("No plugin is installed: install tensorbus with pip, so that it is found.")
