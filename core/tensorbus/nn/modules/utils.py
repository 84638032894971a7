"""Helpers that libraries take from PyTorch's module of this path."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The options that tensors are made with, of a layer's keyword arguments.

    These are ``device``, ``dtype`` and ``memory_format``, given as they are or in a dict under
    ``factory_kwargs``. TypeError for others, and for one that is given twice.

    >>> from tensorbus import nn
    >>> nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": None}})
    {'dtype': None, 'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    options = ("device", "dtype", "memory_format")
    unknown = kwargs.keys() - {*options, "factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in options:
        if name in kwargs:
            if name in found:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            found[name] = kwargs[name]
    return found


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes *n* of a number, and a tuple of what can be iterated."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(itertools.repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """The elements in reverse, each *n* times: ``(1, 2)`` and 2 give ``(2, 2, 1, 1)``."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: Any, defaults: Sequence[int]) -> Any:
    """*out_size*, with the last *defaults* where it is None; ValueError where it has too many."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    last = defaults[-len(out_size) :]
    return [d if x is None else x for x, d in zip(out_size, last, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take *prefix* off the keys of a state dict, and of its metadata, in place.

    >>> from tensorbus.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = {"module.weight": 1, "step": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'weight': 1, 'step': 2}
    """
    for table in (state_dict, getattr(state_dict, "_metadata", None)):
        if table is None:
            continue
        for key in list(table):
            value = table.pop(key)
            if table is not state_dict and key == prefix.removesuffix("."):
                key = ""
            table[key.removeprefix(prefix)] = value
