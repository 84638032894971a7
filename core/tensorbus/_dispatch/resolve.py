"""What runs for an op on a device: the only place that decides.

``resolve`` is asked once for each op and kind. It looks, in this order, at overlays, at the
backend's own kernels, at the composite of the op's row, and last at the CPU.
"""

from __future__ import annotations

import atexit
import collections
import functools
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

from tensorbus import discovery
from tensorbus._base import registered
from tensorbus._base.dtypes import BOOL, FLOAT, INTEGER
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus.plugin.backend import PRIMITIVES
from tensorbus.rows import raw_views
from tensorbus.rows.registry import DOMAINS, ROWS

Entry = Callable[..., Any]

_CONVERTING = ("sum", "prod", "cumsum", "cumprod")
_SWAPPING = ("gt", "ge")
"""Compositions that hand both operands on to one kernel."""

_TRUTHS = {"add": "bitwise_or", "mul": "bitwise_and"}
"""Primitives that mean another one on bool, where no kernel of theirs is due."""

_DIVISIONS = ("floor_divide", "fmod", "remainder", "div_floor")
_BACKEND_NAMES = {"view": "reshape", "sum_long": "sum"}


class WrongDomain(Exception):
    """The op does not take this dtype as it is."""


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
    candidates = []
    for spec in discovery.overlays(kind.backend.name, name):
        overlay = discovery.overlay(spec) if spec.supports(name, kind.dtype, kind.index) else None
        kernel = overlay.kernel(name, kind.dtype, kind.index) if overlay is not None else None
        if kernel is not None:
            candidates.append(_entry(kind, name, kernel))
    own = _own(kind, name)
    if own is not None:
        candidates.append(own)
    elif row.domain == "rounding" and category < FLOAT:
        candidates.append(_pointwise_composite(kind, row, lambda F, x: F.clone(x)))
    elif row.composite is not None:
        candidates.append(_composite(kind, row))
    elif category == BOOL and name in _TRUTHS:
        candidates.append(resolve(kind, _TRUTHS[name]))
    else:
        candidates.append(_fallback(kind, name))
    if name in _DIVISIONS and category == INTEGER and kind.backend.traits.host_sync:
        candidates = [_checked_division(kind, entry) for entry in candidates]
    entry = candidates[0] if len(candidates) == 1 else functools.partial(_first_willing, candidates)
    return _guarded(kind, row, entry) if guarded else entry


def _guarded(kind: Kind, row: Any, entry: Entry) -> Entry:
    """The entry of a backend whose kernels may return host scalars, with arrays all around."""
    if row.form == "view":

        def view(x: Any, *params: Any) -> Any:
            try:
                return entry(x, *params)
            except (AttributeError, TypeError):
                return entry(kind.as_array(x), *params)

        return view
    if row.form == "general" and row.name in raw_views.FOLDS:
        target = {"int64": kind.i64, "bool": kind.bool}.get(row.result, kind)

        def reduction(*args: Any, **out: Any) -> Any:
            r = entry(*args, **out)
            return r if r.shape else target.as_array(r)

        return reduction
    return entry


def _own(kind: Kind, name: str) -> Entry | None:
    if name == "reshape":  # the backend's kernel of that name never copies: it serves ``view``
        return None
    kernel = kind.backend.kernel(_BACKEND_NAMES.get(name, name), kind.dtype, kind.index)
    if kernel is not None:
        return _entry(kind, name, kernel)
    default = raw_views.DEFAULTS.get(name)
    return None if default is None else functools.partial(default, kind)


def _checked_division(kind: Kind, entry: Entry) -> Entry:
    """A division of integers that refuses 0, where the host sees the divisor at once."""
    zero = kind.const(0)

    def division(x: Any, y: Any, out: Any = None) -> Any:
        array = hasattr(y, "shape")  # else what the backend made of a number
        if 0 not in getattr(x, "shape", ()) and (not array or 0 not in y.shape):
            hits = kind.bool.as_array(kind.eq(y, zero) if array else kind.eq(kind.zeros(()), y))
            hit = kind.bool.amax(hits, tuple(range(len(hits.shape)))) if hits.shape else hits
            if kind.backend.to_host(kind.bool.as_array(hit), kind.bool.dtype):
                raise RuntimeError("ZeroDivisionError")
        return entry(x, y) if out is None else entry(x, y, out=out)

    return division


def _composite(kind: Kind, row: Any) -> Entry:
    if row.form in ("unary", "binary"):
        return _pointwise_composite(kind, row, row.composite)
    return functools.partial(row.composite, kind)


def _pointwise_composite(kind: Kind, row: Any, compute: Entry) -> Entry:
    """A composition that can write its result into an array, as pointwise kernels can."""
    target = kind.bool if row.result == "bool" and kind.dtype.category != BOOL else kind
    computes = row.form == "binary" and row.name not in _SWAPPING

    def entry(*args: Any, out: Any = None) -> Any:
        if computes:
            args = tuple(x if hasattr(x, "shape") else _array(kind, x) for x in args)
        r = compute(kind, *args)
        return r if out is None else target.copy_(out, target.as_array(r))

    return entry


def _array(kind: Kind, number: Any) -> Any:
    """A 0-d array for what the backend's kernels take for a number: they want one array each."""
    return kind.as_array(kind.mul(kind.full((), 1), number))


def _first_willing(candidates: list[Entry], *args: Any, **kwargs: Any) -> Any:
    """Overlay kernels may answer NotImplemented, then the next one runs."""
    for entry in candidates:
        result = entry(*args, **kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def _raise(error: type[Exception], *_: Any, **__: Any) -> Any:
    raise error()


# -- entries from kernels --------------------------------------------------------------------
def _entry(kind: Kind, name: str, kernel: Entry) -> Entry:
    """A kernel that takes any shapes and sizes and knows its dtype argument."""
    token = kind.token
    if not kind.backend.traits.python_scalars:
        kernel = raw_views.suit_numbers(kind, name, kernel)
    if name in PRIMITIVES or name == "sum_long":
        kernel = raw_views.suit_traits(kind, name, kernel)
    if name == "sum_long":
        token = kind.i64.token
    if name in (*_CONVERTING, "sum_long"):

        def converting(x: Any, dims: Any, out: Any = None) -> Any:
            return kernel(x, dims, token) if out is None else kernel(x, dims, token, out=out)

        return converting
    if name == "matmul":

        def matmul(a: Any, b: Any) -> Any:
            return kernel(a, b, token)

        return matmul
    if name == "arange":

        def arange(n: int, start: Any, step: Any) -> Any:
            return kernel(n, start, step, token)

        return arange
    return kernel


# -- the CPU fallback ------------------------------------------------------------------------
_policy = os.environ.get("TENSORBUS_FALLBACK", "warn")
_fell_back: collections.Counter[str] = collections.Counter()


def set_fallback(policy: str) -> None:
    """What happens when a device lacks an op: ``error``, ``warn`` (once for each) or ``allow``."""
    global _policy
    _check_policy(policy, "the fallback policy")
    _policy = policy


def _check_policy(policy: str, what: str) -> None:
    if policy not in ("error", "warn", "allow"):
        raise ValueError(f"{what} is error, warn or allow, not {policy!r}")


def get_fallback() -> str:
    """The fallback policy."""
    return _policy


def fallback_counts() -> dict[str, int]:
    """How often each op ran on the CPU for another device, as ``{"exp on opencl": 3}``."""
    return dict(_fell_back)


@registered.device_forgotten.listen
def forget(type: str) -> None:
    """Drop what was counted for a device type that is no more."""
    for where in [w for w in _fell_back if w.endswith(f" on {type}")]:
        del _fell_back[where]


def _fallback(kind: Kind, name: str) -> Entry:
    backend = kind.backend
    kernel = _BACKEND_NAMES.get(name, name)
    where = f"{kernel} on {backend.name}"
    missing = (
        f"no kernel for {kernel} with {kind.dtype.name} on device {kind.device} "
        f"({type(backend).__module__}): tried overlays, the backend and a composition"
    )
    if backend.name == "cpu":
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{kind.dtype.legacy.removesuffix('Tensor')}' "
            f"on device {kind.device}. Convert the tensor with .to(dtype) first."
        )

    def refuse() -> None:
        _check_policy(_policy, "TENSORBUS_FALLBACK")
        if _policy == "error":
            raise NotImplementedError(
                f"{missing}. Ways out: install an overlay that has it, move the tensors with "
                ".to('cpu'), or allow the fallback with tensorbus.set_fallback('warn')"
            )

    refuse()
    host = kind_of(Device("cpu"), kind.dtype)
    arguments = ROWS[name].arguments
    tensors = set(ROWS[name].tensors)
    result_kind = {"bool": kind.bool, "int64": kind.i64}.get(ROWS[name].result, kind)

    def source(argument: str) -> Kind:
        return {"i": kind.i64, "c": kind.bool}.get(argument, kind)

    def entry(*args: Any, out: Any = None) -> Any:
        refuse()
        if not _fell_back[where] and _policy == "warn":
            warnings.warn(f"{missing}; it runs on the CPU", stacklevel=_users_level())
        _fell_back[where] += 1
        there = []
        for argument, value in zip(arguments, args, strict=False):
            if argument in tensors and value is not None:
                k = source(argument)
                if hasattr(value, "shape"):
                    value = host.backend.from_host(backend.to_host(value, k.dtype), k.dtype, 0)
                else:
                    value = host.of(k.dtype).const(k.number_of(value))
            there.append(value)
        result = getattr(host, name)(*there)
        if name in ("put", "scatter"):
            out, result = args[0], there[0]
        values = host.of(result_kind.dtype).backend.to_host(result, result_kind.dtype)
        back = backend.from_host(values, result_kind.dtype, kind.index)
        if out is None:
            return back
        return result_kind.copy_(out, back)

    return entry


def _users_level() -> int:
    """The ``stacklevel`` of the innermost frame outside tensorbus."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].split(".")[0] == "tensorbus":
        frame, level = frame.f_back, level + 1
    return level


@atexit.register
def _report() -> None:
    if _fell_back and _policy == "warn":
        listed = ", ".join(f"{where}: {n}" for where, n in _fell_back.most_common(5))
        warnings.warn(f"ops that ran on the CPU for another device: {listed}", stacklevel=1)
