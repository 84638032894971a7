"""The comm ``nccl`` over a stand-in for CuPy and NCCL: calls, arguments, order, errors.

No GPU is needed, and nothing is said about one.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import threading
import time

import numpy as np
import pytest

import tensorbus_comm_nccl
from tensorbus._base import dtypes
from tensorbus.distributed import choice
from tensorbus.plugin import CommError, CommTimeout, reduce_into

SPEC = tensorbus_comm_nccl.tensorbus_comm()
U8, F32 = dtypes.dtype_by_name("uint8"), dtypes.dtype_by_name("float32")


# -- the probe ---------------------------------------------------------------------------------
def test_what_is_missing_is_told(library, monkeypatch):
    cuda = library.cupy.cuda

    def no_driver():
        raise RuntimeError("cudaErrorInsufficientDriver")

    assert SPEC.probe() is None
    monkeypatch.setattr(cuda.runtime, "getDeviceCount", no_driver)
    with pytest.raises(RuntimeError, match=r"no usable GPU \(cudaErrorInsuff.*'tcp' or 'mpi'"):
        SPEC.probe()
    monkeypatch.setattr(cuda.runtime, "getDeviceCount", lambda: 0)
    with pytest.raises(RuntimeError, match="CUDA_VISIBLE_DEVICES"):
        SPEC.probe()
    monkeypatch.setattr(cuda.nccl, "available", False)
    with pytest.raises(RuntimeError, match=r"finds no NCCL library: pip install 'tensorbus\[cuda"):
        SPEC.probe()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="needs CuPy, which is not installed: pip install"):
        SPEC.probe()


def test_a_library_that_does_not_load_says_why(broken_cupy):
    with pytest.raises(RuntimeError, match=r"can't be imported \(libcudart.*driver"):
        SPEC.probe()


def test_it_is_the_choice_for_cuda_where_it_loads(library, fresh_discovery):
    assert choice.for_device("cuda") == "nccl"
    assert choice.for_host() != "nccl"


# -- collectives -------------------------------------------------------------------------------
def values(name, count, rank):
    g = np.random.default_rng([count, rank])
    if name == "bool":
        return g.random(count) < 0.5
    if name.startswith(("int", "uint")):
        low, high = np.iinfo(name).min, np.iinfo(name).max
        return g.integers(low, high, count, name, endpoint=True)
    x = g.standard_normal(count) + (1j * g.standard_normal(count) if name[0] == "c" else 0)
    return x.astype(name)


def folded(name, op, parts):
    total = parts[0].copy()
    for part in parts[1:]:
        reduce_into(op, dtypes.dtype_by_name(name), total, part)
    return total


NAMES = (
    "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_reductions(library, ranks, name):
    d, n = dtypes.dtype_by_name(name), 3
    ops = ["sum", "product"] + ["min", "max"] * (name[0] != "c")
    ops += ["band", "bor", "bxor"] * (name[:3] in ("boo", "int", "uin"))

    def rank(comm, r):
        for op in ops:
            for count in (0, 1, 8):
                parts = [values(name, count * n, k) for k in range(n)]
                if op in ("min", "max") and name.startswith("float") and count:
                    parts[1][0] = np.nan
                want = folded(name, op, parts)
                x = library.array(parts[r])
                comm.all_reduce(x, d, op, 60)
                assert x.tobytes() == want.tobytes(), (name, op, count)
                x = library.array(parts[r])
                comm.reduce(x, d, op, 1, 60)
                assert r != 1 or x.tobytes() == want.tobytes()
                x, out = library.array(parts[r]), library.empty(count, name)
                comm.reduce_scatter(out, x, d, op, 60)
                assert out.tobytes() == want[r * count : (r + 1) * count].tobytes()
                assert x.tobytes() == parts[r].tobytes()

    with np.errstate(all="ignore"):
        ranks(rank, n)


@pytest.mark.parametrize("name", ["bool", "int16", "complex128"])
def test_moves(library, ranks, name):
    d, n = dtypes.dtype_by_name(name), 3

    def rank(comm, r):
        for count in (0, 1, 5):
            parts = [values(name, count, k) for k in range(n)]
            x = library.array(parts[r])
            comm.broadcast(x, d, 2, 60)
            assert x.tobytes() == parts[2].tobytes()
            out = library.empty(n * count, name)
            comm.all_gather(out, library.array(parts[r]), d, 60)
            assert out.tobytes() == np.concatenate(parts).tobytes()
            out = library.empty(n * count, name) if r == 1 else None
            comm.gather(out, library.array(parts[r]), d, 1, 60)
            assert out is None or out.tobytes() == np.concatenate(parts).tobytes()
            whole, out = values(name, n * count, 9), library.empty(count, name)
            comm.scatter(out, library.array(whole) if r == 2 else None, d, 2, 60)
            assert out.tobytes() == whole[r * count : (r + 1) * count].tobytes()
            comm.barrier(60)
        counts = [[k + j for j in range(n)] for k in range(n)]  # of rank k to rank j; one is none
        sent = [[values(name, counts[k][j], 10 * k + j) for j in range(n)] for k in range(n)]
        into = [counts[k][r] for k in range(n)]
        out = library.empty(sum(into), name)
        comm.all_to_all(out, library.array(np.concatenate(sent[r])), d, into, counts[r], 60)
        assert out.tobytes() == np.concatenate([sent[k][r] for k in range(n)]).tobytes()

    ranks(rank, n)
    assert set(library.ended) == {"destroy"}


def test_a_collective_waits_for_what_computes_its_tensor(library, ranks):
    """The data are written when the default stream is through: not a moment earlier."""
    library.default.hold = library.Event()
    written = threading.Barrier(2)

    def rank(comm, r):
        x = library.array([0.0, 0.0], "float32")

        def compute():
            time.sleep(0.1)
            x[...] = r + 1
            written.wait(60)
            library.default.hold.reached.set()

        threading.Thread(target=compute).start()
        comm.all_reduce(x, F32, "sum", 60)
        return x.tolist()

    assert ranks(rank) == [[3.0, 3.0]] * 2


# -- messages ----------------------------------------------------------------------------------
def test_messages_by_tag_from_any_rank_all_sending_first(library, ranks):
    def data(rank, count):
        return values("uint8", count, rank)

    def rank(comm, r):
        n = comm.context.size
        right, left = (r + 1) % n, (r - 1) % n

        def get(src, count, tag):
            out = library.empty(count, "uint8")
            return comm.recv(out, U8, src, tag, 60), out

        for count, tag in ((3, 1), (0, 1), (40, -(2**62)), (5, 2**31 - 1), (6, 1)):
            comm.send(library.array(data(r, count)), U8, right, tag, 60)
        for count, tag in ((5, 2**31 - 1), (3, 1), (0, 1), (40, -(2**62)), (6, 1)):
            sender, out = get(left, count, tag)
            assert sender == left and out.tobytes() == data(left, count).tobytes()
        if r:
            comm.send(library.array(data(r, 7)), U8, 0, 5, 60)
        else:
            got = [get(None, 7, 5) for _ in range(1, n)]
            assert {s for s, _ in got} == set(range(1, n))
            assert all(out.tobytes() == data(s, 7).tobytes() for s, out in got)
        comm.send(library.array(data(r, 9)), U8, r, 0, 60)
        assert get(r, 9, 0)[1].tobytes() == data(r, 9).tobytes()
        # The tensor may be changed as soon as send is over.
        x = library.array(data(r, 8))
        comm.send(x, U8, right, 3, 60)
        x[...] = 0
        with pytest.raises(CommError, match=r"sent a message of 8 bytes.*recv has 9") as e:
            get(left, 9, 3)
        assert e.value.ranks == (10 + left,)
        comm.send(x, U8, right, 3, 60)
        assert get(left, 8, 3)[1].tolist() == [0] * 8
        with pytest.raises(CommTimeout, match="no message came from any rank"):
            comm.recv(x, U8, None, 77, 0.05)

    ranks(rank, 3)


# -- faults ------------------------------------------------------------------------------------
def test_a_rank_that_does_not_come_is_named(library, ranks):
    def rank(comm, r):
        comm.all_reduce(library.array([1.0], "float32"), F32, "sum", 0.2)

    error = ranks(rank, 2, errors=True, present=[1])[1]
    assert isinstance(error, CommTimeout) and error.ranks == (10,), error


def test_after_a_time_out_the_group_is_over(library, ranks):
    def rank(comm, r):
        x = library.array([1.0], "float32")
        comm.all_reduce(x, F32, "sum", 60)
        if r == 0:
            with pytest.raises(CommTimeout, match="all_reduce did not end in time"):
                comm.all_reduce(x, F32, "sum", 0.2)
            with pytest.raises(CommError, match="did not end in time"):
                comm.barrier(60)
        return True

    assert ranks(rank) == [True, True]
    assert sorted(library.ended) == ["abort", "destroy"]


def test_abort_ends_what_runs(library, ranks):
    def rank(comm, r):
        x = library.array([1.0], "float32")
        comm.all_reduce(x, F32, "sum", 60)
        if r == 0:
            error = CommError("rank 11 died", [11])
            threading.Timer(0.2, comm.abort, [error]).start()
            with pytest.raises(CommError, match="rank 11 died") as e:
                comm.all_reduce(x, F32, "sum", 100)
            assert e.value is error
        return True

    begun = time.monotonic()
    assert ranks(rank) == [True, True] and time.monotonic() - begun < 60


def test_a_call_that_blocks_while_it_connects_ends_in_time(library, ranks):
    """The first call of a kind connects ranks, and blocks for ever where one does not come."""

    def rank(comm, r):
        x = library.array([1.0], "float32")
        comm.all_reduce(x, F32, "sum", 60)
        if r == 0:
            next(iter(library.hubs.values())).connects = True
            with pytest.raises(CommTimeout, match="broadcast did not end in time"):
                comm.broadcast(x, F32, 1, 0.2)
        return True

    assert ranks(rank) == [True, True]
    assert "abort" in library.ended


def test_abort_ends_a_call_that_blocks_while_it_connects(library, ranks):
    def rank(comm, r):
        x = library.array([1.0], "float32")
        comm.all_reduce(x, F32, "sum", 60)
        if r == 0:
            next(iter(library.hubs.values())).connects = True
            error = CommError("rank 11 died", [11])
            threading.Timer(0.2, comm.abort, [error]).start()
            with pytest.raises(CommError, match="rank 11 died") as e:
                comm.broadcast(x, F32, 1, 100)
            assert e.value is error
        return True

    begun = time.monotonic()
    assert ranks(rank) == [True, True] and time.monotonic() - begun < 60


def test_a_rank_with_nothing_to_send_or_receive_keeps_nobody_waiting(library, ranks):
    counts = [[0, 0, 0], [0, 0, 2], [0, 3, 0]]  # of rank k to rank j: rank 0 takes no part

    def rank(comm, r):
        into = [counts[k][r] for k in range(3)]
        x = library.array(np.full(sum(counts[r]), r), "float32")
        out = library.empty(sum(into), "float32")
        comm.all_to_all(out, x, F32, into, counts[r], 60)
        return out.tolist()

    assert ranks(rank, 3) == [[], [2.0] * 3, [1.0] * 2]


@pytest.mark.parametrize("trouble", ["at once", "NCCL_ERROR_REMOTE_ERROR: gone", "nameless"])
def test_errors_of_the_library_are_told(library, ranks, trouble):
    def rank(comm, r):
        x = library.array([1.0], "float32")
        comm.all_reduce(x, F32, "sum", 60)
        if r == 0:
            next(iter(library.hubs.values())).trouble = trouble
            comm.all_reduce(x, F32, "sum", 60)

    error = ranks(rank, errors=True)[0]
    assert isinstance(error, CommError) and "all_reduce failed in NCCL" in str(error), error
    assert "NCCL_DEBUG=WARN" in str(error)


def test_each_rank_needs_a_gpu_and_stays_there(library, ranks):
    def rank(comm, r):
        comm.all_reduce(library.array([1.0], "float32"), F32, "sum", 60)

    errors = ranks(rank, errors=True, devices=[1, 1])
    assert all("on GPU 1" in str(e) and "a GPU of its own" in str(e) for e in errors), errors

    def move(comm, r):
        rank(comm, r)
        text = rf"is on cuda:{r + 2}.* began on cuda:{r}"
        with library.cupy.cuda.Device(r + 2), pytest.raises(CommError, match=text):
            rank(comm, r)
        return True

    assert ranks(move) == [True, True]
