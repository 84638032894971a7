"""What runs for an op on a device: the only module that decides.

``resolve`` is asked once for each op and kind. It looks, in this order, at overlays, at the
backend's own kernels, at the composite of the op's row, and last at the CPU.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from tensorbus import discovery
from tensorbus._base import registered
from tensorbus._base.dtypes import BOOL, FLOAT, HALVES, INTEGER
from tensorbus._base.weak import WeakKeys
from tensorbus._dispatch import fusion, stored
from tensorbus._dispatch.fallback import fallback
from tensorbus._dispatch.kinds import Kind
from tensorbus._dispatch.pieces import in_pieces
from tensorbus._dispatch.suit_kernels import (
    suit_dtype,
    suit_group,
    suit_numbers,
    suit_traits,
    suit_truths,
)
from tensorbus._dispatch.wide_compositions import wide_composition
from tensorbus.plugin import shape_rules
from tensorbus.plugin.backend import Backend
from tensorbus.plugin.groups import KERNEL_GROUPS
from tensorbus.plugin.overlay import Overlay
from tensorbus.plugin.primitives import PRIMITIVES
from tensorbus.rows import raw_views
from tensorbus.rows.registry import DOMAINS, ROWS, TABLES, Row

Entry = Callable[..., Any]

_GROUPED = frozenset(name for group in KERNEL_GROUPS.values() for name in group)


class WrongDomain(Exception):
    """The op does not take this dtype as it is."""


class StoredDtype(Exception):
    """The dtype is for storage, and the op computes."""


def resolve(kind: Kind, name: str) -> Entry:
    """The entry for an op on a kind; RuntimeError with the ways out where there is none."""
    # Tensors hold arrays, so their views need no guard against host scalars; composites do.
    guarded = not name.startswith("fast_") and kind.scalar_results
    name = name.removeprefix("fast_")
    row = ROWS[name]
    category = kind.dtype.category
    lowest, highest = DOMAINS[row.domain]
    if not lowest <= category <= highest:
        return functools.partial(_raise, WrongDomain)
    runs = stored.runs(row, kind.dtype)
    if not runs and row.composite is None:
        return functools.partial(_raise, StoredDtype)
    candidates = []
    for overlay in _overlays(kind, name):
        kernel = overlay.kernel(name, kind.dtype, kind.index)
        if kernel is not None:
            candidates.append(_entry(kind, row, kernel))
    own, declines = _own(kind, row) if runs else (None, False)
    if own is not None:
        candidates.append(own)
    if own is None or (declines and row.composite is not None):
        candidates.append(_without_kernel(kind, row))
    if row.divides and category == INTEGER and kind.has_values:
        checked = _checked_division if kind.backend.traits.host_sync else _checked_number
        candidates = [checked(kind, entry) for entry in candidates]
    entry = functools.reduce(_or_else, reversed(candidates))
    return _guarded(kind, row, entry) if guarded else entry


def copying(kind: Kind) -> Entry:
    """What casts, fills and copies into arrays of a kind: overlays, then the backend."""
    copies = [overlay.copy_ for overlay in _overlays(kind, "copy_")]
    return functools.reduce(_or_else, reversed([*copies, kind.backend.copy_]))


def _overlays(kind: Kind, name: str) -> Iterator[Overlay]:
    """The overlays that are asked for an op, the highest priority first."""
    for spec in discovery.overlays(kind.backend.name, name):
        overlay = discovery.overlay(spec) if spec.supports(name, kind.dtype, kind.index) else None
        if overlay is not None:
            yield overlay


def _without_kernel(kind: Kind, row: Row) -> Entry:
    """What runs where the backend has no kernel, or one that declines."""
    if row.domain == "rounding" and kind.dtype.category < FLOAT:
        return _pointwise_composite(kind, row, lambda F, x: F.clone(x))
    if row.composite is not None:
        return _composite(kind, row)
    if kind.dtype.category == BOOL and row.on_bool:
        return resolve(kind, row.on_bool)
    return fallback(kind, row.name)


def _guarded(kind: Kind, row: Row, entry: Entry) -> Entry:
    """The entry of a backend whose kernels may return host scalars, with arrays all around."""
    if row.form == "view":

        def view(x: Any, *params: Any) -> Any:
            try:
                return entry(x, *params)
            except (AttributeError, TypeError):
                return entry(kind.as_array(x), *params)

        return view
    if row.shape is shape_rules.reduced:
        target = row.result_kind(kind)

        def reduction(*args: Any, **out: Any) -> Any:
            r = entry(*args, **out)
            return r if r.shape else target.as_array(r)

        return reduction
    return entry


def _own(kind: Kind, row: Row) -> tuple[Entry | None, bool]:
    """The backend's own entry, and whether it leaves any calls to others."""
    if kind.rule_for is not None:
        return kind.rule_for(row), False
    if row.kernel is not None:
        kernel = kind.backend.kernel(row.kernel, kind.dtype, kind.index)
        if kernel is not None:
            return _entry(kind, row, kernel), getattr(kernel, "may_decline", False)
    default = raw_views.DEFAULTS.get(row.name)
    if default is not None:
        return functools.partial(default, kind), False
    shaped = row.shape is not None and not kind.has_values
    return _shaped(kind, row) if shaped else None, False


def _shaped(kind: Kind, row: Row) -> Entry:
    """A result of the shape that the row's rule gives, where nothing has values."""
    shape, target = row.shape, row.result_kind(kind)
    assert shape is not None

    def entry(*operands: Any, out: Any = None) -> Any:
        return target.empty(shape(*operands)) if out is None else out

    return entry


def _checked_division(kind: Kind, entry: Entry) -> Entry:
    """A division of integers that refuses 0, where the host sees the divisor at once."""
    zero = kind.const(0)

    def division(x: Any, y: Any, out: Any = None) -> Any:
        array = hasattr(y, "shape")  # else what the backend made of a number
        if 0 not in getattr(x, "shape", ()) and (not array or 0 not in y.shape):
            hits = kind.bool.as_array(kind.eq(y, zero) if array else kind.eq(kind.zeros(()), y))
            hit = kind.bool.amax(hits, tuple(range(len(hits.shape)))) if hits.shape else hits
            if kind.bool.to_host(kind.bool.as_array(hit)):
                raise RuntimeError("ZeroDivisionError")
        return entry(x, y) if out is None else entry(x, y, out=out)

    return division


def _checked_number(kind: Kind, entry: Entry) -> Entry:
    """A division of integers that refuses the number 0, and waits for no array to look into it."""

    def division(x: Any, y: Any, out: Any = None) -> Any:
        if y is kind.const(0) and 0 not in getattr(x, "shape", ()):
            raise RuntimeError("ZeroDivisionError")
        return entry(x, y) if out is None else entry(x, y, out=out)

    return division


def _composite(kind: Kind, row: Row) -> Entry:
    if row.form == "list":
        _composed[kind] = (*_composed.get(kind, ()), row.name)
        entry: Entry = registered.list_composition(kind, row, fusion.compilers(kind.backend))
        return entry
    composed = composition(kind, row)
    if row.form == "view" or kind.rule_for is not None:
        return composed
    _composed[kind] = (*_composed.get(kind, ()), row.name)
    asked = fusion.compilers(kind.backend)
    return registered.compiled_composition(kind, row, composed, asked) if asked else composed


_composed: WeakKeys[Kind, tuple[str, ...]] = WeakKeys()
"""The names of the rows that were found to be composed."""


@registered.fusion_switched.listen
def _forget_composed() -> None:
    """Let the entries of composed rows be found anew."""
    for kind in list(TABLES):
        names = _composed.get(kind, ())
        lives = isinstance(kind.backend, Backend)  # not so after a fork
        if names and lives:
            for name in names:
                if name in ROWS:  # a library of the program's own may have gone
                    kind.add_row(ROWS[name])
            _composed[kind] = ()


def composition(kind: Kind, row: Row) -> Entry:
    """What computes a row from others."""
    compute = row.composite
    assert compute is not None
    if row.in_float32 and kind.dtype in HALVES:
        compute = wide_composition(row)
    if row.form in ("unary", "binary"):
        return _pointwise_composite(kind, row, compute)
    return functools.partial(compute, kind)


def _pointwise_composite(kind: Kind, row: Row, compute: Entry) -> Entry:
    """A composition that can write its result into an array, as pointwise kernels can."""
    target = row.result_kind(kind)
    computes = row.form == "binary" and not row.composes_numbers

    def entry(*args: Any, out: Any = None) -> Any:
        if computes:
            args = tuple(x if hasattr(x, "shape") else _array(kind, x) for x in args)
        r = compute(kind, *args)
        return r if out is None else target.copy_(out, target.as_array(r))

    return in_pieces(kind, target, entry, row) if kind.backend.traits.piece else entry


def _array(kind: Kind, number: Any) -> Any:
    """A 0-d array for what the backend's kernels take for a number: they want one array each."""
    return kind.as_array(kind.mul(kind.full((), 1), number))


def _or_else(second: Entry, first: Entry) -> Entry:
    """*first*, and *second* for the calls that it answers with NotImplemented."""

    def entry(*args: Any, **kwargs: Any) -> Any:
        r = first(*args, **kwargs)
        return second(*args, **kwargs) if r is NotImplemented else r

    return entry


def _raise(error: type[Exception], *_: Any, **__: Any) -> Any:
    raise error()


def _entry(kind: Kind, row: Row, kernel: Entry) -> Entry:
    """A kernel that takes any shapes and sizes and knows its dtype argument."""
    if not kind.backend.traits.python_scalars:
        kernel = suit_numbers(kind, row, kernel)
    if row.kernel in PRIMITIVES:
        if row.writes and kind.dtype.category == BOOL:
            kernel = suit_truths(kernel)
        kernel = suit_traits(kind, row, kernel)
        if row.writes and not kind.backend.traits.deterministic_scatter:
            from tensorbus._dispatch.ordered_writes import ordered_writes

            kernel = ordered_writes(kind, row, kernel)
    if row.kernel in _GROUPED:
        kernel = suit_group(kind, row, kernel)
    return suit_dtype(row, row.result_kind(kind).token, kernel) if row.takes_dtype else kernel
