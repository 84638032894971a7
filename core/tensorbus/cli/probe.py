"""Asks each backend and overlay what it is, in a process of its own, so that one that hangs or
crashes is a finding and not the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tensorbus import discovery
from tensorbus.cli.probe_processes import ask_each_here, ending, kill_group
from tensorbus.discovery.metadata import BACKENDS, OVERLAYS, VARIABLE
from tensorbus.plugin import Capabilities

USABLE, UNUSABLE, HANGS, CRASHED = "usable", "not usable", "no answer", "crashed"


@dataclass(slots=True)
class Device:
    """One device of a backend, as its plugin describes it."""

    index: int
    name: str
    dtypes: list[str]
    memory_total: int | None
    details: dict[str, str]


@dataclass(slots=True)
class Answer:
    """What asking one backend, or one overlay, gave; *type* is the entry's name."""

    type: str
    state: str
    devices: list[Device] = field(default_factory=list)
    reason: str = ""
    remedy: str = ""
    traceback: str = ""
    group: str = BACKENDS

    @property
    def label(self) -> str:
        """What the entry is called in tables, and in ``TENSORBUS_PLUGINS``."""
        return f"overlay:{self.type}" if self.group == OVERLAYS else self.type


def ask(type: str) -> Answer:
    """Load a backend in this process and describe its devices."""
    try:
        backend = discovery.backend(type)
        count = backend.device_count()
        devices = [_device(i, backend.capabilities(i)) for i in range(count)]
    except Exception as e:
        return _failure(BACKENDS, type, e)
    if not devices:
        return Answer(type, UNUSABLE, reason="the plugin works, but finds no device")
    return Answer(type, USABLE, devices)


def ask_overlay(name: str) -> Answer:
    """Load an overlay in this process; the answer's reason says what it is for."""
    try:
        spec = discovery.probe_overlay(name)
    except Exception as e:
        return _failure(OVERLAYS, name, e)
    about = f"for {spec.backend}: {', '.join(spec.ops)}"
    return Answer(name, USABLE, reason=about, group=OVERLAYS)


def _device(index: int, capabilities: Capabilities) -> Device:
    return Device(
        index,
        capabilities.name,
        sorted(d.name for d in capabilities.dtypes),
        capabilities.memory_total,
        capabilities.details,
    )


def _failure(group: str, name: str, error: Exception) -> Answer:
    for record in discovery.records(group):
        if record.name == name and record.exception is not None:
            reason = str(record.exception) or record.exception.__class__.__name__
            return Answer(name, UNUSABLE, [], reason, record.remedy, record.traceback, group)
    import traceback

    text = "".join(traceback.format_exception(error))
    return Answer(name, UNUSABLE, [], f"{error.__class__.__name__}: {error}", "", text, group)


def ask_each(types: list[str], timeout: float, overlays: list[str] | None = None) -> list[Answer]:
    """Ask backends and overlays, a few at a time, each in a process that may take *timeout*.

    The processes belong to one that has tensorbus loaded and no plugin, and ends with them.
    """
    asked = [*((BACKENDS, type) for type in types), *((OVERLAYS, name) for name in overlays or [])]
    if not asked:
        return []
    with tempfile.TemporaryDirectory(prefix="tensorbus-") as name:
        folder = Path(name)
        (folder / "asked.json").write_text(json.dumps({"timeout": timeout, "asked": asked}))
        # It sees the modules that this process sees, and no others (-P).
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-P", "-m", "tensorbus.cli.probe", str(folder)]
        with (folder / "log").open("wb") as log:
            # Files and no pipes: what a plugin starts may outlive it, and would keep a pipe open.
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            status = process.wait()
        finally:
            kill_group(process)
        if status:
            said = (folder / "log").read_text("utf-8", "replace").strip()
            raise RuntimeError(f"the process that asks the plugins {ending(status)}:\n{said}")
        return [_answer(folder / str(i), *pair, timeout) for i, pair in enumerate(asked)]


def _answer(path: Path, group: str, name: str, timeout: float) -> Answer:
    """What the process that was asked left at *path*."""
    status = json.loads(path.with_suffix(".status").read_text())
    if status is None:
        remedy = (
            f"leave the overlay out with {VARIABLE}, or wait longer with --timeout"
            if group == OVERLAYS
            else "wait longer with --timeout, or look at the device's driver"
        )
        reason = f"the plugin gave no answer within {timeout:g} seconds"
        return Answer(name, HANGS, [], reason, remedy, group=group)
    if status == 0 and path.exists():
        fields = json.loads(path.read_text("utf-8"))
        fields["devices"] = [Device(**d) for d in fields["devices"]]
        return Answer(**fields)
    reason = f"the process that loaded the plugin {ending(status)}"
    remedy = (
        f"leave the overlay out with {VARIABLE}, or reinstall it; `tensorbus doctor` has its output"
        if group == OVERLAYS
        else "reinstall the plugin or the device's driver; `tensorbus doctor` has its output"
    )
    log = path.with_suffix(".log").read_text("utf-8", "replace").strip()
    return Answer(name, CRASHED, [], reason, remedy, log, group)


def answer_one(group: str, name: str, path: str) -> None:
    """Ask in this process, and write the answer to *path*."""
    answer = ask_overlay(name) if group == OVERLAYS else ask(name)
    Path(path).write_text(json.dumps(asdict(answer)), "utf-8")


def main() -> None:
    """The process that asks each plugin in a child, or, with a group and a name, one itself."""
    path, *one = sys.argv[1:]
    if one:
        answer_one(one[0], one[1], path)
        sys.stdout.flush()
        # Without the interpreter's own exit: drivers that hang or crash there have answered.
        os._exit(0)
    discovery.records()  # read once, before the children begin
    wanted = json.loads(Path(path, "asked.json").read_text())
    ask_each_here(wanted["asked"], Path(path), wanted["timeout"], answer_one)


if __name__ == "__main__":
    main()
