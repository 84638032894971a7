"""The programs that the suite says are refused: PyTorch's own exceptions for them."""

from __future__ import annotations

from typing import Any

from tensorbus_conformance.refusals import parse, refusals, run


def outcome(torch: Any, program: str) -> str:
    """The name of what a program raises, or that it gives a result."""
    try:
        run(torch, program)
    except Exception as raised:
        return type(raised).__name__
    return "no exception"


def test_exceptions_are_pytorchs(oracle: Any) -> None:
    programs = {one.program: one.error for one in refusals()}
    assert len(programs) > 1000
    theirs = oracle(lambda torch: {program: outcome(torch, program) for program in programs})
    assert programs == theirs


def test_a_table_is_read() -> None:
    first, second = parse(
        "nn.functional.relu\n"
        "    F.relu(None)\n"
        "        TypeError: must be Tensor: not None\n"
        "    F.relu(f(2))\n"
        "        IndexError: out of range [values]\n"
    )
    assert (first.op, first.program) == ("nn.functional.relu", "F.relu(None)")
    assert (first.error, first.text, first.of_values) == (
        "TypeError",
        "must be Tensor: not None",
        False,
    )
    assert (second.error, second.text, second.of_values) == ("IndexError", "out of range", True)
