"""What is raised where a process that ``spawn`` started fails, by PyTorch's names."""

from __future__ import annotations

from typing import Any


class ProcessException(Exception):
    """A process failed: the one numbered *error_index*, whose process id was *error_pid*."""

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
    """The function raised; the message holds its traceback."""


class ProcessExitedException(ProcessException):
    """The process was killed or ended itself, with this exit code and perhaps by this signal."""

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
