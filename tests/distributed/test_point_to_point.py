"""Messages: order, tags, crossing sends, any source, sizes that do not fit, objects."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus.distributed import world as worlds
from tensorbus.plugin import CommError, float32

BACKENDS = ["local", "tcp"]


def on_ranks(f: Any, size: int, backend: str) -> list[Any]:
    return dist.local.run(f, size, backend=backend, timeout=60)


@pytest.mark.parametrize("backend", BACKENDS)
def test_messages_of_one_tag_keep_their_order_and_tags_are_apart(backend):
    def rank() -> Any:
        if dist.get_rank() == 0:
            for i in range(5):
                dist.send(torch.tensor([i]), 1)
                dist.send(torch.tensor([10 + i]), 1, tag=7)
            return None
        tagged = [torch.zeros(1, dtype=torch.int64) for _ in range(5)]
        for t in tagged:
            assert dist.recv(t, 0, tag=7) == 0
        plain = [torch.zeros(1, dtype=torch.int64) for _ in range(5)]
        works = [dist.irecv(t, 0) for t in plain]
        assert all(w.wait() for w in works)
        return [t.item() for t in tagged], [t.item() for t in plain]

    assert on_ranks(rank, 2, backend)[1] == ([10, 11, 12, 13, 14], [0, 1, 2, 3, 4])


@pytest.mark.parametrize("backend", BACKENDS)
def test_crossing_sends_larger_than_any_buffer_of_the_system(backend):
    def rank() -> None:
        me = dist.get_rank()
        mine, other = torch.full((3_000_000,), float(me)), torch.zeros(3_000_000)
        dist.send(mine, 1 - me)
        dist.recv(other, 1 - me)
        assert (other == 1 - me).all()
        works = [dist.isend(mine, 1 - me), dist.irecv(other.view(3000, 1000).t(), 1 - me)]
        total = torch.ones(500_000)
        dist.all_reduce(total)
        assert [w.wait() for w in works] == [True, True] and (total == 2).all()

    on_ranks(rank, 2, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_receives_wait_for_their_own_sender_only(backend):
    """Rank 1 sends only after it has heard from rank 0, which first hears from rank 2."""

    def rank() -> None:
        me, x = dist.get_rank(), torch.zeros(1)
        if me == 0:
            y = torch.zeros(1)
            from_one, from_two = dist.irecv(x, 1), dist.irecv(y, 2)
            from_two.wait()
            dist.send(y, 1)
            from_one.wait()
            assert (x.item(), y.item()) == (3.0, 2.0) and from_one.source_rank() == 1
        elif me == 1:
            dist.recv(x, 0)
            dist.send(x + 1, 0)
        else:
            dist.send(x + 2, 0)

    on_ranks(rank, 3, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_from_any_source_each_message_comes_once(backend):
    def rank() -> Any:
        me = dist.get_rank()
        if me:
            dist.send(torch.tensor([float(me)]), 0)
            return None
        got = {}
        for _ in range(3):
            x = torch.zeros(1)
            sender = dist.recv(x)
            got[sender] = x.item()
        return got

    assert on_ranks(rank, 4, backend)[0] == {1: 1.0, 2: 2.0, 3: 3.0}


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_kind_of_tensor_is_a_message(backend):
    cases = [
        np.array(3.5), np.zeros((0, 4), "i2"), np.array([True, False]),
        np.arange(6).reshape(2, 3).astype("c8"), np.arange(8.0)[::3].astype("f2"),
    ]  # fmt: skip

    def rank() -> None:
        for array in cases:
            x = torch.from_numpy(array.copy())
            if dist.get_rank():
                y = torch.zeros_like(x)
                dist.recv(y, 0)
                assert y.numpy().dtype == array.dtype and np.array_equal(y.numpy(), array)
            else:
                dist.send(x, 1)

    on_ranks(rank, 2, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_batch_around_a_ring(backend):
    def rank() -> float:
        me, size = dist.get_rank(), dist.get_world_size()
        x, y = torch.tensor([float(me)]), torch.zeros(1)
        ops = [
            dist.P2POp(dist.isend, x, (me + 1) % size),
            dist.P2POp(dist.irecv, y, (me - 1) % size),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        return y.item()

    assert on_ranks(rank, 3, backend) == [2.0, 0.0, 1.0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_message_of_another_size_names_both_and_the_job_goes_on(backend):
    def rank() -> None:
        x = torch.zeros(3)
        if dist.get_rank() == 0:
            dist.send(x, 1)
        else:
            with pytest.raises(dist.DistBackendError, match="12 bytes .* recv takes a .* 16") as e:
                dist.recv(torch.zeros(4), 0)
            assert e.value.ranks == (0,)
        dist.all_reduce(x)

    on_ranks(rank, 2, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_receive_that_times_out_names_the_rank_and_the_group_lives(backend):
    def rank() -> None:
        group = dist.new_group(timeout=1.5)
        x = torch.ones(1)
        if dist.get_rank() == 0:
            with pytest.raises(dist.DistBackendError, match=r"rank 0.*rank 1 .* in time") as e:
                dist.recv(x, 1, group=group)
            assert e.value.ranks == (1,)
        dist.all_reduce(x)
        assert x.item() == 2

    on_ranks(rank, 2, backend)


def test_what_is_refused():
    def rank() -> None:
        x, me = torch.zeros(1), dist.get_rank()
        with pytest.raises(ValueError, match="destination rank should not be the same"):
            dist.send(x, me)
        with pytest.raises(ValueError, match="source rank should not be the same"):
            dist.irecv(x, me)
        with pytest.raises(ValueError, match="Global rank 9 is not part of group"):
            dist.send(x, 9)
        with pytest.raises(ValueError, match="Must specify global_rank or group_rank"):
            dist.send(x)
        with pytest.raises(ValueError, match="a tag is a whole number"):
            dist.send(x, 1 - me, tag=-1)
        with pytest.raises(TypeError, match="Expected parameter `tensor` of type torch.Tensor"):
            dist.send([1.0], 1 - me)
        with pytest.raises(ValueError, match="Invalid ``op``"):
            dist.P2POp(dist.broadcast, x, 1 - me)
        with pytest.raises(ValueError, match="Invalid ``p2p_op_list``"):
            dist.batch_isend_irecv([x])

    on_ranks(rank, 2, "local")


@pytest.mark.parametrize("backend", BACKENDS)
def test_objects(backend):
    def rank() -> None:
        me = dist.get_rank()
        got = [None] * 3 if me == 1 else None
        dist.gather_object({"rank": me, "x": torch.ones(me)}, got, dst=1)
        if got is not None:
            assert [(g["rank"], g["x"].tolist()) for g in got] == [(0, []), (1, [1]), (2, [1, 1])]
        out = [None]
        dist.scatter_object_list(out, ["a", ["b"], {"c": 1}] if me == 2 else None, src=2)
        assert out == [["a"], [["b"]], [{"c": 1}]][me]
        words = ["x" * 1000, None] if me == 0 else [1, 2]
        dist.broadcast_object_list(words, 0)
        assert words == ["x" * 1000, None]
        if me == 0:
            dist.send_object_list([1, "two"], 2)
        elif me == 2:
            pair: list[Any] = [None, None]
            assert dist.recv_object_list(pair) == 0 and pair == [1, "two"]

    on_ranks(rank, 3, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_tags_that_are_used_once_are_forgotten(backend):
    def rank() -> int:
        me, x = dist.get_rank(), torch.zeros(1)
        for tag in range(600):
            (dist.send if me else dist.recv)(x, 1 - me, tag=tag)
        return len(dist.group.WORLD._lanes)

    assert max(on_ranks(rank, 2, backend)) <= 258


@pytest.mark.parametrize("backend", ["local", "tcp"])
def test_a_receive_from_a_rank_that_left_and_never_sent_ends_soon(backend):
    def rank():
        if dist.get_rank() == 1:
            return None
        begun = time.monotonic()
        with pytest.raises(dist.DistBackendError, match="rank 1 has left") as caught:
            dist.recv(torch.ones(1), 1)
        assert caught.value.ranks == (1,)
        return time.monotonic() - begun

    assert dist.local.run(rank, 2, backend=backend, timeout=300)[0] < 100


@pytest.mark.parametrize("backend", ["local", "tcp"])
def test_what_a_rank_sent_before_it_left_still_comes(backend):
    def rank():
        x = torch.tensor([float(dist.get_rank())])
        if dist.get_rank() == 1:
            dist.send(x, 0)
            return None
        while not worlds.current().monitor.has_told(1):
            time.sleep(0.01)
        dist.recv(x, 1)
        return x.item()

    assert dist.local.run(rank, 2, backend=backend, timeout=60)[0] == 1.0


def test_a_tag_of_its_own_for_every_message_needs_few_threads():
    most = [0, 0]

    def rank():
        me, out = dist.get_rank(), torch.ones(1)
        for start in range(0, 600, 100):
            tags = range(start, start + 100)
            works = [dist.isend(out * tag, 1 - me, tag=tag) for tag in tags]
            most[me] = max(most[me], threading.active_count())
            for work in works:
                work.wait()
            for tag in reversed(tags):
                x = torch.zeros(1)
                dist.recv(x, 1 - me, tag=tag)
                assert x.item() == tag

    before = threading.active_count()
    dist.local.run(rank, 2, backend="tcp", timeout=60)
    assert max(most) - before < 100  # 600 messages of each rank


def test_as_many_receives_as_wait_for_one_another_go_on():
    """Each receive waits for a message that is sent only after a later one has come."""

    def rank():
        me, count = dist.get_rank(), 60
        boxes = [torch.zeros(1) for _ in range(count)]
        if me == 0:
            works = [dist.irecv(box, 1, tag=tag) for tag, box in enumerate(boxes)]
            for tag in reversed(range(count)):
                works[tag].wait()
                dist.send(torch.ones(1), 1, tag=1000)
            return [box.item() for box in boxes]
        for tag in reversed(range(count)):
            dist.send(torch.ones(1) * tag, 0, tag=tag)
            dist.recv(boxes[0], 0, tag=1000)
        return None

    assert dist.local.run(rank, 2, backend="local", timeout=60)[0] == list(range(60))


def test_after_an_abort_nothing_waits_for_ranks_that_never_met():
    """Both ranks are told at once, also the one that would connect first."""

    def program():
        comm = dist.group.WORLD.comm("tcp")
        comm.abort(CommError("the job is over", [1]))
        begin = time.monotonic()
        with pytest.raises(CommError, match="the job is over"):
            comm.all_reduce(np.ones(3, np.float32), float32, "sum", 300.0)
        return time.monotonic() - begin

    assert max(dist.local.run(program, 2, backend="tcp", timeout=60)) < 100
