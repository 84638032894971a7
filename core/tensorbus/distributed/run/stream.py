"""One output stream of one rank: read as it comes, cut into lines, shown, kept and written down."""

from __future__ import annotations

import select
import threading
import time
from collections import deque
from typing import IO

from tensorbus.distributed.run.console import Console
from tensorbus.distributed.run.filtered import Filtered

_CHUNK = 1 << 16
LONGEST = 1 << 20
"""Bytes after which a line is shown although it has no end yet."""
_SOON = 10
"""Milliseconds."""
_KEPT_LINES, _KEPT_BYTES = 60, 500
_TRACEBACK = (b"Traceback (most recent call last):", b"  + Exception Group Traceback")
_BLAME = b"tensorbus.distributed.errors."
_CHAIN = (b"During handling of the above", b"The above exception was the direct cause")


class Stream(threading.Thread):
    """Reads a rank's stream to its end. *console* None shows nothing, *log* None writes nothing."""

    def __init__(
        self,
        pipe: IO[bytes],
        rank: int,
        fd: int,
        console: Console | None,
        log: IO[bytes] | None,
        filtered: Filtered | None = None,
    ):
        super().__init__(name=f"rank-{rank}-output", daemon=True)
        self._pipe, self._rank, self._fd, self._console = pipe, rank, fd, console
        self._log, self._filtered = log, filtered
        self._line = bytearray()
        self._chained = False
        self.kept: deque[bytes] = deque(maxlen=_KEPT_LINES)
        self.traceback: list[bytes] | None = None
        """The lines of the last traceback printed, if any."""
        self.traceback_at = float("inf")
        """When it, or the first of its chain, began."""
        self.blames_another = False
        """Whether that traceback is of an error by which ranks tell that another one failed."""

    def run(self) -> None:
        """Read until the rank and all that share its stream have closed it."""
        read = getattr(self._pipe, "read1", self._pipe.read)
        while data := read(_CHUNK):
            if self._log is not None:
                try:
                    self._log.write(data)
                except OSError:
                    self._log = None  # the disk is full; the terminal still shows it
            self._take(data)
            self._show_unfinished()
        if self._line:
            self._give([bytes(self._line)])
        self._pipe.close()
        if self._log is not None:
            self._log.close()

    def _take(self, data: bytes) -> None:
        lines: list[bytes] = []
        if b"\n" in data:
            first, *lines = data.split(b"\n")
            lines = [bytes(self._line) + first, *lines]
            self._line = bytearray(lines.pop())
        else:
            self._line += data
        if b"\r" in self._line:
            # Of what was written over, only the last state is worth a line.
            shown = _overwritten(bytes(self._line))
            self._line = bytearray(shown + b"\r" if self._line.endswith(b"\r") else shown)
        if len(self._line) > LONGEST:
            lines.append(bytes(self._line))
            self._line.clear()
        self._give(lines)

    def _give(self, lines: list[bytes]) -> None:
        lines = [_overwritten(line) for line in lines]
        for line in lines[-_KEPT_LINES:] if self._fd == 1 else lines:
            self._keep(line)
        if self._filtered is not None:
            try:
                self._filtered.take(self._rank, lines)
            except OSError:
                self._filtered = None  # the disk is full, as above
        if self._console is not None and lines:
            self._console.lines(self._rank, self._fd, lines)

    def _show_unfinished(self) -> None:
        """Show a line without end, unless the rest comes at once: ``print`` writes in pieces."""
        if self._console is None or not self._line or not self._console.terminal[self._fd]:
            return
        if hasattr(select, "poll"):
            waiting = select.poll()
            waiting.register(self._pipe, select.POLLIN)
            if waiting.poll(_SOON):
                return
        self._console.lines(self._rank, self._fd, [], bytes(self._line).rstrip(b"\r"))

    def _keep(self, line: bytes) -> None:
        if line.startswith(_TRACEBACK):
            if not self._chained:
                self.traceback_at, self.blames_another = time.monotonic(), False
            self.traceback = []
        if line.strip():
            self._chained = line.startswith(_CHAIN)
            self.blames_another = self.blames_another or line.startswith(_BLAME)
        cut = line[:_KEPT_BYTES]
        self.kept.append(cut)
        if self.traceback is not None and len(self.traceback) < 1000:
            self.traceback.append(cut)


def _overwritten(line: bytes) -> bytes:
    r"""What is left to see of a line in which ``\r`` went back to its beginning."""
    if b"\r" not in line:
        return line
    return line.rstrip(b"\r").rpartition(b"\r")[2]
