"""``record``: a rank writes down what it failed of, in a file that its launcher names."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import io
import json
import os
import time
import traceback
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__path__: list[str] = []  # paths of PyTorch lie below it: pytorch_paths.py

P = ParamSpec("P")
R = TypeVar("R")

VARIABLE = "TORCHELASTIC_ERROR_FILE"
"""In the environment of a rank: the file for its error."""


class ErrorHandler:
    """Writes an exception to the file that ``TORCHELASTIC_ERROR_FILE`` names, as JSON.

    Subclasses may override both methods.
    """

    def initialize(self) -> None:
        """Prepare the process, before the function runs: faults print where they happened."""
        if faulthandler.is_enabled():
            return
        # Standard error may be no file, as in a notebook.
        with contextlib.suppress(AttributeError, ValueError, io.UnsupportedOperation, RuntimeError):
            faulthandler.enable(all_threads=True)

    def record_exception(self, e: BaseException) -> None:
        """Write it down, with its traceback and the time; nothing where no file is named."""
        path = os.environ.get(VARIABLE)
        if not path:
            return
        message = {
            "message": f"{type(e).__name__}: {e}",
            "extraInfo": {
                "py_callstack": "".join(traceback.format_exception(e)),
                "timestamp": str(int(time.time())),
            },
        }
        try:
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"message": message}, file)
        except OSError as error:
            warnings.warn(f"the error can't be written to {path}: {error}", stacklevel=2)


def get_error_handler() -> ErrorHandler:
    """The handler that ``record`` uses where it is given none."""
    return ErrorHandler()


def record(fn: Callable[P, R], error_handler: ErrorHandler | None = None) -> Callable[P, R | None]:
    """Decorate a rank's main function: what it raises is written down, and raised as ever.

    ``sys.exit(0)`` becomes a return.

    >>> from tensorbus.distributed.elastic.multiprocessing.errors import record
    >>> @record
    ... def main():
    ...     return "trained"
    >>> main()
    'trained'
    """
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def recorded(*args: P.args, **kwargs: P.kwargs) -> R | None:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as e:
            if e.code == 0:
                return None
            raise
        except Exception as e:
            handler.record_exception(e)
            raise

    return recorded
