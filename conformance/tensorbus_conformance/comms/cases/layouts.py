"""Through the frontend: tensors of any strides and shape, and what lies between their elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
import tensorbus.distributed as dist
from tensorbus_conformance import formats
from tensorbus_conformance.comms.case import Check, CommCase
from tensorbus_conformance.comms.rank import Rank

_D = formats.FLOAT32

LAYOUTS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "transposed": ((30, 24), lambda x: x.transpose(0, 1)),
    "strided": ((9, 40), lambda x: x[::2, 3::3]),
    "part": ((50, 7), lambda x: x[10:30]),
    "column": ((300, 5), lambda x: x[:, 2]),
    "0-dim": ((), lambda x: x),
    "0-dim-of-many": ((6,), lambda x: x[4]),
    "empty": ((4, 0, 3), lambda x: x),
    "4-dim": ((3, 2, 5, 4), lambda x: x.permute(2, 0, 3, 1)),
}
"""The shape of a tensor that owns its memory, and the view of it that is communicated."""


def cases() -> Iterator[CommCase]:
    """All of them."""
    for layout in LAYOUTS:
        for op, make, least in (
            ("all_reduce", _all_reduce, 1),
            ("broadcast", _broadcast, 1),
            ("all_gather", _all_gather, 1),
            ("send", _send, 2),
        ):
            level = "C0" if op == "send" else "C1"
            id = f"{level}/{op}/float32/{layout}"
            yield CommCase(id, "layouts", make(layout), (_D,), least)
    yield CommCase("C1/reduce_scatter/float32/transposed", "layouts", _reduce_scatter, (_D,))
    yield CommCase("C1/all_gather/float32/expanded", "layouts", _expanded, (_D,))
    yield CommCase("C1/all_to_all/float32/strided", "layouts", _all_to_all, (_D,))


class _Laid:
    """A tensor and its view; the rest of the tensor must stay as it was."""

    def __init__(self, rank: Rank, layout: str, values: float):
        shape, self._view = LAYOUTS[layout]
        numbers = np.arange(np.prod(shape, dtype=int), dtype=np.float32) + np.float32(values)
        self._host = numbers.reshape(shape)
        self._whole = tensorbus.from_numpy(self._host.copy()).to(rank.device)
        self.view = self._view(self._whole)
        self.own = self._host_view(self._host).copy()

    def _host_view(self, host: np.ndarray) -> Any:
        """The same view of a host array: both share its memory."""
        return self._view(tensorbus.from_numpy(host)).numpy()

    def check(self, rank: Rank, want: np.ndarray, what: str) -> None:
        """The view has these values, and the rest what it had."""
        host = self._host.copy()
        self._host_view(host)[...] = want
        rank.expect_tensor(self._whole, host, what)


def _all_reduce(layout: str) -> Check:
    def check(rank: Rank) -> None:
        x = _Laid(rank, layout, rank.rank)
        first = x.own - rank.rank
        dist.all_reduce(x.view)
        x.check(rank, first * rank.size + sum(range(rank.size)), "all_reduce")

    return check


def _broadcast(layout: str) -> Check:
    def check(rank: Rank) -> None:
        for src in range(rank.size):
            x = _Laid(rank, layout, rank.rank)
            dist.broadcast(x.view, src)
            x.check(rank, x.own - rank.rank + src, f"broadcast of rank {src}")

    return check


def _all_gather(layout: str) -> Check:
    def check(rank: Rank) -> None:
        x = _Laid(rank, layout, 10 * rank.rank)
        outs = [_Laid(rank, layout, -1) for _ in range(rank.size)]
        dist.all_gather([out.view for out in outs], x.view)
        for r, out in enumerate(outs):
            out.check(rank, x.own - 10 * rank.rank + 10 * r, f"all_gather from rank {r}")

    return check


def _send(layout: str) -> Check:
    def check(rank: Rank) -> None:
        x, out = _Laid(rank, layout, rank.rank), _Laid(rank, layout, -1)
        before = (rank.rank - 1) % rank.size
        work = dist.isend(x.view, (rank.rank + 1) % rank.size)
        dist.recv(out.view, before)
        if work is not None:
            work.wait()
        out.check(rank, x.own - rank.rank + before, f"recv from rank {before}")

    return check


def _reduce_scatter(rank: Rank) -> None:
    n = rank.size
    host = np.arange(6 * n, dtype=np.float32).reshape(3, 2 * n) * (rank.rank + 1)
    out = tensorbus.zeros(3, 2, device=rank.device).transpose(0, 1)
    dist.reduce_scatter_tensor(out, tensorbus.from_numpy(host).to(rank.device).transpose(0, 1))
    whole = np.arange(6 * n, dtype=np.float32).reshape(3, 2 * n).T * (n * (n + 1) / 2)
    rank.expect_tensor(out, whole[2 * rank.rank : 2 * rank.rank + 2])


def _expanded(rank: Rank) -> None:
    """One element that stands for many is given, and stays."""
    x = rank.tensor([float(rank.rank)]).expand(5)
    out = tensorbus.zeros(rank.size, 5, device=rank.device)
    dist.all_gather_into_tensor(out, x)
    rank.expect_tensor(out, np.repeat(np.arange(rank.size), 5).reshape(-1, 5))


def _all_to_all(rank: Rank) -> None:
    n = rank.size
    host = np.arange(4 * n, dtype=np.float32).reshape(2 * n, 2) + 100 * rank.rank
    out = tensorbus.zeros(2 * n, 1, device=rank.device)[::2]
    dist.all_to_all_single(out, tensorbus.from_numpy(host).to(rank.device)[::2, 1:])
    want = [4.0 * rank.rank + 1 + 100 * r for r in range(n)]
    rank.expect_tensor(out, np.array(want).reshape(-1, 1))
