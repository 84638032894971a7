"""What stands for the backends of a parent process in a forked child."""

from __future__ import annotations

from typing import Any


class DeadBackend:
    """Stands for a backend in a forked child that its library does not survive."""

    def __init__(self, type: str):
        self._text = (
            f"the parent process used device {type!r}, so a forked child cannot: start processes "
            "with multiprocessing.get_context('spawn') (for a DataLoader: "
            "multiprocessing_context='spawn'), or use the device only after the fork"
        )

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(self._text)

    def refuse(self, *_: Any, **__: Any) -> Any:
        """Any op of the device."""
        raise RuntimeError(self._text)
