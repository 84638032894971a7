"""What is raised where a process that ``spawn`` started fails, by PyTorch's names."""

from __future__ import annotations

from typing import Any


class ProcessException(Exception):
    """A process failed: the one numbered *error_index*, whose process id was *error_pid*.

    >>> from tensorbus.multiprocessing import ProcessException
    >>> ProcessException("ended", 1, 4711).error_pid
    4711
    """

    def __init__(self, msg: str, error_index: int, pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    @property
    def error_pid(self) -> int:
        """The process id."""
        return self.pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """The function raised; the message holds its traceback.

    >>> from tensorbus.multiprocessing import ProcessRaisedException, spawn
    >>> try:
    ...     spawn(chr, args=(None,), nprocs=1, start_method="fork")
    ... except ProcessRaisedException as error:
    ...     "TypeError" in str(error), error.error_index
    (True, 0)
    """


class ProcessExitedException(ProcessException):
    """The process was killed or ended itself, with this exit code and perhaps by this signal.

    >>> import os
    >>> from tensorbus.multiprocessing import ProcessExitedException, spawn
    >>> try:
    ...     spawn(lambda number: os._exit(3), start_method="fork")
    ... except ProcessExitedException as error:
    ...     error.exit_code
    3
    """

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (
            self.msg, self.error_index, self.pid, self.exit_code, self.signal_name
        )  # fmt: skip
