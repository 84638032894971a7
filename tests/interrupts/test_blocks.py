"""Ctrl-C anywhere in a ``with`` block of the library: what the block set is as it was before."""

from __future__ import annotations

import datetime
import functools
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.interrupts.injector import Injector, interrupt

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus import discovery, nn
from tensorbus._base.float_warnings import quietly
from tensorbus._base.modes import this_thread
from tensorbus._dispatch import kinds
from tensorbus.autograd.node import hooks_of
from tensorbus.distributed.algorithms import Join, Joinable, JoinHook
from tensorbus.distributed.algorithms.join import JoinConfig
from tensorbus.distributed.run import Agent, Plan
from tensorbus.distributed.work import Lane, Work
from tensorbus.ops.tensor.printing import printoptions
from tensorbus.rows.registry import TABLES
from tensorbus.serialization import budget, get_safe_globals, safe_globals
from tensorbus.utils.hooks import HookTable


@torch.library.custom_op("interrupted::triple", mutates_args=())
def triple(x: torch.Tensor) -> torch.Tensor:
    return x * 3


triple.register_kernel("cpu")(lambda x: x + x + x)


class Counter(Joinable):
    join_device = torch.device("cpu")
    join_process_group = None

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return JoinHook()


def _printing() -> SimpleNamespace:
    def run() -> None:
        with printoptions(precision=2, sci_mode=True):
            torch.get_printoptions()

    return SimpleNamespace(run=run, seen=torch.get_printoptions)


def _globals() -> SimpleNamespace:
    def run() -> None:
        with safe_globals([datetime.date]), safe_globals([datetime.time]):
            get_safe_globals()

    return SimpleNamespace(run=run, seen=get_safe_globals)


def _loading() -> SimpleNamespace:
    def run() -> None:
        with budget.limited(100), budget.limited(10):
            budget.spend(1)

    return SimpleNamespace(run=run, seen=budget._current.get)


def _schedule() -> SimpleNamespace:
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    schedules: list[Any] = [
        torch.optim.lr_scheduler.StepLR(optimizer, 2),
        torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3),
    ]
    optimizer.step()

    def run() -> None:
        for schedule in schedules:
            schedule.step()

    return SimpleNamespace(run=run, seen=lambda: [s._get_lr_called_within_step for s in schedules])


def _hook() -> SimpleNamespace:
    table = HookTable()
    handle = table.add(len)
    inside: list[bool] = []

    def run() -> None:
        with handle:
            inside.append(True)

    def seen() -> bool:
        """Whether a block that was begun left its hook."""
        return bool(inside) and bool(table)

    return SimpleNamespace(run=run, seen=seen)


def _plugged() -> SimpleNamespace:
    backend = type(discovery.backend("cpu"))()

    def run() -> None:
        with discovery.plugged(backend) as name:
            torch.ones(2, device=name)

    def seen() -> Any:
        loader = discovery._get()
        return (backend.name, list(loader._backends), len(loader._records), len(TABLES),
                len(kinds._kinds), dict(kinds._current))  # fmt: skip

    return SimpleNamespace(run=run, seen=seen)


def _signals() -> SimpleNamespace:
    agent = Agent(Plan((sys.executable, "-c", "pass")))

    def run() -> None:
        with agent._signals():
            assert signal.getsignal(signal.SIGTERM) is not before

    def seen() -> Any:
        return signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)

    before, _ = seen()
    return SimpleNamespace(run=run, seen=seen)


def _numbers() -> SimpleNamespace:
    @torch.random.fork_rng()
    def drawn() -> None:
        torch.rand(3)

    def run() -> None:
        with torch.random.fork_rng():
            drawn()
            torch.manual_seed(3)

    return SimpleNamespace(run=run, seen=lambda: torch.get_rng_state().tolist())


def _flags() -> SimpleNamespace:
    def run() -> None:
        with torch.backends.cudnn.flags(enabled=False, benchmark=True, deterministic=True):
            assert torch.backends.cudnn.benchmark

    def seen() -> Any:
        flags = torch.backends.cudnn
        return (flags.enabled, flags.benchmark, flags.benchmark_limit, flags.deterministic,
                flags.allow_tf32)  # fmt: skip

    return SimpleNamespace(run=run, seen=seen)


def _replaced() -> SimpleNamespace:
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    others = {name: t.detach().clone() for name, t in net.state_dict().items()}

    def run() -> None:
        torch.func.functional_call(net, others, torch.ones(2, 2))

    def seen() -> Any:
        return [(name, id(t)) for name, t in net.state_dict(keep_vars=True).items()]

    return SimpleNamespace(run=run, seen=seen)


def _errors() -> SimpleNamespace:
    def run() -> None:
        quietly(np.log, np.zeros(1))
        torch.tensor([float("nan")]).int().bfloat16()

    run()  # what is made at the first use
    return SimpleNamespace(run=run, seen=np.geterr)


def _kernels() -> SimpleNamespace:
    def run() -> None:
        with triple.set_kernel_enabled("cpu", False):
            assert triple._disabled_kernel

    return SimpleNamespace(run=run, seen=lambda: list(triple._disabled_kernel))


def _first_hook() -> SimpleNamespace:
    table = HookTable()
    table.add(len)
    table.add(str)

    def run() -> None:
        table.add(repr, prepend=True).remove()

    return SimpleNamespace(run=run, seen=lambda: [h for h in table.values() if h is not repr])


def _copies() -> SimpleNamespace:
    x = torch.ones(2, requires_grad=True)
    made: list[Any] = []

    def run() -> None:
        with torch.autograd.graph.allow_mutation_on_saved_tensors() as copies:
            made.append(copies)
            (x * x).sum()

    def seen() -> Any:
        """Whether hooks or copies are left."""
        return this_thread.hooks, any(copies._kept for copies in made)

    return SimpleNamespace(run=run, seen=seen)


def _multi_hook() -> SimpleNamespace:
    x = [torch.ones(1, requires_grad=True) * 1 for _ in range(3)]
    inside: list[bool] = []

    def run() -> None:
        with torch.autograd.graph.register_multi_grad_hook(x, lambda grads: None):
            inside.append(True)

    def seen() -> bool:
        """Whether a block that was begun left a hook."""
        return bool(inside) and any(hooks_of(t.grad_fn).table for t in x)

    return SimpleNamespace(run=run, seen=seen)


@pytest.fixture
def alone() -> Iterator[None]:
    dist.init_process_group("local", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def _no_sync() -> SimpleNamespace:
    net = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))

    def run() -> None:
        with net.no_sync(), net.no_sync():
            assert not net.require_backward_grad_sync

    return SimpleNamespace(run=run, seen=lambda: net.require_backward_grad_sync)


def _join() -> SimpleNamespace:
    counters = [Counter(), Counter()]

    def run() -> None:
        with Join(counters):
            assert counters[0]._join_config.is_first_joinable

    return SimpleNamespace(run=run, seen=lambda: [c._join_config for c in counters])


def _file_store(folder: Path) -> Callable[[], SimpleNamespace]:
    fcntl = pytest.importorskip("fcntl")

    def make() -> SimpleNamespace:
        store = dist.FileStore(str(folder / "store"), 1)

        def seen() -> Any:
            """Whether the store's file is free, and so for all processes."""
            with open(store.path) as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return False
            return store._mutex.acquire(blocking=False) and not store._mutex.release()

        return SimpleNamespace(run=lambda: store.add("key", 1), seen=seen)

    return make


BLOCKS: dict[str, Callable[[], SimpleNamespace]] = {
    "printoptions": _printing,
    "safe_globals": _globals,
    "load": _loading,
    "lr_scheduler": _schedule,
    "hook": _hook,
    "plugged": _plugged,
    "signals": _signals,
    "fork_rng": _numbers,
    "flags": _flags,
    "functional_call": _replaced,
    "errors of NumPy": _errors,
    "kernels of an op": _kernels,
    "hook before others": _first_hook,
    "saved copies": _copies,
    "multi_grad_hook": _multi_hook,
}


@pytest.mark.parametrize("name", BLOCKS)
def test_some_places(name):
    interrupt(BLOCKS[name], 100)


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_every_place(name):
    interrupt(BLOCKS[name], 10**6)


def test_no_sync(alone):
    interrupt(_no_sync, 10**6)


def test_store_in_a_file(tmp_path):
    interrupt(_file_store(tmp_path), 10**6)


def _join_places() -> int:
    dist.init_process_group("local", store=dist.HashStore(), rank=0, world_size=1)
    try:
        s, counter = _join(), Injector()
        s.run()
        assert not counter.run(s.run)
    finally:
        dist.destroy_process_group()
    return counter.count


def _interrupt_join(most: int) -> None:
    places = list(range(_join_places()))
    if len(places) > most:
        places = sorted(random.Random(most).sample(places, most))
    for at in places:
        # An interrupted collective ends its group.
        dist.init_process_group("local", store=dist.HashStore(), rank=0, world_size=1)
        try:
            s, injector = _join(), Injector(at)
            assert injector.run(s.run), injector.place
            assert s.seen() == [JoinConfig(), JoinConfig()], injector.place
        finally:
            dist.destroy_process_group()


def test_some_places_of_join():
    _interrupt_join(60)


@pytest.mark.slow
def test_every_place_of_join():
    _interrupt_join(10**6)


def test_an_interrupted_operation_leaves_its_lane_to_the_next():
    counter = Injector()
    assert not counter.run(functools.partial(Lane().run, int, "one"))
    for at in range(counter.count):
        lane, injector = Lane(), Injector(at)
        assert injector.run(functools.partial(lane.run, int, "one")), injector.place
        # From another thread, which waits for ever where a lock was left behind.
        later = Work(lambda: 7, "two")
        given = threading.Thread(target=lane.submit, args=(later,), daemon=True)
        given.start()
        given.join(60)
        assert not given.is_alive() and later._done.wait(60), injector.place
        assert later.result() == [7]


def test_a_block_is_entered_once():
    options = printoptions(precision=2)
    with options:
        pass
    with pytest.raises(RuntimeError, match="entered only once"), options:
        pass
    assert torch.get_printoptions()["precision"] == 4


def test_a_block_decorates():
    @printoptions(precision=2)
    def shown(x: torch.Tensor) -> str:
        """Its own words."""
        return str(x)

    for _ in range(2):
        assert shown(torch.tensor([1.23456])) == "tensor([1.23])"
    assert shown.__doc__ == "Its own words."
    assert str(torch.tensor([1.23456])) == "tensor([1.2346])"
