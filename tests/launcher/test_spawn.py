"""tensorbus.multiprocessing.spawn: functions in several processes, and how they fail."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus import multiprocessing as mp

# Fork is quick, and what these functions do after it is harmless; the page's example spawns.
QUICK = "fork"


def reduce(rank: int, file: str, size: int, folder: str) -> None:
    dist.init_process_group("tcp", f"file://{file}", rank=rank, world_size=size, timeout=120)
    x = torch.tensor([rank + 1])
    dist.all_reduce(x)
    dist.destroy_process_group()
    with open(os.path.join(folder, str(rank)), "w") as out:
        out.write(str(x.item()))


def sleeps_or_raises(rank: int, guilty: int) -> None:
    if rank == guilty:
        raise ValueError("no such digit: 11")
    time.sleep(1000)


def sleeps_or_exits(rank: int, code: int) -> None:
    if rank == 1:
        os._exit(code)
    time.sleep(1000)


def sleeps_or_dies(rank: int, number: int) -> None:
    if rank == 1:
        os.kill(os.getpid(), number)
    time.sleep(1000)


def stubborn(rank: int, ready: int, tell: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if rank == 0:
        os.read(ready, 1)
        raise ValueError("the first")
    os.write(tell, b".")
    time.sleep(1000)


def fails_first_or_after(rank: int, first: int, killed: bool, told: int) -> None:
    if rank != first:
        os.read(told, 1)
        raise ValueError("the second")
    if killed:
        os.kill(os.getpid(), signal.SIGKILL)
    raise ValueError("the first")


def exits_in_order(rank: int) -> None:
    sys.exit(0)


def long_traceback(rank: int) -> None:
    raise ValueError("begins" + "x" * 1_000_000 + "ends")


def waits(rank: int, pipe: int) -> None:
    os.read(pipe, 1)


def test_ranks_meet(tmp_path):
    (out := tmp_path / "out").mkdir()
    assert mp.spawn(reduce, (str(tmp_path / "meeting"), 2, str(out)), 2, start_method=QUICK) is None
    assert sorted((p.name, p.read_text()) for p in out.iterdir()) == [("0", "3"), ("1", "3")]


def test_what_a_process_raises_is_raised_here_and_the_others_end():
    with pytest.raises(mp.ProcessRaisedException) as e:
        mp.spawn(sleeps_or_raises, (1,), nprocs=3, start_method=QUICK)
    assert e.value.error_index == 1 and e.value.error_pid > 0
    assert "-- Process 1 terminated with the following error:" in str(e.value)
    assert "in sleeps_or_raises" in str(e.value)
    assert str(e.value).endswith("ValueError: no such digit: 11\n")
    assert not multiprocessing.active_children()
    again = pickle.loads(pickle.dumps(e.value))
    assert (str(again), again.error_index, again.pid) == (str(e.value), 1, e.value.pid)


@pytest.mark.parametrize(
    ("fn", "argument", "code", "name", "text"),
    [
        (sleeps_or_exits, 7, 7, None, "process 1 terminated with exit code 7"),
        (sleeps_or_dies, 9, -9, "SIGKILL", "process 1 terminated with signal SIGKILL"),
    ],
)
def test_how_a_process_ended_is_told(fn, argument, code, name, text):
    with pytest.raises(mp.ProcessExitedException, match=text) as e:
        mp.spawn(fn, (argument,), nprocs=2, start_method=QUICK)
    assert (e.value.error_index, e.value.exit_code, e.value.signal_name) == (1, code, name)
    assert pickle.loads(pickle.dumps(e.value)).exit_code == code


def test_a_process_that_will_not_end_is_killed_and_the_error_stays():
    context = mp.spawn(stubborn, os.pipe(), nprocs=2, join=False, start_method=QUICK)
    for _ in range(2):
        with pytest.raises(mp.ProcessRaisedException, match="the first") as e:
            context.join(grace_period=0.3)
        assert e.value.error_index == 0
    assert [p.exitcode for p in context.processes][1] == -signal.SIGKILL


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("killed", [False, True])
def test_the_first_is_named_where_all_have_failed_before_anybody_looks(first, killed):
    told, tell = os.pipe()
    arguments = (first, killed, told)
    context = mp.spawn(fails_first_or_after, arguments, 2, join=False, start_method=QUICK)
    context.processes[first].join()
    os.write(tell, b".")
    context.processes[1 - first].join()
    kind = mp.ProcessExitedException if killed else mp.ProcessRaisedException
    with pytest.raises(kind, match="SIGKILL" if killed else "the first") as e:
        context.join()
    assert e.value.error_index == first
    os.close(told)
    os.close(tell)


def test_joining_later():
    pipe, end = os.pipe()
    context = mp.spawn(waits, (pipe,), nprocs=2, join=False, start_method=QUICK)
    assert isinstance(context, mp.ProcessContext)
    assert context.pids() == [p.pid for p in context.processes]
    assert context.join(timeout=0.05) is False
    os.write(end, b"..")
    while not context.join(timeout=5):
        pass
    assert [p.exitcode for p in context.processes] == [0, 0]
    assert mp.spawn(exits_in_order, nprocs=2, daemon=True, start_method=QUICK) is None


def test_a_traceback_longer_than_a_pipe():
    with pytest.raises(mp.ProcessRaisedException) as e:
        mp.spawn(long_traceback, start_method=QUICK)
    assert "begins" in str(e.value) and str(e.value).endswith("ends\n")
    assert len(str(e.value)) < 50_000


def test_processes_end_with_their_parent(tmp_path):
    (tmp_path / "program.py").write_text(
        "import time\nfrom tensorbus import multiprocessing as mp\n"
        "def fn(rank): time.sleep(1000)\n"
        "if __name__ == '__main__':\n"
        "    context = mp.spawn(fn, nprocs=2, join=False, start_method='fork')\n"
        "    print(*context.pids(), flush=True)\n    time.sleep(1000)\n"
    )
    process = subprocess.Popen(
        [sys.executable, tmp_path / "program.py"], stdout=subprocess.PIPE, text=True
    )
    pids = [int(word) for word in process.stdout.readline().split()]
    process.kill()
    process.communicate(timeout=240)
    stop = time.monotonic() + 60
    for pid in pids:
        while _runs(pid):
            assert time.monotonic() < stop
            time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")")[-1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"nprocs": 0}, ValueError, "nprocs must be a whole number of at least 1, but is 0"),
        ({"nprocs": True}, ValueError, "but is True"),
        ({"start_method": "thread"}, ValueError, "start_method 'thread': give one of spawn, fork"),
        ({"args": [1]}, TypeError, "args must be a tuple, not list"),
        ({"fn": 3}, TypeError, "fn must be a function, not int"),
    ],
)
def test_wrong_arguments(settings, error, text):
    with pytest.raises(error, match=text):
        mp.spawn(**{"fn": waits, "args": (0,), **settings})


def test_the_standard_names_are_there():
    assert mp.Queue is not None and mp.get_context("spawn").get_start_method() == "spawn"
    assert {"spawn", "Process", "Queue", "ProcessContext"} <= set(mp.__all__)
    assert mp.SpawnContext is mp.ProcessContext


class EndsAfterALook:
    """A process that ends with code 3 as soon as it has been looked at once."""

    name, pid = "ends", 4711

    def __init__(self):
        self.looks = 0
        self.sentinel, self._ended = multiprocessing.Pipe(duplex=False)
        self._ended.close()  # so the sentinel is ready at once

    def _look(self):
        self.looks += 1
        return self.looks > 1

    @property
    def exitcode(self):
        return 3 if self._look() else None

    def is_alive(self):
        return not self._look()

    def join(self, timeout=None):
        pass


def test_a_process_that_ends_between_two_looks_has_failed_all_the_same():
    process = EndsAfterALook()
    receive, send = multiprocessing.Pipe(duplex=False)
    send.close()
    with pytest.raises(mp.ProcessExitedException, match="exit code 3"):
        mp.ProcessContext([process], [receive]).join()
