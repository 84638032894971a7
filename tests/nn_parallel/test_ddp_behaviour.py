"""What DistributedDataParallel does at construction, in a pass, and when passes do not fit."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus as tb
import tensorbus.distributed as dist
from tensorbus import nn
from tensorbus.nn.parallel import DistributedDataParallel as DDP


def run(rank: Callable[[], Any], size: int = 2, **options: Any) -> list[Any]:
    return dist.local.run(rank, size, timeout=options.pop("timeout", 60), **options)


def both(rank: Callable[[], Any], size: int = 2) -> list[str]:
    """The messages of RuntimeErrors that every rank raises."""

    def caught() -> str:
        with pytest.raises(RuntimeError) as e:
            rank()
        return str(e.value)

    return run(caught, size)


# -- construction ----------------------------------------------------------------------------
def test_rank_0_gives_parameters_and_buffers() -> None:
    def rank() -> Any:
        me = float(dist.get_rank())
        net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        with tb.no_grad():
            for t in [*net.parameters(), net[1].running_mean, net[1].running_var]:
                t.fill_(me + 1)
            net[1].num_batches_tracked.fill_(7 - dist.get_rank())
        net[0].bias.requires_grad_(False)
        ddp = DDP(net)
        assert list(ddp.state_dict()) == ["module." + k for k in net.state_dict()]
        return [float(t.double().mean()) for t in ddp.state_dict().values()]

    for got in run(rank):
        assert got == [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 7.0]


def test_different_shapes_are_told_with_both_sides() -> None:
    texts = both(lambda: DDP(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3 + dist.get_rank()))))
    assert "params[2] is 1.weight with sizes [3, 2] and torch.float32 on rank 0" in texts[0]
    assert "not to match 1.weight with sizes [4, 2] and torch.float32 on rank 1" in texts[0]
    assert "1.weight with sizes [4, 2] and torch.float32 on rank 1" in texts[1]


def test_different_counts_and_dtypes_are_told() -> None:
    def fewer() -> None:
        DDP(nn.Linear(2, 2, bias=dist.get_rank() == 0))

    def other() -> None:
        DDP(nn.Linear(2, 2).to(tb.float64 if dist.get_rank() else tb.float32))

    texts = both(fewer)
    assert "Rank 1 has 1 params, while rank 0 has inconsistent 2 params" in texts[0]
    assert "bias with sizes [2]" in texts[1]
    assert all("float32" in t and "float64" in t for t in both(other))


def test_refusals() -> None:
    frozen = nn.Linear(1, 1).requires_grad_(False)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DDP(nn.Linear(1, 1))

    def rank() -> None:
        with pytest.raises(RuntimeError, match="doesn't have any parameter that requires a grad"):
            DDP(frozen)
        with pytest.raises(ValueError, match="got device_ids.*Leave both away"):
            DDP(nn.Linear(1, 1), device_ids=["cpu"])
        with pytest.raises(ValueError, match="None or contain a single element"):
            DDP(nn.Linear(1, 1), device_ids=[0, 1])
        with pytest.raises(ValueError, match="greater than 0, got 0"):
            DDP(nn.Linear(1, 1), bucket_cap_mb=0)

    run(rank, 1)


def test_buckets_are_in_reverse_order_and_the_first_is_small() -> None:
    def rank() -> Any:
        net = nn.Sequential(*(nn.Linear(300, 300, bias=False) for _ in range(10)))
        ddp = DDP(net, bucket_cap_mb=1.5)
        return [b.indices for b in ddp.reducer.buckets]

    # 0.34 MiB each: the first bucket closes past 1 MiB, the next ones past 1.5 MiB.
    assert run(rank, 1) == [[[9, 8, 7], [6, 5, 4, 3, 2], [1, 0]]]


def test_empty_parameters_and_debug_mode() -> None:
    def rank() -> Any:
        net = nn.Module()
        net.a, net.b = nn.Parameter(tb.ones(0, 3)), nn.Parameter(tb.ones(()))
        net.forward = lambda x: (net.a.sum() + net.b) * x
        ddp = DDP(net, bucket_cap_mb=1e-6, gradient_as_bucket_view=True)
        ddp(1.0 + dist.get_rank()).backward()
        return net.a.grad.shape, net.b.grad.item()

    dist.set_debug_level(dist.DebugLevel.DETAIL)
    try:
        assert run(rank) == [((0, 3), 1.5)] * 2
    finally:
        dist.set_debug_level(dist.DebugLevel.OFF)


def test_ignored_parameters_stay_apart() -> None:
    def rank() -> Any:
        net = nn.Linear(1, 1)
        net._ddp_params_and_buffers_to_ignore = ["bias"]
        with tb.no_grad():
            net.bias.fill_(float(dist.get_rank()))
        ddp = DDP(net)
        (ddp(tb.ones(1, 1)) * (1 + dist.get_rank())).sum().backward()
        return net.bias.item(), net.bias.grad.item(), net.weight.grad.item()

    assert run(rank) == [(0.0, 1.0, 1.5), (1.0, 2.0, 1.5)]


# -- overlap ---------------------------------------------------------------------------------
def test_reduction_starts_before_backward_ends() -> None:
    """The last layer's gradient is averaged while the first layer's is still to come."""

    class Wait(tb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, ready: Callable[[], None]) -> Any:
            ctx.ready = ready
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            ctx.ready()
            return g, None

    def rank() -> bool:
        ddp: Any = None
        done: list[bool] = []

        class Net(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

            def forward(self, x: Any) -> Any:
                return self.b(Wait.apply(self.a(x), see))

        def see() -> None:
            first, second = ddp.reducer.buckets[:2]
            assert first.params == [ddp.module.b.bias]
            second.work.wait(60)  # comes to an end although this backward pass does not go on
            done.append(ddp.module.a.weight.grad is None)

        ddp = DDP(Net(), bucket_cap_mb=1e-5)
        ddp(tb.ones(2, 3)).sum().backward()
        return done == [True]

    assert run(rank) == [True, True]


# -- forward ---------------------------------------------------------------------------------
def test_buffers_follow_rank_0_before_each_forward() -> None:
    def rank(broadcast: bool) -> Any:
        ddp = DDP(nn.BatchNorm1d(1), broadcast_buffers=broadcast)
        x = tb.tensor([[1.0], [3.0]]) * (1 + dist.get_rank())
        for _ in range(2):
            ddp(x).sum().backward()
        return ddp.module.running_mean.item()

    # The mean goes from m to 0.9 m + 0.2 (rank + 1), where m is rank 0's or the rank's own.
    assert run(lambda: rank(True)) == pytest.approx([0.38, 0.58])
    assert run(lambda: rank(False)) == pytest.approx([0.38, 0.76])


def test_without_grad_nothing_is_communicated_or_expected() -> None:
    def rank() -> float:
        ddp = DDP(nn.Linear(1, 1, bias=False))
        dist.barrier()
        if dist.get_rank() == 0:
            with tb.no_grad():
                for _ in range(3):
                    ddp(tb.ones(1, 1))
        dist.barrier()
        ddp(tb.ones(1, 1)).sum().backward()
        return ddp.module.weight.grad.item()

    assert run(rank) == [1.0, 1.0]


def test_a_second_backward_through_one_forward_stays_local() -> None:
    def rank() -> Any:
        ddp = DDP(nn.Linear(1, 1, bias=False))
        loss = ddp(tb.ones(1, 1) * (1 + dist.get_rank())).sum()
        loss.backward(retain_graph=True)
        first = ddp.module.weight.grad.item()
        loss.backward()
        return first, ddp.module.weight.grad.item()

    assert run(rank) == [(1.5, 2.5), (1.5, 3.5)]


def test_gradients_are_views_of_buckets() -> None:
    def rank() -> None:
        ddp = DDP(nn.Linear(3, 2), gradient_as_bucket_view=True)
        optimizer = tb.optim.SGD(ddp.parameters(), lr=0.1)
        for to_none in (False, True, False):
            ddp(tb.ones(1, 3)).sum().backward()
            (bucket,) = ddp.reducer.buckets
            assert all(p.grad is v for p, v in zip(bucket.params, bucket.views, strict=True))
            optimizer.step()
            optimizer.zero_grad(set_to_none=to_none)
            if not to_none:
                assert not bucket.flat.any()

    run(rank)


# -- hooks -----------------------------------------------------------------------------------
def test_comm_hook_sees_buckets_and_decides() -> None:
    def rank() -> Any:
        ddp = DDP(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)), bucket_cap_mb=1e-6)
        seen = []

        def hook(state: str, bucket: Any) -> Any:
            assert state == "state"
            assert [g.shape for g in bucket.gradients()] == [p.shape for p in bucket.parameters()]
            seen.append((bucket.index(), bucket.is_last()))
            half = bucket.buffer().half()
            work = dist.all_reduce(half, async_op=True)
            return work.get_future().then(lambda f: f.value()[0].float() / 4)

        ddp.register_comm_hook("state", hook)
        with pytest.raises(RuntimeError, match="can only be called once"):
            ddp.register_comm_hook(None, hook)
        ddp(tb.ones(1, 2) * (1 + dist.get_rank())).sum().backward()
        assert seen == [(0, False), (1, False), (2, False), (3, True)]
        return ddp.module[1].bias.grad.item(), ddp.module[0].weight.grad

    a, b = run(rank)
    assert a[0] == b[0] == 0.5
    assert bool((a[1] == b[1]).all())


def test_default_hooks_average() -> None:
    from tensorbus.distributed.algorithms.ddp_comm_hooks import default_hooks as hooks

    def rank() -> Any:
        found = []
        for hook in (
            hooks.allreduce_hook,
            hooks.fp16_compress_hook,
            hooks.fp16_compress_wrapper(hooks.allreduce_hook),
        ):
            ddp = DDP(nn.Linear(3, 1, bias=False))
            ddp.register_comm_hook(None, hook)
            ddp(tb.tensor([[1.0, 1e-3, 40960.0]]) * (1 + 0.5 * dist.get_rank())).sum().backward()
            assert ddp.module.weight.grad.dtype is tb.float32
            found.append(ddp.module.weight.grad.flatten().tolist())
        return found

    for exact, *halves in run(rank):
        assert exact == [1.25, pytest.approx(1.25e-3), 51200.0]
        for half in halves:  # 51200 is a float16, and the sum of 102400 would not be
            assert half == [1.25, pytest.approx(1.25e-3, rel=2e-3), 51200.0]
            assert half[1] != exact[1]


def test_errors_of_a_comm_hook_reach_the_caller() -> None:
    def rank() -> Any:
        ddp = DDP(nn.Linear(1, 1))
        work = dist.all_reduce(tb.ones(9), async_op=True)
        ddp.register_comm_hook(None, lambda s, b: work.get_future())
        ddp(tb.ones(1, 1)).sum().backward()

    assert "its future must hold a tensor of 2 elements" in both(rank)[0]

    def no_future() -> None:
        ddp = DDP(nn.Linear(1, 1))
        ddp.register_comm_hook(None, lambda s, b: b.buffer())
        with pytest.raises(TypeError, match="returned Tensor: it must return a future"):
            ddp(tb.ones(1, 1)).sum().backward()

    run(no_future, 1)


# -- life ------------------------------------------------------------------------------------
def test_a_wrapper_that_is_gone_leaves_nothing_behind() -> None:
    def rank() -> Any:
        net = nn.Linear(1, 1)
        ddp = DDP(net)
        ddp(tb.ones(1, 1)).sum().backward()
        del ddp
        gc.collect()
        hooks = net.weight._e.h
        assert hooks is None or not hooks.at("post_accumulate")
        net.weight.grad = None
        net(tb.ones(1, 1) * (1 + dist.get_rank())).sum().backward()  # nobody waits
        return net.weight.grad.item()

    assert run(rank) == [1.0, 2.0]


def test_copies_and_pickles() -> None:
    def rank() -> Any:
        ddp = DDP(nn.Linear(1, 1, bias=False))
        got = []
        for twin in (copy.deepcopy(ddp), pickle.loads(pickle.dumps(ddp))):
            assert twin.module.weight is not ddp.module.weight
            twin(tb.ones(1, 1) * (1 + dist.get_rank())).sum().backward()
            got.append(twin.module.weight.grad.item())
        assert ddp.module.weight.grad is None
        other = DDP(nn.Linear(1, 1), process_group=dist.new_group([0, 1]))
        with pytest.raises(RuntimeError, match="only supported when using DDP with the default"):
            pickle.dumps(other)
        return got

    assert run(rank) == [[1.5, 1.5]] * 2


def test_checkpoints_go_between_one_process_and_many() -> None:
    net = nn.Linear(2, 1)
    state = net.state_dict()

    def rank() -> Any:
        ddp = DDP(nn.Linear(2, 1))
        ddp.load_state_dict({"module." + k: v for k, v in state.items()})
        return ddp.module.weight.tolist()

    assert run(rank) == [net.weight.tolist()] * 2


# -- failure ---------------------------------------------------------------------------------
def test_a_rank_that_dies_in_backward_is_named_on_the_others() -> None:
    texts: dict[int, str] = {}
    lock = threading.Lock()

    def rank() -> None:
        me = dist.get_rank()
        ddp = DDP(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), bucket_cap_mb=1e-6)
        hidden = ddp(tb.ones(1, 2))
        if me == 2:
            raise OSError("rank 2 is gone")
        try:
            hidden.sum().backward()
        except dist.DistBackendError as e:
            with lock:
                texts[me] = str(e)
            assert e.ranks == (2,)
            with pytest.raises(dist.DistBackendError, match="rank 2 died"):
                ddp(tb.ones(1, 2))  # not a complaint about unused parameters

    with pytest.raises(OSError, match="rank 2 is gone"):
        run(rank, 3, timeout=60)
    assert set(texts) == {0, 1}
    assert all("rank 2 died" in t for t in texts.values())


def test_devices_of_plugins(tools: Any) -> None:
    from tensorbus import discovery

    with discovery.plugged(type(discovery.backend("cpu"))()) as name:

        def rank() -> Any:
            net = nn.Linear(2, 1).to(name)
            ddp = DDP(net, device_ids=[0])
            y = ddp(tb.ones(4, 2) * (1 + dist.get_rank()))  # the input is moved
            assert y.device.type == name
            y.sum().backward()
            assert net.weight.grad.device.type == name
            return net.weight.grad.tolist()

        assert run(rank) == [[[6.0, 6.0]]] * 2


def test_larger_nets_over_tcp_agree_with_numpy_averages(tools: Any) -> None:
    rng = np.random.default_rng(3)
    parts = [rng.standard_normal((4, 300)) for _ in range(2)]

    def rank() -> Any:
        net = nn.Linear(300, 700, bias=False).double()  # 1.6 MiB
        ddp = DDP(net, bucket_cap_mb=1)
        ddp(tb.from_numpy(parts[dist.get_rank()])).sum().backward()
        return net.weight.grad.numpy()

    want = np.broadcast_to(sum(p.sum(0) for p in parts) / 2, (700, 300))
    for got in run(rank, backend="tcp"):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)
