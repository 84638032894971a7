"""``tensorbus new-backend NAME``: write the project of a new plugin, which works at once."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
from pathlib import Path

from tensorbus import discovery
from tensorbus.cli import UsageError
from tensorbus.cli.project import Project
from tensorbus.discovery.metadata import BACKENDS, COMMS, OVERLAYS

KINDS = {
    "array-library": "a device with a NumPy-like module",
    "kernel-language": "a device with a C-like kernel language",
    "overlay": "kernels for a device that exists",
    "comm": "a way to communicate between ranks",
}
GROUPS = {"overlay": OVERLAYS, "comm": COMMS}
"""The entry-point group in which a name must be free: of the kinds that are no device."""
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
MOST_LETTERS = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the name, ``--kind``, ``--for``, ``--bare`` and ``--path``."""
    parser.add_argument("name", metavar="NAME", help="of the device, overlay or comm: acme")
    parser.add_argument(
        "--kind",
        required=True,
        choices=KINDS,
        help="; ".join(f"{kind}: {text}" for kind, text in KINDS.items()),
    )
    parser.add_argument(
        "--for", dest="base", metavar="DEVICE", help="the device of an overlay (default: cpu)"
    )
    parser.add_argument(
        "--bare",
        action="store_true",
        help="start without a single kernel: every op runs on the CPU until it is written",
    )
    parser.add_argument(
        "--path", type=Path, metavar="DIR", help="the folder to make (default: tensorbus-NAME)"
    )


def run(args: argparse.Namespace) -> int:
    """Check the name, write the project, and say what to do next."""
    overlay = args.kind == "overlay"
    _check_name(args.name, GROUPS.get(args.kind, BACKENDS))
    if args.base is not None and not overlay:
        raise UsageError(f"--for goes with --kind overlay, not with --kind {args.kind}")
    if args.bare and args.kind in GROUPS:
        raise UsageError(f"--bare goes with a backend; the kind {args.kind} has none")
    base = (args.base or "cpu") if overlay else ""
    if overlay:
        _check_base(base)
    project = Project(args.name, args.kind, base, args.bare)
    folder = args.path if args.path is not None else Path(project.distribution)
    if os.path.lexists(folder):
        raise UsageError(
            f"{folder} exists, and nothing is overwritten: remove it, or give another --path"
        )
    try:
        project.write(folder)
    except OSError as e:
        raise UsageError(
            f"the project can't be written to {folder} ({e.strerror or e}): "
            "give a --path that you may write to"
        ) from e
    print(_next_steps(folder, project))
    return 0


def _check_name(name: str, group: str) -> None:
    if not NAME.fullmatch(name) or len(name) > MOST_LETTERS:
        raise UsageError(
            f"{name!r} can't be the name: it begins with a small letter and goes on with small "
            f"letters, digits and single underscores between them, {MOST_LETTERS} at most, because "
            "it is the name of a device, of a package and of a distribution"
        )
    for record in discovery.records(group):
        if record.name == name:
            raise UsageError(f"{name!r} is taken by {record.owner}: choose another name")
    if importlib.util.find_spec(f"tensorbus_{name}") is not None:
        raise UsageError(f"the package tensorbus_{name} is installed: choose another name")


def _check_base(base: str) -> None:
    known = sorted({record.name for record in discovery.records(BACKENDS)})
    if base not in known:
        raise UsageError(
            f"--for {base}: no plugin offers such a device; installed are {', '.join(known)}"
        )


def _next_steps(folder: Path, project: Project) -> str:
    name, base = project.name, project.base
    device = base or name
    # With the extra: without it, there is all but the suite.
    lines = [f"python -m pip install -e '{folder}[test]'"]
    if project.kind == "comm":
        lines += ["tensorbus doctor", f"tensorbus conformance --comm {name} --profile core"]
    else:
        check = f"{device} -k softmax" if base else f"{name} --profile core"
        lines.append("tensorbus devices")
        lines.append(f"tensorbus demo --device {device} --epochs 1")
        lines.append(f"tensorbus conformance {check}")
    return (
        f"The project is in {folder}; its README.md says what to do. To see it work:\n"
        + "\n".join(f"  {line}" for line in lines)
    )
