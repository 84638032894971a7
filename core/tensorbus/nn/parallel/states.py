"""Agreement of the ranks on a module: its parameters' shapes, and the values of one rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tensorbus import distributed as dist
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributed import compose
from tensorbus.nn.parallel.errors import shapes_differ


def check_same(group: Any, named: Sequence[tuple[str, Tensor]]) -> None:
    """RuntimeError on all ranks unless all have parameters of the same names, shapes and dtypes."""
    own = [
        f"{name} with sizes {list(t.shape)} and {t.dtype}"
        + ("" if t.requires_grad else " (requires_grad=False)")
        for name, t in named
    ]
    found: list[Any] = [None] * group.size()
    dist.all_gather_object(found, own, group=group)
    rank = group.rank()
    for other, theirs in enumerate(found):
        if theirs != own:
            raise shapes_differ(group.ranks[rank], own, group.ranks[other], theirs)


def broadcast(group: Any, tensors: Iterable[Tensor], source: int = 0) -> None:
    """Give all ranks the values of rank *source* of the group, in few messages."""
    kinds: dict[Any, list[Tensor]] = {}
    for t in tensors:
        kinds.setdefault((t.dtype, t.device), []).append(t)
    for members in kinds.values():
        for part in _parts(members):
            flat = compose.pack(part)
            dist.broadcast(flat, group=group, group_src=source)
            if group.rank() != source:
                compose.unpack(flat, part)


def _parts(tensors: list[Tensor], limit: int = 1 << 28) -> Iterable[list[Tensor]]:
    """Runs of tensors of at most *limit* bytes: as much is copied at a time."""
    part: list[Tensor] = []
    size = 0
    for t in tensors:
        size += t.numel() * t.element_size()
        if part and size > limit:
            yield part
            part, size = [], t.numel() * t.element_size()
        part.append(t)
    if part:
        yield part
