"""Every primitive has its section in docs/primitives.md, with its exact signature."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tensorbus.plugin import PRIMITIVES, SIGNATURES

PAGE = Path(__file__).parents[2] / "docs" / "primitives.md"
SECTIONS = dict(re.findall(r"^### (\w+)\n\n(.*?)(?=^##|\Z)", PAGE.read_text(), re.M | re.S))


@pytest.mark.parametrize("name", PRIMITIVES)
def test_section(name: str) -> None:
    assert name in SECTIONS, f"docs/primitives.md has no section '### {name}'"
    signature, dtypes, text = SECTIONS[name].split("\n\n", 2)
    assert signature == f"`{name}{SIGNATURES[name]}`"
    assert dtypes.startswith("Dtypes: ")
    assert len(text.split()) > 3


def test_no_section_for_what_is_not_a_primitive() -> None:
    assert set(SECTIONS) == {*PRIMITIVES, "copy_", "as_strided"}
