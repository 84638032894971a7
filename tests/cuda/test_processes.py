"""Tensors of the device ``cuda`` between processes: one memory, freed when nobody has it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tensorbus as torch

HEAD = """
import os, signal, sys
if os.environ["TENSORBUS_CUDA"] == "host":
    sys.path.insert(0, {support!r})
    import cuda_host
    cuda_host.install(devices=2)
import tensorbus as torch
import tensorbus.multiprocessing as mp
from multiprocessing.reduction import ForkingPickler
from tensorbus import nn
from tensorbus.ops.tensor import device_handles

def left():
    torch.cuda.ipc_collect()
    return len(device_handles._sent)
"""

WAYS = """
def rank(number, argument, asked, answered):
    assert argument.is_shared() and argument.device == torch.device("cuda", 0)
    argument += 1
    view, p, half, other = asked.get()
    empty = asked.get()
    assert empty.shape == (0, 3) and empty.device.index == 1
    assert type(p) is nn.Parameter and p.requires_grad and other.device.index == 1
    assert half.dtype is torch.bfloat16 and half.tolist() == [1, 2]
    view.fill_(7)
    other.mul_(2)
    try:
        ForkingPickler.dumps(view)
    except RuntimeError as error:
        assert "Consider cloning before sending" in str(error)
    answered.put((view.stride(), p.tolist()))
    answered.put(view.clone())
    del view, p, half, other, argument
    asked.get()

if __name__ == "__main__":
    base = torch.zeros(4, 5, device="cuda")
    argument = torch.ones(3, device="cuda").share_memory_()
    other = torch.full((2,), 4.0, device="cuda:1")
    p = nn.Parameter(torch.arange(3.0, device="cuda"))
    half = torch.tensor([1, 2], dtype=torch.bfloat16, device="cuda")
    context = mp.get_context("spawn")
    asked, answered = context.Queue(), context.Queue()
    ranks = mp.spawn(rank, (argument, asked, answered), 1, join=False)
    asked.put((base.T[1:3, 2:], p, half, other))
    asked.put(torch.empty(0, 3, device="cuda:1"))
    assert answered.get() == ((1, 5), [0, 1, 2])
    assert argument.tolist() == [2, 2, 2] and other.tolist() == [8, 8]
    assert base.sum() == 28 and base[2:, 1:3].tolist() == [[7, 7], [7, 7]]
    assert answered.get().tolist() == [[7, 7], [7, 7]] and left() > 0
    asked.put(None)
    while not ranks.join(): pass
    assert left() == 0, left()
    print("done")
"""

KILLED = """
def consume(number, asked, ready):
    x = asked.get()
    x += 1
    torch.cuda.synchronize()
    ready.set()
    signal.pause()

def produce(number, answered, ready):
    answered.put(torch.ones(3, device="cuda"))
    answered.put(torch.ones(2, device="cuda"))
    ready.wait()
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    context = mp.get_context("spawn")
    asked, answered, ready = context.Queue(), context.Queue(), context.Event()
    x = torch.ones(1000, device="cuda")
    ranks = mp.spawn(consume, (asked, ready), 1, join=False)
    asked.put(x)
    ready.wait()
    assert x.sum() == 2000 and left() == 1
    os.kill(ranks.pids()[0], signal.SIGKILL)
    try:
        ranks.join()
    except mp.ProcessExitedException as error:
        assert error.signal_name == "SIGKILL"
    assert left() == 0 and x.sum() == 2000

    ready.clear()
    ranks = mp.spawn(produce, (answered, ready), 1, join=False)
    assert answered.get().tolist() == [1, 1, 1]
    ready.set()
    try:
        ranks.join()
    except mp.ProcessExitedException:
        pass
    try:
        answered.get()
    except RuntimeError as error:
        assert "the process that sent it has ended" in str(error)
    print("done")
"""


def run(tmp_path: Path, program: str) -> str:
    path = tmp_path / "program.py"
    support = str(Path(__file__).parents[1] / "support")
    path.write_text(HEAD.format(support=support) + program)
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=120, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("program", [WAYS, KILLED], ids=["ways", "killed"])
def test_processes_share_device_memory(tmp_path: Path, program: str) -> None:
    assert run(tmp_path, program) == "done"


def test_what_comes_back_to_its_process_is_itself() -> None:
    import pickle
    from multiprocessing.reduction import ForkingPickler

    import tensorbus.multiprocessing  # noqa: F401 - it teaches the pickler

    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    y = pickle.loads(ForkingPickler.dumps(x[:, 1]))
    assert y.data_ptr() == x[:, 1].data_ptr() and y.stride() == (3,) and y.tolist() == [1, 4]
    assert x.is_shared() and x.share_memory_() is x
