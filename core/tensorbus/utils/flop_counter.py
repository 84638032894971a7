"""How many floating point operations matrix products and convolutions of a program take.

>>> import tensorbus as torch
>>> from tensorbus.utils.flop_counter import FlopCounterMode
>>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
>>> with FlopCounterMode(display=False) as counter:
...     net(torch.ones(10, 4)).sum().backward()
>>> counter.get_total_flops()
2240
>>> print(counter.get_table())
Module            FLOP    % Total
--------------  ------  ---------
Sequential        2240    100.00%
 - aten.addmm      960     42.86%
 - aten.mm        1280     57.14%
 Sequential.0     1280     57.14%
  - aten.addmm     640     28.57%
  - aten.mm        640     28.57%
 Sequential.2      960     42.86%
  - aten.addmm     320     14.29%
  - aten.mm        640     28.57%
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator
from typing import Any

from tensorbus._base.leaving import Leaving
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.op_objects import OpOverloadPacket
from tensorbus.utils._python_dispatch import TorchDispatchMode
from tensorbus.utils._pytree import tree_leaves, tree_map
from tensorbus.utils.flop_formulas import FORMULAS, as_pytorch_call
from tensorbus.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Formula = Callable[..., int]


def _of_shapes(formula: Formula) -> Formula:
    """The formula over tensors of one over their shapes."""

    def count(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(_shape, (args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)

    return count


def _shape(value: Any) -> Any:
    return value.shape if isinstance(value, Tensor) else value


flop_registry: dict[Any, Formula] = {op: _of_shapes(formula) for op, formula in FORMULAS.items()}
"""The formulas in use: over an op's arguments, and its result as ``out_val``."""


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """A decorator: the function says how many operations the ops *targets* take.

    It gets the op's arguments with shapes in the place of tensors, and ``out_shape``; with
    *get_raw* the tensors, and ``out_val``, but shapes where the op is a matrix product or a
    convolution. ValueError for what is no op as ``torch.ops.mylib.myop``, RuntimeError for one that
    has a formula.

    Source: https://pytorch.org/docs/stable/torch.utils.html
    """

    def register(formula: Formula) -> Formula:
        made = formula if get_raw else _of_shapes(formula)
        for target in tree_leaves(targets):
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket "
                    f"(i.e. torch.ops.mylib.foo), got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = made
        return made

    return register


class _Mode(TorchDispatchMode):
    def __init__(self, count: Callable[..., None]) -> None:
        self.count = count

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.count(func.overloadpacket, args, kwargs or {}, out)
        return out


class FlopCounterMode(Leaving):
    """A context that counts the floating point operations of this thread, module by module.

    Counted are matrix products and convolutions, forward and backward, a multiplication and an
    addition as two; and ops of ``torch.library`` that ``register_flop_formula`` knows, or
    *custom_mapping*, a dict of formulas by op. Attention counts as its matrix products, a grouped
    convolution as what it multiplies. The table that is printed at the end, unless *display* is
    False, shows modules down to *depth*. *mods* has no effect and warns.

    >>> import tensorbus as torch
    >>> with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     y = torch.ones(2, 3) @ torch.ones(3, 4)
    >>> counter.get_flop_counts()
    {'Global': {<OpOverloadPacket(op='aten.mm')>: 48}}

    Source: https://pytorch.org/docs/stable/torch.utils.html
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        if mods is not None:
            warn_user("mods argument is not needed anymore, you can stop passing it")
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        own = custom_mapping or {}
        self.flop_registry = flop_registry | {
            op: f if getattr(f, "_get_raw", False) else _of_shapes(f) for op, f in own.items()
        }
        self.mod_tracker = ModuleTracker()

    def within(self, outer: Callable[[], None]) -> Generator[Any, None, None]:
        self.flop_counts.clear()
        try:
            with self.mod_tracker, _Mode(self._count):
                yield self
        finally:
            self.close = outer
            if self.display:
                print(self.get_table())

    def _count(self, op: Any, args: Any, kwargs: Any, out: Any) -> None:
        if op.namespace == "aten" and op.__name__ in _TRANSLATED:
            op, args, out = as_pytorch_call(op.__name__, args, out, self.mod_tracker.is_bw)
        formula = self.flop_registry.get(op)
        if formula is not None:
            flops = formula(*args, **kwargs, out_val=out)
            for parent in self.mod_tracker.parents:
                self.flop_counts[parent][op] += flops

    def get_total_flops(self) -> int:
        """All operations counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """The operations by the name of the module, then by the op."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table of modules and ops; *depth* instead of that given at first."""
        deepest = depth or self.depth or 999999
        total = self.get_total_flops()
        suffix = max(0, min(len(_SUFFIXES) - 1, (len(str(total)) - 2) // 3))
        rows: list[list[str]] = []
        subsumed = False

        def show(module: str, indent: str) -> list[list[str]]:
            counts = self.flop_counts[module]
            named = [(module, sum(counts.values()))]
            named += [(f" - {op}", n) for op, n in counts.items()]
            return [
                [
                    indent + name,
                    f"{n / 1000**suffix:.3f}{_SUFFIXES[suffix]}" if suffix else str(n),
                    f"{n / total:.2%}" if total else "0%",
                ]
                for name, n in named
            ]

        for module in sorted(self.flop_counts):
            level = module.count(".")
            if module != "Global" and level < deepest:
                rows += show(module, " " * level)
                subsumed = subsumed or sum(self.flop_counts[module].values()) >= total
        if "Global" in self.flop_counts and not subsumed:
            rows = show("Global", "") + rows
        return _aligned([_HEADER, *(rows or [["Global", "0", "0%"]])])


_TRANSLATED = frozenset(
    "matmul linear convolution conv2d conv2d_input conv2d_weight conv3d conv3d_input "
    "conv3d_weight".split()
)
"""The rows that do what other ops of PyTorch do."""
_SUFFIXES = ["", "K", "M", "B", "T"]
_HEADER = ["Module", "FLOP", "% Total"]


def _aligned(rows: list[list[str]]) -> str:
    columns = list(zip(*rows, strict=True))
    widths = [max(len(c[0]) + 2, *map(len, c)) for c in columns]
    lines = [
        "  ".join((name.ljust(widths[0]), flops.rjust(widths[1]), part.rjust(widths[2])))
        for name, flops, part in [rows[0], ["-" * w for w in widths], *rows[1:]]
    ]
    return "\n".join(lines)
