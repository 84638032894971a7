"""What warns as PyTorch warns: whether, how often, with which words first."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus

Program = Callable[[Any], Any]
FIRST_WORDS = 40

COMPLEX = {
    "to bool": lambda t, z: z.bool(),
    "to int": lambda t, z: z.int(),
    "to float64": lambda t, z: z.to(t.float64),
    "to itself": lambda t, z: z.to(t.complex64),
    "type_as": lambda t, z: z.type_as(t.ones(1)),
    "copy_": lambda t, z: t.empty(2).copy_(z),
    "copy_ to bool": lambda t, z: t.ones(2).bool().copy_(z),
    "item": lambda t, z: t.ones(2).__setitem__(0, z[0]),
    "real": lambda t, z: z.real,
    "gradient": lambda t, z: t.ones(2, requires_grad=True).to(z.dtype).sum().abs().backward(),
}
SPREAD = {
    "std of one": lambda t: t.ones(1).std(),
    "std of none": lambda t: t.ones(0).std(),
    "std without results": lambda t: t.ones(0, 3).std(1),
    "var of one along": lambda t: t.ones(1, 3).var(0),
    "var of one, biased": lambda t: t.ones(1).var(unbiased=False),
    "correction 3 of 3": lambda t: t.ones(3).var(correction=3),
    "correction 2.5 of 3": lambda t: t.ones(3).var(correction=2.5),
    "std_mean": lambda t: t.std_mean(t.ones(1)),
    "var_mean": lambda t: t.var_mean(t.ones(2, 1), 1),
    "cov": lambda t: t.cov(t.ones(1)),
    "cov of two": lambda t: t.cov(t.ones(2)),
}
OUT = {
    "add": lambda t: t.add(t.ones(2), 1, out=t.empty(3)),
    "add, as many elements": lambda t: t.add(t.ones(2, 2), 1, out=t.empty(4)),
    "add, the same shape": lambda t: t.add(t.ones(2), 1, out=t.empty(2)),
    "add, an empty one": lambda t: t.add(t.ones(2), 1, out=t.empty(0)),
    "cat": lambda t: t.cat([t.ones(2), t.ones(2)], out=t.empty(3)),
    "mm": lambda t: t.mm(t.ones(2, 2), t.ones(2, 2), out=t.empty(3)),
    "max": lambda t: t.max(t.ones(2, 2), 0, out=(t.empty(1), t.empty(1).long())),
    "zeros": lambda t: t.zeros(3, out=t.empty(2)),
    "linspace": lambda t: t.linspace(0, 1, 3, out=t.empty(2)),
    "randperm": lambda t: t.randperm(3, out=t.empty(2).long()),
}
ONE = {
    "float": lambda t, x: float(x),
    "complex": lambda t, x: complex(x),
    "int": lambda t, x: int(x),
    "bool": lambda t, x: bool(x),
    "item": lambda t, x: x.item(),
    "float, detached": lambda t, x: float(x.detach()),
}
ARRAYS = {
    "list": lambda t: t.tensor([np.ones(2)]),
    "nested": lambda t: t.tensor([[np.ones(2)]]),
    "mixed": lambda t: t.as_tensor([[1.0], np.ones(1)]),
    "numbers": lambda t: t.tensor([np.float64(1)]),
    "one array": lambda t: t.tensor(np.ones(2)),
}
PROGRAMS: dict[str, Program] = {
    **{k: (lambda t, f=f: f(t, t.ones(2, dtype=t.complex64))) for k, f in COMPLEX.items()},
    **SPREAD,
    **{f"out of {k}": f for k, f in OUT.items()},
    **{k: (lambda t, f=f: f(t, t.ones(1, requires_grad=True))) for k, f in ONE.items()},
    **ARRAYS,
}


def heard(torch: Any, program: Program) -> list[str]:
    """The first words of each warning of a program."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            program(torch)
    finally:
        torch.set_warn_always(before)
    assert all(w.category is UserWarning for w in caught)
    return [str(w.message)[:FIRST_WORDS] for w in caught]


@pytest.mark.parametrize("name", PROGRAMS)
def test_warnings_are_pytorchs(oracle: Any, name: str) -> None:
    assert heard(tensorbus, PROGRAMS[name]) == oracle(lambda torch: heard(torch, PROGRAMS[name]))


@pytest.mark.parametrize("name", ["to int", "float", "list"])
def test_what_warns_once(name: str) -> None:
    heard(tensorbus, PROGRAMS[name])  # so that it was shown
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PROGRAMS[name](tensorbus)


def test_output_nr_is_the_position_among_the_results(oracle: Any) -> None:
    def program(torch: Any) -> list[int]:
        x = torch.ones(3, 2, requires_grad=True)
        values, indices = x.max(0)
        q, r = torch.linalg.qr(x)
        return [t.output_nr for t in (x, torch.ones(1), x * 2, x[0], values, indices, q, r)]

    assert program(tensorbus) == oracle(program) == [0, 0, 0, 0, 0, 0, 0, 1]
    with pytest.raises(AttributeError):
        tensorbus.ones(1).output_nr = 1  # type: ignore[misc]
