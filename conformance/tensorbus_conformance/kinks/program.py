"""One program of the table: a line of text over named operands, and how it is evaluated."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

COTANGENT = (1.0, -2.0, 0.5)
DIRECTION = (1.0, 0.5, -2.0)
"""The factors of the result's elements, in turn, and those of the gradient's at second order."""


@dataclass(frozen=True)
class Program:
    """An expression over operands that all require a gradient, as any PyTorch evaluates it."""

    op: str
    """The public name that its case bears."""
    variant: str
    text: str
    """Sees ``torch``, ``F``, ``inf``, ``nan``, the operands, and ``T(data)``, a constant."""
    operands: Mapping[str, Any]
    elementwise: bool = False
    """Whether each element of the result depends on the operands at its own index alone. PyTorch
    is then asked for one element at a time: its vector instructions treat NaN in other ways than
    the rest of its loops, than its CUDA kernels and its documents."""

    dtype: str = "float32"
    """The dtype of the operands."""

    @property
    def key(self) -> str:
        """Its name in the table of results."""
        return f"{self.op}/{self.variant}"

    @property
    def tolerance(self) -> float:
        """How far its results may lie from the table's: kinks are compared, not digits."""
        return 5e-5 if self.dtype == "float32" else 5e-3


Found = dict[str, Any]
"""What a program gives, by name: ``value``, ``x`` (a gradient), ``x.y`` (that differentiated with
respect to y). An array, or a word: ``error TYPE``, ``constant`` (records nothing), ``unused``."""


def evaluate(
    torch: Any, program: Program, device: str, host: Callable[[Any], Any], at: int = 0
) -> Found:
    """Run a program with a module that is called ``torch``; *host* makes a tensor an array.

    The factors begin with that of element *at*.
    """

    dtype = getattr(torch, program.dtype)

    def constant(data: Any) -> Any:
        made = torch.tensor(data, device=device)
        return made.to(dtype) if made.is_floating_point() else made

    def cycled(factors: tuple[float, ...], like: Any) -> Any:
        n = like.numel()
        return constant((factors * (n + at))[at : n + at]).reshape(like.shape)

    leaves = {
        name: torch.tensor(
            np.asarray(data, np.float32).tolist(), dtype=dtype, device=device, requires_grad=True
        )
        for name, data in program.operands.items()
    }
    names = {"torch": torch, "F": torch.nn.functional, "T": constant, "inf": np.inf, "nan": np.nan}
    found: Found = {}

    def attempt(key: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError) as error:
            found[key] = f"error {type(error).__name__}"
            return None

    y = attempt("value", lambda: eval(program.text, {**names, **leaves}))
    if y is None:
        return found
    found["value"] = host(y)
    if not y.requires_grad:
        found.update(dict.fromkeys(leaves, "constant"))
        return found
    wanted = list(leaves.values())

    def gradient(of: Any, factors: tuple[float, ...], create_graph: bool) -> Any:
        return torch.autograd.grad(
            of, wanted, cycled(factors, of), True, create_graph, allow_unused=True
        )

    for create_graph in (False, True):  # the pass that records is another, and has to agree
        gradients = attempt("gradient", functools.partial(gradient, y, COTANGENT, create_graph))
        if gradients is None:
            return found
        mark = "" if create_graph else "plain "
        for name, g in zip(leaves, gradients, strict=True):
            found[mark + name] = "unused" if g is None else host(g)
    for name, g in zip(leaves, gradients, strict=True):
        if g is None:
            continue
        if not g.requires_grad:
            found.update({f"{name}.{other}": "constant" for other in leaves})
            continue
        again = attempt(f"{name}.", functools.partial(gradient, g, DIRECTION, False))
        for other, h in zip(leaves, again or (), strict=again is not None):
            found[f"{name}.{other}"] = "unused" if h is None else host(h)
    return found
