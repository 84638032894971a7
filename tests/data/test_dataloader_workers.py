"""DataLoader with worker processes: the same batches, honest errors, and nothing left behind."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import tensorbus
from tensorbus.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
    get_worker_info,
    transfer,
)

pytestmark = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(),
    reason="these tests use datasets of their own, which only a forked worker sees",
)


CPU = tensorbus.discovery.backend("cpu").capabilities(0)
DTYPES = [d for d in tensorbus._base.dtypes.ALL if d in CPU.dtypes]


def loader(dataset, *args, **options):
    options.setdefault("multiprocessing_context", "fork")
    options.setdefault("timeout", 240)
    return DataLoader(dataset, *args, **options)


class Squares(Dataset):
    def __init__(self, n=23):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return index * index


class Call(Dataset):
    """Runs a function for each sample."""

    def __init__(self, function, n=4):
        self.function, self.n = function, n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return self.function(index)


def children():
    """The pids of live or unreaped children, as /proc tells; nothing where there is no /proc."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_text()
        except OSError:
            continue
        if parent == os.getpid() and "resource_tracker" not in command:
            found.add(int(folder.name))
    return found


@pytest.fixture(autouse=True)
def no_process_is_left():
    before = children()
    yield
    if children() - before:
        # A caught exception may hold an iterator in a cycle.
        gc.collect()
    assert children() - before == set()


accelerators = pytest.mark.parametrize("device", ["opencl"], indirect=True)


def lists(batches):
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("prefetch", [1, 2, 50])
def test_batches_come_in_order_and_equal_those_without_workers(workers, prefetch):
    expected = lists(DataLoader(Squares(), batch_size=4))
    got = loader(Squares(), batch_size=4, num_workers=workers, prefetch_factor=prefetch)
    assert lists(got) == expected
    assert lists(got) == expected


def test_a_slow_first_batch_stays_first():
    def slow(index):
        time.sleep(0.2 if index == 0 else 0)
        return index

    assert lists(loader(Call(slow, 6), num_workers=3)) == [[i] for i in range(6)]


def test_shuffling_does_not_depend_on_the_number_of_workers():
    def once(workers):
        data = TensorDataset(tensorbus.arange(40), tensorbus.randn(40, 3))
        options = {} if workers == 0 else {"multiprocessing_context": "fork"}
        generator = tensorbus.Generator().manual_seed(1)
        made = DataLoader(
            data, 7, shuffle=True, num_workers=workers, generator=generator, **options
        )
        return [batch[0].tolist() for epoch in range(2) for batch in made]

    assert once(0) == once(1) == once(2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [3, 5000])
def test_every_dtype_crosses_small_and_large(dtype, size):
    values = (tensorbus.arange(size) % 2).to(dtype)
    (got,) = loader(Call(lambda i: values, 1), batch_size=None, num_workers=1)
    assert got.dtype is dtype
    assert got.tolist() == values.tolist()


def test_shapes_strides_and_containers_cross():
    cases = [
        tensorbus.tensor(3.0),
        tensorbus.empty(0, 4),
        tensorbus.arange(24).view(2, 3, 4).permute(2, 0, 1),
        tensorbus.arange(20000.0).view(100, 200).t(),
        tensorbus.arange(10)[::3],
        tensorbus.ones(1).expand(4),
    ]
    sample = {"cases": cases, "name": "x", "array": np.arange(30000).reshape(3, -1), "n": None}
    (got,) = loader(Call(lambda i: sample, 1), batch_size=None, num_workers=1)
    assert (got["name"], got["n"]) == ("x", None)
    assert np.array_equal(got["array"], sample["array"])
    for a, b in zip(got["cases"], cases, strict=True):
        assert (a.shape, a.tolist()) == (b.shape, b.tolist())
    for i in (2, 3):
        assert got["cases"][i].stride() == cases[i].stride()
    # What arrives is the main process's own: writing to it is fine.
    got["array"][:] = 1
    got["cases"][3].fill_(2)
    assert float(got["cases"][3].sum()) == 40000


def test_a_leaf_keeps_requires_grad_and_a_result_is_refused():
    leaf = tensorbus.ones(2, requires_grad=True)
    (got,) = loader(Call(lambda i: leaf, 1), batch_size=None, num_workers=1)
    assert got.requires_grad
    assert got.is_leaf
    with pytest.raises(RuntimeError, match=r"autograd history.*detach\(\)"):
        list(loader(Call(lambda i: leaf * 2, 1), batch_size=None, num_workers=1))


def test_many_large_batches_may_be_kept():
    made = loader(Call(lambda i: tensorbus.full((10000,), float(i)), 200), None, num_workers=2)
    kept = list(made)
    assert [float(batch[-1]) for batch in kept] == [float(i) for i in range(200)]
    assert len(transfer._mappings) <= transfer._MAX_MAPPINGS
    open_files = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    assert open_files < 2 * transfer._MAX_MAPPINGS
    del kept
    gc.collect()
    assert len(transfer._mappings) == 0


@accelerators
def test_a_forked_worker_cannot_use_an_accelerator_and_says_so(device):
    data = TensorDataset(tensorbus.arange(4.0, device=device))
    with pytest.raises(RuntimeError, match="spawn"):
        list(loader(data, 2, num_workers=1))


@accelerators
def test_a_spawned_worker_can(device):
    data = TensorDataset(tensorbus.arange(4.0, device=device))
    made = DataLoader(data, 2, num_workers=1, multiprocessing_context="spawn", timeout=240)
    batches = [batch[0] for batch in made]
    assert [x.device.type for x in batches] == [device, device]
    assert [x.cpu().tolist() for x in batches] == [[0, 1], [2, 3]]


class Shards(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.n, step))


def test_a_stream_is_shared_out_in_turn():
    assert lists(loader(Shards(21), 4, num_workers=2)) == [
        [0, 2, 4, 6],
        [1, 3, 5, 7],
        [8, 10, 12, 14],
        [9, 11, 13, 15],
        [16, 18, 20],
        [17, 19],
    ]
    assert list(loader(Shards(3), None, num_workers=5)) == [0, 1, 2]
    uneven = loader(Shards(9), 2, num_workers=2, drop_last=True)
    assert lists(uneven) == [[0, 2], [1, 3], [4, 6], [5, 7]]


def test_workers_know_who_they_are_and_are_seeded():
    def look(index):
        info = get_worker_info()
        drawn = tensorbus.randint(0, 1 << 30, (1,)).item()
        return info.id, info.num_workers, info.seed, random.random(), np.random.rand(), drawn

    def once():
        generator = tensorbus.Generator().manual_seed(7)
        made = loader(Call(look), None, num_workers=2, generator=generator, collate_fn=tuple)
        return list(made)

    first = once()
    assert [row[:2] for row in first] == [(0, 2), (1, 2), (0, 2), (1, 2)]
    assert first[1][2] == first[0][2] + 1
    assert len({row[3:] for row in first}) == 4
    assert len({row[4] for row in first}) == 4
    assert once() == first
    assert get_worker_info() is None


def test_the_init_function_runs_in_each_worker():
    def mark(worker):
        os.environ["MARK"] = str(worker)

    got = list(loader(Call(lambda i: os.environ["MARK"]), None, num_workers=2, worker_init_fn=mark))
    assert got == ["0", "1", "0", "1"]
    assert "MARK" not in os.environ


def test_an_error_comes_with_the_workers_traceback_and_the_rest_goes_on():
    def fail_at_one(index):
        if index == 1:
            raise ValueError("one is bad")
        return index

    batches = iter(loader(Call(fail_at_one), num_workers=2))
    assert next(batches).tolist() == [0]
    with pytest.raises(ValueError) as caught:
        next(batches)
    text = str(caught.value)
    assert text.startswith("Caught ValueError in DataLoader worker process 1.\nOriginal Traceback")
    assert "fail_at_one" in text
    assert text.rstrip().endswith("ValueError: one is bad")
    assert lists(batches) == [[2], [3]]


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def test_errors_of_awkward_types_arrive_readable():
    def missing(index):
        return {}["key"]

    with pytest.raises(KeyError) as caught:
        list(loader(Call(missing), num_workers=1))
    assert "\nOriginal Traceback" in str(caught.value)

    def odd(index):
        raise Odd(1, 2)

    with pytest.raises(RuntimeError, match="Caught Odd in DataLoader worker process 0"):
        list(loader(Call(odd), num_workers=1))

    def local(index):
        class Local(Exception):
            pass

        raise Local("x")

    with pytest.raises(RuntimeError, match="Caught Local in DataLoader worker process 0"):
        list(loader(Call(local), num_workers=1))


def test_errors_of_the_init_function_and_of_pickling_are_told():
    def bad_init(worker):
        raise OSError("no disk")

    with pytest.raises(OSError, match="Caught OSError in DataLoader worker process 0"):
        list(loader(Squares(), num_workers=1, worker_init_fn=bad_init))
    with pytest.raises(Exception, match=r"in DataLoader worker process 0\.\nOriginal(.|\n)*pickle"):
        list(loader(Call(lambda i: lambda: i), None, num_workers=1, collate_fn=lambda x: x))


def test_a_killed_worker_is_named():
    def die(index):
        if index == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    batches = iter(loader(Call(die, 6), None, num_workers=2))
    pid = next(batches)
    next(batches)
    with pytest.raises(RuntimeError, match=rf"worker \(pid {pid}\) is killed by signal: Killed"):
        next(batches)
    with pytest.raises(RuntimeError, match="is killed by signal"):
        next(batches)
    assert batches.closed


def test_a_worker_that_exits_is_told():
    def leave(index):
        os._exit(3)

    with pytest.raises(
        RuntimeError, match=r"\(pid \d+\) exited unexpectedly with exit code 3.*num_workers=0"
    ):
        list(loader(Call(leave), num_workers=1))


def test_the_timeout_is_kept():
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.3 seconds"):
        list(loader(Call(lambda i: time.sleep(1000)), num_workers=1, timeout=0.3))


def test_leaving_a_loop_early_ends_the_workers():
    for _ in loader(Squares(1000), num_workers=2):
        break
    gc.collect()
    assert not [p for p in multiprocessing.active_children() if p.name.startswith("Fork")]


def test_persistent_workers_stay_and_each_pass_is_whole():
    made = loader(Call(lambda i: os.getpid() * 100 + i, 8), None, num_workers=2,
                  persistent_workers=True)  # fmt: skip
    first = list(made)
    for _ in made:
        break
    assert list(made) == first
    pids = {value // 100 for value in first}
    assert pids <= children()
    del made
    gc.collect()
    assert not pids & children()


def test_a_pickled_dataset_works_with_spawn():
    data = TensorDataset(tensorbus.arange(6), tensorbus.arange(12.0).view(6, 2))
    made = DataLoader(data, 3, num_workers=1, multiprocessing_context="spawn", timeout=240)
    expected = DataLoader(data, 3)
    for a, b in zip(made, expected, strict=True):
        assert [x.tolist() for x in a] == [x.tolist() for x in b]
