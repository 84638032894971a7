"""``torch.backends.cudnn``: the flags ``enabled``, ``benchmark``, ``benchmark_limit``,
``deterministic`` and ``allow_tf32``, which are kept and change no result: no kernel here is of that
library.

>>> import tensorbus
>>> tensorbus.backends.cudnn.deterministic = True
>>> with tensorbus.backends.cudnn.flags(benchmark=True):
...     print(tensorbus.backends.cudnn.benchmark, tensorbus.backends.cudnn.deterministic)
True False
>>> tensorbus.backends.cudnn.benchmark, tensorbus.backends.cudnn.deterministic
(False, True)
>>> tensorbus.backends.cudnn.deterministic = False
"""

from __future__ import annotations

from collections.abc import Generator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.leaving import block as _block
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.backends._flags import Flag, Precision, Together, install, part

__path__: list[str] = []  # paths of PyTorch lie below it: pytorch_paths.py

__all__ = ["flags", "is_acceptable", "is_available", "set_flags", "version"]

enabled: bool
deterministic: bool
benchmark: bool
benchmark_limit: int | None
allow_tf32: bool
fp32_precision: str


class _Cudnn(ModuleType):
    enabled = Flag(True)
    deterministic = Flag(False)
    benchmark = Flag(False)
    benchmark_limit = Flag(None, int, type(None))
    allow_tf32 = Flag(True)
    fp32_precision = Precision("ieee", "tf32")


conv, rnn = (part(fp32_precision=Precision("ieee", "tf32", first="tf32")) for _ in range(2))

install(__name__, _Cudnn)
_FLAGS = Together(_Cudnn, "enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")


def is_available() -> bool:
    """Whether cuDNN is used: False."""
    return False


def version() -> int | None:
    """The version of cuDNN: None, since none is used."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN would compute with a tensor: False."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple[Any, ...]:
    """Set the flags that are given, and return what all were before, in this order.

    RuntimeError where a value has another type; then no flag is changed.
    """
    return _FLAGS.change(_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)


@_block
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int | None = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Generator[None, None, None]:
    """A context in which the flags are these; they are what they were at its end.

    RuntimeError where a value has another type.
    """
    before = _FLAGS.values()
    try:
        set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
        yield
    finally:
        try:
            _FLAGS.restore(before)
        except BaseException:
            _FLAGS.restore(before)
            raise


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
