"""Level 3: derivatives of order 1 and 2 against finite differences of the float64 reference.

For a sample f(x...) with cotangent w, the device's gradient g of <w, f> is held against the
change of the reference along a random direction v: <g, v> = d/dh <w, f(x + h v)>. The second
order differentiates <g, u> again, with respect to operands and cotangent. No rule of any backend
takes part in the expected value, so a device without float64 can be checked too. <a, b> of complex
numbers is the real part of conj(a) b: gradients follow the conjugate Wirtinger convention.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.bench import Bench, flatten, lays_out
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.op_values import needed
from tensorbus_conformance.compare import QUALITY, Mismatch
from tensorbus_conformance.differences import STEP, STEP_TWICE, derivative
from tensorbus_conformance.op import Op, Sample
from tensorbus_conformance.samples import all_ops
from tensorbus_conformance.trial import Trial


def cases() -> Iterator[Case]:
    for op in all_ops():
        for dtype in op.dtypes:
            if not op.gradient or dtype not in (*formats.FLOATS, *formats.COMPLEX):
                continue
            for sample in (s for s in op.samples if s.takes(dtype)):
                yield from _cases_of(op, sample, dtype)


def differentiable(sample: Sample) -> bool:
    """Whether some operand of a sample has a derivative."""
    operands = sample.operands()
    return any(t.grad for t in operands) and not any(0 in t.shape for t in operands)


def _cases_of(op: Op, sample: Sample, dtype: Dtype) -> Iterator[Case]:
    if not differentiable(sample):
        return
    narrow = dtype in (formats.FLOAT16, formats.BFLOAT16)
    plain = narrow or dtype in formats.COMPLEX
    laid_out = () if plain or "transposed" not in op.layouts else ("transposed",)
    for layout in ("contiguous", *(x for x in laid_out if lays_out(sample, x))):
        suffix = "" if layout == "contiguous" else f"-{layout}"
        for order in (1,) if narrow or not op.second else (1, 2):
            yield Case(
                f"L3/{op.name}/{dtype.name}/{sample.variant}{suffix}/grad{order}",
                op.family or "ops",
                functools.partial(gradient, op, sample, dtype, layout, order),
                needed(op, dtype),
            )


class Setting:
    """Operands as leaves, the weighted sum of the op's results, and the same for the reference."""

    def __init__(self, op: Op, sample: Sample, dtype: Dtype, layout: str, t: Trial):
        self.bench, self.op, self.sample, self.dtype = Bench(t), op, sample, dtype
        _, _, self.placed = self.bench.operands(sample, dtype, layout, op.name)
        by_id = {id(p.tensor): p.tensor.detach() for p in self.placed}
        self.leaves: list[tuple[int, Any]] = []
        for position, (operand, declared) in enumerate(
            zip(self.placed, sample.operands(), strict=True)
        ):
            if declared.grad and operand.dtype is dtype:
                leaf = by_id[id(operand.tensor)].requires_grad_()
                self.leaves.append((position, leaf))
        again = iter(by_id[id(p.tensor)] for p in self.placed)
        given = sample.replace(lambda _: next(again), dtype=dtype, device=self.bench.device)
        self.outputs = [
            leaf
            for leaf in flatten(op.function()(*given[0], **given[1]))
            if isinstance(leaf, tensorbus.Tensor)
        ]
        self.weights = [
            self.draw(o.dtype, "weight", n, tuple(o.shape))
            if o.dtype in (*formats.FLOATS, *formats.COMPLEX)
            else None
            for n, o in enumerate(self.outputs)
        ]

    def draw(self, dtype: Dtype, *key: Any) -> np.ndarray:
        """Numbers for a direction or a cotangent of a dtype, as precise as the case's."""
        *_, shape = key
        random = values.rng(self.op.name, self.sample.variant, *key)
        part = self.dtype.to_real()
        drawn = np.asarray(formats.round_to(random.uniform(-1, 1, shape), part), np.float64)
        if dtype not in formats.COMPLEX:
            return drawn
        return drawn + 1j * np.asarray(formats.round_to(random.uniform(-1, 1, shape), part))

    def directions(self, key: str) -> dict[int, np.ndarray]:
        """A direction for each leaf."""
        return {p: self.draw(leaf.dtype, key, p, tuple(leaf.shape)) for p, leaf in self.leaves}

    def value(self, hosts: Sequence[np.ndarray], weights: Sequence[np.ndarray | None]) -> float:
        """<weights, reference(hosts)>."""
        results = flatten(self.bench.reference(self.op, self.sample, hosts))
        return float(
            sum(
                np.sum(products(w, np.asarray(r)))
                for w, r in zip(weights, results, strict=True)
                if w is not None
            )
        )

    def slope(self, f: Callable[[float], float], step: float) -> float:
        """The derivative of *f* at 0, where sizes of complex numbers bend more than real ones."""
        return derivative(f, step / 2 if self.dtype in formats.COMPLEX else step)

    def along(self, direction: dict[int, np.ndarray], h: float) -> list[np.ndarray]:
        """The operands' values, moved by *h* along a direction."""
        hosts = [p.wide() for p in self.placed]
        for position, v in direction.items():
            hosts[position] = np.asarray(hosts[position] + h * v)
        return hosts

    def cotangents(self, differentiated: bool) -> list[Any]:
        """The weights of the results that have any, on the device."""
        made = [
            self.bench.send(np.asarray(w, formats.value_dtype(o.dtype)), o.dtype)
            for o, w in zip(self.outputs, self.weights, strict=True)
            if w is not None
        ]
        return [c.requires_grad_() for c in made] if differentiated else made

    def gradients(self, cotangents: Sequence[Any], create_graph: bool) -> Any:
        """The gradient of each leaf, or None."""
        recorded = [o for o, w in zip(self.outputs, self.weights, strict=True) if w is not None]
        pairs = [(o, c) for o, c in zip(recorded, cotangents, strict=True) if o.requires_grad]
        if not pairs:
            raise Mismatch("no result requires a gradient, though an operand does")
        return tensorbus.autograd.grad(
            [o for o, _ in pairs],
            [leaf for _, leaf in self.leaves],
            [c for _, c in pairs],
            create_graph=create_graph,
            allow_unused=True,
        )


def gradient(op: Op, sample: Sample, dtype: Dtype, layout: str, order: int, t: Trial) -> None:
    """Derivatives of an order are those of the reference."""
    s = Setting(op, sample, dtype, layout, t)
    cotangents = s.cotangents(order == 2)
    found = s.gradients(cotangents, create_graph=order == 2)
    if order == 1:
        _first_order(s, found)
    else:
        _second_order(s, found, cotangents)


def _first_order(s: Setting, found: Sequence[Any]) -> None:
    for (position, leaf), g in zip(s.leaves, found, strict=True):
        shape = tuple(leaf.shape)
        v = s.draw(leaf.dtype, "v", position, shape)
        terms = products(np.zeros(shape) if g is None else _checked(s.bench, g, leaf), v)
        want = s.slope(functools.partial(_moved, s, {position: v}), STEP)
        _judge(s, float(np.sum(terms)), want, float(np.sum(np.abs(terms))), position)


def _moved(s: Setting, direction: dict[int, np.ndarray], h: float) -> float:
    return s.value(s.along(direction, h), s.weights)


def _second_order(s: Setting, found: Sequence[Any], cotangents: Sequence[Any]) -> None:
    us, vs = s.directions("u"), s.directions("v")
    pairs = [
        (g, s.bench.send(np.asarray(us[p], formats.value_dtype(g.dtype)), g.dtype))
        for (p, _), g in zip(s.leaves, found, strict=True)
        if g is not None and g.requires_grad
    ]
    dws = [
        None if w is None else s.draw(o.dtype, "dw", n, np.shape(w))
        for n, (w, o) in enumerate(zip(s.weights, s.outputs, strict=True))
    ]
    got, magnitude = 0.0, 0.0
    if pairs:
        leaves = [leaf for _, leaf in s.leaves]
        again = tensorbus.autograd.grad(
            [g for g, _ in pairs],
            [*leaves, *cotangents],
            [u for _, u in pairs],
            allow_unused=True,
        )
        directions = [*vs.values(), *(dw for dw in dws if dw is not None)]
        for h, leaf, v in zip(again, [*leaves, *cotangents], directions, strict=True):
            if h is not None:
                terms = products(_checked(s.bench, h, leaf), v)
                got += float(np.sum(terms))
                magnitude += float(np.sum(np.abs(terms)))

    def slope(at: float) -> float:
        """The derivative along u, at a point moved along v with the weights moved along dw."""
        weights = [
            None if w is None or dw is None else w + at * dw
            for w, dw in zip(s.weights, dws, strict=True)
        ]

        def moved(h: float) -> float:
            both = {p: at * vs[p] + h * us[p] for p in us}
            return s.value(s.along(both, 1.0), weights)

        return s.slope(moved, STEP_TWICE)

    want = s.slope(slope, STEP_TWICE)
    _judge(s, got, want, magnitude, None)


def _checked(bench: Bench, g: Any, leaf: Any) -> np.ndarray:
    if tuple(g.shape) != tuple(leaf.shape) or g.dtype is not leaf.dtype:
        raise Mismatch(
            f"the gradient is {g.dtype.name}{list(g.shape)}, "
            f"expected {leaf.dtype.name}{list(leaf.shape)}"
        )
    return bench.read(g).astype(np.complex128 if leaf.dtype in formats.COMPLEX else np.float64)


def products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The terms of <a, b>."""
    return np.real(np.conj(a) * b)


def _judge(s: Setting, got: float, want: float, magnitude: float, position: int | None) -> None:
    order = 2 if position is None else 1
    scale = max(magnitude, abs(want), 1e-3)
    eps = 2 * formats.unit_roundoff(s.dtype)
    differences = 1e-9 if order == 1 else 1e-6
    error = abs(got - want)
    bound = (s.op.grad_ulp * eps + differences) * scale
    beyond = max(error - differences * scale, 0.0) / (eps * scale)
    s.bench.trial.ulp = max(s.bench.trial.ulp or 0.0, beyond)
    if error <= bound:
        return
    what = "second derivatives" if position is None else f"gradient of operand {position}"
    text = (
        f"{what} along a direction: got {got:.9g}, expected {want:.9g}; "
        f"{beyond:.3g} units of its terms, allowed {s.op.grad_ulp:g}"
    )
    if not error <= QUALITY * bound:
        raise Mismatch(text)
    s.bench.trial.notes.append(text)
