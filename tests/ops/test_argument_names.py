"""Public functions take PyTorch's argument names, compared with the signatures it documents."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import tensorbus
from tensorbus.op_engine.names import FUNCTIONS

# Functions that PyTorch documents by names that it does not take, or under several signatures.
OTHERWISE = {
    "where", "split", "einsum", "range", "broadcast_to", "true_divide", "std_mean", "var_mean",
    "concatenate", "triangular_solve", "cholesky_solve", "cholesky_inverse", "lu_solve",
    "matrix_exp", "histogramdd", "orgqr", "ormqr", "dequantize", "unsafe_split",
}  # fmt: skip


def documented(torch: Any, name: str) -> list[str]:
    """The argument names in the first line of PyTorch's documentation of a function."""
    text = getattr(torch, name).__doc__
    found = re.match(rf"\s*{name}\((.*?)\)\s*(->|\n)", text if isinstance(text, str) else "")
    if found is None:
        return []
    names = (part.split("=")[0].split(":")[0].strip() for part in found[1].split(","))
    return sorted({n for n in names if re.fullmatch(r"[A-Za-z_]\w*", n)})


def accepted(function: Any) -> tuple[set[str], bool]:
    """The names that a function takes by keyword, and whether it takes any."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name for p in parameters}, any(p.kind is p.VAR_KEYWORD for p in parameters)


def test_names(oracle: Any) -> None:
    # Modules that a process has imported appear in dir(); they document no arguments.
    names = oracle(lambda torch: {n: found for n in dir(torch) if (found := documented(torch, n))})
    shared = sorted(n for n in FUNCTIONS if names.get(n) and n not in OTHERWISE)
    assert len(shared) > 150
    lacking = {}
    for name in shared:
        taken, anything = accepted(getattr(tensorbus, name))
        wanted = set(names[name]) - taken - {"size"}
        if wanted and not anything:
            lacking[name] = sorted(wanted)
    assert lacking == {}


def test_four_functions_of_special_take_x() -> None:
    x = tensorbus.tensor([0.0, 2.0])
    for name in (
        "airy_ai", "spherical_bessel_j0", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
    ):  # fmt: skip
        function, out = getattr(tensorbus.special, name), tensorbus.empty(2)
        assert function(x=x, out=out) is out
        assert out.tolist() == function(x).tolist()
        with pytest.raises(TypeError, match="input"):
            function(input=x)
    assert tensorbus.special.bessel_j0(input=x)[0] == 1
