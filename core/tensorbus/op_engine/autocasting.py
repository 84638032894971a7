"""Automatic mixed precision: what of a thread computes in which dtype, and how operands get there.

While a device type is on, a handler of rows converts the operands of each op as the row's field
``autocast`` says; functions that are one op made of several rows say it with ``autocasts``.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.device_types import BFLOAT16_FIRST
from tensorbus._base.modes import RARE, switch, this_thread
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import is_grad_enabled
from tensorbus.autograd.node import AccumulateGrad
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.row_handlers import Proceed, add, remove
from tensorbus.rows.autocast_policies import policy_on
from tensorbus.rows.registry import ROWS, Row

LOW = (dtypes.bfloat16, dtypes.float16)
"""The dtypes in which ops may compute for speed."""


class _Settings(threading.local):
    """What autocast is in a thread."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, dtypes.dtype] = {}
        self.caching = True
        self.nesting = 0
        self.cache: dict[Any, tuple[Tensor, int, Tensor]] = {}


settings = _Settings()


def dtype_of(type: str) -> dtypes.dtype:
    """The dtype in which ops on a type of device compute for speed."""
    usual = dtypes.bfloat16 if type in BFLOAT16_FIRST else dtypes.float16
    return settings.dtypes.get(type, usual)


def switch_autocast(type: str, on: bool) -> None:
    """Convert the operands of ops on a type of device, or do not."""
    settings.enabled[type] = on
    present = _present()
    if any(settings.enabled.values()) and not present:
        add(_handler)
    elif present and not any(settings.enabled.values()):
        remove(_handler)


def _present() -> bool:
    """Whether operands are converted in this thread: not inside an op, nor where it is off."""
    return any(h is _handler for h in this_thread.handlers)


def _handler(row: Row, arguments: tuple[Any, ...], proceed: Proceed) -> Any:
    if row.autocast:
        arguments, _ = _converted(row.autocast, row.name, arguments)
    return proceed(row, arguments)


def _converted(policy: str, name: str, args: Any, kwargs: Any = ()) -> tuple[Any, Any]:
    """The operands of an op as its policy says on their device, where autocast is on for that."""
    tensors = _tensors((*args, *kwargs.values()) if kwargs else args)
    place = tensors[0]._k.device.type if tensors else ""
    if not settings.enabled.get(place):
        return args, kwargs
    wanted = policy_on(policy, place == "cpu")
    if wanted == "refuse":
        raise RuntimeError(
            f"torch.nn.functional.{name} and torch.nn.BCELoss are unsafe to autocast.\nMany models "
            "use a sigmoid layer right before the binary cross entropy layer. In this case, "
            "combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
            "or torch.nn.BCEWithLogitsLoss. binary_cross_entropy_with_logits and BCEWithLogits are "
            "safe to autocast."
        )
    if wanted in ("", "given"):
        return args, kwargs
    target = dtypes.float32 if wanted == "float32" else dtype_of(place)
    if wanted == "widest" and any(
        t._k.dtype is dtypes.float32 for t in tensors if _eligible(t, place)
    ):
        target = dtypes.float32
    return _walk(args, place, target), _walk(kwargs, place, target)


def _tensors(values: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for x in values:
        if isinstance(x, Tensor):
            found.append(x)
        elif isinstance(x, (tuple, list)):
            found += _tensors(x)
    return found


def _eligible(t: Tensor, place: str) -> bool:
    """Whether autocast may convert a tensor: float64 stays, and what is on other devices."""
    k = t._k
    return k.device.type == place and k.is_float and k.dtype is not dtypes.float64


def _walk(x: Any, place: str, target: dtypes.dtype) -> Any:
    if isinstance(x, Tensor):
        return _cast(x, target) if _eligible(x, place) and x._k.dtype is not target else x
    if type(x) in (tuple, list):
        return type(x)(_walk(each, place, target) for each in x)
    if isinstance(x, dict):
        return {name: _walk(each, place, target) for name, each in x.items()}
    return x


def _cast(x: Tensor, target: dtypes.dtype) -> Tensor:
    """The tensor in another dtype; a parameter's is kept until autocast ends."""
    kept = (
        settings.caching
        and target in LOW
        and type(x._e) is AccumulateGrad
        and x._k.dtype is dtypes.float32
        and is_grad_enabled()
    )
    if not kept:
        return to_kind(x, x._k.of(target))
    version = x._version
    found = settings.cache.get((id(x), target))
    if found is not None and found[0] is x and found[1] == version:
        return found[2]
    made = to_kind(x, x._k.of(target))
    settings.cache[id(x), target] = x, version, made
    return made


# -- functions that are one op ---------------------------------------------------------------
def autocasts(policy: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say how a function converts its operands under autocast; what it calls converts nothing.

    Where the policy has no word for a device, the function is a composition there like any other.
    """
    places = bool(policy_on(policy, True)), bool(policy_on(policy, False))

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            if RARE.on and (all(places) or places[_on_device((*args, *kwargs.values()))]):
                return as_one_op(policy, f, args, kwargs)
            return f(*args, **kwargs)

        return call

    return decorate


def _on_device(values: Any) -> bool:
    tensors = _tensors(values)
    return bool(tensors) and tensors[0]._k.device.type != "cpu"


def as_one_op(policy: str, f: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function that is one op for autocast: its operands are converted, no others."""
    if not RARE.on or not _present():
        return f(*args, **kwargs)
    if policy:
        args, kwargs = _converted(policy, f.__name__, args, kwargs)
    before = this_thread.handlers
    try:
        remove(_handler)
        return f(*args, **kwargs)
    finally:
        try:
            switch("handlers", before)
        except BaseException:
            switch("handlers", before)
            raise


def converted_to(target: dtypes.dtype, place: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands with those on a type of device in one dtype, as autocast converts them."""
    made: tuple[Any, ...] = _walk(operands, place, target)
    return made


def operands_for(row: str, *operands: Any) -> Any:
    """The operands of a row as autocast wants them, before a function compares their dtypes."""
    return _converted(ROWS[row].autocast, row, operands)[0] if _present() else operands
