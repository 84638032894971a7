"""One process, several devices: replicas, parts of inputs, gathered outputs, summed gradients."""

from __future__ import annotations

import copy
import dataclasses
from collections import namedtuple
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import tensorbus as tb
from tensorbus import discovery, nn
from tensorbus.nn.parallel import (
    DataParallel,
    data_parallel,
    gather,
    parallel_apply,
    replicate,
    scatter,
)

Pair = namedtuple("Pair", "left right")


@pytest.fixture(scope="module")
def devices() -> Iterator[list[str]]:
    """The CPU and two more devices."""
    with ExitStack() as stack:
        make = type(discovery.backend("cpu"))
        yield ["cpu", *(stack.enter_context(discovery.plugged(make())) for _ in range(2))]


def test_training_equals_the_module(devices: list[str], tools: Any) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 3)
            self.b.weight = nn.Parameter(self.b.weight.detach())
            self.again = self.a  # shared modules stay shared
            self.register_buffer("scale", tb.tensor(2.0))

        def forward(self, x: Any, *, more: Any = None, flag: bool = False) -> Any:
            assert flag
            assert x.device == self.a.weight.device == self.scale.device
            assert self.again is self.a
            y = self.b(self.again(x["x"]).tanh() if isinstance(x, dict) else self.a(x).tanh())
            return {"y": y * self.scale, "pair": Pair(y.sum(1), more)}

    tb.manual_seed(0)
    plain = Net().double()
    wrapped = DataParallel(copy.deepcopy(plain), devices)
    x = tools.numbers(7, 3)
    for net in (plain, wrapped):
        optimizer = tb.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            out = net(x, more=x, flag=True)
            assert out["y"].device.type == "cpu"
            assert out["pair"].right.shape == (7, 3)
            (out["y"] ** 2).mean().backward()
            optimizer.step()
    tools.same(tools.parameters(wrapped.module), tools.parameters(plain))
    assert list(wrapped.state_dict()) == ["module." + k for k in plain.state_dict()]


def test_each_device_has_its_part(devices: list[str]) -> None:
    seen: dict[str, Any] = {}

    class Look(nn.Module):
        def forward(self, x: Any, n: int) -> Any:
            seen[x["a"][0].device.type] = (x["a"][0].tolist(), x["b"], n)
            return x["a"][0] * n

    net = DataParallel(Look(), devices, output_device=devices[1])
    out = net({"a": [tb.arange(5)], "b": "text"}, 10)
    assert (out.device.type, out.tolist()) == (devices[1], [0, 10, 20, 30, 40])
    assert seen == dict(
        zip(devices, [([0, 1], "text", 10), ([2, 3], "text", 10), ([4], "text", 10)], strict=True)
    )
    seen.clear()
    net({"a": [tb.arange(1)], "b": 0}, 1)
    assert list(seen) == ["cpu"]  # no device without a part


def test_one_device_or_none_is_the_module_itself(devices: list[str]) -> None:
    net = nn.Linear(2, 2)
    calls: list[Any] = []
    net.register_forward_hook(lambda m, i, o: calls.append(m))
    for wrapped in (DataParallel(net), DataParallel(net, ["cpu"])):
        wrapped(tb.ones(3, 2))
    assert calls == [net, net]
    assert DataParallel(net).device_ids == []
    other = nn.Linear(2, 2).to(devices[1])
    assert DataParallel(other, [0])(tb.ones(1, 2)).device.type == devices[1]


def test_the_module_must_be_on_the_first_device(devices: list[str]) -> None:
    net = DataParallel(nn.Linear(2, 2), devices[1:])
    with pytest.raises(RuntimeError, match=rf"on device {devices[1]}.*one of them on device: cpu"):
        net(tb.ones(4, 2))


def test_nothing_is_recorded_without_grad(devices: list[str]) -> None:
    net = DataParallel(nn.Linear(2, 2), devices)
    with tb.no_grad():
        assert not net(tb.ones(6, 2)).requires_grad
    assert net(tb.ones(6, 2)).requires_grad


def test_buffers_that_the_first_replica_writes_stay(devices: list[str]) -> None:
    net = nn.BatchNorm1d(1, momentum=1.0)
    DataParallel(net, devices[:2])(tb.tensor([[1.0], [3.0], [100.0], [200.0]]))
    assert net.running_mean.item() == 2.0


def test_errors_of_a_replica_name_it_and_keep_their_type(devices: list[str]) -> None:
    class Picky(nn.Module):
        def forward(self, x: Any) -> Any:
            if x.device.type == devices[1]:
                raise ValueError("not here")
            return x

    with pytest.raises(ValueError, match=f"Caught ValueError in replica 1 on device {devices[1]}"):
        DataParallel(Picky(), devices)(tb.ones(3))


def test_replicas(devices: list[str]) -> None:
    net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Dropout())
    net[1].eval()
    net[0].tied = net[0].weight
    copies = replicate(net, devices)
    assert [c[0].weight.device.type for c in copies] == devices
    assert all(c[0].weight is c[0].tied for c in copies)
    assert all(not c[1].training for c in copies)
    out = sum(c(tb.ones(1, 1, device=d)).to("cpu") for c, d in zip(copies, devices, strict=True))
    out.sum().backward()
    assert net[0].weight.grad.item() == 3.0
    assert all(not p.requires_grad for c in replicate(net, devices, True) for p in c.parameters())


def test_scatter_and_gather_undo_each_other(devices: list[str]) -> None:
    rng = np.random.default_rng(0)

    def nested() -> Any:
        return {
            "a": tb.from_numpy(rng.standard_normal((2, 6))),
            "b": [tb.arange(12).view(2, 6), (tb.ones(1, 6), tb.zeros(3, 6))],
            "c": Pair(tb.ones(2, 3), tb.ones(2, 3)),
        }

    for _ in range(3):
        given = nested()
        parts = scatter(given, devices, dim=1)
        assert len(parts) == 3
        assert [p["c"].left.shape for p in parts] == [(2, 1)] * 3
        back = gather(parts, devices[2], dim=1)
        assert type(back["c"]) is Pair
        assert back["a"].device.type == devices[2]
        assert bool((back["a"].to("cpu") == given["a"]).all())
        assert back["b"][0].tolist() == given["b"][0].tolist()
        assert back["b"][1][1].tolist() == given["b"][1][1].tolist()
    assert scatter((), devices) == [(), (), ()]
    with pytest.warns(UserWarning, match="will instead unsqueeze and return a vector"):
        assert gather([tb.tensor(1.0), tb.tensor(2.0)], "cpu").tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="All dicts must have the same keys"):
        gather([{"a": tb.ones(1)}, {"b": tb.ones(1)}], "cpu")


def test_gradients_go_back_through_scatter(devices: list[str]) -> None:
    x = tb.arange(6).double().requires_grad_()
    parts = scatter(x, devices)
    gather([p * (i + 1) for i, p in enumerate(parts)], "cpu").sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]


def test_parallel_apply_keeps_the_callers_grad_mode_and_checks_counts() -> None:
    nets = [nn.Linear(1, 1), nn.Identity()]
    with tb.no_grad():
        a, _ = parallel_apply(nets, [(tb.ones(1, 1),), tb.ones(1)])
    assert not a.requires_grad
    with pytest.raises(ValueError, match="The number of modules 2 is not that of inputs: 1"):
        parallel_apply(nets, [tb.ones(1)])


def test_the_function_and_dataclasses(devices: list[str]) -> None:
    @dataclasses.dataclass
    class Options:
        factor: float

    class Net(nn.Module):
        def forward(self, x: Any, options: Any = None) -> Any:
            return x * options.factor

    out = data_parallel(
        Net(), tb.arange(6).double(), devices, module_kwargs={"options": Options(2.0)}
    )
    assert out.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]


def test_batches_along_another_dimension(devices: list[str]) -> None:
    net = nn.Identity()
    x = tb.arange(12).view(2, 6)
    assert DataParallel(net, devices, dim=1)(x).tolist() == x.tolist()
