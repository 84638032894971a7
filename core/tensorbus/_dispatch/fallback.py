"""Ops that a device lacks run on the CPU, as far as the policy allows."""

from __future__ import annotations

import atexit
import collections
import os
import warnings
from collections.abc import Callable
from typing import Any

from tensorbus._base import registered
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.warning import warn_user
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._dispatch.memory import check_memory
from tensorbus.rows.registry import ROWS

_policy = os.environ.get("TENSORBUS_FALLBACK", "warn")
_fell_back: collections.Counter[str] = collections.Counter()


def set_fallback(policy: str) -> None:
    """What happens when a device lacks an op: ``error``, ``warn`` (once for each) or ``allow``.

    >>> import tensorbus
    >>> before = tensorbus.get_fallback()
    >>> tensorbus.set_fallback("error")
    >>> tensorbus.get_fallback()
    'error'
    >>> tensorbus.set_fallback(before)
    """
    global _policy
    _check_policy(policy, "the fallback policy")
    _policy = policy


def _check_policy(policy: str, what: str) -> None:
    if policy not in ("error", "warn", "allow"):
        raise ValueError(f"{what} is error, warn or allow, not {policy!r}")


def get_fallback() -> str:
    """The fallback policy.

    >>> import tensorbus
    >>> tensorbus.get_fallback() in ("error", "warn", "allow")
    True
    """
    return _policy


def fallback_counts() -> dict[str, int]:
    """How often each op ran on the CPU for another device, as ``{"exp on opencl": 3}``.

    >>> import tensorbus
    >>> sum(tensorbus.fallback_counts().values()) >= 0
    True
    """
    return dict(_fell_back)


@registered.device_forgotten.listen
def forget(type: str) -> None:
    """Drop what was counted for a device type that is no more."""
    for where in [w for w in _fell_back if w.endswith(f" on {type}")]:
        del _fell_back[where]


def fallback(kind: Kind, name: str) -> Callable[..., Any]:
    """The entry that runs an op on the CPU; an error where the policy refuses."""
    backend = kind.backend
    row = ROWS[name]
    kernel = row.kernel or name
    where = f"{kernel} on {backend.name}"
    missing = (
        f"no kernel for {kernel} with {kind.dtype.name} on device {kind.device} "
        f"({type(backend).__module__}): tried overlays, the backend and a composition"
    )
    if backend.name == "cpu":
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{scalar_name(kind.dtype)}' "
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
    result_kinds = row.result_kinds(kind)

    def moved(value: Any, k: Kind) -> Any:
        if isinstance(value, (list, tuple)):
            return [moved(each, k) for each in value]
        if hasattr(value, "shape"):
            return host.backend.from_host(backend.to_host(value, k.dtype), k.dtype, 0)
        return host.of(k.dtype).const(k.number_of(value))

    def back(result: Any, k: Kind) -> Any:
        values = host.of(k.dtype).backend.to_host(result, k.dtype)
        return backend.from_host(values, k.dtype, kind.index)

    def entry(*args: Any, out: Any = None) -> Any:
        refuse()
        if not _fell_back[where] and _policy == "warn":
            warn_user(f"{missing}; it runs on the CPU")
        _fell_back[where] += 1
        there = []
        for argument, value in zip(row.arguments, args, strict=False):
            if argument in row.tensors and value is not None:
                value = moved(value, row.operand_kind(argument, kind))
            there.append(value)
        try:
            result = getattr(host, name)(*there)
        except MemoryError as error:
            check_memory(error, host.device)
            raise
        if row.outputs:
            return tuple(back(r, k) for r, k in zip(result, result_kinds, strict=True))
        if row.writes:
            out, result = args[0], there[0]
        made = back(result, result_kinds[0])
        return made if out is None else result_kinds[0].copy_(out, made)

    return entry


@atexit.register
def _report() -> None:
    if _fell_back and _policy == "warn":
        listed = ", ".join(f"{where}: {n}" for where, n in _fell_back.most_common(5))
        warnings.warn(f"ops that ran on the CPU for another device: {listed}", stacklevel=1)
