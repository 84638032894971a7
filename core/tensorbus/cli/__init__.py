"""The ``tensorbus`` command.

A command is a module, or any object, with ``add_arguments(parser)`` and ``run(args)``; the
built-in ones are named below, others come by the entry-point group ``tensorbus.commands``. Only
the one that is asked for is imported.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Protocol, cast

BUILT_IN = {
    "demo": ("tensorbus.demo", "train a small network on handwritten digits"),
    "devices": ("tensorbus.cli.devices", "list the devices, or why a plugin can't be used"),
    "doctor": ("tensorbus.cli.doctor", "print what a bug report needs"),
    "new-backend": ("tensorbus.cli.new_backend", "write the project of a new plugin"),
    "run": ("tensorbus.distributed.run", "start the ranks of a distributed job"),
}


SUITE = "conformance"
"""A command that is no built-in one, but that every installation from the one wheel has."""


class UsageError(Exception):
    """What the user asked for can't be done; the message is the whole sentence printed."""


class Command(Protocol):
    """What an entry of ``tensorbus.commands`` points to."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's options."""

    def run(self, args: argparse.Namespace) -> int | None:
        """Do it; the exit status, None for 0. ``UsageError`` is printed and exits with 2."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line *argv* (default: the process's own) and return the exit status."""
    return guarded(lambda: _run(list(sys.argv[1:] if argv is None else argv)))


def guarded(run: Callable[[], int]) -> int:
    """Run a command; the exit status, with one line for what is no fault of the program's."""
    try:
        try:
            return run()
        finally:
            # Here and not at the interpreter's exit, where a closed pipe can't be handled.
            if sys.stdout is not None:
                sys.stdout.flush()
    except UsageError as e:
        print(f"tensorbus: {e}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tensorbus: interrupted", file=sys.stderr)
        return 130
    except OSError as e:
        # The reader has gone (`| head`), or the disk is full: what is still buffered has nowhere
        # to go, and the interpreter would try again at its exit.
        if e.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if e.errno == errno.EPIPE:
            return 141
        print(f"tensorbus: the output can't be written: {e.strerror}", file=sys.stderr)
        return 1


def _run(argv: list[str]) -> int:
    chosen = next((word for word in argv if not word.startswith("-")), None)
    parser = _parser(argv, chosen)
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help()
        return 0
    return cast(Command, args.implementation).run(args) or 0


def _parser(argv: list[str], chosen: str | None) -> argparse.ArgumentParser:
    from tensorbus.version import __version__

    parser = argparse.ArgumentParser(
        prog="tensorbus", description="A PyTorch-style tensor library whose hardware plugs in."
    )
    parser.add_argument("--version", action="version", version=f"tensorbus {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    known = {name: text for name, (_, text) in BUILT_IN.items()}
    if chosen not in BUILT_IN:
        # Only now is the metadata of what is installed worth reading.
        known = {**_from_plugins(), **known}
        if chosen == SUITE and SUITE not in known:
            raise UsageError(
                f"the command {SUITE} comes with the distribution tensorbus-{SUITE}, which is not "
                f"installed: 'pip install tensorbus-{SUITE}' brings it"
            )
    for name, text in sorted(known.items()):
        implementation = _load(name) if name == chosen else None
        # Only a loaded plugin can say what its command does.
        description = getattr(implementation, "help", text)
        command = commands.add_parser(name, help=text, description=description)
        if implementation is not None:
            implementation.add_arguments(command)
            command.set_defaults(implementation=implementation)
    return parser


def _from_plugins() -> dict[str, str]:
    from tensorbus import discovery

    records = discovery.records("tensorbus.commands")
    return {record.name: f"a command of {record.owner}" for record in records}


def _load(name: str) -> Command:
    if name in BUILT_IN:
        return cast(Command, importlib.import_module(BUILT_IN[name][0]))
    from tensorbus import discovery

    try:
        return cast(Command, discovery.command(name))
    except RuntimeError as e:
        raise UsageError(str(e)) from e
