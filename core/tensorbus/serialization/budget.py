"""The work that a file may ask for, which grows with its size and no faster.

A few bytes can stand for much work: a tuple that holds another one a thousand times over and is
itself held a thousand times, numbers that all have one hash, a long list that is copied by three
bytes each time. So everything whose cost is not in the bytes that are read pays from a budget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextvars import ContextVar
from typing import Any

from tensorbus._base.leaving import block
from tensorbus.serialization.errors import bad, shown

_FOR_EACH_BYTE = 4
_AT_LEAST = 1 << 20
_BYTES_AT_ONCE = 64  # hashed, compared or copied in the time that one element takes


class _Budget:
    def __init__(self, size: int):
        self.left = _AT_LEAST + _FOR_EACH_BYTE * size
        self.hashes: Counter[tuple[int, int]] = Counter()


_current: ContextVar[_Budget | None] = ContextVar("budget", default=None)


@block
def limited(size: int) -> Generator[None, None, None]:
    """Within the block, a file of *size* bytes is read; trusted files are read without limit."""
    before = _current.get()
    try:
        _current.set(_Budget(size))
        yield
    finally:
        _current.set(before)


def spend(amount: int) -> None:
    """Pay for so many elements; CheckpointError where the budget is used up."""
    budget = _current.get()
    if budget is not None:
        budget.left -= amount
        if budget.left < 0:
            raise bad("reading it would take more time and memory than a file of its size needs")


def spend_on(value: Any) -> None:
    """Pay for one walk over what an argument holds, though not over what that holds in turn."""
    if isinstance(value, str | bytes | bytearray):
        spend(1 + len(value) // _BYTES_AT_ONCE)
    elif isinstance(value, list | tuple | dict | set | frozenset):
        spend(1 + len(value))


def as_key(target: Any, key: Any) -> Any:
    """*key*, if it may become a key of *target*, a dict or a set; its hashing is paid for."""
    if isinstance(key, str | bytes):
        # Python mixes a secret into these hashes, so that no file can make them collide.
        spend(1 + len(key) // _BYTES_AT_ONCE)
        return key
    size = _checked(key, 0)
    budget = _current.get()
    if budget is not None:
        mark = id(target), hash(key)
        # Python compares a key with all others that have its hash.
        spend(size * (budget.hashes[mark] + 1))
        if key not in target:
            budget.hashes[mark] += 1
    return key


def _checked(key: Any, depth: int) -> int:
    """The number of elements of a key; a deep tuple would overflow Python's own stack."""
    spend(1)
    if isinstance(key, tuple | frozenset):
        if depth > 8:
            raise bad("a key of a dict is nested too deeply")
        return 1 + sum(_checked(part, depth + 1) for part in key)
    if isinstance(key, list | dict | set | bytearray):
        raise bad(f"a key of a dict is {shown(key)}")
    if isinstance(key, int):
        return 1 + key.bit_length() // (8 * _BYTES_AT_ONCE)
    if isinstance(key, str | bytes):
        return 1 + len(key) // _BYTES_AT_ONCE
    return 1
