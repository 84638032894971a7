"""Files of events where only ``tensorboardX`` is there: records with checksums, in order.

The package has writers of its own; theirs go through another process's queue, and ``flush`` does
not wait for it.
"""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
from typing import Any

from tensorbus.utils.tensorboard.packages import message
from tensorbus.utils.tensorboard.record_writer import RecordWriter

Event: Any = message("event", "Event")

_numbers = itertools.count()


class EventFileWriter:
    """Writes events to a new file of a folder; each *flush_secs* they are sure to be in it."""

    def __init__(
        self,
        logdir: str,
        max_queue_size: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ):
        self._logdir, self._seconds = logdir, flush_secs
        self._lock = threading.Lock()
        os.makedirs(logdir, exist_ok=True)
        name = (
            f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}."
            f"{os.getpid()}.{next(_numbers)}{filename_suffix}"
        )
        file = open(os.path.join(logdir, name), "wb")  # noqa: SIM115 - close() closes it
        self._records: RecordWriter | None = RecordWriter(file)
        self._due = time.monotonic() + flush_secs
        self.add_event(Event(wall_time=time.time(), file_version="brain.Event:2"))
        self.flush()

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    def add_event(self, event: Any) -> None:
        """Append one event."""
        if not isinstance(event, Event):
            raise TypeError(f"expected an event_pb2.Event proto, but got {type(event)}")
        with self._lock:
            if self._records is None:
                raise OSError("Writer is closed")
            self._records.write(event.SerializeToString())
            if time.monotonic() >= self._due:
                self._records.flush()
                self._due = time.monotonic() + self._seconds

    def flush(self) -> None:
        """Hand all events to the operating system."""
        with self._lock:
            if self._records is not None:
                self._records.flush()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._records is not None:
                self._records.close()
            self._records = None
