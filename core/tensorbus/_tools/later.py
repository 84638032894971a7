"""Writes ``ops/later.py``: what the modules declare that wait until they are touched."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any

from tensorbus import ops
from tensorbus._base.table import Table
from tensorbus.op_engine.names import FUNCTIONS, METHODS, SPECIAL
from tensorbus.rows.registry import ROWS

TABLES = {"rows": ROWS, "functions": FUNCTIONS, "methods": METHODS, "special": SPECIAL}
PATH = Path(ops.__path__[0]) / "later.py"
_found: dict[tuple[str, str], list[str]] = defaultdict(list)


class _Recorded(Table):
    """A table that notes which module declares a name."""

    __slots__ = ()

    def __setitem__(self, name: str, value: Any) -> None:
        sort = next(sort for sort, table in TABLES.items() if table is self)
        frame = sys._getframe(1)
        while frame.f_code.co_name != "<module>":
            frame = frame.f_back  # type: ignore[assignment]
        _found[frame.f_globals["__name__"].removeprefix("tensorbus.ops."), sort].append(name)
        super().__setitem__(name, value)


def text() -> str:
    """The module; to be asked for in a process that has imported no more than tensorbus."""
    for table in TABLES.values():
        table.__class__ = _Recorded
    for module in pkgutil.walk_packages(ops.__path__, f"{ops.__name__}."):
        importlib.import_module(module.name)
    lines = []
    for (module_name, sort), names in sorted(_found.items()):
        start = f"{sort} {module_name} "
        lines += textwrap.wrap(" ".join(names), 100, initial_indent=start, subsequent_indent=start)
    _check()
    return "\n".join(
        [
            '"""For ``families.py``: what modules declare that are imported when they are touched.',
            "",
            "Written by ``scripts/stubs``.",
            '"""',
            "",
            'LATER = """\\',
            *lines,
            '"""',
            "",
        ]
    )


def _check() -> None:
    """What waits has one module each, and the kinds know its one entry."""
    for sort in TABLES:
        names = [name for (_, own), found in _found.items() if own == sort for name in found]
        twice = sorted({name for name in names if names.count(name) > 1})
        assert not twice, f"{sort} that two modules declare cannot wait: {twice}"
        if sort == "rows":
            views = [name for name in names if ROWS[name].form == "view"]
            assert not views, f"views cannot wait: {views}"
        if sort == "methods":
            written = [name for name in names if isinstance(METHODS[name], property)]
            assert not written, f"properties cannot wait: {written}"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
