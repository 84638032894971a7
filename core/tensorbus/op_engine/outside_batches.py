"""Rules of programs for a whole batch: its tensors outside of ``vmap``, and results back in it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

from tensorbus._base.leaving import block
from tensorbus._base.modes import this_thread
from tensorbus._dispatch.batching import levels_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.batches import differs, enter, leave, turned
from tensorbus.op_engine.dims import wrap_dim


class VmapInfo(NamedTuple):
    """What a rule for ``vmap`` is told besides its arguments."""

    batch_size: int
    randomness: str


def info_of(device: Any) -> VmapInfo:
    """What there is to know of the batch of *device*, while this thread is in it."""
    depth = len(levels_of(device))
    return VmapInfo(device.size, *(this_thread.randomness[depth - 1 : depth] or ("error",)))


@block
def outside_of(device: Any) -> Generator[None, None, None]:
    """A block that runs outside of the batch of *device*, and of those inside of it."""
    depth = len(levels_of(device))
    before = this_thread.batches, this_thread.randomness
    try:
        this_thread.batches = before[0][: depth - 1]
        this_thread.randomness = before[1][: depth - 1]
        yield
    finally:
        this_thread.batches, this_thread.randomness = before


def outside(value: Any, device: Any) -> tuple[Any, Any]:
    """A value as it is outside of a batch, and the dimension along which it is one."""
    if isinstance(value, list):
        pairs = [outside(x, device) for x in value]
        if not any(isinstance(x, Tensor) for x in value):
            return value, None
        return [x for x, _ in pairs], [dim for _, dim in pairs]
    if not isinstance(value, Tensor) or value._k.device is not device:
        return value, None
    return (leave(value), 0) if differs(value) else (leave(value)[0], None)


def entered(made: Any, dims: Any, size: int) -> Any:
    """The results of a rule as tensors of the batch; *dims* may end sooner than they.

    ValueError for dimensions that are nested in another way.
    """
    if isinstance(made, (tuple, list)):
        if dims is None or isinstance(dims, int):
            dims = [dims] * len(made)
        if len(dims) != len(made):
            raise ValueError(
                f"a vmap rule returned {len(made)} results and out_dims for {len(dims)} of them: "
                "give one for each, or one for all"
            )
        return type(made)(entered(x, d, size) for x, d in zip(made, dims, strict=True))
    if isinstance(dims, (tuple, list)):
        raise ValueError(
            f"a vmap rule returned one result and out_dims={dims}: give one dimension for it"
        )
    if dims is None or not isinstance(made, Tensor):
        return made
    return enter(turned(made, wrap_dim(dims, len(made._s)), 0), size)
