"""Where the output of all ranks meets: whole lines, each with its rank before it."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import threading
from collections.abc import Callable, Sequence

from tensorbus.distributed.run.plan import ERR, OUT

_COLOURS = (36, 33, 35, 32, 34, 96, 93, 95, 92, 94)
"""Of the ranks, in turn; red is left to the launcher's own words."""
_CLEAR = b"\r\x1b[K"
_RESET = b"\x1b[0m"
_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-_])|[\x00-\x08\x0b-\x1f\x7f]")


class Console:
    """The launcher's two streams. On a terminal the last row shows a line that is not complete yet,
    such as a progress bar; the rank with the lowest number has it.

    *on_closed* is called once, with the error, when nothing can be written any more.
    """

    def __init__(self, on_closed: Callable[[OSError], None]):
        self._on_closed = on_closed
        self._lock = threading.Lock()
        self._broken: set[int] = set()
        self.terminal = {fd: _is_terminal(fd) for fd in (OUT, ERR)}
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self._coloured = {fd: there and not plain for fd, there in self.terminal.items()}
        self._unfinished: dict[tuple[int, int], bytes] = {}
        self._row = b""
        self._row_on = OUT

    def prefix(self, rank: int, fd: int) -> bytes:
        """What stands before a line of a rank."""
        text = b"[rank %d] " % rank
        if self._coloured[fd]:
            return b"\x1b[%dm%s%s" % (_COLOURS[rank % len(_COLOURS)], text, _RESET)
        return text

    def lines(self, rank: int, fd: int, lines: Sequence[bytes], unfinished: bytes = b"") -> None:
        """Show complete lines of a rank, and what it has of the next one."""
        prefix = self.prefix(rank, fd)
        # A line must not colour those of other ranks.
        reset = _RESET if self.terminal[fd] else b""
        text = b"".join(
            b"%s%s%s\n" % (prefix, line, reset if b"\x1b" in line else b"") for line in lines
        )
        with self._lock:
            self._unfinished.pop((rank, fd), None)
            if unfinished and self.terminal[fd]:
                self._unfinished[rank, fd] = unfinished
            self._show(fd, text)

    def say(self, text: str) -> None:
        """Words of the launcher itself, on its error stream: the first line stands out."""
        first, newline, rest = text.partition("\n")
        if self._coloured[ERR]:
            first = f"\x1b[1;31m{first}\x1b[0m"
        with self._lock:
            self._show(ERR, f"{first}{newline}{rest}\n".encode(errors="replace"))

    def close(self) -> None:
        """Leave no unfinished row behind."""
        with self._lock:
            self._unfinished.clear()
            self._show(OUT, b"")

    # -- writing -----------------------------------------------------------------------------
    def _show(self, fd: int, text: bytes) -> None:
        row, row_on = b"", fd
        if self._unfinished:
            (rank, row_on), last = min(self._unfinished.items())
            row = self._fitted(rank, row_on, last)
        if not text and row == self._row:
            return
        if self._row:
            self._write(self._row_on, _CLEAR)
        self._write(fd, text)
        if row:
            self._write(row_on, row)
        self._row, self._row_on = row, row_on

    def _fitted(self, rank: int, fd: int, line: bytes) -> bytes:
        """An unfinished line on one row, without what moves the cursor."""
        columns = 80
        with contextlib.suppress(OSError):
            columns = os.get_terminal_size(fd).columns or columns
        text = _ESCAPE.sub(b"", line.replace(b"\t", b" ")).decode(errors="replace")
        room = max(columns - len(f"[rank {rank}] ") - 1, 0)
        return self.prefix(rank, fd) + text[:room].encode()

    def _write(self, fd: int, data: bytes) -> None:
        view = memoryview(data)
        while view.nbytes and fd not in self._broken:
            try:
                view = view[os.write(fd, view) :]
            except BlockingIOError:
                select.select([], [fd], [])
            except OSError as e:
                self._broken.add(fd)
                if e.errno != errno.EBADF:
                    self._on_closed(e)


def _is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False
