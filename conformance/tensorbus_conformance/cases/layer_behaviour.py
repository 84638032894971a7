"""Level 5: layers whose results are drawn, containers, modules of a user, embeddings' options."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus import nn
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch, expect
from tensorbus_conformance.op import T
from tensorbus_conformance.trial import Trial

FAMILY = "layers"
DTYPES = (formats.FLOAT32, formats.FLOAT64)


def cases() -> Iterator[Case]:
    for (name, variant), check in CHECKS.items():
        for dtype in DTYPES:
            yield Case(
                f"L5/nn.{name}/{dtype.name}/{variant}",
                FAMILY,
                functools.partial(check, dtype),
                (dtype,),
            )


def equal(bench: Bench, got: Any, want: Any, what: str) -> None:
    """Raise unless a tensor holds exactly the values of another, or of an array."""
    wanted = bench.read(want) if isinstance(want, tensorbus.Tensor) else np.asarray(want)
    found = bench.read(got)
    expect(np.array_equal(found, wanted), f"{what}: got {found}, expected {wanted}")


# -- dropout ---------------------------------------------------------------------------------
_P = 0.25


def _dropout(name: str, shape: tuple[int, ...], channels: int, dtype: Dtype, t: Trial) -> None:
    """*channels* leading dimensions are drawn; the others go with them."""
    bench = Bench(t)
    layer = getattr(nn, name)(_P)
    x = bench.send(T(*shape, of=(0.5, 2.0)).make(dtype, name), dtype).requires_grad_()
    tensorbus.manual_seed(5)
    first = layer(x)
    again = layer(x)
    tensorbus.manual_seed(5)
    equal(bench, layer(x), first, "the same seed, another result")
    kept = bench.read(first) != 0
    expect((kept != (bench.read(again) != 0)).any(), "two calls dropped the same elements")
    groups = kept.reshape(*shape[:channels], -1)
    expect((groups == groups[..., :1]).all(), "parts of a channel were dropped")
    drawn = groups[..., 0] if channels < len(shape) else kept
    _fraction(drawn, 1 - _P)
    scaled = bench.read(x).astype(np.float64) / (1 - _P)
    bench.same(first, np.where(kept, scaled, 0.0), dtype, 2)
    (gradient,) = tensorbus.autograd.grad(first.sum(), x)
    bench.same(gradient, np.where(kept, 1 / (1 - _P), 0.0), dtype, 1)
    layer.eval()
    equal(bench, layer(x), x, "evaluation")
    over = getattr(nn, name)(_P, inplace=True)
    target = x.detach().clone()
    expect(over(target) is target, "inplace=True returned another tensor")
    expect((bench.read(target) == 0).any(), "inplace=True dropped nothing")


def _fraction(kept: np.ndarray, p: float) -> None:
    """Whether as many were kept as chance allows: five standard deviations."""
    n = kept.size
    off = abs(int(kept.sum()) - n * p) / np.sqrt(n * p * (1 - p))
    expect(off < 5, f"{int(kept.sum())} of {n} were kept, expected about {n * p:g}")


def _alpha(name: str, shape: tuple[int, ...], lead: int, dtype: Dtype, t: Trial) -> None:
    """One draw for each index into the *lead* first dimensions, 2,000 in all."""
    bench = Bench(t)
    layer = getattr(nn, name)(_P)
    host = np.random.default_rng(3).normal(size=shape).astype(formats.value_dtype(dtype))
    tensorbus.manual_seed(7)
    y = bench.read(layer(bench.send(host, dtype))).astype(np.float64)
    # Dropped elements take SELU's lowest value; then all are moved so that mean 0 and variance 1
    # are kept: y = a x + b where kept, a low + b where dropped.
    low = -1.7580993408473766
    a = 1 / np.sqrt((1 - _P) * (1 + _P * low**2))
    b = -a * _P * low
    kept = ~np.isclose(y, a * low + b, rtol=1e-4)
    drawn = kept.reshape(*shape[:lead], -1)
    expect((drawn.all(-1) | ~drawn.any(-1)).all(), "part of a channel was dropped")
    _fraction(drawn[..., 0], 1 - _P)
    expect(np.allclose(y[kept], (a * host + b)[kept], rtol=1e-4, atol=1e-5), "kept values differ")
    expect(abs(y.mean()) < 0.12 and abs(y.var() - 1) < 0.2, f"mean {y.mean()}, var {y.var()}")
    equal(bench, layer.eval()(bench.send(host, dtype)), host, "evaluation")


# -- embeddings ------------------------------------------------------------------------------
def _embedding(dtype: Dtype, t: Trial) -> None:
    """The row of padding begins with zeros and gets no gradient; others share by frequency."""
    bench = Bench(t)
    i = bench.send(np.array([[1, 2, 1], [0, 2, 1]]), formats.INT64)
    w = np.arange(12.0).reshape(2, 3, 2)
    for frequency in (False, True):
        layer = nn.Embedding(
            4, 2, padding_idx=2, scale_grad_by_freq=frequency, device=bench.device, dtype=dtype
        )
        equal(bench, layer.weight[2], np.zeros(2), "the row of padding")
        weights = bench.send(w.astype(formats.value_dtype(dtype)), dtype)
        (layer(i) * weights).sum().backward()
        want = np.zeros((4, 2))
        for at in np.ndindex(2, 3):
            row = int(bench.read(i)[at])
            if row != 2:
                want[row] += w[at] / (3.0 if frequency and row == 1 else 1.0)
        bench.same(layer.weight.grad, want, dtype, 2)


def _pretrained(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    table = bench.send(T(4, 3).make(dtype, "table"), dtype)
    layer = nn.Embedding.from_pretrained(table)
    expect(not layer.weight.requires_grad, "a pretrained table is trained")
    expect(layer.weight.data_ptr() == table.data_ptr(), "the table was copied")
    i = bench.send(np.array([3, 0]), formats.INT64)
    equal(bench, layer(i), bench.read(table)[[3, 0]], "rows")
    limited = nn.Embedding.from_pretrained(table.clone(), max_norm=0.5)
    lengths = np.linalg.norm(bench.read(limited(i)).astype(np.float64), axis=1)
    expect((lengths <= 0.5 * (1 + 1e-5)).all(), f"rows are {lengths} long, allowed 0.5")


# -- containers ------------------------------------------------------------------------------
def _parts(bench: Bench, dtype: Dtype) -> list[Any]:
    options: dict[str, Any] = {"device": bench.device, "dtype": dtype}
    return [nn.Linear(4, 3, **options), nn.Tanh(), nn.Linear(3, 2, **options)]


def _keys(module: Any, want: list[str]) -> None:
    expect(list(module.state_dict()) == want, f"keys {list(module.state_dict())}, expected {want}")


def _sequential(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    parts = _parts(bench, dtype)
    net = nn.Sequential(*parts)
    x = bench.send(T(5, 4).make(dtype, "x"), dtype)
    step = x
    for part in parts:
        step = part(step)
    equal(bench, net(x), step, "the parts one after the other")
    equal(bench, net[:2](x), parts[1](parts[0](x)), "a slice")
    _keys(net, ["0.weight", "0.bias", "2.weight", "2.bias"])
    net.append(nn.ReLU())
    net.insert(0, nn.Identity())
    expect(len(net) == 5 and net[1] is parts[0] and net[-1](x).shape == x.shape, "append, insert")
    equal(bench, net(x), bench.read(step).clip(min=0), "after append and insert")
    _trains(bench, nn.Sequential(*parts), x)


def _trains(bench: Bench, net: Any, x: Any) -> None:
    """All parameters get gradients, a step moves them, zero_grad takes the gradients away."""
    before = [bench.read(p).copy() for p in net.parameters()]
    net(x).square().sum().backward()
    tensorbus.optim.SGD(net.parameters(), lr=0.1).step()
    for p, old in zip(net.parameters(), before, strict=True):
        moved = old - 0.1 * bench.read(p.grad).astype(np.float64)
        bench.same(p, moved, p.dtype, 4, "norm")
    net.zero_grad()
    expect(all(p.grad is None for p in net.parameters()), "zero_grad() left gradients")


def _module_list(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    parts = _parts(bench, dtype)
    layers = nn.ModuleList(parts[:1])
    layers.extend(parts[1:])
    _keys(layers, ["0.weight", "0.bias", "2.weight", "2.bias"])
    expect(len(layers) == 3 and list(layers) == parts and layers[-1] is parts[2], "a list")
    expect(list(layers[1:]) == parts[1:], "a slice")
    layers.to("cpu")
    expect({str(p.device) for p in parts[2].parameters()} == {"cpu"}, "to() left a layer behind")


def _container(dtype: Dtype, t: Trial) -> None:
    first, _, last = _parts(Bench(t), dtype)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        layers = nn.Container(first=first, last=last)
    expect(len(told) == 1 and "`nn.Container` is deprecated" in str(told[0].message), "a warning")
    _keys(layers, ["first.weight", "first.bias", "last.weight", "last.bias"])


def _module_dict(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    first, _, last = _parts(bench, dtype)
    layers = nn.ModuleDict({"in": first})
    layers["out"] = last
    _keys(layers, ["in.weight", "in.bias", "out.weight", "out.bias"])
    expect("in" in layers and list(layers.keys()) == ["in", "out"], "keys")
    expect(layers.pop("in") is first and len(layers) == 1, "pop")
    layers.eval()
    expect(not last.training and first.training, "eval() reaches the layers inside alone")


def _parameter_list(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    tensors = [bench.send(T(3).make(dtype, n), dtype) for n in range(2)]
    params = nn.ParameterList(tensors)
    params.append(nn.Parameter(bench.send(np.ones(2, formats.value_dtype(dtype)), dtype)))
    _keys(params, ["0", "1", "2"])
    expect(all(isinstance(p, nn.Parameter) for p in params), "tensors became parameters")
    sum((p * p).sum() for p in params).backward()
    for p in params:
        bench.same(p.grad, 2 * bench.read(p).astype(np.float64), dtype, 1)


def _parameter_dict(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    params = nn.ParameterDict({"a": bench.send(T(3).make(dtype, "a"), dtype)})
    params["b"] = bench.send(T(2).make(dtype, "b"), dtype)
    _keys(params, ["a", "b"])
    (params["a"].sum() * params["b"].sum()).backward()
    total = bench.read(params["b"]).astype(np.float64).sum()
    bench.same(params["a"].grad, np.full(3, total), dtype, 4)
    other = nn.ParameterDict({n: tensorbus.zeros_like(p) for n, p in params.items()})
    other.load_state_dict(params.state_dict())
    equal(bench, other["b"], params["b"], "after load_state_dict")


class _Net(nn.Module):
    """A module as users write them."""

    def __init__(self, device: Any, dtype: Any):
        super().__init__()
        self.scale = nn.Parameter(tensorbus.full((3,), 2.0, device=device, dtype=dtype))
        self.inner = nn.Linear(4, 3, device=device, dtype=dtype)
        self.register_buffer("seen", tensorbus.zeros(3, device=device, dtype=dtype))
        self.register_buffer("scratch", tensorbus.ones(2, device=device), persistent=False)

    def forward(self, x: Any) -> Any:
        y = self.inner(x) * self.scale
        if self.training:
            self.seen += y.detach().sum(0)
        return y


def _module(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    net = _Net(bench.device, dtype)
    _keys(net, ["scale", "seen", "inner.weight", "inner.bias"])
    x = bench.send(T(5, 4).make(dtype, "x"), dtype)
    y = bench.read(net(x)).astype(np.float64)
    w, b = (bench.read(p).astype(np.float64) for p in net.inner.parameters())
    bench.same(net(x), (bench.read(x).astype(np.float64) @ w.T + b) * 2, dtype, 4, "norm")
    bench.same(net.seen, 2 * y.sum(0), dtype, 16, "norm")
    net.eval()
    before = bench.read(net.seen).copy()
    net(x)
    equal(bench, net.seen, before, "a buffer in evaluation")
    _trains(bench, net, x)
    net.requires_grad_(False)
    expect(not net(x).requires_grad, "requires_grad_(False) left something to train")
    twin = _Net(bench.device, dtype)
    twin.load_state_dict(net.state_dict())
    equal(bench, twin.eval()(x), net(x), "after load_state_dict")
    net.to("cpu")
    expect(str(net.scratch.device) == "cpu", "to() left a buffer behind that is not saved")
    state = {n: v for n, v in net.state_dict().items() if n != "scale"}
    try:
        twin.load_state_dict(state)
    except RuntimeError as error:
        expect('Missing key(s) in state_dict: "scale".' in str(error), str(error))
    else:
        raise Mismatch("load_state_dict took a state without a parameter")


def _stack(name: str, dtype: Dtype, t: Trial) -> None:
    """A stack runs copies of a layer in turn, each with parameters of its own."""
    bench = Bench(t)
    options: dict[str, Any] = {"device": bench.device, "dtype": dtype}
    layer = getattr(nn, f"{name}Layer")(4, 2, 6, dropout=0.0, **options)
    net = getattr(nn, name)(layer, 2, nn.LayerNorm(4, **options))
    expect(len({id(p) for p in net.parameters()}) == 2 + 2 * len([*layer.parameters()]), "shared")
    with tensorbus.no_grad():
        net.layers[1].linear1.weight.mul_(2)
    x, memory = (bench.send(T(3, 2, 4).make(dtype, k), dtype) for k in ("x", "memory"))
    given = () if name.endswith("Encoder") else (memory,)
    want = net.norm(net.layers[1](net.layers[0](x, *given), *given))
    equal(bench, net(x, *given), want, "another result than the layers in turn")


def _recurrent(dtype: Dtype, t: Trial) -> None:
    """The base of recurrent layers is one of the mode that it is given."""
    bench = Bench(t)
    made = nn.RNNBase("GRU", 3, 4, device=bench.device, dtype=dtype)
    same = nn.GRU(3, 4, device=bench.device, dtype=dtype)
    same.load_state_dict(made.state_dict())
    x = bench.send(T(5, 2, 3).make(dtype, "x"), dtype)
    for found, want in zip(made(x), same(x), strict=True):
        equal(bench, found, want, "another result than that of a GRU")


def _lazy(
    name: str, args: tuple[Any, ...], full: tuple[Any, ...], shape: Any, dtype: Dtype, t: Trial
) -> None:
    """A lazy layer becomes the ordinary one that its first input is for, and computes as it."""
    bench = Bench(t)
    options: dict[str, Any] = {"device": bench.device, "dtype": dtype}
    made = getattr(nn, f"Lazy{name}")(*args, **options)
    same = getattr(nn, name)(*full, **options)
    x = bench.send(T(*shape).make(dtype, "x"), dtype)
    expect(made.has_uninitialized_params(), "parameters before the first input")
    made.eval()(x)
    expect(type(made) is type(same), "still lazy after the first input")
    made.load_state_dict(same.state_dict())
    equal(bench, made(x), same.eval()(x), f"another result than that of {name}")


_LAZY: dict[str, tuple[Any, ...]] = {
    "Linear": ((3,), (4, 3), (2, 4)),
    **{
        f"Conv{kind}{n}d": ((2, 2), (3, 2, 2), (1, 3, *(4,) * n))
        for kind in ("", "Transpose")
        for n in (1, 2, 3)
    },
    **{f"BatchNorm{n}d": ((), (3,), (2, 3, *(2,) * n)) for n in (1, 2, 3)},
    **{f"InstanceNorm{n}d": ((), (3, 1e-5, 0.1, True, True), (2, 3, *(2,) * n)) for n in (1, 2, 3)},
}

Check = Callable[[Dtype, Trial], None]

CHECKS: dict[tuple[str, str], Check] = {
    ("Dropout", "drawn"): functools.partial(_dropout, "Dropout", (40, 50), 2),
    ("Dropout1d", "drawn"): functools.partial(_dropout, "Dropout1d", (20, 40, 3), 2),
    ("Dropout2d", "drawn"): functools.partial(_dropout, "Dropout2d", (20, 40, 2, 2), 2),
    ("Dropout3d", "drawn"): functools.partial(_dropout, "Dropout3d", (20, 40, 2, 1, 2), 2),
    ("AlphaDropout", "drawn"): functools.partial(_alpha, "AlphaDropout", (2000,), 1),
    ("FeatureAlphaDropout", "drawn"): functools.partial(
        _alpha, "FeatureAlphaDropout", (40, 50, 3), 2
    ),
    ("Embedding", "gradient-of-rows"): _embedding,
    ("Embedding", "pretrained"): _pretrained,
    ("Sequential", "behaviour"): _sequential,
    ("ModuleList", "behaviour"): _module_list,
    ("Container", "behaviour"): _container,
    ("ModuleDict", "behaviour"): _module_dict,
    ("ParameterList", "behaviour"): _parameter_list,
    ("ParameterDict", "behaviour"): _parameter_dict,
    ("Module", "behaviour"): _module,
    ("TransformerEncoder", "stack"): functools.partial(_stack, "TransformerEncoder"),
    ("TransformerDecoder", "stack"): functools.partial(_stack, "TransformerDecoder"),
    ("RNNBase", "mode"): _recurrent,
    **{
        (f"Lazy{name}", "first-input"): functools.partial(_lazy, name, *given)
        for name, given in _LAZY.items()
    },
}
LAYERS = tuple(sorted({name for name, _ in CHECKS}))
"""The classes of ``nn`` that have cases here."""
