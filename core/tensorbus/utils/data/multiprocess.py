"""The main process's side of a DataLoader with workers: hands out requests, orders the answers."""

from __future__ import annotations

import os
import signal
import time
import weakref
from collections.abc import Iterator
from multiprocessing import connection, get_context
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

from tensorbus.utils.data import transfer
from tensorbus.utils.data.worker import END_OF_STREAM, FAILURE, WorkerSetup, worker_main

if TYPE_CHECKING:
    from tensorbus.utils.data.dataloader import DataLoader

# How long workers may take to finish the batch they are at before they are terminated.
_PATIENCE_S = 5.0


class _Crew:
    """The worker processes and the pipes to them."""

    def __init__(self, loader: DataLoader[Any], base_seed: int):
        context = loader.multiprocessing_context
        if context is None or isinstance(context, str):
            context = get_context(context)
        forked = context.get_start_method() == "fork"
        self.processes: list[BaseProcess] = []
        self.tasks: list[connection.Connection] = []
        self.results: list[connection.Connection] = []
        self.owner = os.getpid()
        try:
            for i in range(loader.num_workers):
                setup = WorkerSetup(
                    i, loader.num_workers, base_seed, loader.fetch_plan(), loader.worker_init_fn
                )
                self._start(context, setup, forked)
        except BaseException:
            self.dismiss()
            raise

    def _start(self, context: Any, setup: WorkerSetup, forked: bool) -> None:
        task_out, task_in = context.Pipe(duplex=False)
        # Both ways: passing a descriptor needs a socket, and on some systems an answer.
        result_out, result_in = context.Pipe(duplex=True)
        self.tasks.append(task_in)
        self.results.append(result_out)
        inherited = [*self.tasks, *self.results] if forked else []
        process = context.Process(
            target=worker_main, args=(setup, task_out, result_in, inherited), daemon=True
        )
        with task_out, result_in:
            process.start()
        self.processes.append(process)

    def dismiss(self) -> None:
        """End all workers and close the pipes; safe to call in a forked child, or twice."""
        for pipe in self.tasks:
            if not pipe.closed:
                try:
                    if os.getpid() == self.owner:
                        pipe.send(None)
                except OSError:
                    pass
                pipe.close()
        for pipe in self.results:
            pipe.close()
        if os.getpid() != self.owner:
            return
        deadline = time.monotonic() + _PATIENCE_S
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join(1.0)
            if process.is_alive():
                process.kill()
                process.join()


class MultiprocessIterator(Iterator[Any]):
    """One pass over a DataLoader with workers, or several with persistent workers.

    Request number n goes to the next worker in turn that still has data, and batches come out in
    the order of their requests, so equal seeds give equal batches for equal numbers of workers.
    """

    def __init__(self, loader: DataLoader[Any], base_seed: int):
        # Not the loader itself: a loader holds its persistent iterator, and a cycle would keep
        # the workers alive until the garbage collector comes round.
        self._index_sampler = loader.index_sampler
        self._prefetched = (loader.prefetch_factor or 1) * loader.num_workers
        self._timeout = loader.timeout
        self._persistent = loader.persistent_workers
        self._crew = _Crew(loader, base_seed)
        self._close = weakref.finalize(self, self._crew.dismiss)
        # Dead workers; an error only when a batch is due that one of them owes.
        self._lost: set[int] = set()
        self._epoch = -1
        self.restart()

    def restart(self) -> None:
        """Begin a new pass with the same workers; answers to the previous one are dropped."""
        self._epoch += 1
        self._requests = iter(self._index_sampler)
        self._exhausted = False
        self._turn = 0
        self._streaming = [True] * len(self._crew.processes)
        self._next_out = 0
        self._sent = 0
        # Request number -> its answer, or the worker that still owes it.
        self._answers: dict[int, tuple[int, Any]] = {}
        self._owed: dict[int, int] = {}
        for _ in range(self._prefetched):
            self._hand_out()

    def _hand_out(self) -> None:
        """Send one more request to the next worker in turn."""
        workers = len(self._streaming)
        for step in range(workers):
            worker = (self._turn + step) % workers
            if self._streaming[worker]:
                break
        else:
            return
        if self._exhausted:
            return
        try:
            request = next(self._requests)
        except StopIteration:
            self._exhausted = True
            return
        self._turn = worker + 1
        self._owed[self._sent] = worker
        try:
            self._crew.tasks[worker].send((self._epoch, self._sent, request))
        except OSError:
            self._lost.add(worker)
        self._sent += 1

    def __next__(self) -> Any:
        try:
            return self._next()
        except StopIteration:
            if not self._persistent:
                self._close()
            raise
        except KeyboardInterrupt:
            self._close()
            raise

    def _next(self) -> Any:
        while self._next_out < self._sent:
            status, batch = self._take(self._next_out)
            worker = self._owed.pop(self._next_out)
            self._next_out += 1
            if status == END_OF_STREAM:
                self._streaming[worker] = False
            self._hand_out()
            if status == FAILURE:
                batch.reraise()
            if status != END_OF_STREAM:
                return batch
        raise StopIteration

    def _take(self, number: int) -> tuple[int, Any]:
        """The answer to a request, waiting for it."""
        timeout = self._timeout
        deadline = time.monotonic() + timeout if timeout > 0 else None
        while number not in self._answers:
            if self._owed[number] in self._lost:
                self._raise_dead(self._owed[number])
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                self._close()
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
            self._receive(left)
        return self._answers.pop(number)

    def _receive(self, timeout: float | None) -> None:
        if not self._close.alive:
            raise RuntimeError(
                "The workers of this DataLoader iterator have been shut down. "
                "Make a new one with iter(loader)."
            )
        pipes: dict[Any, int] = {
            pipe: worker
            for worker, pipe in enumerate(self._crew.results)
            if worker not in self._lost
        }
        ready: list[Any] = connection.wait(list(pipes), timeout)
        for pipe in ready:
            try:
                (epoch, number, status), batch = transfer.receive(pipe)
            except (EOFError, OSError):
                self._lost.add(pipes[pipe])
                continue
            if epoch == self._epoch:
                self._answers[number] = status, batch

    def _raise_dead(self, worker: int) -> None:
        process = self._crew.processes[worker]
        process.join(_PATIENCE_S)
        pid, code = process.pid, process.exitcode
        self._close()
        if code is not None and code < 0:
            raise RuntimeError(
                f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(-code)}."
            )
        raise RuntimeError(
            f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {code}. Details are "
            "lost due to multiprocessing. Rerunning with num_workers=0 may give better error trace."
        )

    def __len__(self) -> int:
        return len(self._index_sampler)

    @property
    def closed(self) -> bool:
        """Whether the workers are gone, so that a new pass needs a new iterator."""
        return not self._close.alive

    def close(self) -> None:
        """End the workers now."""
        self._close()
