"""The loop template: one work item per element of a loop nest over strided operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.kernel_language.device import Device, Launch
from tensorbus.plugin.kernel_language.layout import Strides, merge
from tensorbus.plugin.kernel_language.types import STORAGE

# From this many elements in the innermost dimension on, it gets a grid dimension of its own:
# work items are rounded up to whole groups there, and the others save a division.
GRID_FROM = 24
PLANS_KEPT = 4096


class Form(NamedTuple):
    """What a kernel's text depends on: all else of a layout is passed as arguments."""

    rank: int
    units: tuple[int | None, ...] | None
    """For each operand the stride, 0 or 1, of the innermost dimension, None for any other; known
    strides let the compiler use vectors. None as a whole where that is not worth a kernel."""
    grid: bool
    wide: bool
    """More than 2**31 elements: coordinates need 64 bits."""


class Plan(NamedTuple):
    """How one shape and set of strides is launched."""

    launch: Launch
    size: tuple[int, ...]
    layout: tuple[int, ...]


@dataclass(frozen=True)
class Operand:
    """A named array of a loop nest: its element is at ``<name>[<name>_i]``."""

    name: str
    dtype: dtype
    written: bool = False


class LoopNest:
    """A kernel made for any layout of its operands, one text for each rank.

    *body* is C that runs once per element; *extras* are (C type, name) of further arguments,
    a pointer's type meaning a buffer.
    """

    def __init__(
        self,
        device: Device,
        name: str,
        operands: Sequence[Operand],
        body: str,
        extras: Sequence[tuple[str, str]] = (),
        helpers: str = "",
        reorder: bool = True,
    ):
        self.device = device
        self.name = name
        self.operands = operands
        self.body = body
        self.extras = extras
        self.helpers = helpers
        self.reorder = reorder
        self.launches: dict[Form, Launch] = {}
        self.plans: dict[Any, Plan] = {}

    def flat(self) -> Launch:
        """The launch for operands that are all row-major: (size, buffer, offset, ..., n, ...)."""
        return self._launch(Form(1, (1,) * len(self.operands), False, False))

    def plan(self, shape: tuple[int, ...], strides: tuple[Strides, ...]) -> Plan:
        """The kernel and its arguments for a loop of that shape."""
        found = self.plans.get((shape, strides))
        if found is None:
            if len(self.plans) > PLANS_KEPT:
                self.plans.clear()
            found = self.plans[shape, strides] = self._plan(shape, strides)
        return found

    def _plan(self, shape: tuple[int, ...], strides: tuple[Strides, ...]) -> Plan:
        group = self.device.dialect.group
        dims, steps = merge(shape, strides, self.reorder)
        total = 1
        for n in dims:
            total *= n
        wide = total >= 2**31
        if len(dims) <= 1:
            units = tuple(s[0] for s in steps) if dims else (1,) * len(steps)
            if all(unit in (0, 1) for unit in units):
                launch = self._launch(Form(1, units, False, False))
                return Plan(launch, (_round(total, group),), (total,))
        flat_steps = tuple(s for one in steps for s in one)
        if len(dims) >= 2 and dims[-1] >= GRID_FROM:
            inner = tuple(s[-1] if s[-1] in (0, 1) else None for s in steps)
            launch = self._launch(Form(len(dims), inner, True, wide))
            rows = total // dims[-1]
            size = (_round(dims[-1], group), rows)
            return Plan(launch, size, (dims[-1], *dims[1:-1], *flat_steps))
        launch = self._launch(Form(len(dims), None, False, wide))
        return Plan(launch, (_round(total, group),), (total, *dims[1:], *flat_steps))

    def _launch(self, form: Form) -> Launch:
        found = self.launches.get(form)
        if found is None:
            source, types = self.source(form)
            found = self.launches[form] = self.device.build(self.name, source, types)
        return found

    def source(self, form: Form) -> tuple[str, list[str | None]]:
        """The kernel's text, and the C type of each argument (None for a buffer)."""
        parameters: list[str] = []
        types: list[str | None] = []
        for operand in self.operands:
            const = "" if operand.written else "const "
            c_type = STORAGE[operand.dtype]
            parameters += [f"GLOBAL {const}{c_type} *{operand.name}", f"i64 {operand.name}_o"]
            types += [None, "i64"]
        scalars, code = self._flat(form) if form.units and not form.grid else self._strided(form)
        scalars += self.extras
        parameters += [f"{c_type} {name}" for c_type, name in scalars]
        types += [None if "*" in c_type else c_type for c_type, _ in scalars]
        text = (
            f"{self.helpers}\nKERNEL void {self.name}({', '.join(parameters)}) {{\n{code}"
            f"{self.body}\n}}\n"
        )
        return text, types

    def _flat(self, form: Form) -> tuple[list[tuple[str, str]], str]:
        code = "i64 item = ITEM; if (item >= items) return;\n"
        for operand, unit in zip(self.operands, form.units or (), strict=True):
            step = " + item" if unit else ""
            code += f"i64 {operand.name}_i = {operand.name}_o{step};\n"
        return [("i64", "items")], code

    def _strided(self, form: Form) -> tuple[list[tuple[str, str]], str]:
        c_index = "i64" if form.wide else "u32"
        last = form.rank - 1
        scalars = [(c_index, "items")]
        inner = last - 1 if form.grid else last
        scalars += [(c_index, f"size{d}") for d in range(1, inner + 1)]
        if form.grid:
            code = f"{c_index} ix{last} = ITEM, left = ROW; if (ix{last} >= items) return;\n"
        else:
            code = f"{c_index} left = ITEM; if (left >= items) return;\n"
        for d in range(inner, 0, -1):
            code += f"{c_index} ix{d} = left % size{d}; left /= size{d};\n"
        code += f"{c_index} ix0 = left;\n"
        units = form.units or (None,) * len(self.operands)
        for operand, unit in zip(self.operands, units, strict=True):
            scalars += [("i64", f"{operand.name}_s{d}") for d in range(form.rank)]
            strides = [f"{operand.name}_s{d}" for d in range(form.rank)]
            if unit is not None:
                strides[last] = str(unit)
            terms = "".join(f" + (i64)ix{d} * {s}" for d, s in enumerate(strides))
            code += f"i64 {operand.name}_i = {operand.name}_o{terms};\n"
        return scalars, code


def _round(n: int, group: int) -> int:
    return -(-n // group) * group
