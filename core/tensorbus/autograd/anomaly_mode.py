"""Anomaly mode: an error in a backward pass is told with the forward call that it belongs to.

While it is on, each new node remembers the calls that made it, and the engine looks at what each
node gives. While it is off, nothing of this is there: the class of nodes has no ``__init__``.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Generator
from typing import Any, Self

from tensorbus._base.leaving import Leaving
from tensorbus._base.public_place import show_in
from tensorbus._base.warning import user_frame, warn_user
from tensorbus._tensor.sparse_array import SparseArray
from tensorbus._tensor.tensor import wrap_like
from tensorbus.autograd.hook_calls import run_node
from tensorbus.autograd.node import Node
from tensorbus.op_engine.cores import core


class _Anomaly:
    """Whether the mode is on, in all threads."""

    __slots__ = ("check_nan", "on")

    def __init__(self) -> None:
        self.on = False
        self.check_nan = True


ANOMALY = _Anomaly()


class _Thread(threading.local):
    node: Node | None = None
    """The node that runs; what it records was induced by it."""


_running = _Thread()
_TRACE, _PARENT = "traceback_", "parent_"


def _remember(node: Node) -> None:
    """What ``Node.__init__`` is while the mode is on."""
    node.meta = {_TRACE: traceback.format_stack(user_frame()), _PARENT: _running.node}


def _switch(on: bool, check_nan: bool) -> None:
    ANOMALY.on, ANOMALY.check_nan = on, check_nan
    if on:
        Node.__init__ = _remember  # type: ignore[method-assign, assignment]
    elif "__init__" in vars(Node):
        del Node.__init__


def run_watched(node: Node, g: Any, create_graph: bool) -> tuple[Any, ...]:
    """Edges and gradients, in turn, of a node; its errors and NaNs are told with its history."""
    before = _running.node
    try:
        _running.node = node
        pairs = run_node(node, g, create_graph)
        if ANOMALY.check_nan:
            for i, (edge, value) in enumerate(zip(pairs[::2], pairs[1::2], strict=True)):
                if edge is not None and _has_nan(edge, value, create_graph):
                    raise RuntimeError(
                        f"Function '{node.name()}' returned nan values in its {i}th output."
                    )
        return pairs
    except Exception:
        _tell(node)
        raise
    finally:
        _running.node = before


def _has_nan(edge: Node, g: Any, create_graph: bool) -> bool:
    if g is None or isinstance(g, dict):  # the gradients of several outputs, on their way
        return False
    if isinstance(g, SparseArray):
        g, create_graph = g.values, True
    t = g.detach() if create_graph else wrap_like(g, edge.hook_kind, None)
    return bool(core("isnan")(t).any().item())


def _tell(node: Node) -> None:
    """Warn with the calls that made the node, and those that made what induced it."""
    start = f"Error detected in {node.name()}. "
    of = "caused the error"
    at: Node | None = node
    while at is not None:
        notes = at.metadata
        if _TRACE not in notes:
            warn_user(
                f"{start}No forward pass information available. Enable detect anomaly during "
                "forward pass for more information."
            )
        else:
            trace = "".join(notes[_TRACE])
            warn_user(f"{start}Traceback of forward call that {of}:\n{trace}")
        at = notes.get(_PARENT)
        if at is not None:
            start = f"\n\nPrevious calculation was induced by {at.name()}. "
            of = "induced the previous calculation"


class _Watching(Leaving):
    """Sets anomaly mode back at its end: to what was before, or was when it was entered."""

    check_nan: bool
    _before: tuple[bool, bool] | None = None

    def within(self, outer: Callable[[], None]) -> Generator[None, None, None]:
        before = self._before or (ANOMALY.on, ANOMALY.check_nan)
        try:
            if self._before is None:
                _switch(True, self.check_nan)
            yield
        finally:
            self.close = outer
            try:
                _switch(*before)
            except BaseException:
                _switch(*before)
                raise


class set_detect_anomaly(_Watching):
    """Switch anomaly mode at once, in all threads; as a context manager, back again at the end.

    *check_nan* says whether gradients that are NaN are errors; see ``detect_anomaly``.

    >>> import tensorbus as torch
    >>> with torch.autograd.set_detect_anomaly(True, check_nan=False):
    ...     torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    (True, False)

    Source: https://pytorch.org/docs/stable/autograd.html#anomaly-detection
    """

    mode: bool

    def __new__(cls, mode: bool, check_nan: bool = True) -> Self:
        self = Leaving.__new__(cls)
        self.mode, self.check_nan = bool(mode), bool(check_nan)
        self._before = ANOMALY.on, ANOMALY.check_nan
        try:
            _switch(self.mode, self.check_nan)
        except BaseException:  # an interrupt: there is no block that would switch it back
            _switch(*self._before)
            raise
        return self


class detect_anomaly(_Watching):
    """Inside, a backward pass tells which forward call an error belongs to.

    The operations that are recorded inside remember where they were called. A backward pass that
    runs inside warns with these calls where a node raises, or where one gives a gradient that has
    a NaN, which is then a RuntimeError (not with ``check_nan=False``). Everything is slower:
    entering it warns of that.

    >>> import tensorbus as torch
    >>> x = torch.tensor([0.0], requires_grad=True)
    >>> with torch.autograd.detect_anomaly():
    ...     (x.sqrt() * 0).backward()
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.

    Source: https://pytorch.org/docs/stable/autograd.html#anomaly-detection
    """

    def __new__(cls, check_nan: bool = True) -> Self:
        self = Leaving.__new__(cls)
        self.check_nan = bool(check_nan)
        warn_user(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging."
        )
        return self


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return ANOMALY.on


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode takes gradients that are NaN for errors."""
    return ANOMALY.check_nan


__all__ = ["detect_anomaly", "set_detect_anomaly"]

show_in("tensorbus.autograd", [(n, globals()[n]) for n in __all__])
show_in("tensorbus", [(f.__name__, f) for f in (is_anomaly_enabled, is_anomaly_check_nan_enabled)])
