"""What the result of a composed function shows: its layout in memory, and the name of its node."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorbus._base.formats import contiguous_format
from tensorbus._base.modes import RARE
from tensorbus._tensor.tensor import Tensor, order_mark
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.autocasting import as_one_op
from tensorbus.rows.layouts import (
    channels_last_strides,
    contiguous_strides,
    empty_in_layout,
    pointwise_strides,
    suggested_format,
)


def composed(
    *,
    node: str | Callable[..., str] = "",
    layout: str = "",
    operands: int = 0,
    autocast: str = "",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give the new tensors that a function returns a layout, and their node a name.

    With the layout ``channels_last`` they have the channels last where a tensor among the arguments
    has; with ``order`` they have the arguments' order of dimensions; with ``row_major`` none. Only
    the first *operands* tensors count where that is given. The node is that of the composition's
    last step under the name that the function's own has in PyTorch; a function of the arguments
    says it where it depends on them.

    A function with a node is one op for autocast too: it is converted as *autocast* says, in the
    words of ``rows/autocast_policies.py``, and nothing inside is.
    """
    layouts = {"channels_last": _channels_last, "order": _in_order, "row_major": _row_major}
    arrange = layouts[layout] if layout else None
    by_operands = layout != "row_major"
    one_op = bool(node or autocast)

    def settled(results: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether no result has a history, and all that decides on the layout is row-major."""
        for t in results:
            if isinstance(t, Tensor) and (t._e is not None or (arrange and t._b is not None)):
                return False
        if arrange and by_operands:
            for x in (*args, *kwargs.values()) if kwargs else args:
                if isinstance(x, Tensor) and x._b is not None:
                    return False
        return True

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            if one_op and RARE.on:
                result = as_one_op(autocast, f, args, kwargs)
            else:
                result = f(*args, **kwargs)
            single = isinstance(result, Tensor)
            if single and arrange is None:
                if result._e is not None and id(result) not in map(id, (*args, *kwargs.values())):
                    name_node(result, node if isinstance(node, str) else node(*args, **kwargs))
                return result
            if arrange is None and result and result[0]._e is None:
                return result  # the outputs of one function are recorded together
            if settled((result,) if single else result, args, kwargs):
                return result
            given = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)]
            known, name = {id(x) for x in given}, ""
            for t in (result,) if single else result:
                if not isinstance(t, Tensor) or (arrange is None and t._e is None):
                    continue
                if id(t) in known:
                    continue
                if arrange is not None:
                    arrange(t, given[:operands] if operands else given)
                if node and t._e is not None:
                    name = name or (node if isinstance(node, str) else node(*args, **kwargs))
                    name_node(t, name)
            return result

        return call

    return decorate


# -- layouts ---------------------------------------------------------------------------------
def has_channels_last(x: Tensor) -> bool:
    """Whether the strides of a tensor of four or five dimensions say that its channels are last."""
    if x._b is None or len(x._s) not in (4, 5):
        return False
    strides = tuple(x._k.strides(x._a))
    return suggested_format(tuple(x._s), strides) is not contiguous_format


def _channels_last(t: Tensor, given: list[Tensor]) -> None:
    if any(len(x._s) == len(t._s) and has_channels_last(x) for x in given):
        lay_out(t, channels_last_strides(tuple(t._s)))


def _in_order(t: Tensor, given: list[Tensor]) -> None:
    if any(x._b is not None for x in given):
        laid = [(tuple(x._s), tuple(x._k.strides(x._a))) for x in given]
        lay_out(t, pointwise_strides(tuple(t._s), *laid))


def _row_major(t: Tensor, given: list[Tensor]) -> None:
    if t._b is not None:
        lay_out(t, contiguous_strides(tuple(t._s)))


def lay_out(t: Tensor, strides: tuple[int, ...]) -> None:
    """Move the values of a tensor that nobody has seen yet to memory with other strides."""
    k, before = t._k, t._a
    if tuple(k.strides(before)) == strides or 0 in t._s:
        return
    t._a = empty_in_layout(k, tuple(t._s), strides)
    k.copy_(t._a, before)
    t._b = order_mark(k, t._a)
    n = t._e
    if (
        n is not None and not n.packs and getattr(n, "r_out", None) is before
    ):  # kept for the backward pass: one copy is enough
        n.r_out = t._a
