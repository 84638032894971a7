"""N ranks on a split batch hold what one process computes on the whole batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus as tb
import tensorbus.distributed as dist
from tensorbus import optim
from tensorbus.nn.parallel import DistributedDataParallel as DDP

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda params: optim.SGD(params, lr=0.05, momentum=0.9, weight_decay=0.01),
    "adam": lambda params: optim.Adam(params, lr=0.01),
}
STEPS = 4


def train(net: Any, make: Any, x: Any, y: Any, loss: Any, parameters: Any) -> list[np.ndarray]:
    optimizer = make(net.parameters())
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss(net(x), y).backward()
        optimizer.step()
    return parameters(net)  # type: ignore[no-any-return]


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training(case: Any, tools: Any, size: int, optimizer: str) -> None:
    make = OPTIMIZERS[optimizer]
    want = train(case.net(), make, case.x, case.y, case.loss, tools.parameters)

    def rank() -> Any:
        net = case.net()
        if dist.get_rank():
            with tb.no_grad():
                for p in net.parameters():
                    p.zero_()  # rank 0's values count
        ddp = DDP(net, bucket_cap_mb=1e-4, find_unused_parameters=hasattr(net, "unused"))
        assert len(ddp.reducer.buckets) > 1
        x, y = case.part(dist.get_rank(), size)
        return train(ddp, make, x, y, case.loss, tools.parameters)

    for got in dist.local.run(rank, size, timeout=60):
        tools.same(got, want)


@pytest.mark.parametrize("bucket_view", [False, True])
@pytest.mark.parametrize("to_none", [False, True])
def test_accumulation_with_no_sync(
    mlp_case: Any, tools: Any, bucket_view: bool, to_none: bool
) -> None:
    """Three parts of a batch one after the other, the first two without communication."""
    case = mlp_case
    net = case.net()
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        for scale in (1.0, 2.0, 3.0):
            case.loss(net(case.x * scale), case.y).backward()
        optimizer.step()
    want = tools.parameters(net)

    def rank() -> Any:
        ddp = DDP(case.net(), bucket_cap_mb=1e-4, gradient_as_bucket_view=bucket_view)
        x, y = case.part(dist.get_rank(), 2)
        optimizer = optim.SGD(ddp.parameters(), lr=0.1, momentum=0.5)
        for _ in range(3):
            optimizer.zero_grad(set_to_none=to_none)
            with ddp.no_sync():
                for scale in (1.0, 2.0):
                    before = ddp.module[0].weight.grad
                    case.loss(ddp(x * scale), y).backward()
            alone = ddp.module[0].weight.grad.tolist()
            assert before is None or before is ddp.module[0].weight.grad  # in place
            case.loss(ddp(x * 3.0), y).backward()
            optimizer.step()
        found: list[Any] = [None, None]
        dist.all_gather_object(found, alone)
        assert found[0] != found[1]
        return tools.parameters(ddp)

    for got in dist.local.run(rank, 2, timeout=60):
        tools.same(got, want)


def test_two_synchronised_passes_add_up(mlp_case: Any, tools: Any) -> None:
    case = mlp_case
    net = case.net()
    for scale in (1.0, 2.0):
        case.loss(net(case.x * scale), case.y).backward()
    want = [p.grad.numpy() for p in net.parameters()]

    def rank() -> Any:
        ddp = DDP(case.net())
        x, y = case.part(dist.get_rank(), 2)
        for scale in (1.0, 2.0):
            case.loss(ddp(x * scale), y).backward()
        return [p.grad.numpy() for p in ddp.parameters()]

    for got in dist.local.run(rank, 2, timeout=60):
        tools.same(got, want)


@pytest.mark.parametrize("view", [False, True])
def test_mixed_dtypes_and_layouts(tools: Any, view: bool) -> None:
    """Buckets have one dtype each; a gradient has its parameter's strides."""
    tb.manual_seed(1)
    half, single, double = (
        tb.nn.Parameter(tb.ones(3, dtype=d)) for d in (tb.float16, tb.float32, tb.float64)
    )
    permuted = tb.nn.Parameter(tb.ones(2, 3, 4, 5).permute(0, 2, 3, 1))

    def rank() -> Any:
        net = tb.nn.Module()
        for i, p in enumerate((half, single, double, permuted)):
            setattr(net, f"p{i}", tb.nn.Parameter(p.detach().clone()))
        net.forward = lambda x: sum((p * (x + 1)).sum().double() for p in net.parameters())
        ddp = DDP(net, gradient_as_bucket_view=view)
        assert len({b.flat.dtype for b in ddp.reducer.buckets}) == len(ddp.reducer.buckets) == 3
        for _ in range(2):
            ddp(dist.get_rank()).backward()
        assert net.p3.grad.stride() == net.p3.stride() == permuted.stride()
        if view:
            memory = [b.flat.untyped_storage().data_ptr() for b in ddp.reducer.buckets]
            assert all(
                p.grad.untyped_storage().data_ptr() in memory for p in net.parameters()
            )  # fmt: skip
        return [p.grad.double().numpy() for p in net.parameters()]

    for got in dist.local.run(rank, 2, timeout=60):
        for g in got:
            np.testing.assert_array_equal(g, np.full(g.shape, 3.0))


def test_a_subgroup_trains_alone(mlp_case: Any, tools: Any) -> None:
    case = mlp_case

    def rank() -> Any:
        pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        me = dist.get_rank()
        ddp = DDP(case.net(), process_group=pairs[me // 2])
        x, y = case.part(me, 4)
        case.loss(ddp(x), y).backward()
        return [p.grad.numpy() for p in ddp.parameters()]

    got = dist.local.run(rank, 4, timeout=60)
    net = case.net()
    case.loss(net(case.x[:4]), case.y[:4]).backward()
    want = [p.grad.numpy() for p in net.parameters()]
    tools.same(got[0], want)
    tools.same(got[1], want)
    tools.same(got[2], got[3])
    assert not np.allclose(got[2][0], want[0])
