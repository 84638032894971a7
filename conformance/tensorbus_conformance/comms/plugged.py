"""The comm under test: an installed one, or a class that is made one for the ranks' processes."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorbus import discovery
from tensorbus.plugin import Comm, CommContext

_METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 0\n"
_MODULE = """\
from importlib import import_module
from operator import attrgetter

from tensorbus.plugin import CommSpec, hookimpl


def load():
    return attrgetter({attribute!r})(import_module({module!r}))


@hookimpl
def tensorbus_comm():
    return CommSpec(name={name!r}, load=load, priority=-1)
"""


@dataclass(frozen=True)
class Plugged:
    """What the run knows of the comm."""

    name: str
    """How the ranks ask for it."""
    package: str
    spec: Any = None
    """Its ``CommSpec``, where it is installed."""
    paths: tuple[str, ...] = ()
    """Where the ranks' processes find it, beside what is installed."""


@contextlib.contextmanager
def plugged(comm: str | Callable[[CommContext], Comm]) -> Iterator[Plugged]:
    """What the run needs to know of *comm*, for the length of the block."""
    if isinstance(comm, str):
        # Not loaded here: a library with a launcher would take this process for a rank.
        spec = discovery.comm_spec(comm)
        spec.probe()
        yield Plugged(spec.name, _home(spec.name), spec)
        return
    module, attribute = comm.__module__, getattr(comm, "__qualname__", "")
    if "<" in attribute or not attribute or module == "__main__":
        raise ValueError(
            f"{comm!r} can't be imported by the ranks' processes: put it at the top of a module"
        )
    name = "plugged-" + attribute.replace(".", "-").lower()
    with tempfile.TemporaryDirectory(prefix="tensorbus-plugged-") as folder:
        info = Path(folder) / "tensorbus_plugged_comm-0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(_METADATA.format(name="tensorbus-plugged-comm"))
        entry = f"[tensorbus.comms]\n{name} = tensorbus_plugged_comm\n"
        (info / "entry_points.txt").write_text(entry)
        text = _MODULE.format(name=name, module=module, attribute=attribute)
        (Path(folder) / "tensorbus_plugged_comm.py").write_text(text)
        yield Plugged(name, module.partition(".")[0], paths=(folder,))


def _home(name: str) -> str:
    """The package of an installed comm."""
    for record in discovery.records("tensorbus.comms"):
        if record.name == name and record.entry_point is not None:
            return record.entry_point.module.partition(".")[0]
    return ""
