"""Public functions take PyTorch's argument names, compared with the signatures it documents."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import tensorbus
from tensorbus.op_engine.public import FUNCTIONS

torch = pytest.importorskip("torch", reason="PyTorch's documented signatures are the reference")

# Functions that PyTorch documents by names that it does not take, or under several signatures.
OTHERWISE = {
    "where", "split", "einsum", "range", "broadcast_to", "true_divide", "std_mean", "var_mean",
    "concatenate",
}  # fmt: skip


def documented(name: str) -> set[str]:
    """The argument names in the first line of PyTorch's documentation of a function."""
    text = getattr(getattr(torch, name), "__doc__", None) or ""
    found = re.match(rf"\s*{name}\((.*?)\)\s*(->|\n)", text)
    if found is None:
        return set()
    names = (part.split("=")[0].split(":")[0].strip() for part in found[1].split(","))
    return {n for n in names if re.fullmatch(r"[A-Za-z_]\w*", n)}


def accepted(function: Any) -> tuple[set[str], bool]:
    """The names that a function takes by keyword, and whether it takes any."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name for p in parameters}, any(p.kind is p.VAR_KEYWORD for p in parameters)


SHARED = sorted(
    n for n in FUNCTIONS if hasattr(torch, n) and not n.startswith("_") and documented(n)
)


def test_there_are_many_to_compare() -> None:
    assert len(SHARED) > 150


@pytest.mark.parametrize("name", [n for n in SHARED if n not in OTHERWISE])
def test_names(name: str) -> None:
    taken, anything = accepted(getattr(tensorbus, name))
    wanted = documented(name)
    if not anything:
        assert wanted <= taken | {"size"}, f"{name} lacks {sorted(wanted - taken)}"
