"""Entries of the pointwise kernels: broadcasting, scalars, ``out=``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtypes import dtype
from tensorbus._base.size import broadcast_shapes
from tensorbus.plugin.kernel_language.array import Storage, StridedArray, row_major
from tensorbus.plugin.kernel_language.device import Device, Launch
from tensorbus.plugin.kernel_language.layout import expand_strides
from tensorbus.plugin.kernel_language.loops import PLANS_KEPT, LoopNest, Operand, Plan
from tensorbus.plugin.kernel_language.move import fill
from tensorbus.plugin.kernel_language.scalars import TO_BOOL, UNARY, expression
from tensorbus.plugin.kernel_language.types import compute_type, load, store


class Expression:
    """A scalar expression over named values, each an array or a Python number.

    One loop nest is made for each choice of which values are arrays.
    """

    def __init__(
        self,
        device: Device,
        name: str,
        values: Sequence[tuple[str, dtype]],
        result: dtype,
        text: str,
        helpers: str = "",
        statements: str = "",
    ):
        """*text* is computed behind *statements*, of which it may use the variables."""
        self.device = device
        self.name = name
        self.values = values
        self.result = result
        self.text = text
        self.helpers = helpers
        self.statements = statements
        self.nests: dict[tuple[bool, ...], LoopNest] = {}
        self.flats: dict[tuple[bool, ...], Launch] = {}
        self.plans: dict[tuple[Any, ...], tuple[tuple[int, ...], Plan | None]] = {}

    def nest(self, arrays: tuple[bool, ...]) -> LoopNest:
        """The loop nest where the values marked in *arrays* are arrays, the others scalars."""
        found = self.nests.get(arrays)
        if found is None:
            operands = [Operand("out", self.result, written=True)]
            extras, body = [], ""
            for (name, d), is_array in zip(self.values, arrays, strict=True):
                c_type = compute_type(d)
                if is_array:
                    operands.append(Operand(f"p{name}", d))
                    body += f"{c_type} {name} = {load(d, f'p{name}', f'p{name}_i')};\n"
                else:
                    extras.append((c_type, name))
            body += self.statements + store(self.result, "out", "out_i", self.text)
            found = self.nests[arrays] = LoopNest(
                self.device, self.name, operands, body, extras, self.helpers
            )
        return found

    def flat(self, arrays: tuple[bool, ...]) -> Launch:
        """The launch for that choice where all arrays and the result are row-major."""
        found = self.flats.get(arrays)
        if found is None:
            found = self.flats[arrays] = self.nest(arrays).flat()
        return found

    def __call__(self, *values: Any, out: StridedArray | None = None) -> StridedArray:
        where: list[Any] = []
        scalars: list[Any] = []
        key: list[Any] = [None if out is None else out.strides]
        for v in values:
            if v.__class__ is StridedArray:
                where += (v.buffer, v.offset)
                key += (v.shape, v.strides)
            else:
                scalars.append(v)
                key.append(None)
        if not where:
            # Numbers alone: the first becomes an array of no dimensions.
            point = self.device.new((), self.values[0][1])
            fill(self.device, point, values[0])
            return self(point, *values[1:], out=out)
        found = self.plans.get(tuple(key))
        if found is None:
            if len(self.plans) > PLANS_KEPT:
                self.plans.clear()
            found = self.plans[tuple(key)] = self._plan(values, out)
        shape, plan = found
        if out is None:
            out = self.device.new(shape, self.result)
        if plan is not None:
            plan.launch(plan.size, out.buffer, out.offset, *where, *plan.layout, *scalars)
        return out

    def _plan(
        self, values: Sequence[Any], out: StridedArray | None
    ) -> tuple[tuple[int, ...], Plan | None]:
        """The result's shape, and the launch unless the result is empty."""
        arrays = tuple(isinstance(v, StridedArray) for v in values)
        operands = [v for v in values if isinstance(v, StridedArray)]
        shape = tuple(broadcast_shapes(*(v.shape for v in operands)))
        if 0 in shape:
            return shape, None
        first = row_major(shape)[0] if out is None else out.strides
        strides = (first, *[expand_strides(v.shape, v.strides, shape) for v in operands])
        return shape, self.nest(arrays).plan(shape, strides)


def pointwise_kernel(device: Device, op: str, d: dtype) -> Callable[..., StridedArray] | None:
    """The entry of a pointwise op on operands of *d*; None where there is no expression for it."""
    if op == "where":
        values = [("c", dtypes.bool), ("x", d), ("y", d)]
        return Expression(device, "k_where", values, d, "c ? x : y").__call__
    found = expression(op, d)
    if found is None:
        return None
    text, helpers = found
    result = dtypes.bool if op in TO_BOOL else d
    if op in UNARY:
        return _unary(Expression(device, f"k_{op}", [("x", d)], result, text, helpers))
    return _binary(Expression(device, f"k_{op}", [("x", d), ("y", d)], result, text, helpers))


def _unary(general: Expression) -> Callable[..., StridedArray]:
    device, result, group = general.device, general.result, general.device.dialect.group
    new = device.new
    one = (True,)

    def unary(x: StridedArray, out: StridedArray | None = None) -> StridedArray:
        if out is None and x.flat and (n := row_major(x.shape)[1]):
            out = new(x.shape, result)
            general.flat(one)((-(-n // group) * group,), out.buffer, 0, x.buffer, x.offset, n)
            return out
        return general(x, out=out)

    return unary


def _binary(general: Expression) -> Callable[..., StridedArray]:
    """The free path (row-major arrays of one shape, or one and a number), else *general*."""
    device, result, group = general.device, general.result, general.device.dialect.group
    backend, index, size = device.backend, device.index, general.result.itemsize
    flats = general.flats
    both, left, right = (True, True), (True, False), (False, True)

    def binary(x: Any, y: Any, out: StridedArray | None = None) -> StridedArray:
        if out is None:
            if x.__class__ is StridedArray:
                shape = x.shape
                if not x.flat or 0 in shape:
                    return general(x, y)
                if y.__class__ is not StridedArray:
                    form = left
                elif y.flat and (shape is y.shape or shape == y.shape):
                    form = both
                else:
                    return general(x, y)
            elif y.__class__ is StridedArray and y.flat and 0 not in (shape := y.shape):
                form = right
            else:
                return general(x, y)
            launch = flats.get(form) or general.flat(form)
            strides, n = row_major(shape)
            nbytes = n * size
            with backend.lock:
                buffer = backend.alloc(index, (nbytes + 7) & -8)
            items = (-(-n // group) * group,)
            if form is both:
                launch(items, buffer, 0, x.buffer, x.offset, y.buffer, y.offset, n)
            elif form is left:
                launch(items, buffer, 0, x.buffer, x.offset, n, y)
            else:
                launch(items, buffer, 0, y.buffer, y.offset, n, x)
            return StridedArray(Storage(buffer, nbytes, index), result, shape, strides, 0, True)
        return general(x, y, out=out)

    return binary
