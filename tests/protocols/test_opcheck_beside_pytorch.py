"""Wrong ops, and which of ``opcheck``'s checks finds each: those that PyTorch's find, and more."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from checkout import ROOT

import tensorbus

pytestmark = pytest.mark.usefixtures("nothing_left")

SCHEMA, AUTOGRAD = "test_schema", "test_autograd_registration"
FAKE, DISPATCH = "test_faketensor", "test_aot_dispatch_dynamic"


@dataclass
class Op:
    """An op: its schema, kernel, fake kernel and formula."""

    kernel: Callable[..., Any]
    schema: str = "(Tensor x) -> Tensor"
    fake: Callable[..., Any] | None = None
    formula: Callable[..., Any] | None = None
    gradient: bool = False
    """Whether the sample argument wants one."""
    key: str = "CPU"


def saving(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0])


def ops(torch: Any) -> Iterator[tuple[str, Op]]:
    """Ops by what is wrong with them."""
    like = torch.empty_like
    two = "(Tensor x) -> (Tensor, Tensor)"
    calls = itertools.count()

    class Doubled(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    def formula(f: Callable[..., Any]) -> Op:
        return Op(lambda x: x * x, fake=like, formula=f, gradient=True)

    yield "nothing", Op(lambda x: x * 2, fake=like)
    yield "nothing, with a formula", formula(lambda ctx, g: g * 2 * ctx.saved_tensors[0])
    yield (
        "nothing, of other ops",
        Op(lambda x: x * 2, gradient=True, key="CompositeImplicitAutograd"),
    )
    yield "nothing, random", Op(lambda x: torch.rand(2, 3), fake=like)
    yield "nothing, a number", Op(lambda x: 3, "(Tensor x) -> int", lambda x: 3)
    yield (
        "nothing, writing",
        Op(lambda x: (x.add_(1), None)[1], "(Tensor(a!) x) -> ()", lambda x: None),
    )
    yield "no fake kernel", Op(lambda x: x * 2)
    yield "writes", Op(lambda x: x.add_(1).clone(), fake=like)
    yield "returns a view", Op(lambda x: x.view(-1), fake=lambda x: x.view(-1))
    yield "returns the argument", Op(lambda x: x, fake=lambda x: x)
    yield (
        "returns one result twice",
        Op(lambda x: (y := x + 1, y), two, lambda x: (like(x), like(x))),
    )
    yield "fake dtype", Op(lambda x: x.double(), fake=like)
    yield "fake shape", Op(lambda x: x.T.clone(), fake=like)
    yield "fake strides", Op(lambda x: x.T.contiguous().T, fake=like)
    yield "fake offset", Op(lambda x: torch.cat([x, x])[2:], fake=like)
    yield "fake count", Op(lambda x: [x + 1, x], "(Tensor x) -> Tensor[]", lambda x: [like(x)])
    yield "fake number", Op(lambda x: 3, "(Tensor x) -> int", lambda x: 4)
    yield (
        "fake needs a gradient",
        Op(
            lambda x: x * 2 if x.is_meta or type(x) is not torch.Tensor else x.detach() * 2,
            gradient=True,
            key="CompositeImplicitAutograd",
        ),
    )
    yield "fake kernel reads", Op(lambda x: x + 1, fake=lambda x: like(x) * x.sum().item())
    yield "fake kernel raises", Op(lambda x: x + 1, fake=lambda x: 1 // 0)
    yield "kernel raises", Op(lambda x: 1 // 0, fake=like)
    yield "counts its calls", Op(lambda x: x + next(calls), fake=like)
    yield "no formula", Op(lambda x: x * 2, fake=like, gradient=True)
    yield "formula in the kernel", Op(Doubled.apply, fake=like, gradient=True)
    yield "gradient of another shape", formula(lambda ctx, g: g.sum())
    yield "formula reads", formula(lambda ctx, g: g * float(ctx.saved_tensors[0].sum()))
    yield "formula in NumPy", formula(lambda ctx, g: torch.from_numpy(g.numpy() * 2))
    yield "formula raises", formula(lambda ctx, g: g * (1 // 0))
    yield "formula draws", formula(lambda ctx, g: g * torch.rand_like(g))


def found(torch: Any, library: Any) -> dict[str, list[str]]:
    """For each op the checks that find something."""
    made = {}
    lib = library.Library("opcheck_beside", "DEF")
    try:
        for number, (wrong, op) in enumerate(ops(torch)):
            name = f"op{number}"
            lib.define(name + op.schema)
            lib.impl(name, op.kernel, op.key)
            if op.fake is not None:
                library.register_fake(f"opcheck_beside::{name}", op.fake, lib=lib)
            if op.formula is not None:
                library.register_autograd(
                    f"opcheck_beside::{name}", op.formula, setup_context=saving, lib=lib
                )
            x = torch.arange(6.0).reshape(2, 3).requires_grad_(op.gradient)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                called = getattr(torch.ops.opcheck_beside, name).default
                outcome = library.opcheck(called, (x,), raise_exception=False)
            assert list(outcome) == [SCHEMA, AUTOGRAD, FAKE, DISPATCH]
            made[wrong] = [check for check, told in outcome.items() if told != "SUCCESS"]
    finally:
        lib._destroy()
    return made


HERE: dict[str, list[str]] = {
    "returns one result twice": [DISPATCH],
    "fake dtype": [DISPATCH],
    "fake shape": [DISPATCH],
    "fake strides": [DISPATCH],
    "fake offset": [DISPATCH],
    "fake number": [FAKE],
    "fake needs a gradient": [FAKE, DISPATCH],
    "fake kernel reads": [FAKE],
}
"""Checks that find more than PyTorch's: the last looks at the forms of results as well, and values
have no symbols here."""

THERE: dict[str, list[str]] = {
    "formula in the kernel": [FAKE],
}
"""Checks that find less: a kernel runs without recording here, so that its results tell nothing."""


PROGRAM = """
import json, sys
sys.path[:0] = [".", "tests/support"]
import torch, torch.library
from tests.protocols.test_opcheck_beside_pytorch import found
print(json.dumps(found(torch, torch.library)))
"""


def test_each_check_finds_what_pytorchs_finds(oracle: Any) -> None:
    def theirs(torch: Any) -> Any:
        # In a process of its own: what ran before changes what PyTorch's checks find. Without CI:
        # where it is set PyTorch refuses results that alias arguments, and only warns elsewhere.
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if name != "CI"},
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout.splitlines()[-1])

    wanted = {
        wrong: sorted({*checks, *HERE.get(wrong, [])} - {*THERE.get(wrong, [])})
        for wrong, checks in oracle(theirs).items()
    }
    ours = {wrong: sorted(checks) for wrong, checks in found(tensorbus, tensorbus.library).items()}
    assert ours == wanted
    assert {check for checks in ours.values() for check in checks} == {
        SCHEMA, AUTOGRAD, FAKE, DISPATCH
    }  # fmt: skip
    assert [wrong for wrong, checks in ours.items() if not checks] == [
        wrong for wrong in ours if wrong.startswith("nothing")
    ]
