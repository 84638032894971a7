"""A rank that ends after its last call harms nobody: what it sent is delivered, its death no fault.

The ranks end with ``os._exit``, as children of ``multiprocessing`` do: nobody says goodbye, and the
store goes with rank 0. Those that are left go on when they know of it, so the order is the worst.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import tensorbus.distributed as dist
from tensorbus.distributed.agreement import all_made

AWAIT = """
from tensorbus.distributed import world as worlds
dist.init_process_group("tcp", f"tcp://{HOST}:{PORT}", rank=RANK, world_size=SIZE, timeout=60)
def await_end(*ranks):
    # Of those that end after rank 0, which serves the store, nobody hears.
    monitor = worlds.current().monitor
    while not all(r in monitor._dead or 0 in monitor._dead for r in ranks):
        time.sleep(0.01)
def end():
    os._exit(0)
"""

PROGRAMS = {
    "isend": """
x = torch.arange(5.0)
if RANK == 0:
    dist.isend(x, 1).wait()
    end()
if RANK == 1:
    await_end(0)
    x = torch.zeros(5)
    dist.irecv(x, 0).wait()
assert x.tolist() == [0, 1, 2, 3, 4]
""",
    "many large messages": """
if RANK == 0:
    works = [dist.isend(torch.full((300_000,), float(i)), 1, tag=i) for i in range(3)]
    for work in works:
        work.wait()
    end()
if RANK == 1:
    x = torch.zeros(300_000)
    await_end(0)
    for tag in (2, 0, 1):
        dist.recv(x, 0, tag=tag)
        assert (x == tag).all()
""",
    "recv from any": """
if RANK:
    dist.send(torch.full((3,), float(RANK)), 0)
    end()
await_end(1, 2)
x = torch.zeros(3)
senders = sorted(dist.recv(x) for _ in range(2))
assert senders == [1, 2]
""",
    "the others after the store": """
if RANK == 0:
    dist.send(torch.ones(1), 1)
    end()
x = torch.zeros(1)
if RANK == 1:
    dist.recv(x, 0)
await_end(0)
dist.send(x, 2) if RANK == 1 else dist.recv(x, 1)
assert x.item() == 1
""",
    "gather": """
x, out = torch.full((2,), float(RANK)), [torch.zeros(2) for _ in range(SIZE)]
if RANK:
    dist.gather(x, dst=0)
    end()
await_end(1, 2)
dist.gather(x, out, dst=0)
assert [t[0].item() for t in out] == [0, 1, 2]
""",
    "broadcast": """
dist.barrier()
x = torch.full((50_000,), float(RANK))
if RANK:
    await_end(0)
dist.broadcast(x, 0)
if RANK == 0:
    end()
assert (x == 0).all()
""",
    "objects": """
if RANK == 0:
    dist.send_object_list([{"a": 1}, "b"], 1)
    end()
if RANK == 1:
    await_end(0)
    found = [None, None]
    dist.recv_object_list(found, 0)
    assert found == [{"a": 1}, "b"]
""",
    "destroy_process_group": """
dist.barrier()
if RANK == 0:
    end()
await_end(0)
dist.destroy_process_group()
""",
}  # fmt: skip

# Of four ranks 0 and 2 are through when 3 has only taken the first of two steps.
HELD_UP = """
from tensorbus_comm_tcp.comm import TcpComm
if RANK == 3:
    pump, steps = TcpComm._pump, []
    def _pump(self, *arguments):
        steps.append(1)
        if len(steps) == 4:
            await_end(0, 2)
        pump(self, *arguments)
    TcpComm._pump = _pump
dist.barrier()
"""


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_a_rank_sent_is_delivered_after_its_end(run_job, program):
    run_job(AWAIT + program, size=3)


@pytest.mark.parametrize(
    "call",
    ["dist.barrier()", "x = torch.ones(3); dist.all_reduce(x); assert x.tolist() == [4, 4, 4]"],
    ids=["barrier", "all_reduce"],
)
def test_a_rank_in_the_middle_of_a_collective_outlives_those_that_are_through(run_job, call):
    ended = run_job(AWAIT + HELD_UP + f"{call}\nprint('through', flush=True)\nend()", size=4)
    assert [one.out for one in ended] == ["through\n"] * 4


def test_a_call_that_needs_more_of_a_rank_that_ended_names_it(run_job):
    program = """
dist.barrier()
if RANK == 1:
    end()
await_end(1)
try:
    dist.all_reduce(torch.ones(2))
    dist.all_reduce(torch.ones(2))
    sys.exit("nothing was raised")
except dist.DistBackendError as e:
    assert e.ranks == (1,), e
    assert "rank 1 died or was cut off" in str(e), e
"""
    run_job(AWAIT + program, size=3)


class Served(dist.HashStore):
    """As a store of the process that serves it."""

    is_server = True


def two_stores():
    """One table, as the process that serves it and as another one sees it."""
    served, other = Served(), dist.HashStore()
    other.__dict__ = served.__dict__
    return served, other


def nobody_ended(ranks):
    pass


def test_the_rank_that_serves_the_store_goes_on_when_all_need_it_no_more():
    served, other = two_stores()
    everyone = [0, 1, 2]
    with ThreadPoolExecutor(2) as pool:
        serving = pool.submit(all_made, served, "g", 0, everyone, 60, nobody_ended)
        second = pool.submit(all_made, other, "g", 1, everyone, 60, nobody_ended)
        if other.add("g/here", 1) == 3:  # the third has come, and has not seen yet that all have
            other.set("g/all", "1")
        second.result(60)
        with pytest.raises(TimeoutError):
            serving.result(0.3)
        other.set("g/saw/2", "1")
        serving.result(60)


def test_a_rank_that_ended_when_all_had_come_is_no_fault():
    """This one looks whether others have ended after the last has come and gone."""
    store, seen = dist.HashStore(), []

    def check(ranks):
        if not seen:
            seen.append(ranks)
            store.add("g/here", 1)
            store.set("g/all", "1")
            raise dist.DistBackendError("rank 1 has left the job")

    all_made(store, "g", 0, [0, 1], 60, check)
    assert seen == [[0, 1]]
    with pytest.raises(dist.DistBackendError, match="rank 1 has left"):
        seen.clear()
        store.delete_key("g/all")
        all_made(store, "h", 0, [0, 1], 60, check)


def test_ranks_that_do_not_come_to_make_a_group_are_counted():
    def rank():
        dist.group.WORLD.timeout = 0.5  # meeting may take longer
        if dist.get_rank() == 0:
            with pytest.raises(dist.DistStoreError, match="of 2 ranks 1 came within 0.5 seconds"):
                dist.new_group([0], timeout=0.4)
        done.wait(60)

    done = threading.Barrier(2)
    dist.local.run(rank, 2)


QUICK_EXIT = """
dist.init_process_group("tcp", f"tcp://{HOST}:{PORT}", rank=RANK, world_size=SIZE, timeout=120)
x = torch.ones(100)
dist.all_reduce(x)
dist.barrier()
os._exit(0 if x[0] == SIZE else 3)
"""


def many_jobs(start_job, count, at_once):
    for begin in range(0, count, at_once):
        jobs = [start_job(QUICK_EXIT, 4) for _ in range(min(at_once, count - begin))]
        for job in jobs:
            ended = job.end(300)
            assert [(one.code, one.err) for one in ended] == [(0, "")] * 4, begin


def test_jobs_whose_ranks_end_after_a_barrier(start_job):
    many_jobs(start_job, 8, 4)


@pytest.mark.slow
def test_300_jobs_whose_ranks_end_after_a_barrier(start_job):
    many_jobs(start_job, 300, 10)
