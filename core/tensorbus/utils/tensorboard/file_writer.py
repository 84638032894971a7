"""``FileWriter``: events and summaries in one file."""

from __future__ import annotations

import os
import time
from typing import Any

from tensorbus.utils.tensorboard.packages import event_file_writer, message


class FileWriter:
    """Writes events to a new file in *log_dir*.

    At most *max_queue* events wait to be written; each *flush_secs* all are sure to be in the file.

    >>> import tempfile
    >>> from tensorbus.utils.tensorboard import FileWriter, summary
    >>> writer = FileWriter(tempfile.mkdtemp())
    >>> writer.add_summary(summary.scalar("loss", 0.5), global_step=1)
    >>> writer.close()
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ):
        self._options = str(log_dir), max_queue, flush_secs, filename_suffix
        self._closed = True
        self.reopen()

    def get_logdir(self) -> str:
        """The folder of the file."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an ``Event``, at *step*; *walltime* is now where it is not given."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Write a ``Summary``, which the functions of ``utils.tensorboard.summary`` make."""
        self.add_event(message("event", "Event")(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: Any, walltime: float | None = None) -> None:
        """Write a graph: a ``GraphDef``, or a tuple that begins with one."""
        graph = graph_profile[0] if isinstance(graph_profile, tuple) else graph_profile
        event = message("event", "Event")(graph_def=graph.SerializeToString())
        self.add_event(event, None, walltime)

    def flush(self) -> None:
        """Wait until all events are in the file."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.event_writer.close()
        self._closed = True

    def reopen(self) -> None:
        """After ``close``: begin another file in the same folder."""
        if self._closed:
            self.event_writer = event_file_writer(*self._options)
            self._closed = False
