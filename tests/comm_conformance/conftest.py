"""The mutants' module where processes of ranks find it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks look for modules where this process does."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
