"""Ways for a kernel to be wrong, each a function of a sound kernel; for any primitive."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from tensorbus.plugin import IndexFault, Kernel
from tensorbus_conformance.primitives import INDEXED, WRAPPING, WRITING

Mutation = Callable[[str, Kernel], Kernel]


def arrays(args: tuple[Any, ...]) -> list[np.ndarray]:
    flat = [a for x in args for a in (x if isinstance(x, (list, tuple)) else (x,))]
    return [a for a in flat if isinstance(a, np.ndarray)]


def each_result(change: Callable[[Any], Any], made: Any) -> Any:
    """What a kernel gave, with each result changed; a call that it left to others stays so."""
    if made is NotImplemented:
        return made
    return tuple(map(change, made)) if isinstance(made, tuple) else change(made)


def spoilt(value: Any) -> Any:
    """A result with its last element wrong."""
    wrong = np.array(value)
    if not wrong.size:
        return value
    at = (-1,) * wrong.ndim
    last = wrong[at]
    if wrong.dtype == bool:
        wrong[at] = ~last
    elif wrong.dtype.kind in "iu":
        wrong[at] = last ^ 1
    else:
        with np.errstate(all="ignore"):
            wrong[at] = np.where(np.isfinite(last) & (last != 0), last * -1.25, 1)
    return wrong


def when(wrong: Callable[..., Any]) -> Mutation:
    """A kernel that spoils its result where *wrong* holds of its name and its operands."""

    def mutate(op: str, kernel: Kernel) -> Kernel:
        def call(*args: Any, **options: Any) -> Any:
            now = wrong(op, arrays(args), args)
            made = kernel(*args, **options)
            if not now:
                return made
            out = args[0] if op in WRITING else options.get("out")
            if out is None:
                return each_result(spoilt, made)
            out[...] = spoilt(out)
            return out

        return call

    return mutate


def _beyond(op: str, given: list[np.ndarray], args: tuple[Any, ...]) -> bool:
    if op == "argsort":
        return bool(given[0].shape) and given[0].shape[args[1]] > 2_048
    if op.startswith("cum"):
        return bool(given[0].shape) and given[0].shape[args[1]] > 4_096
    if op in INDEXED:
        return given[1].size > 1_000
    if op == "matmul":
        return given[1].shape[-1] > 256
    return any(a.size > 65_536 for a in given)


def _overlaps(a: np.ndarray) -> bool:
    if a.ndim < 2 or a.size < 2:
        return False
    dims = sorted((abs(s), n) for s, n in zip(a.strides, a.shape, strict=True) if n > 1)
    reach = 0
    for step, n in dims:
        if 0 < step <= reach:
            return True
        reach += step * (n - 1)
    return False


def _neighbours(op: str, given: list[np.ndarray], args: tuple[Any, ...]) -> bool:
    """Operands that share memory without being one."""
    pairs = itertools.combinations(given, 2)
    return any(
        a.dtype == b.dtype and np.may_share_memory(a, b)
        and a.__array_interface__["data"] != b.__array_interface__["data"] for a, b in pairs
    )  # fmt: skip


def third_call(op: str, kernel: Kernel) -> Kernel:
    calls = itertools.count(1)
    return when(lambda *_: next(calls) % 3 == 0)(op, kernel)


def _memo(key: Callable[[tuple[Any, ...]], Hashable]) -> Mutation:
    def mutate(op: str, kernel: Kernel) -> Kernel:
        kept: dict[Hashable, Any] = {}
        held: list[Any] = []

        def call(*args: Any, out: Any = None) -> Any:
            if out is not None or op in WRITING:
                return kernel(*args) if out is None else kernel(*args, out=out)
            k = key(args)
            if k not in kept:
                kept[k] = kernel(*args)
                held.append(args)
            return each_result(np.copy, kept[k])

        return call

    return mutate


def _identity(args: tuple[Any, ...]) -> Hashable:
    return (*map(id, arrays(args)), *(repr(a) for a in args if not arrays((a,))))


def _shapes(args: tuple[Any, ...]) -> Hashable:
    return (
        *((a.shape, a.reshape(-1)[:1].tobytes()) for a in arrays(args)),
        *(repr(a) for a in args if not arrays((a,))),
    )


def returns_kept(op: str, kernel: Kernel) -> Kernel:
    """Results of one shape share their memory."""
    scratch: dict[Hashable, Any] = {}

    def call(*args: Any, out: Any = None) -> Any:
        made = kernel(*args) if out is None else kernel(*args, out=out)
        if out is not None or op in WRITING:
            return made
        return each_result(keep, made)

    def keep(made: Any) -> Any:
        made = np.asarray(made)
        kept = scratch.setdefault((made.shape, made.dtype), np.empty_like(made))
        kept[...] = made
        return kept

    return call


def large_results_in_turn(op: str, kernel: Kernel) -> Kernel:
    """Large results lie in one of four places in turn."""
    places: dict[Hashable, list[Any]] = {}

    def call(*args: Any, out: Any = None) -> Any:
        made = kernel(*args) if out is None else kernel(*args, out=out)
        return made if out is not None or op in WRITING else each_result(place, made)

    def place(made: Any) -> Any:
        if np.size(made) < 1_024:
            return made
        found = places.setdefault((made.size, made.dtype), [])
        if len(found) < 4:
            found.append(np.empty(made.size, made.dtype))
        else:
            found.append(found.pop(0))
        kept = found[-1].reshape(made.shape)
        kept[...] = made
        return kept

    return call


def aliases(op: str, kernel: Kernel) -> Kernel:
    """A result that equals an operand is that operand."""

    def call(*args: Any, out: Any = None) -> Any:
        made = kernel(*args) if out is None else kernel(*args, out=out)
        if out is not None or op in WRITING:
            return made
        return each_result(lambda one: same(arrays(args), one), made)

    def same(given: list[np.ndarray], made: Any) -> Any:
        for a in given:
            if a.dtype == np.asarray(made).dtype and a.size == made.size and made.ndim \
                    and np.array_equal(a.reshape(made.shape), made):  # fmt: skip
                return a.reshape(made.shape)
        return made

    return call


def shares_operands(op: str, kernel: Kernel) -> Kernel:
    """Operands are put where the other thread puts its own."""
    place: list[Any] = [None]

    def call(*args: Any, **options: Any) -> Any:
        place[0] = args
        time.sleep(0)
        args = place[0]
        return kernel(*args, **options)

    return call


def odd_bools(op: str, kernel: Kernel) -> Kernel:
    def call(*args: Any, out: Any = None) -> Any:
        made = kernel(*args) if out is None else kernel(*args, out=out)
        if np.asarray(made).dtype == bool and np.ndim(made):
            made.view(np.uint8)[...] *= 255
        return made

    return call


def contiguous_integers_only(op: str, kernel: Kernel) -> Kernel:
    """Right for floats, and for integers that lie in a row."""

    def wrong(_: str, given: list[np.ndarray], args: tuple[Any, ...]) -> bool:
        return any(
            a.dtype.kind in "iu" and a.ndim > 1 and not a.flags.c_contiguous and a.size > 1
            for a in (given[:1] if op in ("take", "gather") else given)
        )

    return when(wrong)(op, kernel)


ANY_KERNEL: dict[str, Mutation] = {
    "large": when(_beyond),
    "third-call": third_call,
    "memo-by-identity": _memo(_identity),
    "memo-by-first-value": _memo(_shapes),
    "shared-scratch": returns_kept,
    "large-results-in-turn": large_results_in_turn,
    "aliases-its-operand": aliases,
    "two-threads": shares_operands,
    "windows": when(lambda op, given, args: any(map(_overlaps, given))),
    "nine-dimensions": when(lambda op, given, args: any(a.ndim > 8 for a in given)),
    "one-element": when(lambda op, given, args: all(a.size == 1 and a.ndim for a in given)),
    "strided-integers": contiguous_integers_only,
}
"""What any kernel may do wrong."""


def _into(wrong: Callable[[np.ndarray], bool]) -> Mutation:
    """A kernel that is wrong where it writes into such an ``out``."""

    def mutate(op: str, kernel: Kernel) -> Kernel:
        def call(*args: Any, out: Any = None) -> Any:
            if out is None:
                return kernel(*args)
            kernel(*args, out=out)
            if wrong(out):
                out[...] = spoilt(out)
            return out

        return call

    return mutate


def _repeats(op: str, given: list[np.ndarray], args: tuple[Any, ...]) -> bool:
    if not any(a.ndim and 0 in a.strides for a in given):
        return False
    return bool(np.prod(np.broadcast_shapes(*(a.shape for a in given))) > 65_536)


OF_POINTWISE: dict[str, Mutation] = {
    "large-broadcast": when(_repeats),
    "nine-dimensions-into-out": _into(lambda out: out.ndim > 8),
}
"""What a kernel that takes operands of any shapes may do wrong."""


def _bad(i: np.ndarray, n: int, wrap: bool) -> np.ndarray:
    return (i < (-n if wrap else 0)) | (i >= n)


def _parts(op: str, args: tuple[Any, ...]) -> tuple[Any, int, Any, bool]:
    x, dim, i = args[:3]
    return x, dim, i, op in WRAPPING and bool(args[-1])


def writes_first(op: str, kernel: Kernel) -> Kernel:
    """What stands before the wrong index is written."""

    def call(*args: Any) -> Any:
        x, dim, i, wrap = _parts(op, args)
        bad = _bad(i, x.shape[dim], wrap)
        if not bad.any() or i.ndim > 1:
            if bad.any():
                good = np.where(bad, 0, i)
                kernel(x, dim, good, *args[3:])
                raise IndexFault(int(i[bad][0]), dim, x.shape[dim])
            return kernel(*args)
        k = int(np.argmax(bad))
        if k:
            src = args[3]
            if isinstance(src, np.ndarray) and src.ndim:
                src = src[(slice(None),) * dim + (slice(0, k),)]
            kernel(x, dim, i[:k], src, *args[4:])
        raise IndexFault(int(i[k]), dim, x.shape[dim])

    return call


def _renamed(change: Callable[[IndexFault, np.ndarray], tuple[int, int, int]]) -> Mutation:
    def mutate(op: str, kernel: Kernel) -> Kernel:
        def call(*args: Any) -> Any:
            try:
                return kernel(*args)
            except IndexFault as fault:
                raise IndexFault(*change(fault, args[2])) from None

        return call

    return mutate


def merges_ends(op: str, kernel: Kernel) -> Kernel:
    """Of -1 and n-1, which are one place, only the last counts."""

    def call(*args: Any) -> Any:
        x, dim, i, wrap = _parts(op, args)
        n = x.shape[dim]
        if not wrap or _bad(i, n, wrap).any() or not ((i == -1).any() and (i == n - 1).any()):
            return kernel(*args)
        keep = i != -1
        src = args[3]
        if isinstance(src, np.ndarray) and src.ndim:
            src = src[(slice(None),) * dim + (keep,)]
        return kernel(x, dim, i[keep], src, *args[4:])

    return call


def wrong_after_a_fault(op: str, kernel: Kernel) -> Kernel:
    """The call after one with a wrong index."""
    state = {"faulted": False}
    spoiling = when(lambda *_: state["faulted"])(op, kernel)

    def call(*args: Any) -> Any:
        try:
            made = spoiling(*args)
        except IndexFault:
            state["faulted"] = True
            raise
        state["faulted"] = False
        return made

    return call


FAULTY: dict[str, tuple[tuple[str, ...], Mutation]] = {
    "writes-before-a-fault": (WRITING, writes_first),
    "names-the-first-index": (
        ("take", "gather", *WRITING), _renamed(lambda f, i: (int(i.flat[0]), f.dim, f.n)),
    ),
    "names-the-size-less-one": (
        ("take", "gather", *WRITING), _renamed(lambda f, i: (f.value, f.dim, f.n - 1)),
    ),
    "names-dimension-zero": (
        ("take", "gather", *WRITING), _renamed(lambda f, i: (f.value, 0, f.n)),
    ),
    "wrong-after-a-fault": (("take", "gather", *WRITING), wrong_after_a_fault),
    "loses-duplicates-of-the-end": (("put",), merges_ends),
}  # fmt: skip
"""What the kernels of indices may do wrong."""
