"""What libraries ask of sizes that are symbols while a program is traced: here all are numbers.

>>> from tensorbus.fx.experimental.symbolic_shapes import guard_or_false
>>> guard_or_false(3 > 2)
True
"""

from __future__ import annotations

from typing import Any


class GuardOnDataDependentSymNode(RuntimeError):
    """What PyTorch raises where a symbol has no value yet; never raised here."""


def get_proxy_mode() -> None:
    """What traces the ops of tensors: None, since nothing does."""


def guard_or_false(a: Any) -> bool:
    """Whether a condition holds."""
    return bool(a)


guard_or_true = statically_known_true = guard_or_false


def free_symbols(val: Any) -> set[Any]:
    """The symbols of a value: none."""
    return set()


free_unbacked_symbols = free_symbols
