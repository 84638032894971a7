"""``torch.backends.mkldnn``: the flags ``enabled``, ``deterministic`` and ``allow_tf32``, and
``fp32_precision`` of it and of its parts ``matmul``, ``conv`` and ``rnn``; they are kept and change
no result: no kernel here is of that library.

>>> import tensorbus
>>> tensorbus.backends.mkldnn.is_available(), tensorbus.backends.mkldnn.enabled
(False, True)
"""

from __future__ import annotations

from collections.abc import Generator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.leaving import block as _block
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.backends._flags import Flag, Precision, Together, Verbose, install, part

__all__ = ["flags", "is_available", "set_flags", "verbose"]

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2

enabled: bool
deterministic: bool
allow_tf32: bool | None
fp32_precision: str


class _Mkldnn(ModuleType):
    enabled = Flag(True)
    deterministic = Flag(False)
    allow_tf32 = Flag(None, bool, type(None))
    fp32_precision = Precision("ieee", "tf32", "bf16")


matmul, conv, rnn = (part(fp32_precision=Precision("ieee", "tf32", "bf16")) for _ in range(3))

install(__name__, _Mkldnn)
_FLAGS = Together(_Mkldnn, "enabled", "deterministic", "allow_tf32", "fp32_precision")


def is_available() -> bool:
    """Whether oneDNN is used: False."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = None,
) -> tuple[Any, ...]:
    """Set the flags that are given, and return what all were before, in this order.

    RuntimeError for what is no bool, and for an unknown precision; then no flag is changed.
    """
    return _FLAGS.change(_enabled, _deterministic, _allow_tf32, _fp32_precision)


@_block
def flags(
    enabled: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Generator[None, None, None]:
    """A context in which the flags are these; they are what they were at its end."""
    before = _FLAGS.values()
    try:
        set_flags(enabled, deterministic, allow_tf32, fp32_precision)
        yield
    finally:
        try:
            _FLAGS.restore(before)
        except BaseException:
            _FLAGS.restore(before)
            raise


class verbose(Verbose):
    """A block in which oneDNN would tell what it does; nothing is told, for it is not used.

    >>> from tensorbus.backends import mkldnn
    >>> with mkldnn.verbose(mkldnn.VERBOSE_ON):
    ...     pass
    """


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
