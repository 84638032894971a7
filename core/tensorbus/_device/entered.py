"""The default device of each thread, and how ``with device(...)`` sets it and sets it back."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from tensorbus._base.leaving import Entered, entering


class _Entered(Entered):
    device: Any = None


local = _Entered()


def _within(device: Any, outer: Callable[[], None]) -> Generator[None, None, None]:
    before = local.device
    try:
        local.device = device
        yield
    finally:
        local.leave = outer
        local.device = before


enter, leave = entering(local, _within)
