"""``record_function``: a name for a block of a program in its profile."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from tensorbus._base.leaving import Leaving
from tensorbus.profiler.recording import current

F = TypeVar("F", bound=Callable[..., Any])


class record_function(Leaving):
    """A block, or as a decorator each call of a function, under its name in the profile.

    Nothing happens while the thread is not profiled. *args* is a text that the trace shows with
    it. TypeError where they are no strings.

    >>> import tensorbus as torch
    >>> from tensorbus.profiler import profile, record_function
    >>> x = torch.ones(2)
    >>> with profile() as p:
    ...     with record_function("twice"):
    ...         _ = x + x
    >>> [(event.name, len(event.cpu_children)) for event in p.events()]
    [('twice', 1), ('aten::add', 0)]
    """

    def __init__(self, name: str, args: str | None = None):
        for given in (name, "" if args is None else args):
            if not isinstance(given, str):
                raise TypeError(
                    f"record_function takes its name and args as str, not {type(given).__name__}"
                )
        self.name = name
        self.args = args

    def within(self, outer: Callable[[], None]) -> Generator[record_function, None, None]:
        recorder = current()
        depth = 0 if recorder is None else recorder.depth
        try:
            if recorder is not None:
                recorder.begin(self.name, annotation=True).args = self.args
            yield self
        finally:
            self.close = outer
            if recorder is not None:
                try:
                    recorder.close(depth)
                except BaseException:
                    recorder.close(depth)
                    raise

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]
