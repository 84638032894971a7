"""The ranks' calls are compared by two threads at once: by the caller's, and by a receiver's."""

from __future__ import annotations

import pytest

PROGRAM = """
import threading
from tensorbus.plugin import CommError
from tensorbus.plugin.calls import Call
from tensorbus_comm_mpi import agreement
r, n = start()
comm = dist.group.WORLD.comm("mpi")
ours, true_test = comm._agreement, agreement.test

def compare(into):
    try:
        into.append(ours.check())
    except CommError as error:
        into.append(error)

def test_while_another_compares(requests):
    # The other thread begins between this thread's test and what follows from it. It is held up
    # where comparing takes turns, so its end is waited for briefly.
    done = true_test(requests)
    if done and not others:
        others.append(threading.Thread(target=compare, args=(heard,)))
        others[0].start()
        others[0].join(0.5)
    return done

others, heard, own = [], [], []
CALLS
while not all(true_test(words.requests) for words in ours._open):
    time.sleep(0.001)
agreement.test = test_while_another_compares
compare(own)
others[0].join(60)
agreement.test = true_test
"""

ALIKE = """
assert own == heard == [True], (own, heard)
"""
DIFFERENT = """
assert len(own) == len(heard) == 1, (own, heard)
for error in own + heard:
    assert "the ranks call different operations" in str(error), (own, heard)
print("both heard it", flush=True)
open(f"{__file__}.{r}", "w").close()
while not all(os.path.exists(f"{__file__}.{k}") for k in range(n)):  # mpiexec ends the others
    time.sleep(0.001)
os._exit(0)
"""


@pytest.mark.slow
def test_two_threads_compare_each_call_once(mpi_job):
    calls = "for _ in range(2): ours.begin(Call.of('broadcast', 8))"
    mpi_job(PROGRAM.replace("CALLS", calls) + ALIKE)


@pytest.mark.slow
def test_both_threads_are_told_of_a_difference(mpirun):
    calls = "ours.begin(Call.of('broadcast', 8 if r else 16))"
    ended = mpirun(PROGRAM.replace("CALLS", calls) + DIFFERENT, TENSORBUS_MPI_ABORT="0")
    assert ended.text.count("both heard it") == 2, ended.text
