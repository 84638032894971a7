"""Methods as an inner mode gets them: calling one asks the mode around."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any

from tensorbus._tensor.tensor import Tensor


class AskedAgain:
    """A method of Tensor that asks who overrides it, and else is the method that it equals.

    A mode of functions gets this where it lies inside another one, which its call of the method
    would else not reach: plain methods ask nobody.
    """

    __slots__ = ("asking", "plain")

    def __init__(self, plain: Any, asking: Callable[..., Any]):
        self.plain = plain
        self.asking = asking

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.asking(*args, **kwargs)

    def __get__(self, x: Any, owner: type | None = None) -> Any:
        return self if x is None else MethodType(self, x)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    def __eq__(self, other: object) -> bool:
        return bool(self.plain == (other.plain if isinstance(other, AskedAgain) else other))

    def __hash__(self) -> int:
        return hash(self.plain)

    def __repr__(self) -> str:
        return repr(self.plain)


def given(name: str, asking: Callable[[str], Any] | None = None) -> Any:
    """The method of Tensor with a name, as one that asks again where *asking* makes such."""
    found = getattr(Tensor, name)
    plain = found.plain if isinstance(found, AskedAgain) else found
    return plain if asking is None else asked_again(name, plain, asking)


@functools.cache
def asked_again(name: str, plain: Any, asking: Callable[[str], Any]) -> AskedAgain:
    """One object for each method."""
    return AskedAgain(plain, asking(name))
