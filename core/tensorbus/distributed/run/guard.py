"""Two small programs that see to it that no rank outlives the launcher, even a killed one.

Run by its path, without the library: it must start in a moment. ``guard.py watch`` reads process
groups and, when the launcher is gone, ends those that are left. ``guard.py start PID PROCESSORS
COMMAND...`` becomes the command, with the kernel asked to kill it together with the launcher.
"""

from __future__ import annotations

import os
import signal
import sys
import time

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_PR_SET_PDEATHSIG = 1
_PATIENCE = 2.0
"""Seconds for helpers of a dead rank to clean up, such as what frees its shared memory."""


def start(launcher: int, processors: str, command: list[str]) -> None:
    """Become *command*, which the kernel kills when the launcher's main thread ends.

    *processors* are those it is bound to, ``0,2``, or empty.
    """
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(KILL), 0, 0, 0)
        if os.getppid() != launcher:
            sys.exit(1)
    for name in ("SIGPIPE", "SIGXFSZ"):
        # This interpreter ignores them, and what is ignored stays so in the command.
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    if processors and sys.platform.startswith("linux"):
        os.sched_setaffinity(0, {int(number) for number in processors.split(",")})
    try:
        os.execv(command[0], command)
    except OSError as e:
        print(f"{command[0]} can't be run: {e.strerror}", file=sys.stderr)
        sys.exit(126)


def watch() -> None:
    """Keep a list of groups (``+ID``, ``-ID`` by line); at the end of input, end them."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    end(groups)


def end(groups: set[int]) -> None:
    """Ask what is left of the groups to end, then end it."""
    groups = {group for group in groups if tell(group, signal.SIGTERM)}
    stop = time.monotonic() + _PATIENCE
    while groups and time.monotonic() < stop:
        time.sleep(0.02)
        groups = {group for group in groups if tell(group, 0)}
    for group in groups:
        tell(group, KILL)


def tell(group: int, number: int) -> bool:
    """Send a signal to a process group (without groups: to the process); whether it exists."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(group, number)
        else:
            os.kill(group, number)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


if __name__ == "__main__":
    if sys.argv[1] == "watch":
        watch()
    else:
        start(int(sys.argv[2]), sys.argv[3], sys.argv[4:])
