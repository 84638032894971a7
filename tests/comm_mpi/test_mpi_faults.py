"""The comm ``mpi`` where something goes wrong: the job ends soon, and says which rank it was.

Soon is within what ``mpirun`` allows, long before a time-out of a thousand seconds.
"""

from __future__ import annotations

BEGIN = """
r, n = start(TIMEOUT)
x = torch.ones(1_000_000)
dist.all_reduce(x)
"""
GO_ON = """
for _ in range(3):
    dist.all_reduce(x)
"""


def test_a_rank_that_raises_ends_the_job(mpirun):
    program = "TIMEOUT = 1000" + BEGIN + "if r == 1: raise ValueError('out of beans')" + GO_ON
    ended = mpirun(program, 3)
    assert ended.code != 0
    assert "ValueError: out of beans" in ended.text
    assert "the MPI job ends, all its ranks: rank 1 raised ValueError: out of beans" in ended.text


def test_a_rank_that_is_killed_ends_the_job(mpirun):
    program = "TIMEOUT = 1000" + BEGIN + "if r == 1: os.kill(os.getpid(), signal.SIGKILL)" + GO_ON
    ended = mpirun(program, 2)
    assert ended.code != 0
    assert "KILLED" in ended.text.upper(), ended.text


HANG = """
if r == 1:
    os.kill(os.getpid(), signal.SIGSTOP)
begun = time.monotonic()
try:
    dist.all_reduce(x)
except dist.DistBackendError as e:
    print("told", r, e.ranks, time.monotonic() - begun < 60, e, flush=True)
"""


def test_a_rank_that_hangs_is_named_and_a_survivor_that_goes_on_does_not_wait_for_it(mpirun):
    ended = mpirun("TIMEOUT = 3" + BEGIN + HANG, 2)
    assert "told 0 (1,) True" in ended.text and "rank 1 hangs" in ended.text, ended.text
    # At its end MPI would wait for rank 1, so the survivor ends the job.
    assert ended.code != 0
    assert "the MPI job ends, all its ranks: communication failed before" in ended.text


LEAVES = """
if r == 1:
    sys.exit(3)
try:
    dist.all_reduce(x)
except dist.DistBackendError as e:
    print("told", r, e.ranks, e, flush=True)
"""


def test_a_rank_that_leaves_early_is_named_and_the_job_can_be_left_as_it_is(mpirun):
    ended = mpirun("TIMEOUT = 1000" + BEGIN + LEAVES, 2)
    assert ended.code != 0
    assert "told 0 (1,)" in ended.text and "rank 1 has left the job" in ended.text, ended.text


MISMATCH = """
comm = dist.group.WORLD.comm("mpi")
from tensorbus._base import dtypes
from tensorbus.plugin import CommError
try:
    # Without the frontend's check of its debug level: whoever gets too much asks what was sent.
    comm.broadcast(np.zeros(1000 + 1000 * (1 - r), np.uint8), dtypes.uint8, 0, 5)
except CommError as e:
    print("told", r, e, flush=True)
    raise
"""


def test_sizes_that_differ_are_told(mpirun):
    ended = mpirun("TIMEOUT = 60" + BEGIN + MISMATCH, 2)
    assert ended.code != 0
    said = "rank 0 is in broadcast of 2000 bytes of uint8, root 0 while rank 1 is in broadcast of"
    assert f"told 1 {said}" in ended.text, ended.text


def test_ending_the_job_can_be_switched_off(mpirun):
    program = "TIMEOUT = 1000" + BEGIN + LEAVES.replace("sys.exit(3)", "raise KeyError('gone')")
    ended = mpirun(program, 2, TENSORBUS_MPI_ABORT="0")
    assert "the MPI job ends" not in ended.text and "KeyError: 'gone'" in ended.text
    assert "told 0 (1,)" in ended.text and ended.code != 0, ended.text
