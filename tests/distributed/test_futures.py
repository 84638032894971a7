"""Futures, as PyTorch 2.13 was seen to have them, and those of collectives."""

from __future__ import annotations

import logging
import threading
from functools import partial

import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus.futures import Future, collect_all, wait_all


def failed(error: Exception) -> Future:
    future: Future = Future()
    future.set_exception(error)
    return future


def test_then_gives_what_the_callback_returns_and_chains():
    first: Future = Future()
    second = first.then(lambda f: f.value() + 1)
    third = second.then(lambda f: [f.wait() * 2])
    assert not (first.done() or second.done() or third.done())
    first.set_result(1)
    assert (first.value(), second.wait(), third.value()) == (1, 2, [4])
    assert third.then(lambda f: f).wait() is third
    late = third.then(lambda f: None)
    assert late.done() and late.value() is None


def test_a_value_is_set_once_and_not_taken_before():
    future: Future = Future()
    with pytest.raises(RuntimeError, match="not completed yet"):
        future.value()
    future.set_result(1)
    for again in (partial(future.set_result, 2), partial(future.set_exception, ValueError())):
        with pytest.raises(RuntimeError, match="a completed Future as complete again"):
            again()
    assert future.value() == 1
    with pytest.raises(AssertionError, match="x is of type <class 'str'>, not an Exception"):
        Future().set_exception("x")
    for method in (Future().then, Future().add_done_callback):
        with pytest.raises(TypeError, match="takes a function, not int"):
            method(3)
    with pytest.raises(ValueError, match="Expected devices to have indices, got cpu"):
        Future(devices=["cpu"])


def test_errors_go_down_the_chain_until_somebody_takes_them():
    future = failed(ValueError("no such digit"))
    assert future.done()
    for look in (future.wait, future.value):
        with pytest.raises(ValueError, match="^no such digit$"):
            look()
    after = future.then(lambda f: f.value())
    with pytest.raises(RuntimeError, match="running the callback: ValueError: no such digit") as e:
        after.wait()
    assert isinstance(e.value.__cause__, ValueError)
    assert after.then(lambda f: "taken").wait() == "taken"


def test_done_callbacks_see_the_future_in_order_and_what_they_raise_is_logged(caplog):
    future: Future = Future()
    seen = []
    future.add_done_callback(lambda f: seen.append(("first", f.value())))
    future.add_done_callback(lambda f: 1 / 0)
    future.add_done_callback(lambda f: seen.append(("second", f.value())))
    with caplog.at_level(logging.ERROR):
        future.set_result([1])
    future.add_done_callback(lambda f: seen.append(("late", f is future)))
    assert seen == [("first", [1]), ("second", [1]), ("late", True)]
    assert "ZeroDivisionError" in caplog.text


def test_all_of_several():
    futures: list[Future] = [Future() for _ in range(3)]
    together = collect_all(futures)
    for number in (2, 0, 1):
        assert not together.done()
        futures[number].set_result(number)
    assert all(a is b for a, b in zip(together.wait(), futures, strict=True))
    assert wait_all(futures) == [0, 1, 2] and collect_all([]).wait() == []
    waiting: Future = Future()
    mixed = collect_all([waiting, failed(ValueError("first")), failed(KeyError("second"))])
    assert not mixed.done()
    waiting.set_result(1)
    with pytest.raises(ValueError, match="first"):
        mixed.wait()
    with pytest.raises(ValueError, match="first"):
        wait_all([failed(ValueError("first")), failed(KeyError("second"))])


def test_a_thread_that_waits_is_woken_by_another():
    future: Future = Future()
    doubled = future.then(lambda f: (f.value() * 2, threading.current_thread().name))
    thread = threading.Thread(target=future.set_result, args=(4,), name="setter")
    thread.start()
    assert doubled.wait() == (8, "setter")
    thread.join()


# -- of collectives ----------------------------------------------------------------------------
@pytest.mark.parametrize("backend", ["local", "tcp"])
def test_the_futures_of_collectives_hold_their_tensors(backend):
    def rank():
        me = dist.get_rank()
        x, outs = torch.ones(2) * (me + 1), [torch.zeros(1), torch.zeros(1)]
        reduced = dist.all_reduce(x, async_op=True)
        assert reduced is not None and reduced.get_future() is reduced.get_future()
        halved = reduced.get_future().then(lambda f: f.value()[0] / 2).then(lambda f: f.wait() + 1)
        assert halved.wait().tolist() == [2.5, 2.5]
        (own,) = reduced.get_future().wait()
        assert own is x
        gathered = dist.all_gather(outs, torch.tensor([float(me)]), async_op=True).get_future()
        assert [t.item() for t in gathered.wait()] == [0.0, 1.0]
        assert dist.barrier(async_op=True).get_future().wait() == []
        works = [dist.all_reduce(torch.ones(1), async_op=True) for _ in range(3)]
        assert [v[0].item() for v in wait_all([w.get_future() for w in works])] == [2.0] * 3

    dist.local.run(rank, 2, backend=backend)


def test_the_future_of_a_failed_collective_names_the_rank():
    def rank():
        if dist.get_rank() == 1:
            return None
        work = dist.all_reduce(torch.ones(1), async_op=True)
        found = []
        for future in (work.get_future(), work.get_future().then(lambda f: f.value())):
            with pytest.raises(dist.DistBackendError, match="rank 1 has left the job") as caught:
                future.wait()
            found.append(caught.value.ranks)
        return found

    assert dist.local.run(rank, 2)[0] == [(1,), (1,)]
