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
import sys, time
from tensorbus.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        if index > 3:
            time.sleep({delay})
        return index

batches = iter(DataLoader(Slow(), 1, num_workers=2))
next(batches)
print(*[p.pid for p in batches._crew.processes], flush=True)
for _ in batches:
    pass
"""


def gone(pids):
    """Whether the processes end within some seconds."""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(
    ("ending", "delay"), [(signal.SIGINT, 0.2), (signal.SIGKILL, 0.2), (signal.SIGKILL, 600)]
)
def test_workers_end_with_their_main_process(ending, delay):
    main = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT.format(delay=delay))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    pids = [int(pid) for pid in main.stdout.readline().split()]
    assert len(pids) == 2, main.communicate(timeout=30)[1]
    time.sleep(0.3)
    if ending == signal.SIGINT:
        # Ctrl-C in a terminal goes to every process of the group.
        os.killpg(main.pid, ending)
    else:
        main.send_signal(ending)
    _, errors = main.communicate(timeout=30)
    assert gone(pids)
    if ending == signal.SIGINT:
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert errors.count("Traceback") == 1
