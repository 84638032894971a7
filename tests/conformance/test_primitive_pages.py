"""Every primitive has its section in docs/primitives.md, which says what the table says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tensorbus.plugin import JOINS, PRIMITIVE_TABLE, PRIMITIVES, Primitive

PAGE = Path(__file__).parents[2] / "docs" / "primitives.md"
TEXT = PAGE.read_text("utf-8")
SECTIONS = dict(re.findall(r"^### (\w+)\n\n(.*?)(?=^##|\Z)", TEXT, re.M | re.S))


def named(words: str) -> str:
    return "all" if words == "bool int float complex" else words


def dtypes(p: Primitive) -> str:
    """The line of the page about the dtypes of a primitive."""
    text = named(p.dtypes)
    if p.writes:
        ways: dict[str, list[str]] = {}
        for how, words in JOINS.items():
            ways.setdefault(named(words), []).append(f'"{how}"')
        text = "; ".join(f"{words} for {' '.join(hows)}" for words, hows in ways.items())
    if p.optional:
        text += f", {p.optional} where offered"
    if p.result == "given" and p.operands:
        text += ", to a chosen dtype"
    own = [f"{name} is {kind}" for name, kind in p.operands.items() if kind != "same"]
    return "Dtypes: " + "; ".join([text, *own]) + "."


@pytest.mark.parametrize("name", PRIMITIVES)
def test_section(name: str) -> None:
    assert name in SECTIONS, f"docs/primitives.md has no section '### {name}'"
    p = PRIMITIVE_TABLE[name]
    signature, said, text = SECTIONS[name].split("\n\n", 2)
    assert signature == f"`{name}{p.signature}`"
    assert said == dtypes(p)
    assert len(text.split()) > 3
    bounds = re.findall(r"within (\d+) (?:ULP)|within (\d+)\s+ULP", text)
    assert {float(a or b) for a, b in bounds} <= {p.ulp}


def test_no_section_for_what_is_not_a_primitive() -> None:
    assert set(SECTIONS) == {*PRIMITIVES, "copy_", "as_strided"}


def test_the_rule_of_errors_is_that_of_the_table() -> None:
    rule = re.search(r"units in the last place: (.*?)\. The rest is exact", TEXT, re.S)
    assert rule is not None
    found = {
        name: float(ulp)
        for names, ulp in re.findall(r"((?:`\w+`(?:, )?)+) (\d+)", rule[1])
        for name in re.findall(r"`(\w+)`", names)
    }
    assert found == {p.name: p.ulp for p in PRIMITIVE_TABLE.values() if p.ulp}


def test_the_rule_of_zeros_is_that_of_the_table() -> None:
    rule = re.search(r"sign of a zero is specified for `(.*?)`", TEXT, re.S)
    assert rule is not None
    moved = {"where"}  # what is only moved: the rule says so in words
    signed = {p.name for p in PRIMITIVE_TABLE.values() if p.signed_zeros}
    assert set(rule[1].split()) == signed - moved
