"""NumPy's floating point warnings are kept from the user: NaN and inf are values here.

Setting NumPy's error state around each call would cost more than a small call itself, and setting
it for good would change the user's own NumPy. A warnings filter on the names of our modules costs
nothing until a floating point flag is raised. Whoever restores the list of filters (pytest does,
around each test) drops it, and a later ``error`` filter comes before it; so it is put back in front
where that costs nothing that counts: at the first call of an op, when a tensor is made, at the
start of a backward pass.
"""

from __future__ import annotations

import contextvars
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")

_MODULES = r"tensorbus(_\w+)?(\.|$)"
_ours: object = None


def silence() -> None:
    """Put the filter in front of all others, unless it is there."""
    global _ours
    filters = warnings.filters
    if not filters or filters[0] is not _ours:
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=_MODULES)
        _ours = warnings.filters[0]


silence()


def _ignoring() -> tuple[contextvars.ContextVar[Any], Any]:
    """The variable that holds NumPy's error state, and what it holds where nothing is told."""
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    ((variable, value),) = context.items()
    return variable, value


_STATE, _IGNORED = _ignoring()


def quietly(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call *function* while NumPy tells of no floating point error in this thread.

    ``numpy.errstate`` ends in Python: Ctrl-C at its first line would leave the user's own NumPy
    silent for good. Here no place for an interrupt lies between the setting and the ``try``.
    """
    before = _STATE.get()
    try:
        _STATE.set(_IGNORED)
        return function(*args, **kwargs)
    finally:
        _STATE.set(before)
