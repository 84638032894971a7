"""More than 2**31 elements: an index or a size kept in 32 bits fails here and nowhere else.

Each case takes some gigabytes on the device and a few seconds, so they are a profile of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, require
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import same
from tensorbus_conformance.trial import Trial

N = 2**31 + 11
"""Elements, of one byte each."""
ARRAYS = 4
"""How many such arrays have to fit into the device's memory."""

FAMILY = "large"


def cases() -> Iterator[Case]:
    for name, check in _CHECKS.items():
        yield Case(
            f"L2/{name}/uint8/large", FAMILY, functools.partial(_run, check), (formats.UINT8,)
        )


def _run(check: Callable[[Any], None], t: Trial) -> None:
    total = t.capabilities.memory_total
    require(total is not None, "the device does not say how much memory it has")
    assert total is not None
    require(total >= ARRAYS * N, f"{ARRAYS * N / 2**30:.0f} GiB of memory are needed")
    bench = Bench(t)
    check(_marked(bench.device))


_MARKS = ((0, 3), (1, 1), (2**31 - 1, 5), (2**31, 7), (N - 2, 2), (N - 1, 9))


def _marked(device: str) -> Any:
    """Zeros with a few other numbers around the indices that 32 bits confuse."""
    x = tensorbus.zeros(N, dtype=tensorbus.uint8, device=device)
    for i, value in _MARKS:
        x[i] = value
    return x


def _select(x: Any) -> None:
    for i, value in _MARKS:
        same(f"x[{i}]", x[i].item(), value)
        same(f"x[{i - N}]", x[i - N].item(), value)


def _slice(x: Any) -> None:
    same("x[2**31 - 2:]", x[2**31 - 2 : 2**31 + 1].tolist(), [0, 5, 7])
    same("every 2**31 - 1st", x[:: 2**31 - 1].tolist(), [3, 5])


def _sum(x: Any) -> None:
    same("sum", x.sum().item(), sum(value for _, value in _MARKS))
    rows = x[: 2**31].view(2, 2**30)
    same("sums of rows", rows.sum(dim=1).tolist(), [4, 5])


def _argmax(x: Any) -> None:
    same("argmax", x.argmax().item(), N - 1)
    same("max", x.max().item(), 9)


def _take(x: Any) -> None:
    chosen = [i for i, _ in _MARKS]
    index = tensorbus.tensor(chosen, device=x.device)
    same("taken", x[index].tolist(), [value for _, value in _MARKS])


def _put(x: Any) -> None:
    x[tensorbus.tensor([2**31 + 1, 4], device=x.device)] = 8
    same("put", [x[4].item(), x[2**31 + 1].item(), x.sum().item()], [8, 8, 43])


def _nonzero(x: Any) -> None:
    same("nonzero", x.nonzero().reshape(-1).tolist(), [i for i, _ in _MARKS])


def _add(x: Any) -> None:
    y = x + x
    same("doubled", [y[i].item() for i, _ in _MARKS], [2 * v for _, v in _MARKS])
    y.mul_(2)
    same("in place", y[N - 1].item(), 36)


def _copy(x: Any) -> None:
    y = tensorbus.empty(N, dtype=tensorbus.uint8, device=x.device)
    y.copy_(x.flip(0))
    same("flipped", [y[N - 1 - i].item() for i, _ in _MARKS], [v for _, v in _MARKS])


def _cat(x: Any) -> None:
    y = tensorbus.cat([x[:5], x])
    same("joined", [y[i + 5].item() for i, _ in _MARKS], [v for _, v in _MARKS])


def _cpu(x: Any) -> None:
    host = x.cpu().numpy()
    same("on the host", [int(host[p]) for p, _ in _MARKS], [v for _, v in _MARKS])
    same("elements", int(np.count_nonzero(host)), len(_MARKS))


_CHECKS: dict[str, Callable[[Any], None]] = {
    "select": _select,
    "slice": _slice,
    "sum": _sum,
    "argmax": _argmax,
    "take": _take,
    "put": _put,
    "nonzero": _nonzero,
    "add": _add,
    "copy_": _copy,
    "cat": _cat,
    "cpu": _cpu,
}
