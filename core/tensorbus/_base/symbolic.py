"""Types of numbers that stand for sizes while a program is traced: nothing is an instance of them.

Programs that also run on PyTorch ask ``isinstance(n, (int, torch.SymInt))``. Nothing is traced
here, so that all sizes are ints.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tensorbus._base.public_place import show_in


class _Symbolic:
    """A type without instances."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{cls.__name__}: nothing is traced here, so that all sizes are Python numbers; use "
            "torch.compile or torch.export of PyTorch for programs that need symbols"
        )


class SymInt(_Symbolic):
    """The type of ints that a traced program does not know yet; no object is one here.

    >>> import tensorbus
    >>> isinstance(tensorbus.ones(3).shape[0], tensorbus.SymInt)
    False

    Source: https://pytorch.org/docs/stable/torch.html#torch.SymInt
    """

    __slots__ = ()


class SymFloat(_Symbolic):
    """The type of floats that a traced program does not know yet; no object is one here.

    >>> import tensorbus
    >>> isinstance(1.5, tensorbus.SymFloat)
    False

    Source: https://pytorch.org/docs/stable/torch.html#torch.SymFloat
    """

    __slots__ = ()


class SymBool(_Symbolic):
    """The type of truth values that a traced program does not know yet; no object is one here.

    >>> import tensorbus
    >>> isinstance(True, tensorbus.SymBool)
    False

    Source: https://pytorch.org/docs/stable/torch.html#torch.SymBool
    """

    __slots__ = ()


show_in("tensorbus", [(c.__name__, c) for c in (SymInt, SymFloat, SymBool)])
