"""Refusals: short programs that must raise, and what.

The tables (``*.txt``) name an op or class, below it programs, below each its exception and a part
of its text::

    nn.functional.conv2d
        F.conv2d(f(1,4,5,5), f(4,4,3,3), stride=0)
            RuntimeError: non-positive stride is not supported

The exception types are PyTorch's, which ``tests/conformance/test_refusals.py`` compares with. A
program is one line; its names are those of ``names``: ``f(2,3)`` is a tensor of floats on the
device under test, ``i(2,3)`` one of 0 and 1 in int64, ``p(2,3)`` a parameter, ``Net`` a small
module. What depends on the values, at which a device need not look, is marked ``[values]``.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

TABLES = (
    "autograd", "creation", "functional", "indexing", "joining", "layers", "linalg", "matmul",
    "modules", "optimizers", "others", "pointwise", "random", "reduce", "tensors", "training",
    "views",
)  # fmt: skip


@dataclass(frozen=True)
class Refusal:
    """A program, the name of its exception, and a part of the exception's text."""

    op: str
    program: str
    error: str
    text: str
    of_values: bool
    """Whether the values decide, which a device without ``host_sync`` need not look at."""


def refusals() -> Iterator[Refusal]:
    """Every program of the tables, in their order."""
    for table in TABLES:
        text = resources.files(__name__).joinpath(f"{table}.txt").read_text("utf-8")
        yield from parse(text)


def parse(text: str) -> Iterator[Refusal]:
    """The programs of a table."""
    op = program = ""
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip(" "))
        if depth == 0:
            op = line
        elif depth == 4:
            program = line.strip()
        else:
            error, _, message = line.strip().partition(": ")
            of_values = message.endswith(" [values]")
            yield Refusal(op, program, error, message.removesuffix(" [values]"), of_values)


def run(torch: Any, program: str, device: str = "cpu") -> Any:
    """What a program gives with a library under the name ``torch``, on a device."""
    scope = names(torch, device)
    tree = ast.parse(program)
    last = tree.body[-1]
    result = ast.Expression(last.value) if isinstance(last, ast.Expr) else None
    if result is not None:
        tree.body.pop()
    # On the CPU without a context: under one, PyTorch's l1_loss forgets its weight.
    context = contextlib.nullcontext() if device == "cpu" else torch.device(device)
    with context, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, "<program>", "exec"), scope)
        if result is not None:
            return eval(compile(result, "<program>", "eval"), scope)
    return None


def names(torch: Any, device: str) -> dict[str, Any]:
    """What programs may name."""
    root = torch.__name__
    for module in ("optim.lr_scheduler", "utils.data", "nn.utils", "nn.init"):
        importlib.import_module(f"{root}.{module}")

    def f(*size: int) -> Any:
        values = torch.arange(math.prod(size), dtype=torch.float32, device=device)
        return (values % 7 / 7 + 0.1).reshape(size)

    def i(*size: int) -> Any:
        return (torch.arange(math.prod(size), device=device) % 2).reshape(size)

    def p(*size: int) -> Any:
        return torch.nn.Parameter(f(*size))

    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(2, 3)
            self.register_buffer("b", f(2))
            self.w = p(2)

        def forward(self, x: Any) -> Any:
            return self.a(x)

    return {
        "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "optim": torch.optim,
        "sched": torch.optim.lr_scheduler, "data": torch.utils.data, "utils": torch.nn.utils,
        "init": torch.nn.init, "np": np, "f": f, "i": i, "p": p, "Net": Net,
    }  # fmt: skip
