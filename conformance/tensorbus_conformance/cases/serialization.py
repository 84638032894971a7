"""Level 5: checkpoints of tensors, modules and optimisers, to files and back on the device."""

from __future__ import annotations

import copy
import functools
import io
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus import nn, optim, serialization
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import expect
from tensorbus_conformance.op import T
from tensorbus_conformance.trial import Trial

FAMILY = "serialisation"
LAYOUTS = ("transposed", "strided", "expanded", "offset")


def cases() -> Iterator[Case]:
    for dtype in formats.ALL:
        yield from _cases("save", dtype, {"round-trip": _round_trip, "elsewhere": _elsewhere})
        if dtype is not formats.COMPLEX128:  # the format has none
            yield from _cases("save_file", dtype, {"round-trip": _tensors_alone})
    for dtype in (formats.FLOAT32, formats.INT64):
        yield from _cases("save", dtype, {n: functools.partial(_layout, n) for n in LAYOUTS})
    yield from _cases("save", formats.FLOAT32, CHECKS)


def _cases(op: str, dtype: Dtype, checks: dict[str, Any]) -> Iterator[Case]:
    for variant, check in checks.items():
        yield Case(
            f"L5/{op}/{dtype.name}/{variant}", FAMILY, functools.partial(check, dtype), (dtype,)
        )


# -- helpers ---------------------------------------------------------------------------------
def _saved(obj: Any, **options: Any) -> Any:
    """The object after a way through a file."""
    file = io.BytesIO()
    tensorbus.save(obj, file)
    file.seek(0)
    return tensorbus.load(file, **options)


def _same(bench: Bench, got: Any, want: Any, what: str, device: Any = None) -> None:
    """The same bits, dtype and shape, on the device given or that of *want*."""
    expect(isinstance(got, tensorbus.Tensor), f"{what} is a {type(got).__name__}")
    where = want.device if device is None else tensorbus.empty(0, device=device).device
    expect(got.device == where, f"{what} is on {got.device}, expected {where}")
    expect(got.dtype is want.dtype, f"{what} is {got.dtype.name}, expected {want.dtype.name}")
    expect(got.shape == want.shape, f"{what} is {list(got.shape)}, expected {list(want.shape)}")
    a, b = (np.ascontiguousarray(bench.read(x)) for x in (got, want))
    expect(a.tobytes() == b.tobytes(), f"{what}: got {a}, expected {b}")


def _values(bench: Bench, dtype: Dtype, *shape: int) -> Any:
    return bench.send(T(*shape, of="wide").make(dtype, "saved"), dtype)


# -- tensors ---------------------------------------------------------------------------------
def _round_trip(dtype: Dtype, t: Trial) -> None:
    """Values with the edges of the dtype, a number, an empty tensor: the bits, on their device."""
    bench = Bench(t)
    sent = [_values(bench, dtype, *shape) for shape in ((5, 6), (), (0, 3))]
    for got, want in zip(_saved(sent), sent, strict=True):
        _same(bench, got, want, f"the tensor of shape {list(want.shape)}")
        expect(got.stride() == want.stride(), f"strides {got.stride()}, expected {want.stride()}")


def _elsewhere(dtype: Dtype, t: Trial) -> None:
    """Written on the device and loaded on the CPU, and the other way round."""
    bench = Bench(t)
    here = _values(bench, dtype, 4, 3)
    name, kind = bench.device, bench.device.partition(":")[0]
    if dtype is not formats.BFLOAT16:  # the CPU may lack it, and gets float32 with a warning
        there = here.to("cpu")
        _same(bench, _saved(here, map_location="cpu"), here, "loaded on the cpu", "cpu")
        _same(bench, _saved(there, map_location=name), here, "loaded by name")
        _same(bench, _saved(there, map_location={"cpu": name}), here, "loaded by a table")
        _same(bench, _saved(there, map_location=tensorbus.device(name)), here, "loaded by a device")
        _same(bench, _saved(there), there, "loaded where it was")
    moved = _saved(here, map_location=lambda storage, location: None)
    _same(bench, moved, here, f"loaded by a function that leaves it on {kind}")


def _layout(layout: str, dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    host = T(4, 6).make(dtype, layout)
    if layout == "expanded":
        view = bench.send(host[:1], dtype).expand(4, 6)
    elif layout == "offset":
        view = bench.send(host, dtype)[1:, 2:5]
    else:
        view = bench.place(host, dtype, layout).tensor
    got = _saved({"view": view})["view"]
    _same(bench, got, view, "the view")
    expect(got.stride() == view.stride(), f"strides {got.stride()}, expected {view.stride()}")
    expect(got.storage_offset() == view.storage_offset(), f"offset {got.storage_offset()}")


def _tensors_alone(dtype: Dtype, t: Trial) -> None:
    """Safetensors: the same bits, row-major; written from views, loaded on either device."""
    bench = Bench(t)
    whole = _values(bench, dtype, 5, 6)
    sent = {
        "whole": whole,
        "view": whole.t()[1:4],
        "number": _values(bench, dtype),
        "empty": whole[:0],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights.safetensors")
        serialization.save_file(sent, path, {"made by": "the suite"})
        devices = [bench.device] if dtype is formats.BFLOAT16 else [bench.device, "cpu"]
        for device in devices:
            got = serialization.load_file(path, device)
            expect(set(got) == set(sent), f"names {sorted(got)}")
            for name, want in sent.items():
                _same(bench, got[name], want, name, device)
                expect(got[name].is_contiguous(), f"{name} is not row-major")


# -- structures ------------------------------------------------------------------------------
def _shared(dtype: Dtype, t: Trial) -> None:
    """Views of one storage are views of one storage again."""
    bench = Bench(t)
    whole = bench.send(T(4, 3).make(dtype, "shared"), dtype)
    other = whole.clone()
    got = _saved(
        {"whole": whole, "row": whole[1], "turned": whole.t(), "same": whole, "other": other}
    )
    expect(got["same"] is got["whole"], "one object became two")
    got["whole"][1].fill_(7)
    sevens = np.full(3, 7, formats.value_dtype(dtype))
    expect(np.array_equal(bench.read(got["row"]), sevens), "a row is no view of its tensor")
    expect(np.array_equal(bench.read(got["turned"])[:, 1], sevens), "a transpose is no view")
    expect(not (bench.read(got["other"]) == 7).any(), "a tensor of its own became a view")
    expect(not (bench.read(whole) == 7).any(), "what was saved changed")


def _structures(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    x = bench.send(T(3).make(dtype, "structure"), dtype)
    leaf = x.clone().requires_grad_()
    sent = {
        "list": [x, 1, 2.5, "text", None, True, b"bytes"],
        "tuple": (x, (1, 2)),
        "ordered": OrderedDict([("b", 1), ("a", x)]),
        "leaf": leaf,
        "parameter": nn.Parameter(x.clone()),
        "frozen": nn.Parameter(x.clone(), requires_grad=False),
        "shape": x.shape,
        "dtype": x.dtype,
        "device": x.device,
    }
    got = _saved(sent)
    expect(got["list"][1:] == sent["list"][1:], f"{got['list'][1:]}")
    for found in (got["list"][0], got["tuple"][0], got["ordered"]["a"]):
        _same(bench, found, x, "a tensor inside of another object")
    expect(got["tuple"][1] == (1, 2) and list(got["ordered"]) == ["b", "a"], "orders")
    expect(got["leaf"].requires_grad and got["leaf"].is_leaf, "requires_grad was lost")
    expect(isinstance(got["parameter"], nn.Parameter), "a parameter became a tensor")
    expect(not got["frozen"].requires_grad, "a frozen parameter is trained")
    for name in ("shape", "dtype", "device"):
        expect(got[name] == sent[name], f"{name} is {got[name]}, expected {sent[name]}")


def _paths(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    x = bench.send(T(3).make(dtype, "path"), dtype)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tensor.pt")
        tensorbus.save(x, path)
        _same(bench, tensorbus.load(path), x, "the tensor")
        expect(os.listdir(folder) == ["tensor.pt"], f"files left: {os.listdir(folder)}")
        with open(path, "rb") as file:
            _same(bench, tensorbus.load(file, weights_only=True), x, "the tensor")


# -- training --------------------------------------------------------------------------------
def _network(device: Any, dtype: Dtype) -> Any:
    tensorbus.manual_seed(11)
    parts = [nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Tanh(), nn.Linear(3, 2)]
    return nn.Sequential(*parts).to("cpu", dtype).to(device)


def _train(net: Any, optimizer: Any, x: Any) -> None:
    optimizer.zero_grad()
    net(x).square().mean().backward()
    optimizer.step()


def _training(dtype: Dtype, t: Trial) -> None:
    """A run that was saved and loaded half-way ends as one that was not, to the bit."""
    bench = Bench(t)
    x = bench.send(T(6, 4).make(dtype, "batch"), dtype)
    net = _network(bench.device, dtype)
    optimizer = optim.Adam(net.parameters(), lr=0.01)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for _ in range(3):
        _train(net, optimizer, x)
        schedule.step()
    parts = {"net": net, "optimizer": optimizer, "schedule": schedule}
    saved = _saved({name: part.state_dict() for name, part in parts.items()})
    fresh = _network(bench.device, dtype)
    again = optim.Adam(fresh.parameters(), lr=0.5)
    later = optim.lr_scheduler.ExponentialLR(again, 0.9)
    for part, name in ((fresh, "net"), (again, "optimizer"), (later, "schedule")):
        part.load_state_dict(saved[name])
    for _ in range(3):
        for one, two, three in ((net, optimizer, schedule), (fresh, again, later)):
            _train(one, two, x)
            three.step()
    for (name, want), got in zip(
        net.state_dict().items(), fresh.state_dict().values(), strict=True
    ):
        _same(bench, got, want, name)


def _from_the_cpu(dtype: Dtype, t: Trial) -> None:
    """What was trained and saved on the CPU goes on on the device."""
    bench = Bench(t)
    host = T(6, 4).make(dtype, "batch")
    there, x = _network("cpu", dtype), tensorbus.from_numpy(host.copy())
    optimizer = optim.SGD(there.parameters(), lr=0.1, momentum=0.9)
    _train(there, optimizer, x)
    file = io.BytesIO()
    tensorbus.save([there.state_dict(), optimizer.state_dict()], file)
    states = tensorbus.load(io.BytesIO(file.getvalue()), map_location=bench.device)
    here = _network(bench.device, dtype)
    again = optim.SGD(here.parameters(), lr=1.0)
    here.load_state_dict(states[0])
    again.load_state_dict(states[1])
    for p in here.parameters():
        buffer = again.state[p]["momentum_buffer"]
        expect(buffer.device == p.device, f"a buffer of momentum is on {buffer.device}")
    for name, value in here.state_dict().items():
        _same(bench, value, there.state_dict()[name], name, bench.device)
    _train(there, optimizer, x)
    _train(here, again, bench.send(host, dtype))
    for p, q in zip(here.parameters(), there.parameters(), strict=True):
        bench.same(p, bench.read(q).astype(np.float64), dtype, 64, "norm")


def _modules(dtype: Dtype, t: Trial) -> None:
    """Copies and whole modules: parameters stay parameters on their device."""
    bench = Bench(t)
    net = _network(bench.device, dtype).eval()
    x = bench.send(T(6, 4).make(dtype, "batch"), dtype)
    file = io.BytesIO()
    tensorbus.save(net, file)
    loaded = tensorbus.load(io.BytesIO(file.getvalue()), weights_only=False)
    for other in (copy.deepcopy(net), loaded):
        expect(not other.training, "the mode was lost")
        for (name, p), (again, q) in zip(
            net.named_parameters(), other.named_parameters(), strict=True
        ):
            expect(name == again and isinstance(q, nn.Parameter), f"{again} is a {type(q)}")
            expect(p.data_ptr() != q.data_ptr(), f"{name} shares memory with its copy")
            _same(bench, q, p, name)
        _same(bench, other(x), net(x), "the result")


Check = Callable[[Dtype, Trial], None]
CHECKS: dict[str, Check] = {
    "shared": _shared,
    "structures": _structures,
    "paths": _paths,
    "training": _training,
    "from-the-cpu": _from_the_cpu,
    "modules": _modules,
}
