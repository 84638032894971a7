"""Random numbers by rejection: candidates are drawn until all are taken.

Each round of rejections draws under a key of its own, so a call spends as many words of the stream
whatever it finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorbus._base.modes import this_thread
from tensorbus._dispatch.batching import BatchedDevice, levels_of
from tensorbus._dispatch.kinds import Kind
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.op_engine.batches import drawn_for, enter, leave
from tensorbus.op_engine.casting import to_kind
from tensorbus.ops.indexing.masking import nonzero
from tensorbus.ops.joining.grids import broadcast_tensors
from tensorbus.ops.pointwise.special import widest
from tensorbus.ops.random.pieces import Pieces, joined, piece_size
from tensorbus.random import taken

Draw = Callable[[int, int], tuple[Tensor, Tensor]]
"""For a round, two vectors of so many uniforms: in float64, where the device has it."""


def drawn(operands: list[Tensor], generator: Any, numbers: Callable[..., Tensor]) -> Tensor:
    """Random numbers for operands that broadcast; those of a batch all at once.

    *numbers* makes them of a ``Draw`` and of vectors of the operands.
    """
    operands = [drawn_for(x) for x in broadcast_tensors(*operands)]
    k, shape = operands[0]._k, operands[0]._s
    if "same" in this_thread.randomness[: len(levels_of(k.device))]:
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input: pass "
            "randomness='different'"
        )
    key, offset = taken(k, generator, 2 * shape.numel())
    sizes = []
    while k.inner is not None:
        assert isinstance(k.device, BatchedDevice)
        sizes.append(k.device.size)
        operands = [leave(x) for x in operands]
        k = operands[0]._k
    made = _in_pieces(k, operands, key[0], offset, numbers)
    for size in reversed(sizes):
        made = enter(made, size)
    return made


def _in_pieces(
    k: Kind, operands: list[Tensor], seed: int, offset: int, numbers: Callable[..., Tensor]
) -> Tensor:
    shape = tuple(operands[0]._s)
    n = math.prod(shape)
    if not k.has_values or not n:
        return from_array(k.empty(shape), k)
    wide = widest(k)
    flat = [x.reshape(-1) for x in operands]

    def made() -> Pieces:
        size = piece_size(k)
        for start in range(0, n, size):

            def draw(turn: int, count: int, at: int = offset + start // 2) -> Any:
                u = from_array(wide.uniform((seed, turn), at, 2 * count), wide)
                return u[:count], u[count:]

            piece = [to_kind(x[start : start + size], wide) for x in flat]
            yield start, to_kind(numbers(draw, *piece), k)._a

    return from_array(k.view(joined(k, n, made()), shape), k)


def until_taken(
    draw: Draw,
    uniforms: tuple[Tensor, Tensor],
    operands: list[Tensor],
    propose: Callable[..., tuple[Tensor, Tensor]],
    turn: int = 0,
) -> Tensor:
    """Candidates, drawn again until all are taken.

    *propose* makes candidates of two vectors of uniforms and of the operands, and says which are
    taken. *uniforms* are those of the first round.
    """
    found, taken = propose(*uniforms, *operands)
    again = nonzero(~taken).reshape(-1)
    count = again._s[0]
    if not count:
        return found
    rest = [x[again] for x in operands]
    turn += 1
    better = until_taken(draw, draw(turn, count), rest, propose, turn)
    return found.index_copy(0, again, better)
