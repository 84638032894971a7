"""Calls while some thread is in a mode: each op once more, with the tests for modes left out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorbus._base.modes import RARE, InferenceCell, in_inference, this_thread
from tensorbus._base.registered import make_core
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import Node
from tensorbus.op_engine.older_broadcasting import warn_broadcast
from tensorbus.op_engine.row_handlers import handled
from tensorbus.rows.recipes import Cut
from tensorbus.rows.registry import Row


class _Never:
    on = False


_STEADY = {"RARE": _Never}
_UNRECORDED = {"RARE": _Never, "GRAD": _Never, "THREAD": _Never}
"""In inference mode nothing records, whatever the grad mode is."""


_CUT = Cut(
    "A view was created in inference mode",
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the inference_mode block (if "
    "you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
    "tracked).",
    " in normal mode",
)


@functools.cache
def _variant(row: Row, inference: bool, hooked: bool) -> Callable[..., Any]:
    made = make_core(row, _UNRECORDED if inference else _STEADY)
    if hooked:
        from tensorbus.autograd.packing import packing  # here: most programs have no hooks

        names = made.__globals__
        nodes = {name: cls for name, cls in names.items() if _is_node_class(cls)}
        names.update({name: packing(cls) for name, cls in nodes.items()})
    return made


def _is_node_class(x: Any) -> bool:
    return isinstance(x, type) and issubclass(x, Node) and x is not Node


def rare(row: Row, arguments: tuple[Any, ...]) -> Any:
    """A call while some mode is active: this thread's handlers get it, if it has any."""
    if this_thread.handlers or RARE.classes:
        return handled(row, arguments, _run)
    return _run(row, arguments)


def _run(row: Row, arguments: tuple[Any, ...]) -> Any:
    """The op itself.

    In inference mode results are inference tensors; where hooks for saved tensors are set, the
    nodes hold what the hooks packed. Where broadcasting is to be warned of, shapes are looked at.
    """
    if RARE.broadcasts and row.form == "binary":
        warn_broadcast(*arguments)
    inference = in_inference()
    hooked = bool(this_thread.hooks) and not inference
    function = _variant(row, inference, hooked)
    if row.form == "binary" and not isinstance(arguments[0], Tensor):
        made = function.__globals__["mixed"](row, *arguments)  # a number on the left
    else:
        made = function(*arguments)
    if hooked and this_thread.hear is not None:
        this_thread.hear(row.name, made)
    if inference:
        for t in made if isinstance(made, tuple) else (made,):
            _mark(t)
    return made


def _mark(made: Any) -> None:
    if isinstance(made, Tensor):
        if made._c is None:
            made._c = InferenceCell()
        elif isinstance(made._b, Tensor) and type(made._c) is list:
            made._r, made._v = _CUT, made._c[0]
