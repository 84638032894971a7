"""Composed pointwise ops of many elements, a piece of them after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorbus._base import registered
from tensorbus._base.size import broadcast_shapes
from tensorbus._dispatch import fusion

if TYPE_CHECKING:
    from tensorbus._dispatch.kinds import Kind
    from tensorbus.rows.registry import Row

Entry = Callable[..., Any]


def in_pieces(kind: Kind, target: Kind, entry: Entry, row: Row) -> Entry:
    """*entry*, which composes *row*, by pieces of ``Traits.piece`` elements, where there are two or
    more of them.

    All steps of a composition are taken on one piece before the next: between the steps lie arrays
    as large as the operands, which else would go through the main memory again and again. The
    composition is emitted as Python that writes into the same buffers for each piece, where
    ``set_fusion`` allows.
    """
    size = kind.backend.traits.piece
    of_piece: Entry | None = None

    def pieces(*args: Any, out: Any = None) -> Any:
        nonlocal of_piece
        shapes = {tuple(x.shape) for x in args if hasattr(x, "shape")}
        shape = shapes.pop() if len(shapes) == 1 else broadcast_shapes(*shapes)
        count = math.prod(shape)
        if count < 2 * size:
            return entry(*args, out=out)
        if of_piece is None:
            emits = fusion.get_fusion()
            of_piece = registered.emitted_composition(kind, row, entry) if emits else entry
        flat = [_flat(kind, x, shape, count) for x in args]
        direct = out is not None and target.is_contiguous(out)
        made = out if direct else target.empty(shape)
        results = target.view(made, (count,))
        for start in range(0, count, size):
            stop = min(start + size, count)
            part = [kind.slice(x, 0, start, stop, 1) if cut else x for x, cut in flat]
            of_piece(*part, out=target.slice(results, 0, start, stop, 1))
        return made if out is None or direct else target.copy_(out, made)

    return pieces


def _flat(kind: Kind, x: Any, shape: tuple[int, ...], count: int) -> tuple[Any, bool]:
    """An operand's elements in row-major order, and True; a number or a 0-d array, and False."""
    if not getattr(x, "shape", ()):
        return x, False
    if tuple(x.shape) != shape:
        x = kind.expand(x, shape)
    return kind.view(kind.contiguous(x), (count,)), True
