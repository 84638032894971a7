"""What all families draw from: tensors, shapes, numbers, and lines that PyTorch runs at once."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tests.differential.programs import Program, Run
from tests.differential.seen import Seen

WHOLE = ("uint8", "int8", "int16", "int32", "int64")
HALVES = ("float16", "bfloat16")
WIDE = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
ALL = (*WHOLE, *HALVES, *WIDE, *COMPLEX, "bool")
SIGNED = (*WHOLE[1:], *HALVES, *WIDE)


class Ended(Exception):
    """A write has failed, and PyTorch doesn't say what it has written by then."""


class Draw:
    """A program under way: PyTorch runs each line at once, so the next one knows all shapes."""

    def __init__(self, family: str, seed: int, torch: Any) -> None:
        self.random = random.Random(f"{family}-{seed}")
        self.program = Program(family, seed)
        self.torch = torch
        self.running = Run(torch)
        self.count = 0

    def do(self, text: str) -> Seen:
        self.program.lines.append(text)
        seen = self.running.line(text)
        if seen.kind == "error" and self.running.writes:
            raise Ended
        return seen

    def new(self, expression: str, letter: str = "x") -> str:
        """Assigns the expression's value; the name, which no line may use if it was an error."""
        name = self.name(letter)
        self.do(f"{name} = {expression}")
        return name

    def name(self, letter: str = "x") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def get(self, name: str) -> Any:
        return self.running.names.get(name)

    def tensors(self) -> list[str]:
        names = self.running.names
        return [n for n, v in names.items() if isinstance(v, self.torch.Tensor)]

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def one(self, of: Sequence[Any]) -> Any:
        return self.random.choice(of)

    def int(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def shape(self, low: int = 0, high: int = 3, sizes: Sequence[int] = (1, 2, 3, 4)) -> list[int]:
        rank = self.int(low, high)
        shape = [self.one(sizes[: 4 if rank < 3 else 3]) for _ in range(rank)]
        if self.chance(0.05) and shape:
            shape[self.int(0, len(shape) - 1)] = 0
        return shape

    def dim(self, t: Any) -> int:
        """A dimension that *t* has, rarely one that it lacks; negative half of the time."""
        n = t.dim()
        if self.chance(0.02):
            return self.one([n + 1, -n - 2])
        d = self.int(0, max(n - 1, 0))
        return d - max(n, 1) if self.chance(0.5) else d

    def number(self, dtype: str) -> Any:
        """A number that every dtype of this sort holds exactly."""
        if dtype == "bool":
            return self.chance(0.5)
        if dtype == "uint8":
            return self.int(0, 9)
        if dtype in WHOLE:
            return self.int(-9, 9)
        if dtype in COMPLEX:
            return complex(self.int(-10, 10) / 4, self.int(-10, 10) / 4)
        return self.int(-20, 20) / 8

    def scalar(self, kinds: Sequence[str] = ("bool", "int64", "float32", "complex64")) -> str:
        return repr(self.number(self.one(kinds)))

    def literal(self, shape: Sequence[int], dtype: str) -> str:
        if not shape:
            return repr(self.number(dtype))
        return "[" + ", ".join(self.literal(shape[1:], dtype) for _ in range(shape[0])) + "]"

    def tensor(
        self,
        dtype: str,
        shape: Sequence[int],
        *,
        requires_grad: bool = False,
        letter: str = "x",
    ) -> str:
        """A new leaf with numbers written out."""
        size = "" if 0 not in shape else f".reshape({tuple(shape)})"
        literal = self.literal(shape, dtype) if not size else "[]"
        wants = ", requires_grad=True" if requires_grad else ""
        return self.new(f"torch.tensor({literal}, dtype=torch.{dtype}{wants}){size}", letter)

    def disordered(self, name: str) -> str:
        """Half of the time a copy of it whose dimensions lie in another order, or with gaps."""
        t = self.get(name)
        if self.chance(0.5) or t.dim() < 1:
            return name
        if t.dim() > 1 and self.chance(0.6):
            order = self.random.sample(range(t.dim()), t.dim())
            back = [order.index(d) for d in range(t.dim())]
            return self.new(f"{name}.permute({order}).contiguous().permute({back})")
        d = self.int(0, t.dim() - 1)
        index = ":, " * d + "::2"
        return self.new(f"{name}.repeat_interleave(2, {d})[{index}]")

    def broadcast(self, shape: Sequence[int]) -> list[int]:
        """A shape that broadcasts to *shape*."""
        found = [1 if self.chance(0.25) else s for s in shape]
        return found[self.int(0, len(found)) :] if self.chance(0.4) else found

    def shares(self, a: str, b: str) -> bool:
        """Whether they lie in one storage: a write to one may overlap a read of the other."""
        x, y = self.get(a), self.get(b)
        return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()


def drawn(family: str, seed: int, torch: Any, rule: Any) -> tuple[Program, list[Seen]]:
    """The program of *seed*, and what PyTorch is seen to do."""
    draw = Draw(family, seed, torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(Ended):
            rule(draw)
        return draw.program, draw.running.end()
