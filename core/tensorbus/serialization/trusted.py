"""What the user allows checkpoints to name."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from tensorbus._base.leaving import block
from tensorbus.serialization.errors import bad

user_globals: dict[str, Any] = {}


def _named(item: Any) -> tuple[str, Any]:
    if isinstance(item, tuple):
        if len(item) != 2 or not isinstance(item[1], str):
            raise ValueError(
                f"add_safe_globals(): a tuple must be (object, 'full.name'), but got {item!r}"
            )
        return item[1], item[0]
    try:
        return f"{item.__module__}.{item.__qualname__}", item
    except AttributeError:
        raise TypeError(f"add_safe_globals(): {item!r} is neither a class nor a function") from None


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Allow ``load`` to use these classes and functions when a file names them.

    An item may be a pair ``(object, "module.name")`` where the file uses another name. Loading then
    calls them with whatever arguments the file holds: add only what is harmless with any.

    >>> import datetime, tensorbus
    >>> tensorbus.serialization.add_safe_globals([datetime.date])
    >>> tensorbus.serialization.get_safe_globals()
    [<class 'datetime.date'>]
    >>> tensorbus.serialization.clear_safe_globals()
    """
    user_globals.update(_named(item) for item in safe_globals)


def get_safe_globals() -> list[Any]:
    """What ``add_safe_globals`` was called with.

    >>> import datetime, tensorbus
    >>> with tensorbus.serialization.safe_globals([datetime.date]):
    ...     datetime.date in tensorbus.serialization.get_safe_globals()
    True
    """
    return list(user_globals.values())


def clear_safe_globals() -> None:
    """Forget what ``add_safe_globals`` allowed.

    >>> import tensorbus
    >>> tensorbus.serialization.clear_safe_globals()
    >>> tensorbus.serialization.get_safe_globals()
    []
    """
    user_globals.clear()


@block
def safe_globals(safe_globals: Iterable[Any]) -> Generator[None, None, None]:
    """``add_safe_globals`` for the length of a ``with`` block.

    >>> import datetime, io, tensorbus
    >>> file = io.BytesIO()
    >>> tensorbus.save(datetime.date(2026, 1, 2), file)
    >>> _ = file.seek(0)
    >>> with tensorbus.serialization.safe_globals([datetime.date]):
    ...     tensorbus.load(file)
    datetime.date(2026, 1, 2)
    """
    before = dict(user_globals)
    try:
        add_safe_globals(safe_globals)
        yield
    finally:
        try:
            _set(before)
        except BaseException:
            _set(before)
            raise


def _set(allowed: dict[str, Any]) -> None:
    user_globals.clear()
    user_globals.update(allowed)


def is_allowed(obj: Any) -> bool:
    """Whether the user allowed this very class or function."""
    return any(obj is allowed for allowed in user_globals.values())


def is_users(target: Any) -> bool:
    """Whether an object is of a class that the user allowed."""
    return is_allowed(type(target))


def restore(target: Any, state: Any) -> None:
    """Give an object of a class that the user allowed its state, as pickle defines it."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    slots: Any = {}
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    for part in (state or {}, slots or {}):
        if type(part) is not dict or not all(isinstance(name, str) for name in part):
            raise bad(f"the state of a {type(target).__name__} is not a dict")
        for name, value in part.items():
            setattr(target, name, value)
