"""What sets hooks for the tensors that a thread saves, and sets them back."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from tensorbus._base.leaving import Leaving
from tensorbus._base.modes import PackHooks, switch, this_thread


class Hooking(Leaving):
    """A context manager with hooks for what this thread saves."""

    entered: Any = None
    """What ``as`` names."""

    def hooks(self) -> PackHooks:
        """What packs, and what unpacks."""
        raise NotImplementedError

    def within(self, outer: Callable[[], None]) -> Generator[Any, None, None]:
        before = this_thread.hooks
        try:
            if this_thread.hooks_refused is not None:
                raise RuntimeError(this_thread.hooks_refused)
            switch("hooks", (*before, self.hooks()))
            yield self.entered
        finally:
            self.close = outer
            try:
                switch("hooks", before)
            except BaseException:
                switch("hooks", before)
                raise
