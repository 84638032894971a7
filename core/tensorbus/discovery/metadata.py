"""What is installed, read from the metadata of distributions; nothing here loads a plugin."""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tensorbus.plugin.hooks import NAME
from tensorbus.version import __version__

BACKENDS = "tensorbus.backends"
COMMS = "tensorbus.comms"
OVERLAYS = "tensorbus.overlays"
COMMANDS = "tensorbus.commands"
GROUPS = (BACKENDS, COMMS, OVERLAYS, COMMANDS)

WHOLE = "tensorbus"
"""The distribution whose wheel holds the components too, each of which is one of its own."""

BUILT_IN = {"meta": "tensorbus._device.meta"}
"""Backends that are part of the library: they need no hardware, and are never left out."""

VARIABLE = "TENSORBUS_PLUGINS"
_DISTRIBUTION = "distribution"
_KINDS = {
    "backend": BACKENDS,
    "comm": COMMS,
    "overlay": OVERLAYS,
    _DISTRIBUTION: _DISTRIBUTION,
}

_AUTHORS = "The tensorbus authors"


@dataclass(slots=True)
class Record:
    """One entry point of one distribution, and what became of it.

    ``state`` is ``"found"`` until the entry is first asked for, then ``"loaded"`` or ``"failed"``;
    ``exception`` and ``traceback`` say why it failed and ``remedy`` what to do about it, unless the
    exception says that too.
    """

    group: str
    name: str
    distribution: str
    version: str
    entry_point: importlib.metadata.EntryPoint | None = None
    state: Literal["found", "loaded", "failed"] = "found"
    exception: BaseException | None = None
    traceback: str = ""
    remedy: str = ""

    @property
    def owner(self) -> str:
        """The distribution with its version, as error messages name it."""
        return f"{self.distribution} {self.version}".strip()

    def fail(self, exception: BaseException, remedy: str) -> None:
        """Keep why this entry can't be used, without the stack frames of the program."""
        # format_exception and the loop below are all that a traceback is needed for: kept alive, it
        # would hold the locals of every frame that led to the first use of the device.
        from traceback import format_exception

        self.traceback = "".join(format_exception(exception))
        link: BaseException | None = exception
        while link is not None and link.__traceback__ is not None:
            link.__traceback__ = None
            link = link.__cause__ or link.__context__
        self.state, self.exception, self.remedy = "failed", exception, remedy


def canonical(distribution: str) -> str:
    """The name of a distribution as pip compares it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def read() -> list[Record]:
    """A record for each plugin that an installed distribution declares, sorted by name.

    Where a component of tensorbus is installed beside the whole in one version, their files are
    the same and so is the plugin: it counts once.

    A distribution whose metadata can't be read, or has no name, becomes a failed record with an
    empty group, and so does an entry whose name nobody could ask for.
    """
    records: list[Record] = []
    names: set[str] = set()
    for distribution in importlib.metadata.distributions():
        try:
            text = distribution.read_text("entry_points.txt")
            if text and "tensorbus." in text:
                names.add(_name_of(distribution))
        except Exception as e:
            records.append(_unreadable(_folder_of(distribution), e))
    for name in sorted(names):
        try:
            records.extend(_declared(name))
        except Exception as e:
            records.append(_unreadable(name, e))
    whole = {(r.group, r.name, _module(r), r.version) for r in records if r.distribution == WHOLE}
    records = [
        r
        for r in records
        if not r.distribution.startswith(f"{WHOLE}-")
        or (r.group, r.name, _module(r), r.version) not in whole
    ]
    records.extend(_built_in())
    return sorted(records, key=lambda r: (r.group, r.name, r.distribution))


def _built_in() -> Iterator[Record]:
    for name, module in BUILT_IN.items():
        entry = importlib.metadata.EntryPoint(name, module, BACKENDS)
        yield Record(BACKENDS, name, WHOLE, __version__, entry)


def _module(record: Record) -> str:
    return record.entry_point.value if record.entry_point else ""


def _declared(name: str) -> Iterator[Record]:
    # Asked by name, the first distribution on sys.path answers: an older one behind it is shadowed
    # for Python, so its entries don't count.
    distribution = importlib.metadata.distribution(name)
    version = distribution.version or ""
    for entry in distribution.entry_points:
        if entry.group not in GROUPS:
            continue
        record = Record(entry.group, entry.name, name, version, entry)
        if not NAME.fullmatch(entry.name):
            record.group = ""
            record.fail(
                ValueError(
                    f"the entry point {entry.name!r} of {entry.group} has a name that can't be "
                    f"asked for: it begins with a letter and goes on with letters, digits, '_', "
                    f"'-' and '.'"
                ),
                f"update or remove {name}",
            )
        yield record


def _name_of(distribution: importlib.metadata.Distribution) -> str:
    name = distribution.metadata["Name"]
    if not name:
        raise ValueError("it declares plugins, but has no metadata that say its name")
    return name


def _folder_of(distribution: importlib.metadata.Distribution) -> str:
    return str(getattr(distribution, "_path", "(unknown)"))


def own_first(claims: list[Record]) -> tuple[Record | None, list[Record]]:
    """Of several that claim one name, the one that is tensorbus' own, if one is, and the others."""
    own = [r for r in claims if _is_own(r)] if len(claims) > 1 else []
    if len(own) != 1:
        return None, claims
    return own[0], [r for r in claims if r is not own[0]]


def _is_own(record: Record) -> bool:
    """Whether a plugin is the whole's or a component's."""
    if record.distribution == WHOLE:
        return True
    if record.entry_point is None or not record.distribution.startswith(f"{WHOLE}-"):
        return False
    try:
        return importlib.metadata.metadata(record.distribution)["Author"] == _AUTHORS
    except Exception:  # no metadata, or none that can be read
        return False


def _unreadable(name: str, exception: Exception) -> Record:
    record = Record("", name, name, "")
    record.fail(exception, "reinstall or remove that distribution")
    return record


@dataclass(frozen=True, slots=True)
class Selection:
    """What ``TENSORBUS_PLUGINS`` lets through.

    Backends by their names alone, ``comm:NAME``, ``overlay:NAME``, and with
    ``distribution:NAME`` all plugins of one distribution.
    """

    text: str
    chosen: frozenset[tuple[str, str]]

    @classmethod
    def from_environment(cls) -> Selection:
        """Read the variable; ValueError where an item has a prefix that isn't a kind of plugin."""
        text = os.environ.get(VARIABLE, "").strip()
        chosen = set()
        for item in filter(None, (part.strip() for part in text.split(","))):
            kind, colon, name = item.rpartition(":")
            if colon and kind not in _KINDS:
                raise ValueError(
                    f"{VARIABLE}={text}: the item {item!r} has the prefix {kind!r}, but only "
                    f"{', '.join(f'{k}:' for k in _KINDS)} or none (a backend) are known"
                )
            if kind == _DISTRIBUTION:
                name = canonical(name)
            chosen.add((_KINDS[kind or "backend"], name))
        return cls(text, frozenset(chosen))

    def admits(self, record: Record) -> bool:
        """Whether the variable is unset or lists that plugin.

        Commands are never left out, nor is what is built in or a program plugged in itself.
        """
        if not self.chosen or record.group in (COMMANDS, "") or record.entry_point is None:
            return True
        if record.entry_point.value == BUILT_IN.get(record.name):
            return True
        owner = _DISTRIBUTION, canonical(record.distribution)
        return (record.group, record.name) in self.chosen or owner in self.chosen
