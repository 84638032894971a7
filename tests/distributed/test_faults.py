"""A rank that dies, hangs, leaves or is elsewhere is named by every survivor, in time."""

from __future__ import annotations

import signal
import threading
import time

import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus.distributed import world as worlds
from tensorbus.distributed.process_group import ProcessGroup


@pytest.mark.parametrize("victim", [0, 2])
def test_a_rank_that_is_killed_in_the_middle_is_named_by_all(start_job, told, victim):
    job = start_job(
        f"""
start(timeout=300)
def go():
    x = torch.ones(2_000_000)
    for i in range(1000):
        if RANK == {victim} and i == 3:
            work = dist.all_reduce(x, async_op=True)
            os.kill(os.getpid(), signal.SIGKILL)
        dist.all_reduce(x)
survive(go)
""",
        size=4,
    )
    ended = job.end()
    assert ended[victim].code == -signal.SIGKILL
    for rank in {0, 1, 2, 3} - {victim}:
        ranks, seconds, text = told(ended, rank)
        assert ranks == [victim] and f"rank {victim}" in text and f"[rank {rank}]" in text
        assert seconds < 100


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_is_stopped_is_named_after_the_timeout(start_job, told, victim):
    job = start_job(
        f"""
start(timeout=3)
if RANK == {victim}:
    os.kill(os.getpid(), signal.SIGSTOP)
survive(lambda: dist.all_reduce(torch.ones(100_000)))
""",
        size=3,
    )
    survivors = [rank for number, rank in enumerate(job.ranks) if number != victim]
    for rank in survivors:
        assert rank.wait(120)
    job.kill()
    ended = job.end()
    waited = []
    for rank in {0, 1, 2} - {victim}:
        ranks, seconds, text = told(ended, rank)
        assert ranks == [victim] and "hangs or was cut off" in text, text
        waited.append(seconds)
    # The first to call waits for all of the time-out, and tells the other.
    assert 2.9 < max(waited) < 60


def survive(f):
    """What a rank in a thread is told: the ranks to blame, the text."""
    with pytest.raises(dist.DistBackendError) as first:
        f()
    with pytest.raises(dist.DistBackendError, match="can't be used any more"):
        dist.all_reduce(torch.ones(1))
    return first.value.ranks, str(first.value)


BACKENDS = pytest.mark.parametrize("backend", ["local", "tcp"])


@BACKENDS
def test_a_rank_that_is_busy_elsewhere_is_told_from_those_that_wait(backend):
    told = threading.Barrier(3)

    def rank():
        dist.barrier()
        if dist.get_rank() == 1:
            told.wait()
            return survive(lambda: dist.all_reduce(torch.ones(100_000)))
        said = survive(lambda: dist.all_reduce(torch.ones(100_000)))
        told.wait()
        return said

    for number, (ranks, text) in enumerate(dist.local.run(rank, 3, backend=backend, timeout=2)):
        assert ranks == (1,), text
        assert "rank 1 did not call all_reduce number 2 within 2 seconds" in text
        assert "rank 1 has ended number 1" in text and f"[rank {number}]" in text


@BACKENDS
def test_a_rank_that_leaves_early_is_told(backend):
    def rank():
        dist.all_reduce(torch.ones(1))
        if dist.get_rank() == 2:
            return None
        return survive(lambda: [dist.all_reduce(torch.ones(50_000)) for _ in range(2)])

    for ranks, text in dist.local.run(rank, 3, backend=backend, timeout=60)[:2]:
        assert ranks == (2,)
        assert "rank 2 has left the job after its collective number 1" in text


@BACKENDS
def test_different_operations_are_told_on_every_rank(backend):
    def rank():
        dist.barrier()
        x = torch.ones(40_000)
        return survive(
            lambda: dist.broadcast(x, 0) if dist.get_rank() else dist.reduce_scatter(x, [x] * 2)
        )

    for _, text in dist.local.run(rank, 2, backend=backend, timeout=60):
        assert "reduce_scatter" in text and "broadcast" in text


@BACKENDS
def test_different_sizes_are_told_on_every_rank(backend):
    def rank():
        return survive(lambda: dist.all_reduce(torch.ones(3 + dist.get_rank())))

    for _, text in dist.local.run(rank, 2, backend=backend, timeout=60):
        assert "of 12" in text and "of 16" in text


def _odd(x):
    """On the last rank as many bytes of another dtype."""
    return x.view(torch.int32) if dist.get_rank() == 1 else x


MIXED = {
    "all_reduce": lambda x: dist.all_reduce(_odd(x)),
    "reduce": lambda x: dist.reduce(_odd(x), 0),
    "reduce_scatter": lambda x: dist.reduce_scatter(_odd(x)[:2].clone(), [_odd(x)[:2]] * 2),
    "all_gather": lambda x: dist.all_gather([_odd(x).clone() for _ in range(2)], _odd(x)),
    "broadcast": lambda x: dist.broadcast(_odd(x), 0),
    "gather": lambda x: dist.gather(
        _odd(x), [x.clone(), x.clone()] if dist.get_rank() == 0 else None
    ),
    "scatter": lambda x: dist.scatter(_odd(x), [x, x] if dist.get_rank() == 0 else None),
    "all_to_all": lambda x: dist.all_to_all_single(_odd(x).clone(), _odd(x)),
}


@BACKENDS
@pytest.mark.parametrize("call", MIXED)
@pytest.mark.parametrize("n", [4, 80_000])
def test_dtypes_that_differ_are_told_on_every_rank(backend, call, n):
    """Without the debug mode, though the bytes are as many on all ranks."""

    def rank():
        def go():
            MIXED[call](torch.ones(n))
            dist.barrier()

        return survive(go)

    for _, text in dist.local.run(rank, 2, backend=backend, timeout=30):
        assert "float32" in text and "int32" in text


@BACKENDS
def test_operations_and_roots_that_differ_are_told_on_every_rank(backend):
    def operations():
        x = torch.ones(40_000)
        return survive(lambda: dist.all_reduce(x, [dist.ReduceOp.MIN, dist.ReduceOp.PRODUCT][me()]))

    def roots():
        def go():
            dist.broadcast(torch.ones(3), me())
            dist.barrier()

        return survive(go)

    me = dist.get_rank
    for _, text in dist.local.run(operations, 2, backend=backend, timeout=30):
        assert "(min)" in text and "(product)" in text
    for _, text in dist.local.run(roots, 2, backend=backend, timeout=30):
        assert "broadcast" in text


@BACKENDS
def test_an_error_in_one_thread_ends_the_others(backend):
    def rank():
        dist.barrier()
        if dist.get_rank() == 1:
            raise LookupError("mine")
        return survive(dist.barrier)

    begun = time.monotonic()
    with pytest.raises(LookupError, match="mine"):
        dist.local.run(rank, 3, backend=backend, timeout=300)
    assert time.monotonic() - begun < 100


@BACKENDS
def test_receives_end_when_their_sender_dies(backend):
    def rank():
        me, x = dist.get_rank(), torch.zeros(1)
        dist.barrier()
        if me == 1:
            time.sleep(0.2)
            raise LookupError("mine")
        begun = time.monotonic()
        waiting = dist.irecv(x, tag=3)
        with pytest.raises(dist.DistBackendError, match=r"rank 1 died"):
            dist.recv(x, 1)
        with pytest.raises(dist.DistBackendError, match=r"rank 1 died"):
            waiting.wait()
        assert time.monotonic() - begun < 100

    with pytest.raises(LookupError, match="mine"):
        dist.local.run(rank, 3, backend=backend, timeout=300)


@BACKENDS
def test_work_that_runs_when_the_group_fails_raises_too(backend):
    failed = threading.Event()

    def rank():
        if dist.get_rank() == 0:
            failed.wait()
            return None
        works = [dist.all_reduce(torch.ones(5), async_op=True) for _ in range(3)]
        errors = []
        for work in works:
            with pytest.raises(dist.DistBackendError) as caught:
                work.wait()
            assert work.is_completed() and not work.is_success()
            assert work.exception() is caught.value
            errors.append(caught.value.ranks)
        failed.set()
        return errors

    assert dist.local.run(rank, 2, backend=backend, timeout=2)[1] == [(0,)] * 3


def test_rendezvous_names_those_that_do_not_come(start_job, tmp_path):
    program = """
open(f"{os.environ['FOLDER']}/{RANK}", "w").close()
while len(os.listdir(os.environ["FOLDER"])) < 2:
    time.sleep(0.01)
try:
    start(meeting=4)
except dist.DistStoreError as e:
    print(e)
"""
    ended = start_job(program, size=3, ranks=[0, 2], FOLDER=str(tmp_path)).end()
    for one in ended:
        assert "of 3 ranks 1 did not come: 1" in one.out, (one.out, one.err)


def test_a_rank_killed_in_rendezvous_leaves_no_one_waiting(start_job):
    program = """
from tensorbus.distributed import agreement
if RANK == 1:
    agreement._await = lambda *a: os.kill(os.getpid(), signal.SIGKILL)
try:
    dist.init_process_group("tcp", f"tcp://{HOST}:{PORT}", rank=RANK, world_size=SIZE,
                            timeout=300)
    dist.group.WORLD.timeout = 1
    dist.all_reduce(torch.ones(1))
    sys.exit("nothing was raised")
except dist.DistError as e:
    print(type(e).__name__, e)
"""
    ended = start_job(program, size=2).end()
    assert ended[0].code == 0 and ended[1].code == -signal.SIGKILL, ended[0].err
    assert "rank 1" in ended[0].out or "did not come: 1" in ended[0].out
    assert ended[0].seconds < 100  # it was told, and did not wait for the time-out


def test_nothing_is_left_behind(run_job):
    ended = run_job(
        """
start()
dist.all_reduce(torch.ones(10))
dist.all_reduce(torch.ones(10), async_op=True).wait()
dist.send(torch.ones(1), 1) if RANK == 0 else dist.recv(torch.ones(1), 0)
dist.destroy_process_group()
import gc, threading
def left():
    gc.collect()
    files = [os.path.join("/proc/self/fd", f) for f in os.listdir("/proc/self/fd")]
    sockets = [f for f in files if os.path.exists(f) and "socket" in os.readlink(f)]
    return sockets, sorted({t.name for t in threading.enumerate()} - {"MainThread", "tensorbus-0"})
stop = time.monotonic() + 60
while any(left()) and time.monotonic() < stop:
    time.sleep(0.05)
print("SOCKETS", left()[0])
print("THREADS", left()[1])
start()
dist.barrier()
dist.destroy_process_group()
"""
    )
    for one in ended:
        assert "SOCKETS []" in one.out and "THREADS []" in one.out, one.out


def test_a_forked_child_does_not_hide_its_parents_death(start_job, told):
    """Such as a DataLoader's worker, which outlives the rank for a moment."""
    ended = start_job(
        """
import warnings
warnings.simplefilter("ignore")
start(timeout=300)
if RANK == 1:
    child = os.fork()
    if child == 0:
        assert not dist.is_initialized()
        os.close(1), os.close(2)
        time.sleep(150)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
survive(lambda: dist.all_reduce(torch.ones(1000)))
"""
    ).end()
    ranks, seconds, text = told(ended, 0)
    assert ranks == [1] and "rank 1 died" in text and seconds < 100


@pytest.mark.parametrize("call", ["dist.all_reduce(x)", "dist.recv(x, 0)"])
@pytest.mark.parametrize("error", ["raise CommError('no store') from e", "raise"])
def test_a_store_that_breaks_before_anyone_hears_of_the_death_names_rank_0(
    start_job, told, call, error
):
    """Such as in a comm that sends by the store: its connection is one of several."""
    ended = start_job(
        f"""
from tensorbus.plugin import CommError
start(timeout=50)
dist.barrier()
group = dist.group.WORLD
monitor, comm = group._world.monitor, group.comm("tcp")
monitor._server_lost = lambda: time.sleep(60)
def ask(*args):
    try:
        while True:
            group._store.get("here")
    except RuntimeError as e:
        {error}
comm.all_reduce = comm.recv = ask
group._store.set("here", "1")
x = torch.ones(1000)
if RANK == 0:
    os.kill(os.getpid(), signal.SIGKILL)
survive(lambda: {call})
"""
    ).end()
    ranks, _, text = told(ended, 1)
    assert ranks == [0] and "rank 0, which serves the store, died" in text, text


def test_a_pause_of_the_rank_that_serves_the_store_is_no_fault(run_job):
    run_job(
        """
start(timeout=60)
pids = [None] * SIZE
dist.all_gather_object(pids, os.getpid())
if RANK == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
else:
    while open(f"/proc/{pids[0]}/stat").read().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.01)
    time.sleep(4)
    os.kill(pids[0], signal.SIGCONT)
x = torch.ones(100_000)
dist.all_reduce(x)
assert (x == 2).all()
dist.destroy_process_group()
"""
    )


def test_a_group_that_is_made_after_a_death_knows_of_it():
    """A rank may die while others are still making the group."""

    def rank():
        world, me = worlds.current(), dist.get_rank()
        dist.barrier()
        if me == 1:
            raise LookupError("mine")
        while 1 not in world.monitor._dead:
            time.sleep(0.01)
        ranks = tuple(range(2))
        group = ProcessGroup(world, "late", ranks, 0, {"*": "tcp"}, 30.0, world.store, b"s")
        world.monitor.tell(group)
        with pytest.raises(dist.DistBackendError, match="rank 1 died") as caught:
            dist.barrier(group)
        assert caught.value.ranks == (1,)

    with pytest.raises(LookupError, match="mine"):
        dist.local.run(rank, 2, backend="tcp", timeout=60)
