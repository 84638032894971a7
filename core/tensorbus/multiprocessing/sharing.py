"""How memory is shared between processes: a setting without effect, as there is one way."""

from __future__ import annotations

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """The names that ``set_sharing_strategy`` takes.

    >>> import tensorbus as torch
    >>> sorted(torch.multiprocessing.get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """What was set last; ``file_descriptor`` at first.

    >>> import tensorbus as torch
    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Keep a name that ``get_sharing_strategy`` gives: tensors are shared in the same way for both.

    AssertionError for another name.

    >>> import tensorbus as torch
    >>> torch.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {sorted(_STRATEGIES)}"
        )
    _strategy = new_strategy
