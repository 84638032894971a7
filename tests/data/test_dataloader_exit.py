"""Worker processes never outlive the process that started them, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

SCRIPT = """
import os, sys, time
from tensorbus.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        if index > 3:
            open(f"{folder}/{{os.getpid()}}", "w").close()
            time.sleep({delay})
        return index

batches = iter(DataLoader(Slow(), 1, num_workers=2))
next(batches)
print(*[p.pid for p in batches._crew.processes], flush=True)
for _ in batches:
    pass
"""


def eventually(condition):
    """Whether it comes true within a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(
    ("ending", "delay"), [(signal.SIGINT, 0.2), (signal.SIGKILL, 0.2), (signal.SIGKILL, 600)]
)
def test_workers_end_with_their_main_process(ending, delay, tmp_path):
    main = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT.format(delay=delay, folder=tmp_path))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    pids = [int(pid) for pid in main.stdout.readline().split()]
    assert len(pids) == 2, main.communicate(timeout=240)[1]
    assert eventually(lambda: {p.name for p in tmp_path.iterdir()} == set(map(str, pids)))
    if ending == signal.SIGINT:
        # Ctrl-C in a terminal goes to every process of the group.
        os.killpg(main.pid, ending)
    else:
        main.send_signal(ending)
    _, errors = main.communicate(timeout=240)
    assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    if ending == signal.SIGINT:
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert errors.count("Traceback") == 1
