"""The comm ``mpi`` over real ranks: each operation against NumPy."""

from __future__ import annotations

import pytest

REDUCTIONS = """
from tensorbus._base import dtypes
from tensorbus_comm_mpi import reductions
r, n = start()
comm = dist.group.WORLD.comm("mpi")
FOLD = {"sum": np.add, "product": np.multiply, "min": np.minimum, "max": np.maximum,
        "band": np.bitwise_and, "bor": np.bitwise_or, "bxor": np.bitwise_xor}
LARGE = reductions.SEGMENT // 2 + 1  # more than a segment of either

def values(name, count, rank, op):
    g = np.random.default_rng([count, rank])
    if name == "bool":
        return g.random(count) < 0.5
    if name.startswith(("int", "uint")):
        low, high = np.iinfo(name).min, np.iinfo(name).max
        return g.integers(low, high, count, name, endpoint=True)
    if name == "bfloat16":  # few bits, so that nothing is rounded
        return (g.integers(-3, 4, count).astype("f4").view("u4") >> 16).astype("u2")
    x = g.standard_normal(count).astype("f8")
    if name.startswith("complex"):
        x = x + 1j * g.standard_normal(count)
    elif op in ("min", "max") and count > 6:
        x[rank], x[rank + 4 - n] = np.nan, -0.0
    return x.astype(name)

def plain(x, name):
    return (x.astype("u4") << 16).view("f4").astype("f8") if name == "bfloat16" else x

def expect(name, op, count, rank=None):
    parts = [plain(values(name, count, k, op), name) for k in range(n)]
    if name.startswith(("float", "complex")):
        parts = [p.astype("complex128" if name[0] == "c" else "f8") for p in parts]
    with np.errstate(all="ignore"):
        total = parts[0]
        for p in parts[1:]:
            total = FOLD[op](total, p)
    return total

def check(got, name, op, want, what):
    got = plain(got, name)
    if name.startswith(("float", "complex")) and op in ("sum", "product"):
        eps = np.finfo(name).eps * n * 4
        assert np.allclose(got, want, rtol=eps, atol=eps), (what, got, want)
    else:
        assert np.array_equal(got, want, equal_nan=name[0] in "fcb" and name != "bool"), (
            what, got, want)

def same_bits(x, what):
    raw = x.view(np.uint8)
    every = np.empty(raw.size * n, np.uint8)
    comm.all_gather(every, raw, dtypes.uint8, 20)
    assert (every.reshape(n, -1) == raw).all(), what

for name in comm.capabilities()["host"]:
    name = name.name
    d = dtypes.dtype_by_name(name)
    ops = ["sum", "product"] + ["min", "max"] * (name[0] != "c")
    ops += ["band", "bor", "bxor"] * (name[:3] in ("boo", "int", "uin"))
    for op in ops:
        large = [LARGE] if (name, op) in (("float32", "sum"), ("float16", "max")) else []
        for count in [0, 7, 1000, *large]:
            what = (name, op, count, r)
            mine = values(name, count, r, op)
            want = expect(name, op, count)
            x = mine.copy()
            comm.all_reduce(x, d, op, 20)
            check(x, name, op, want, what)
            same_bits(x, what)
        y = mine.copy()
        comm.reduce(y, d, op, n - 1, 20)
        if r == n - 1:
            check(y, name, op, want, what)
        for count in (0, 300):
            whole = values(name, count * n, r, op)
            before, out = whole.copy(), np.empty(count, whole.dtype)
            comm.reduce_scatter(out, whole, d, op, 20)
            want = expect(name, op, count * n)[r * count : (r + 1) * count]
            check(out, name, op, want, ("scattered", name, op, count))
            assert whole.tobytes() == before.tobytes()
"""


def test_reductions_equal_numpy_with_the_same_bits_on_every_rank(mpi_job):
    mpi_job(REDUCTIONS, 4)


MOVES = """
from tensorbus._base import dtypes
from tensorbus_comm_mpi import messages, progress, reductions
if PIECES:
    # Types for more bytes than an int counts are put together from pieces: here of 1000.
    progress._PIECE = 1000
r, n = start()
w = dist.group.WORLD
comm, d = w.comm("mpi"), dtypes.int64
def row(rank, count=5):
    return np.arange(count) * 100 + rank
for count in (0, 1, 5, 700, reductions.SEGMENT // 8 + 3):
    for root in (0, n - 1):
        x = row(r, count)
        comm.broadcast(x, d, root, 20)
        assert (x == row(root, count)).all()
        out = np.empty(n * count, np.int64) if r == root else None
        comm.gather(out, row(r, count), d, root, 20)
        assert out is None or (out.reshape(n, -1) == [row(k, count) for k in range(n)]).all()
        parts = np.concatenate([row(k, count) for k in range(n)]) if r == root else None
        out = np.empty(count, np.int64)
        comm.scatter(out, parts, d, root, 20)
        assert (out == row(r, count)).all()
    out = np.empty(n * count, np.int64)
    comm.all_gather(out, row(r, count), d, 20)
    assert (out.reshape(n, -1) == [row(k, count) for k in range(n)]).all()
    comm.barrier(20)
counts = [(r + 1) * (k + 2) * 100 for k in range(n)]
into = [(k + 1) * (r + 2) * 100 for k in range(n)]
out = np.empty(sum(into), np.int64)
comm.all_to_all(out, np.repeat(np.arange(n) + 10 * r, counts), d, into, counts, 20)
assert (out == np.repeat(np.arange(n) * 10 + r, into)).all()

# The frontend's operations on lists, objects, strides and sizes that differ.
out = [torch.zeros(k + 1) for k in range(n)]
dist.all_gather(out, torch.full((r + 1,), float(r)))
assert [t.tolist() for t in out] == [[float(k)] * (k + 1) for k in range(n)]
x = (torch.arange(12.0).reshape(3, 4) + r).t()
dist.all_reduce(x, dist.ReduceOp.AVG)
assert np.allclose(x.numpy(), np.arange(12.0).reshape(3, 4).T + (n - 1) / 2)
objects = [None] * n
dist.all_gather_object(objects, {"rank": r})
assert objects == [{"rank": k} for k in range(n)]
works = []
tensors = [torch.full((50,), float(r + k)) for k in range(30)]
for k, t in enumerate(tensors):
    works.append(dist.all_reduce(t, async_op=True))
    works.append(dist.broadcast(tensors[k], src=k % n, async_op=True))
for work in works:
    work.wait()
total = n * (n - 1) / 2
assert [t[0].item() for t in tensors] == [total + n * k for k in range(30)]

# Groups: overlapping, at the same time, in different orders of making.
pair = dist.new_group([0, n - 1])
rest = dist.new_group(list(range(1, n)))
halves = dist.split_group(split_ranks=[[k for k in range(n) if k % 2 == p] for p in range(2)])
groups = [(pair, {0, n - 1}), (rest, set(range(1, n))), (halves, set(range(r % 2, n, 2)))]
running = []
for g, members in groups * 3:
    if r in members:
        t = torch.tensor([float(r), 1.0])
        running.append((t, members, dist.all_reduce(t, group=g, async_op=True)))
for t, members, work in running:
    work.wait()
    assert t.tolist() == [float(sum(members)), float(len(members))]
if r in (0, n - 1):
    dist.destroy_process_group(pair)
    inner = dist.new_group([0, n - 1], use_local_synchronization=True)
    t = torch.ones(1)
    dist.all_reduce(t, group=inner)
    assert t.item() == 2
dist.destroy_process_group()
# Once more in the same processes.
r, n = start()
t = torch.ones(1)
dist.all_reduce(t)
assert t.item() == n
"""


@pytest.mark.parametrize(("size", "pieces"), [(2, True), (4, False)])
def test_what_is_moved_arrives(mpi_job, size, pieces):
    # Once with a library that takes one thread at a time, so that the comm must see to that.
    level = "serialized" if pieces else "multiple"
    mpi_job(f"PIECES = {pieces}\n" + MOVES, size, MPI4PY_RC_THREAD_LEVEL=level)


MESSAGES = """
from tensorbus._base import dtypes
from tensorbus.plugin import CommError, CommTimeout
from tensorbus_comm_mpi.messages import SMALL
r, n = start()
comm, d = dist.group.WORLD.comm("mpi"), dtypes.uint8
right, left = (r + 1) % n, (r - 1) % n
def data(rank, count, salt=0):
    return np.random.default_rng([rank, count, salt]).integers(0, 256, count, np.uint8)
def get(src, count, tag, timeout=20):
    out = np.empty(count, np.uint8)
    return comm.recv(out, d, src, tag, timeout), out

# Around a ring where all send first, of all sizes; tags of 64 bits, negative ones too.
for count in (0, 1, SMALL, SMALL + 1, 100_000, 5_000_000):
    for tag in (0, 2**31 - 1, -7, -(2**62)):
        comm.send(data(r, count), d, right, tag, 20)
        sender, out = get(left, count, tag)
        assert sender == left and (out == data(left, count)).all()
# Tags pick messages, in any order; those of one tag keep theirs, small beside large.
sizes = [10, 9_000, 20_000, 30_000, 30, 40]
for turn in range(2):
    if (r + turn) % 2 == 0:
        for salt, count in enumerate(sizes):
            work = dist.isend(torch.from_numpy(data(r, count, salt)), right, tag=salt % 2)
        comm.barrier(20)
    else:
        comm.barrier(20)
        for parity in (1, 0):
            for salt in range(parity, len(sizes), 2):
                _, out = get(left, sizes[salt], parity)
                assert (out == data(left, sizes[salt], salt)).all(), (salt, turn)
comm.barrier(20)
# From any rank, by the frontend.
if r == 0:
    seen = set()
    for _ in range(n - 1):
        x = torch.zeros(3)
        src = dist.recv(x, tag=5)
        assert x.tolist() == [float(src)] * 3
        seen.add(src)
    assert seen == set(range(1, n))
else:
    dist.send(torch.full((3,), float(r)), 0, tag=5)
# To oneself.
comm.send(data(r, 77), d, r, 3, 20)
assert get(None, 77, 3)[0] == r
# Both ways at once.
x, y = torch.full((200_000,), float(r)), torch.zeros(200_000)
for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, right),
                                    dist.P2POp(dist.irecv, y, left)]):
    work.wait()
assert y[0].item() == y[-1].item() == left
# A receiver that is in a collective first.
total = np.ones(3)
if r == 0:
    comm.send(data(0, 3_000_000), d, 1, 8, 20)
comm.all_reduce(total, dtypes.float64, "sum", 20)
if r == 1:
    assert (get(0, 3_000_000, 8)[1] == data(0, 3_000_000)).all()
# Another size is an error, and the next message is fine.
for count in (10, 50_000):
    comm.send(data(r, count), d, right, 1, 20)
    comm.send(data(r, count + 1), d, right, 1, 20)
    try:
        get(left, count + 1, 1)
        raise SystemExit("no error for another size")
    except CommError as e:
        assert f"rank {left} sent a message of {count} bytes" in str(e) and e.ranks == (left,), e
        assert f"recv has {count + 1}" in str(e)
    assert (get(left, count + 1, 1)[1] == data(left, count + 1)).all()
# After a time-out the message still comes.
begun = time.monotonic()
try:
    get(left, 4, 99, 0.2)
    raise SystemExit("a message from nowhere")
except CommTimeout as e:
    assert 0.15 < time.monotonic() - begun < 60 and e.ranks == (left,), e
comm.barrier(20)
comm.send(data(r, 4), d, right, 99, 20)
assert (get(left, 4, 99)[1] == data(left, 4)).all()
"""


def test_messages(mpi_job):
    mpi_job(MESSAGES, 4)
