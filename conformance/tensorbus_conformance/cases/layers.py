"""Level 5: the layers of ``nn``, each against a reference computed from its state in float64.

A layer is made on the device, given known parameters, and called while training and in
evaluation; its buffers, its gradients (by differences of the reference), the way of its state
into another layer, and moves to other dtypes and devices are checked.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.bench import Bench, flatten
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.differences import derivative
from tensorbus_conformance.layer import Layer, State
from tensorbus_conformance.layer_samples import all_layers
from tensorbus_conformance.op import T, wide
from tensorbus_conformance.trial import Trial

FAMILY = "layers"
DTYPES = (formats.FLOAT32, formats.FLOAT64)
_GRADIENT_ULP = 64.0


def cases() -> Iterator[Case]:
    for layer in all_layers():
        stem = f"L5/nn.{layer.name}"
        for dtype in DTYPES:
            checks = {"training": _training, "evaluation": _evaluation}
            if layer.gradient:
                checks["gradients"] = _gradients
            if layer.initial:
                checks["initial"] = _initial
            for what, check in checks.items():
                yield Case(
                    f"{stem}/{dtype.name}/{layer.variant}-{what}",
                    FAMILY,
                    functools.partial(check, layer, dtype),
                    (dtype,),
                )
        yield Case(
            f"{stem}/float32/{layer.variant}-state",
            FAMILY,
            functools.partial(_state, layer, formats.FLOAT32),
            (formats.FLOAT32,),
        )
        yield Case(
            f"{stem}/float32-float64/{layer.variant}-moved",
            FAMILY,
            functools.partial(_moved, layer, formats.FLOAT32, formats.FLOAT64),
            (formats.FLOAT32, formats.FLOAT64),
        )


class _Setting:
    """A layer on the device with known parameters, its inputs, and both as NumPy arrays."""

    def __init__(self, layer: Layer, dtype: Dtype, t: Trial):
        self.layer, self.dtype, self.bench = layer, dtype, Bench(t)
        self.module = self.make()
        self.fill()
        self.hosts = [
            x.make(dtype, layer.name, layer.variant, n) for n, x in enumerate(layer.inputs)
        ]
        self.inputs = [
            self.bench.send(host, x.dtype or dtype)
            for x, host in zip(layer.inputs, self.hosts, strict=True)
        ]

    def make(self) -> Any:
        """A fresh layer in the dtype and on the device."""
        counter = iter(range(99))

        def operand(t: T) -> Any:
            host = t.make(self.dtype, self.layer.name, "argument", next(counter))
            return self.bench.send(host, t.dtype or self.dtype)

        kind = getattr(tensorbus.nn, self.layer.name)
        args, kwargs = self.layer.made.replace(operand)
        if "device" in inspect.signature(kind).parameters:
            return kind(*args, **kwargs, device=self.bench.device, dtype=self.dtype)
        return kind(*args, **kwargs).to(self.bench.device, self.dtype)

    def fill(self) -> None:
        """Give parameters and running statistics values that set them apart."""
        names = [name for name, _ in self.module.named_parameters()]
        names += [n for n, _ in self.module.named_buffers() if n in ("running_mean", "running_var")]
        state = self.module.state_dict()
        for name in names:
            of: Any = "positive" if name == "running_var" else "spread"
            host = T(*state[name].shape, of=of).make(self.dtype, self.layer.name, name)
            state[name] = self.bench.send(host, self.dtype)
        self.module.load_state_dict(state)

    def state(self) -> dict[str, np.ndarray]:
        """The layer's state as references take it."""
        return {
            name: wide(np.array(self.bench.read(value)), value.dtype)
            for name, value in self.module.state_dict().items()
        }

    def wide_inputs(self) -> list[np.ndarray]:
        return [
            wide(host, x.dtype or self.dtype)
            for x, host in zip(self.layer.inputs, self.hosts, strict=True)
        ]

    def call(self) -> list[Any]:
        """The layer's results."""
        return flatten(self.module(*self.inputs, **self.layer.call))

    def check(self, got: list[Any], want: Any) -> None:
        """Compare results with what the reference gave."""
        wanted = flatten(want)
        if len(got) != len(wanted):
            raise Mismatch(f"{len(got)} results, expected {len(wanted)}")
        for g, w in zip(got, wanted, strict=True):
            array = np.asarray(w)
            dtype = self.dtype if array.dtype.kind == "f" else formats.INT64
            ulp = self.layer.ulp if array.dtype.kind == "f" else 0.0
            self.bench.same(g, array, dtype, ulp, "norm")


def _training(layer: Layer, dtype: Dtype, t: Trial) -> None:
    s = _Setting(layer, dtype, t)
    before, hosts = s.state(), s.wide_inputs()
    s.check(s.call(), layer.reference(before, *hosts))
    expected = dict(before) if layer.after is None else {**before, **layer.after(before, *hosts)}
    _same_state(s, expected)


def _same_state(s: _Setting, expected: State) -> None:
    now = s.module.state_dict()
    if list(now) != list(expected):
        raise Mismatch(f"the state has {list(now)}, expected {list(expected)}")
    for name, want in expected.items():
        whole = now[name].dtype not in formats.FLOATS
        s.bench.same(now[name], want, now[name].dtype, 0 if whole else s.layer.ulp, "norm")


def _evaluation(layer: Layer, dtype: Dtype, t: Trial) -> None:
    s = _Setting(layer, dtype, t)
    if s.module.eval() is not s.module or s.module.training:
        raise Mismatch("eval() did not put the layer in evaluation, or returned another")
    before = s.state()
    s.check(s.call(), (layer.evaluated or layer.reference)(before, *s.wide_inputs()))
    for name, value in s.state().items():
        if not np.array_equal(value, before[name]):
            raise Mismatch(f"{name} changed in evaluation")


@contextlib.contextmanager
def seeded() -> Iterator[None]:
    """The default stream from its seed 0, and where it was afterwards."""
    before = tensorbus.random.get_rng_state()
    tensorbus.manual_seed(0)
    try:
        yield
    finally:
        tensorbus.random.set_rng_state(before)


def _initial(layer: Layer, dtype: Dtype, t: Trial) -> None:
    bench = _Setting(layer, dtype, t)
    with seeded():
        state = bench.make().state_dict()
    for name, start in layer.initial.items():
        if state[name].dtype is not dtype:
            raise Mismatch(f"{name} is {state[name].dtype.name}, expected {dtype.name}")
        found = bench.bench.read(state[name]).astype(np.float64)
        if isinstance(start, tuple):
            low, high = start
            if found.min() < low or found.max() > high * (1 + 1e-6):
                raise Mismatch(f"{name} begins between {found.min()} and {found.max()}: {start}")
            if found.size > 3 and np.ptp(found) < 0.2 * (high - low):
                raise Mismatch(f"{name} begins with {found}, which does not spread over {start}")
        elif not (found == np.asarray(start, formats.value_dtype(dtype))).all():
            raise Mismatch(f"{name} begins with {found}, expected {start}")


# -- gradients -------------------------------------------------------------------------------
def _gradients(layer: Layer, dtype: Dtype, t: Trial) -> None:
    s = _Setting(layer, dtype, t)
    state, hosts = s.state(), s.wide_inputs()
    for declared, x in zip(layer.inputs, s.inputs, strict=True):
        if declared.grad and x.dtype in formats.FLOATS:
            x.requires_grad_()
    total: Any = 0
    weights = []
    for n, result in enumerate(s.call()):
        w = np.zeros(tuple(result.shape)) if result.dtype not in formats.FLOATS else _draw(
            layer, dtype, ("weight", n), tuple(result.shape)
        )  # fmt: skip
        weights.append(w)
        if result.dtype in formats.FLOATS:
            total = total + (result * s.bench.send(_narrow(w, dtype), dtype)).sum()
    total.backward()

    def value(changed: Mapping[Any, np.ndarray]) -> float:
        own = {name: changed.get(name, array) for name, array in state.items()}
        given = [changed.get(n, host) for n, host in enumerate(hosts)]
        results = flatten(layer.reference(own, *given))
        return float(sum(np.sum(w * np.asarray(r)) for w, r in zip(weights, results, strict=True)))

    leaves: dict[Any, tuple[Any, np.ndarray]] = {
        name: (p, state[name]) for name, p in s.module.named_parameters()
    }
    leaves |= {n: (x, hosts[n]) for n, x in enumerate(s.inputs) if x.requires_grad}
    for key, (leaf, host) in leaves.items():
        _check_gradient(s, key, leaf, host, value)


def _check_gradient(s: _Setting, key: Any, leaf: Any, host: np.ndarray, value: Any) -> None:
    g = leaf.grad
    if g is None or tuple(g.shape) != host.shape or g.dtype is not leaf.dtype:
        raise Mismatch(f"the gradient of {key} is {g}, expected one of shape {host.shape}")
    v = _draw(s.layer, s.dtype, ("direction", key), host.shape)
    products = s.bench.read(g).astype(np.float64) * v
    got = float(products.sum())
    want = derivative(lambda h: value({key: host + h * v}))
    scale = max(float(np.abs(products).sum()), abs(want), 1e-3)
    eps = 2 * formats.unit_roundoff(s.dtype)
    if not abs(got - want) <= (_GRADIENT_ULP * eps + 1e-9) * scale:
        raise Mismatch(f"gradient of {key} along a direction: got {got:.9g}, expected {want:.9g}")


def _draw(layer: Layer, dtype: Dtype, key: Any, shape: tuple[int, ...]) -> np.ndarray:
    random = values.rng(layer.name, layer.variant, *key)
    return np.asarray(formats.round_to(random.uniform(-1, 1, shape), dtype), np.float64)


def _narrow(array: np.ndarray, dtype: Dtype) -> np.ndarray:
    return array.astype(formats.value_dtype(dtype))


# -- state -----------------------------------------------------------------------------------
def _state(layer: Layer, dtype: Dtype, t: Trial) -> None:
    """The state in another layer makes it compute the same, to the bit."""
    s = _Setting(layer, dtype, t)
    other = s.make()
    missing = other.load_state_dict(s.module.state_dict())
    if missing.missing_keys or missing.unexpected_keys:
        raise Mismatch(f"load_state_dict: {missing}")
    for name, value in other.state_dict().items():
        own = s.module.state_dict()[name]
        if value.device != own.device or value.dtype is not own.dtype:
            raise Mismatch(f"{name} is {value.dtype.name} on {value.device}")
        if not np.array_equal(s.bench.read(value), s.bench.read(own)):
            raise Mismatch(f"{name} differs after load_state_dict")
        if value.numel() and value.data_ptr() == own.data_ptr():
            raise Mismatch(f"{name} shares memory with the layer that it came from")
    s.module.eval()
    want = [s.bench.read(r) for r in s.call()]
    s.module = other.eval()
    if not all(np.array_equal(s.bench.read(r), w) for r, w in zip(s.call(), want, strict=True)):
        raise Mismatch("the layer computes something else with the same state")


def _moved(layer: Layer, dtype: Dtype, other: Dtype, t: Trial) -> None:
    """To another dtype, to the CPU and back: parameters and buffers go along, integers stay."""
    s = _Setting(layer, dtype, t)
    s.module.eval()
    before = s.state()
    want = (layer.evaluated or layer.reference)(before, *s.wide_inputs())
    moves = [("cpu", dtype), ("cpu", other), (s.bench.device, other), (s.bench.device, dtype)]
    for device, kind in moves:
        if s.module.to(device).to(kind) is not s.module:
            raise Mismatch("to() returned another layer")
        at = tensorbus.empty(0, device=device).device
        for name, value in s.module.state_dict().items():
            expected = kind if before[name].dtype.kind == "f" else formats.INT64
            if value.dtype is not expected or value.device != at:
                raise Mismatch(f"{name} is {value.dtype.name} on {value.device} after to()")
        moved = [x.to(device, kind if x.dtype in formats.FLOATS else x.dtype) for x in s.inputs]
        results = flatten(s.module(*moved, **layer.call))
        for got, w in zip(results, flatten(want), strict=True):
            found, exact = s.bench.read(got).astype(np.float64), np.asarray(w, np.float64)
            # The bound of the coarser dtype: inputs and parameters are numbers of it.
            bound = layer.ulp * 2 * formats.unit_roundoff(dtype) * np.abs(exact).max(initial=0)
            if not (np.abs(found - exact) <= bound).all():
                raise Mismatch(f"on {device} in {kind.name}: got {found}, expected {exact}")
