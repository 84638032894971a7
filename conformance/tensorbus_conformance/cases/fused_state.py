"""Level 4: ops that backends have kernels of their own for, and their gradients, tried as
primitives are: what a kernel keeps, results apart from operands, shapes and layouts at the ends.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance import formats, values
from tensorbus_conformance.bench import Bench, flatten, on_hosts
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.kernel_state import turn
from tensorbus_conformance.cases.op_values import level
from tensorbus_conformance.compare import Mismatch, same_bytes
from tensorbus_conformance.fused_blocks import BLOCKS
from tensorbus_conformance.fused_forms import FORMS, Form
from tensorbus_conformance.interleaving import in_a_kernel, in_rounds
from tensorbus_conformance.op import Op, Sample
from tensorbus_conformance.samples import all_ops
from tensorbus_conformance.trial import Trial, Unsupported

D = formats.FLOAT32
CALLS = 7
_STEP = 1e-4
_MOST = 64
_FEW, _LAST = 3, 8
"""How many elements of a gradient are looked at; of a large one, a few and the last."""
_ERROR = 2e-3
"""Allowed error of a gradient, in parts of its largest element."""


class Call:
    """An op with operands of its own, of some draw; with *slopes*, its gradients too."""

    def __init__(self, t: Trial, op: Op, sample: Sample, draw: int, slopes: bool, windows: bool):
        self.bench, self.op, self.sample = Bench(t), op, sample
        self.draw, self.windows = draw, windows
        self.hosts: list[np.ndarray] = []
        self.tensors: list[Any] = []
        declared = list(sample.operands())
        self.dtype = D if None in [o.dtype for o in declared] else declared[0].dtype or D
        self.leaves: list[int] = []
        for position, operand in enumerate(declared):
            host = operand.make(D, op.name, position)
            if operand.data is None:
                host = overlapping(host, position) if windows else _turned(host, draw)
            self.hosts.append(host)
            self.tensors.append(self.send(host, operand.dtype or D))
            if slopes and operand.grad and operand.dtype is None:
                self.leaves.append(position)
                self.tensors[-1].requires_grad_()
        self.weights: list[np.ndarray] = []
        self.cotangents: list[Any] = []

    def send(self, host: np.ndarray, dtype: Any) -> Any:
        """A tensor of these values, which overlap in memory where they do on the host."""
        if not self.windows or host.base is None:
            return self.bench.send(host, dtype)
        strides = tuple(s // host.itemsize for s in host.strides)
        flat = np.lib.stride_tricks.as_strided(
            host, (_length(host.shape, strides),), (host.itemsize,)
        )
        return self.bench.send(flat, dtype).as_strided(host.shape, strides).detach()

    def run(self) -> list[Any]:
        """The results, and the gradients of the leaves."""
        given = iter(self.tensors)
        args, kwargs = self.sample.replace(lambda _: next(given))
        made = flatten(self.op.function()(*args, **kwargs))
        if not self.leaves:
            return made
        if not self.cotangents:
            self._weigh(made)
        found = tensorbus.autograd.grad(
            made, [self.tensors[p] for p in self.leaves], self.cotangents
        )
        return [r.detach() for r in made] + list(found)

    def _weigh(self, made: list[Any]) -> None:
        """Draw the gradients that the backward pass begins with."""
        drawn = [
            _turned(values.rng("cotangent", i).uniform(0.5, 1.5, r.shape), self.draw)
            for i, r in enumerate(made)
        ]
        self.weights = [w.astype(np.float32) for w in drawn]
        if self.windows:
            self.weights = [overlapping(w, "w") if w.ndim else w for w in self.weights]
        self.cotangents = [self.send(w, D) for w in self.weights]

    def rewrite(self, other: Call) -> None:
        """The operands keep their memory and get another draw's values."""
        with tensorbus.no_grad():
            for tensor, source in zip(self.tensors, other.tensors, strict=True):
                tensor.copy_(source)
        self.hosts, self.draw = other.hosts, other.draw
        self.cotangents = []

    def check(self, got: list[Any]) -> None:
        """Results against the reference, gradients against its finite differences."""
        wide = [self._wide(h) for h in self.hosts]
        want = flatten(self.bench.reference(self.op, self.sample, wide))
        scale = self.op.scale and on_hosts(self.op.scale, self.sample, wide)
        self.bench.check(tuple(got[: len(want)]), tuple(want), self.op, self.dtype, scale)
        for position, g in zip(self.leaves, got[len(want) :], strict=False):
            self._check_gradient(wide, position, self.bench.read(g))
        for host, tensor in zip(self.hosts, self.tensors, strict=True):
            same_bytes(
                self.bench.read(tensor), np.ascontiguousarray(host), "an operand was written to"
            )
        for host, tensor in zip(self.weights, self.cotangents, strict=True):
            same_bytes(
                self.bench.read(tensor), np.ascontiguousarray(host), "a gradient was written to"
            )

    @staticmethod
    def _wide(host: np.ndarray) -> np.ndarray:
        return host.astype(np.float64) if host.dtype.kind == "f" else host

    def _check_gradient(self, wide: list[np.ndarray], position: int, got: np.ndarray) -> None:
        n = wide[position].size
        chosen = values.rng("elements", n).permutation(n)[:_FEW] if n > _MOST else range(n)
        places = sorted({*map(int, chosen), *range(max(n - _LAST, 0), n)})
        want = self._slopes(wide, position, places)
        found = got.reshape(-1)[places].astype(np.float64)
        largest = max(float(np.abs(want).max(initial=0)), 1e-3)
        worst = int(np.argmax(np.where(np.isnan(found), np.inf, np.abs(found - want))))
        if not abs(found[worst] - want[worst]) <= _ERROR * largest:
            raise Mismatch(
                f"gradient of operand {position} at element {places[worst]}: {found[worst]}, "
                f"expected {want[worst]}"
            )

    def _slopes(self, wide: list[np.ndarray], position: int, places: list[int]) -> np.ndarray:
        held = (*wide, *self.weights)
        # Samples of one op may have the same operands and other options; forms keep their samples.
        key = (id(self.sample), position, *(w.tobytes() for w in held))
        if key not in _known:
            if len(_known) > _KEPT:
                _known.clear()
            _known[key] = np.array([self._slope(wide, position, at) for at in places])
        return _known[key]

    def _slope(self, wide: list[np.ndarray], position: int, at: int) -> float:
        sides = []
        for step in (_STEP, -_STEP):
            moved = [w.copy() if i == position else w for i, w in enumerate(wide)]
            moved[position].reshape(-1)[at] += step
            results = flatten(self.bench.reference(self.op, self.sample, moved))
            sides.append([np.asarray(r, np.float64) for r in results])
        return float(
            sum(
                (w.astype(np.float64) * (up - down)).sum()
                for w, up, down in zip(self.weights, *sides, strict=True)
            )
        ) / (2 * _STEP)


_known: dict[Any, np.ndarray] = {}
"""The slopes of the last few operands: many calls have the same."""
_KEPT = 16


def _turned(host: np.ndarray, draw: int) -> np.ndarray:
    """The same values in another order, with the same first line and the same last one."""
    flat = host.flatten()
    kept = host.shape[-1] if host.ndim > 1 and host.shape[0] > 1 else 1
    flat[kept:-1] = np.roll(flat[kept:-1], draw)
    return flat.reshape(host.shape)


def _length(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def overlapping(host: np.ndarray, key: object) -> np.ndarray:
    """Values of an array's own, where neighbours share all elements but the ends.

    Those are the rows of a matrix, and of an array of more dimensions the matrices.
    """
    strides = tuple(range(host.ndim, 0, -1))
    if host.ndim > 2:
        strides = (*strides[2:], host.shape[-1], 1)
    length = _length(host.shape, strides)
    flat = values.rng("windows", key, length).permutation(host.reshape(-1))
    flat = np.resize(flat, length) * np.linspace(1, 0.9, length, dtype=host.dtype)
    step = flat.itemsize
    return np.lib.stride_tricks.as_strided(flat, host.shape, tuple(s * step for s in strides))


# -- checks ----------------------------------------------------------------------------------
def _call(form: Form, op: Op, t: Trial, which: str, draw: int, windows: bool = False) -> Call:
    return Call(t, op, getattr(form, which), draw, form.slopes, windows)


def _steady(form: Form, op: Op, t: Trial) -> None:
    """Calls in turn over two sets of operands, all results kept until the end."""
    held = []
    for call in range(CALLS):
        made = _call(form, op, t, "plain", turn(call))
        held.append((made, made.run()))
    for made, got in held:
        made.check(got)


def _many_held(form: Form, op: Op, t: Trial) -> None:
    """Large results and gradients, held until all calls were made, are what they were at first."""
    sets = [_call(form, op, t, "many", draw) for draw in range(2)]
    held: list[tuple[Any, bytes]] = []
    for call in range(CALLS):
        made = sets[turn(call)]
        held += [(r, made.bench.read(r).tobytes()) for r in made.run()]
    for result, before in held:
        if sets[0].bench.read(result).tobytes() != before:
            raise Mismatch("a result that was read before has changed: a later call wrote into it")


def _changed(form: Form, op: Op, t: Trial) -> None:
    """The operands keep their memory and get other values: so does the result."""
    made, other = (_call(form, op, t, "plain", draw) for draw in range(2))
    first = made.run()
    before = [made.bench.read(r).copy() for r in first]
    made.check(first)
    made.rewrite(other)
    made.check(made.run())
    for result, array in zip(first, before, strict=True):
        same_bytes(made.bench.read(result), array, "a later call wrote into a result")


def _apart(form: Form, op: Op, t: Trial) -> None:
    """A result equal to an operand is memory of its own: a write to it leaves the operand alone."""
    made = _call(form, op, t, "same", 0)
    got = made.run()
    made.check(got)
    with tensorbus.no_grad():
        for result in got:
            result.fill_(7)
    again = made.run()
    made.check(again)


def _shape(which: str, windows: bool, form: Form, op: Op, t: Trial) -> None:
    made = _call(form, op, t, which, 0, windows)
    made.check(made.run())


def _threads(form: Form, op: Op, t: Trial) -> None:
    """Two threads call the op in turn, each with operands of its own, and change at each line."""
    work = [[_call(form, op, t, "plain", who) for _ in range(2)] for who in range(2)]
    results: list[list[Any]] = [[], []]
    for made in (*work[0], *work[1]):
        made.run()  # what is made once, for an op or for these operands, is made

    def body(who: int, call: int) -> None:
        results[who].append(work[who][call].run())

    in_rounds(2, body, in_a_kernel)
    for calls, found in zip(work, results, strict=True):
        for made, got in zip(calls, found, strict=True):
            made.check(got)


def cases() -> Iterator[Case]:
    ops = {op.name: op for op in all_ops()}
    for prefix, forms in (("fused", FORMS), ("fused-blocks", BLOCKS)):
        for key, form in forms.items():
            name, _, way = key.partition("/")
            op, named = ops[name], f"{prefix}-{way}" if way else prefix
            for variant, check in _checks(form).items():
                yield Case(
                    f"{level(op)}/{name}/float32/{named}-{variant}", op.family or "ops",
                    functools.partial(_where_there_is_one, check, form, op), (D,),
                )  # fmt: skip


def _checks(form: Form) -> dict[str, Any]:
    checks: dict[str, Any] = {"held": _steady, "changed": _changed, "in-turn": _threads}
    if form.same is not None:
        checks["apart"] = _apart
    for which, windows in (
        ("one", False), ("nine", False), ("many", False), ("plain", True)
    ):  # fmt: skip
        if which == "many" and form.many is not None:
            checks["many-held"] = _many_held
        if getattr(form, which) is not None:
            variant = {"plain": "windows"}.get(which, which)
            checks[variant] = functools.partial(_shape, which, windows)
    return checks


def _where_there_is_one(check: Any, form: Form, op: Op, t: Trial) -> None:
    if form.kernel and t.device.kernel(form.kernel, D) is None:
        raise Unsupported(f"{form.kernel} is a composition here")
    check(form, op, t)
