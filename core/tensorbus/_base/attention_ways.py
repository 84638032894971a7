"""Which ways of computing attention a program allows. There is one: no choice changes a result."""

from __future__ import annotations

NUMBERS = {"math": 0, "flash": 1, "mem_efficient": 2, "cudnn": 3, "overrideable": 4}
"""The names of the ways in PyTorch's switches, and its numbers."""


class _Ways:
    """``allowed`` holds names of ``NUMBERS``; ``order`` says which is preferred."""

    __slots__ = ("allowed", "order")

    def __init__(self) -> None:
        self.allowed = set(NUMBERS)
        self.order = ["flash", "mem_efficient", "math", "cudnn", "overrideable"]

    @property
    def none(self) -> bool:
        """Whether all ways that PyTorch brings itself are switched off."""
        return self.allowed <= {"overrideable"}


WAYS = _Ways()
