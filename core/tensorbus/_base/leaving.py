"""Context managers whose end no interrupt can prevent."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator
from typing import Any


def _nothing() -> None:
    """What there is to leave before anything was entered."""


class Leaving(io.IOBase):
    """A context manager written as a generator: ``within`` sets, yields once, and sets back.

    Ctrl-C raises KeyboardInterrupt wherever a Python function begins, so an ``__exit__`` in Python
    may end before its first line, and what it should have set back stays for good. That of
    ``io.IOBase`` is compiled and calls ``close``, which is here the generator's own, compiled too:
    an interrupt that comes then finds the generator inside its ``try``.
    """

    closed = True  # there is nothing to do when the object is freed
    close: Callable[[], None] = staticmethod(_nothing)

    def within(self, outer: Callable[[], None]) -> Generator[None, None, None]:
        """Set, yield, and in a ``finally`` clause that holds up to one interrupt, set back.

        That clause gives ``close`` back to *outer*: the same object may have been entered twice.
        """
        raise NotImplementedError

    def __enter__(self) -> Any:
        steps = self.within(self.close)
        try:
            next(steps)
            self.close = steps.close
        except BaseException:
            steps.close()
            raise
