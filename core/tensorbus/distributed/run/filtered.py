"""Lines of all ranks that have one of some texts, in one file."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path


class Filtered:
    """What ``--duplicate-stdout-filters`` writes."""

    def __init__(self, path: Path, texts: Sequence[bytes]):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file, self._texts = path.open("wb", buffering=0), texts
        self._lock = threading.Lock()

    def take(self, rank: int, lines: Sequence[bytes]) -> None:
        """Write those of a rank's lines that have one of the texts."""
        found = [line for line in lines if any(text in line for text in self._texts)]
        if not found:
            return
        with self._lock:
            if not self._file.closed:
                self._file.write(b"".join(b"[rank %d] %s\n" % (rank, line) for line in found))

    def close(self) -> None:
        """Write no more."""
        with self._lock:
            self._file.close()
