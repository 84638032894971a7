"""Asks each backend what it is, in a process of its own, so that one that hangs or crashes is a
finding and not the end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tensorbus import discovery
from tensorbus.discovery.metadata import BACKENDS
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
    """What asking one backend gave."""

    type: str
    state: str
    devices: list[Device] = field(default_factory=list)
    reason: str = ""
    remedy: str = ""
    traceback: str = ""


def ask(type: str) -> Answer:
    """Load a backend in this process and describe its devices."""
    try:
        backend = discovery.backend(type)
        count = backend.device_count()
        devices = [_device(i, backend.capabilities(i)) for i in range(count)]
    except Exception as e:
        return _failure(type, e)
    if not devices:
        return Answer(type, UNUSABLE, reason="the plugin works, but finds no device")
    return Answer(type, USABLE, devices)


def _device(index: int, capabilities: Capabilities) -> Device:
    return Device(
        index,
        capabilities.name,
        sorted(d.name for d in capabilities.dtypes),
        capabilities.memory_total,
        capabilities.details,
    )


def _failure(type: str, error: Exception) -> Answer:
    for record in discovery.records(BACKENDS):
        if record.name == type and record.exception is not None:
            reason = str(record.exception) or record.exception.__class__.__name__
            return Answer(type, UNUSABLE, [], reason, record.remedy, record.traceback)
    import traceback

    text = "".join(traceback.format_exception(error))
    return Answer(type, UNUSABLE, [], f"{error.__class__.__name__}: {error}", "", text)


def ask_each(types: list[str], timeout: float) -> list[Answer]:
    """Ask all backends at once, each in a subprocess that may take *timeout* seconds."""
    with tempfile.TemporaryDirectory(prefix="tensorbus-") as folder:
        children = [_Child(type, Path(folder, str(i))) for i, type in enumerate(types)]
        try:
            deadline = time.monotonic() + timeout
            return [child.answer(deadline, timeout) for child in children]
        finally:
            for child in children:
                child.process.kill()
                child.process.wait()


class _Child:
    def __init__(self, type: str, path: Path):
        self.type, self.path = type, path
        # The child sees the modules that this process sees, and no others (-P).
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-P", "-m", "tensorbus.cli.probe", type, str(path)]
        with path.with_suffix(".log").open("wb") as log:
            # A file and not a pipe: a grandchild that outlives the child would keep a pipe open.
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def answer(self, deadline: float, timeout: float) -> Answer:
        try:
            status = self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return Answer(
                self.type,
                HANGS,
                reason=f"the plugin gave no answer within {timeout:g} seconds",
                remedy="wait longer with --timeout, or look at the device's driver",
            )
        if status == 0 and self.path.exists():
            fields = json.loads(self.path.read_text("utf-8"))
            fields["devices"] = [Device(**d) for d in fields["devices"]]
            return Answer(**fields)
        log = self.path.with_suffix(".log").read_text("utf-8", "replace").strip()
        return Answer(
            self.type,
            CRASHED,
            reason=f"the process that loaded the plugin {_ending(status)}",
            remedy="reinstall the plugin or the device's driver; `tensorbus doctor` has its output",
            traceback=log,
        )


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def main() -> None:
    """The subprocess: ask the backend named first, write the answer to the file named second."""
    type, path = sys.argv[1:]
    Path(path).write_text(json.dumps(asdict(ask(type))), "utf-8")
    sys.stdout.flush()
    # Without the interpreter's own exit: drivers that hang or crash there have answered already.
    os._exit(0)


if __name__ == "__main__":
    main()
