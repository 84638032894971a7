"""The worker process of a DataLoader: takes requests, fetches batches, sends them back."""

from __future__ import annotations

import os
import pickle
import queue
import random
import signal
import threading
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import tensorbus
from tensorbus._base.retold_errors import retold
from tensorbus.utils.data import transfer
from tensorbus.utils.data.fetch import EndOfStream, FetchPlan

# What a result is, sent beside it.
BATCH, FAILURE, END_OF_STREAM = range(3)


@dataclass(frozen=True)
class WorkerInfo:
    """What ``get_worker_info()`` gives inside a worker process.

    *id* from 0 to *num_workers* - 1, the *seed* this worker's random streams were set to, and
    its own copy of the *dataset*.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The WorkerInfo inside a DataLoader's worker process, and None in any other process.

    >>> get_worker_info() is None
    True
    """
    return _info


class ExceptionReport:
    """An exception of a worker, as what the main process needs to raise it again."""

    def __init__(self, error: BaseException, where: str):
        self.where = where
        self.text = "".join(traceback.format_exception(error))
        self.kind: type[BaseException] = type(error)
        try:
            pickle.dumps(self.kind)
        except Exception:
            self.kind = RuntimeError
        self.name = type(error).__name__

    def reraise(self) -> None:
        """Raise the same type of error, with the worker's traceback in its text.

        RuntimeError where the type takes more than a message.
        """
        raise retold(self.kind, f"Caught {self.name} {self.where}.\nOriginal {self.text}")


@dataclass(frozen=True)
class WorkerSetup:
    """All a worker needs to begin."""

    id: int
    num_workers: int
    base_seed: int
    plan: FetchPlan
    init_fn: Callable[[int], Any] | None

    @property
    def where(self) -> str:
        return f"in DataLoader worker process {self.id}"


def worker_main(
    setup: WorkerSetup, tasks: Connection, results: Connection, inherited: Iterable[Connection]
) -> None:
    """The worker's whole life. *inherited*: ends that belong to the main process alone.

    A forked worker holds copies of them; kept open, they would hide the main process's death.
    """
    for connection in inherited:
        connection.close()
    # Ctrl-C reaches the whole process group; the main process decides what happens.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read_tasks, args=(tasks, inbox), daemon=True).start()
    try:
        _serve(setup, inbox, results)
    except (BrokenPipeError, ConnectionResetError):
        # The main process has closed its end: nobody waits for the rest.
        return


def _read_tasks(tasks: Connection, inbox: queue.SimpleQueue[Any]) -> None:
    """Empty the pipe at once, so that the main process never waits for a busy worker."""
    try:
        while (task := tasks.recv()) is not None:
            inbox.put(task)
    except (EOFError, OSError):
        # The main process died without saying goodbye: stop now, even inside a long fetch.
        os._exit(1)
    inbox.put(None)


def _serve(setup: WorkerSetup, inbox: queue.SimpleQueue[Any], results: Connection) -> None:
    failure = _begin(setup)
    fetch: Callable[[Any], Any] | None = None
    current = -1
    while (task := inbox.get()) is not None:
        epoch, number, request = task
        status = BATCH
        try:
            if failure is not None:
                raise failure
            if fetch is None or epoch != current:
                seed = setup.base_seed + epoch
                fetch = setup.plan.start(seed, setup.num_workers, setup.id)
                current = epoch
            packed = transfer.pack(fetch(request))
        except EndOfStream:
            status = END_OF_STREAM
            packed = transfer.pack(None)
        except Exception as error:
            status = FAILURE
            packed = transfer.pack(ExceptionReport(error, setup.where))
        transfer.send(results, (epoch, number, status), packed)
        # The batch is not kept alive while the next one is made.
        del packed


def _begin(setup: WorkerSetup) -> Exception | None:
    """Seed the process and run the user's initialisation; its error waits for the first task."""
    global _info
    seed = setup.base_seed + setup.id
    random.seed(seed)
    np.random.seed(np.random.SeedSequence([setup.base_seed, setup.id]).generate_state(4))
    tensorbus.manual_seed(seed)
    _info = WorkerInfo(setup.id, setup.num_workers, seed, setup.plan.dataset)
    try:
        if setup.init_fn is not None:
            setup.init_fn(setup.id)
    except Exception as error:
        return error
    return None
