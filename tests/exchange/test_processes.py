"""Tensors between processes: without copies, by every way, and with nothing left behind."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import pytest

import tensorbus as torch
import tensorbus.multiprocessing as mp
from tensorbus.multiprocessing import reductions

LINUX = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads /proc")

HEAD = """
import os, signal, sys, threading
import tensorbus as torch
import tensorbus.multiprocessing as mp
from tensorbus import nn

def names():
    # MPI's jobs, which other tests run meanwhile, have segments of their own.
    return sorted(name for name in os.listdir("/dev/shm") if not name.startswith("mpich"))

def mapped():
    return sum("/memfd:tensorbus" in line for line in open("/proc/self/maps"))
"""

WAYS = (
    HEAD
    + """
def things():
    base = torch.arange(6.0).reshape(2, 3)
    return [
        base.t(), torch.zeros(0, 3), torch.tensor(7), torch.tensor([True, False]),
        torch.ones(2, dtype=torch.bfloat16), torch.tensor([1 + 2j]),
        nn.Parameter(torch.ones(2)), torch.ones(1, requires_grad=True),
        torch.empty(2, 3, device="meta"), torch.ones(3).untyped_storage(),
    ]

def larger(s, net, packed):
    with torch.no_grad():
        s.values().mul_(2)
        net.weight.fill_(5)
    packed.data.add_(1)
    return s._nnz(), net, packed

def told(received):
    return [
        (type(x).__name__, getattr(x, "requires_grad", None), x.is_shared(),
         tuple(x.stride()) + tuple(x.shape) if isinstance(x, torch.Tensor) else (),
         "meta" if x.device.type == "meta" else x.tolist())
        for x in received
    ]

def answer(take, give):
    for _ in range(2):
        give(told(take()))

def double(x):
    return x.mul_(2), x

if __name__ == "__main__":
    context = mp.get_context(sys.argv[1])
    expected = [(*row[:2], None, *row[3:]) for row in told(things())]
    asked, answered = context.Queue(), context.SimpleQueue()
    here, there = context.Pipe()
    ways = {
        "queue": (asked.get, answered.put, asked.put, answered.get),
        "pipe": (there.recv, there.send, here.send, here.recv),
    }
    for name, (take, give, send, hear) in ways.items():
        if sys.argv[1] == "fork":
            child = context.Process(target=answer, args=(take, give))
            child.start()
            for _ in range(2):
                send(things())
                got = hear()
                assert [(*row[:2], None, *row[3:]) for row in got] == expected, (got, expected)
                assert [row[2] for row in got][:8] == [True] * 8, got
            child.join(60)
            assert child.exitcode == 0
    with context.Pool(2) as pool:
        xs = [torch.full((3,), float(i)) for i in range(4)]
        ys = pool.map(double, xs)
        assert [y.tolist() for y, _ in ys] == [[2.0 * i] * 3 for i in range(4)]
        assert [x.tolist() for x in xs] == [[2.0 * i] * 3 for i in range(4)]  # the same memory
        ys[3][0].fill_(5)
        assert xs[3].tolist() == [5] * 3
        s = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2), is_coalesced=True)
        net = nn.Linear(2, 1)
        packed = nn.utils.rnn.pack_sequence([torch.ones(2), torch.zeros(1)])
        n, same, _ = pool.apply(larger, (s, net, packed))
        assert n == 2 and s.to_dense().tolist() == [[0, 2], [4, 0]]
        assert net.weight.tolist() == same.weight.tolist() == [[5, 5]] and net.weight.is_shared()
        assert packed.data.tolist() == [2, 1, 2] and packed.batch_sizes.tolist() == [2, 1]
    print("done")
"""
)

KILLED = (
    HEAD
    + """
def produce(queue, late, said):
    x = torch.ones(300_000)
    queue.put(x)
    said.wait()
    x.fill_(3)
    late.put(torch.ones(2))
    late.close(); late.join_thread()
    os.kill(os.getpid(), signal.SIGKILL)

def consume(queue, ready):
    x = queue.get()
    x.add_(1)
    ready.set()
    signal.pause()

if __name__ == "__main__":
    before = names(), mapped()
    queue, late, said = mp.Queue(), mp.Queue(), mp.Event()
    producer = mp.Process(target=produce, args=(queue, late, said))
    producer.start()
    x = queue.get()
    assert mapped() == before[1] + 1 and names() == before[0], names()
    said.set()
    producer.join(60)
    assert producer.exitcode == -signal.SIGKILL
    assert x.sum() == 900_000  # the memory outlives who made it
    try:
        late.get()
    except RuntimeError as error:
        assert "the process that sent it has ended" in str(error)
    else:
        raise AssertionError("a tensor of a dead process")
    ready, again = mp.Event(), mp.Queue()
    consumer = mp.Process(target=consume, args=(again, ready))
    consumer.start()
    again.put(x)
    ready.wait(60)
    os.kill(consumer.pid, signal.SIGKILL)
    consumer.join(60)
    assert x.sum() == 1_200_000
    del x
    assert (names(), mapped()) == before, (names(), mapped(), before)
    print("done")
"""
)

HOGWILD = (
    HEAD
    + """
def train(rank, net, data, target, rounds):
    torch.manual_seed(rank)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(rounds):
        pick = torch.randint(len(data), (8,))
        optimizer.zero_grad()
        nn.functional.mse_loss(net(data[pick]), target[pick]).backward()
        optimizer.step()

if __name__ == "__main__":
    before = names()
    processes, rounds = int(sys.argv[2]), int(sys.argv[3])
    torch.manual_seed(0)
    data = torch.randn(128, 4)
    target = data @ torch.tensor([[1.0], [-2.0], [0.5], [3.0]]) + 1
    net = nn.Linear(4, 1)
    net.share_memory()
    places = [p.data_ptr() for p in net.parameters()]
    mp.spawn(train, (net, data, target, rounds), processes, start_method=sys.argv[1])
    assert [p.data_ptr() for p in net.parameters()] == places
    assert names() == before, names()
    print(nn.functional.mse_loss(net(data), target).item() < 1e-3)
"""
)


def run(tmp_path: Path, program: str, *arguments: object) -> str:
    path = tmp_path / "program.py"
    path.write_text(program)
    command = [sys.executable, str(path), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_every_way_takes_tensors(tmp_path: Path, method: str) -> None:
    assert run(tmp_path, WAYS, method) == "done"


@LINUX
def test_killed_processes_leave_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, KILLED) == "done"


@LINUX
@pytest.mark.parametrize(
    ("method", "processes", "rounds"),
    [
        ("fork", 3, 100),
        pytest.param("fork", 8, 1000, marks=pytest.mark.slow),
        pytest.param("spawn", 8, 1000, marks=pytest.mark.slow),
    ],
)
def test_hogwild_training(tmp_path: Path, method: str, processes: int, rounds: int) -> None:
    assert run(tmp_path, HOGWILD, method, processes, rounds) == "True"


def test_what_can_not_cross_says_so() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        ForkingPickler.dumps(x * 2)


@pytest.mark.parametrize("device", ["opencl", "strict"], indirect=True)
def test_a_device_whose_memory_is_its_own_says_so(device: str) -> None:
    with pytest.raises(RuntimeError, match=rf"of the device {device}.*\.cpu\(\)"):
        ForkingPickler.dumps(torch.ones(2, device=device))
    with pytest.raises(RuntimeError, match=rf"of the device {device}.*\.cpu\(\)"):
        torch.nn.Linear(1, 1).to(device).share_memory()
    empty = pickle.loads(ForkingPickler.dumps(torch.ones(0, 2, device=device)))
    assert empty.shape == (0, 2) and empty.device.type == device
    assert not torch.ones(2, device=device).is_shared()


@pytest.mark.skipif(os.name != "posix", reason="shares open files")
def test_a_tensor_is_moved_unless_others_use_its_storage() -> None:
    alone, seen = torch.arange(3.0), torch.arange(3.0)
    view = seen[1:]
    for x in (alone, seen):
        make, arguments = reductions.reduce_tensor(x)
        assert make is reductions.rebuild_tensor and arguments[0] is torch.Tensor
    assert alone.is_shared() and alone.tolist() == [0, 1, 2]
    assert not seen.is_shared() and not view.is_shared()
    base = torch.zeros(4)
    part = base[2:]
    reductions.reduce_tensor(part)
    assert part.is_shared() and base.is_shared()
    part.fill_(1)
    assert base.tolist() == [0, 0, 1, 1]


def test_strategies_are_names_that_are_kept() -> None:
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    with pytest.raises(AssertionError, match="invalid sharing strategy 'none'"):
        mp.set_sharing_strategy("none")
