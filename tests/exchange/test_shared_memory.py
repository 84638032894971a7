"""``share_memory_``: processes that write into one tensor, and what can't be shared."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import nn

PROGRAM = """
import sys
import tensorbus as torch
import tensorbus.multiprocessing as mp
from tensorbus import nn

def argument(rank, x, p):
    assert x.is_shared() and type(p) is nn.Parameter and p.requires_grad
    x[rank] += 1 + rank
    p.data[rank] = 7

def queue(rank, asked, answered):
    x, plain = asked.get()
    x.mul_(10)
    plain.mul_(10)
    answered.put((x.stride(), x.is_shared(), plain.is_shared()))
    asked.get()  # its memory is the sender's, who tells when it has looked

if __name__ == "__main__":
    method = sys.argv[1]
    x = torch.zeros(3, 2).T.share_memory_()
    p = nn.Parameter(torch.ones(2))
    p.share_memory_()
    mp.spawn(argument, args=(x, p), nprocs=2, start_method=method)
    print(x.tolist(), p.tolist())
    context = mp.get_context(method)
    asked, answered = context.Queue(), context.Queue()
    rank = mp.start_processes(queue, (asked, answered), 1, join=False, start_method=method)
    plain = torch.ones(2)
    asked.put((x[1], plain))
    print(answered.get(timeout=60), x.tolist(), plain.tolist())
    asked.put(None)
    rank.join()
"""


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_processes_write_into_one_tensor(method: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program), method], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines() == [
        "[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]] [7.0, 7.0]",
        "((2,), True, True) [[1.0, 1.0, 1.0], [20.0, 20.0, 20.0]] [10.0, 10.0]",
    ], done.stderr


def test_what_is_shared_stays_what_it_was() -> None:
    for make in (
        lambda: torch.arange(6.0).reshape(2, 3).T,
        lambda: torch.tensor(3),
        lambda: torch.zeros(0, 2),
        lambda: torch.arange(6.0)[2:4],
        lambda: torch.from_numpy(np.arange(3.0)),
        lambda: torch.ones(2, requires_grad=True),
    ):
        x, y = make(), make()
        assert not x.is_shared() and x.share_memory_() is x and x.is_shared()
        assert x.untyped_storage().is_shared() and x.share_memory_() is x
        assert (x.tolist(), x.stride(), x.dtype) == (y.tolist(), y.stride(), y.dtype)
        assert x.storage_offset() == y.storage_offset() and x.requires_grad is y.requires_grad
    x = torch.zeros(4).share_memory_()
    view = x[1:]
    view.fill_(2)
    assert view.is_shared() and x.tolist() == [0, 2, 2, 2] and not x.clone().is_shared()


def test_a_view_moves_with_its_base() -> None:
    base = torch.zeros(4)
    view = base[2:]
    view.share_memory_()
    assert base.is_shared()
    view.fill_(1)
    assert base.tolist() == [0, 0, 1, 1]
    base.zero_()
    assert view.tolist() == [0, 0]


def test_a_storage_that_others_use_is_refused_and_left() -> None:
    x, array = torch.zeros(2), np.zeros(2)
    from_array = torch.from_numpy(array)
    others = [x[1:], x.detach(), x.view(2, 1)]
    for refused in (x, others[0], from_array):
        with pytest.raises(RuntimeError, match=r"use the same storage.*clone\(\)"):
            refused.share_memory_()
        assert not refused.is_shared()
    x[1] = 1
    assert all(o.flatten()[-1].item() == 1 for o in others)
    others.clear()
    del refused
    assert x.share_memory_().tolist() == [0, 1]
    for device in ("strict", "meta"):
        with pytest.raises(RuntimeError, match=rf"of the device {device}.*\.cpu\(\)"):
            torch.ones(2, device=device).share_memory_()


def test_storages_share_their_bytes_unless_others_use_them() -> None:
    new = torch.UntypedStorage([1, 2])
    assert new.share_memory_() is new and new.is_shared() and new.tolist() == [1, 2]
    typed = torch.ones(2, dtype=torch.float64).storage()  # of a tensor that is gone
    assert typed.share_memory_() is typed and typed.is_shared() and typed.tolist() == [1, 1]
    x = torch.zeros(2)
    for used in (x.untyped_storage(), x[1:].storage()):
        with pytest.raises(RuntimeError, match=r"use the same memory.*clone\(\)"):
            used.share_memory_()
        assert not used.is_shared()
    with pytest.raises(RuntimeError, match=r"of the device strict:0, on which the storage is"):
        torch.UntypedStorage(2, device="strict").share_memory_()
    child = os.fork()
    if not child:
        new.fill_(7)
        os._exit(0)
    os.waitpid(child, 0)
    assert new.tolist() == [7, 7]


def test_modules_share_their_parameters_and_buffers() -> None:
    net = nn.BatchNorm1d(2).share_memory()
    assert all(t.is_shared() for t in net.state_dict().values())
    assert len(list(net.buffers())) == 3
    net(torch.ones(4, 2)).sum().backward()
    assert net.weight.grad is not None


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files")
def test_memory_goes_with_its_last_tensor() -> None:
    def resources() -> tuple[int, int]:
        """How many files are open, and how many of memory's are mapped."""
        mapped = Path("/proc/self/maps").read_text().splitlines()
        shared = [line for line in mapped if "/dev/shm/" in line or "/memfd:" in line]
        return len(os.listdir("/proc/self/fd")), len(shared)

    before = resources()
    for _ in range(50):
        torch.ones(100).share_memory_()
    assert resources() == before
    held = [torch.ones(100).share_memory_() for _ in range(5)]
    views = [t[1:] for t in held]
    held.clear()
    while_viewed = resources()
    views.clear()
    assert while_viewed[1] - before[1] == 5 and resources() == before
