"""Several modules at the same time, each in a thread."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus.nn.modules.module import Module


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """Call each module with its inputs, all at the same time; what they return, in order.

    ``inputs[i]`` is a tuple of arguments, or one argument. The first error of a module is raised
    again with a note of the module's number and device.

    >>> from tensorbus.nn.parallel import parallel_apply
    >>> parallel_apply([nn.ReLU(), nn.Identity()], [tensorbus.tensor([-1.0])] * 2)
    [tensor([0.]), tensor([-1.])]
    """
    count = len(modules)
    named = list(kwargs_tup) if kwargs_tup is not None else [{} for _ in modules]
    targets = list(devices) if devices is not None else [None] * count
    for name, got in (("inputs", inputs), ("kwargs_tup", named), ("devices", targets)):
        if len(got) != count:
            raise ValueError(f"The number of modules {count} is not that of {name}: {len(got)}")
    results: list[Any] = [None] * count
    errors: dict[int, Exception] = {}
    recording = tensorbus.is_grad_enabled()

    def work(i: int) -> None:
        given = inputs[i] if isinstance(inputs[i], (list, tuple)) else (inputs[i],)
        try:
            with tensorbus.set_grad_enabled(recording):
                results[i] = modules[i](*given, **named[i])
        except Exception as e:
            errors[i] = e

    if count == 1:
        work(0)
    else:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for i, error in sorted(errors.items()):
        raise _named(error, i, targets[i])
    return results


def _named(error: Exception, i: int, device: Any) -> Exception:
    """The error of a replica, of its own type where that can be made from a text."""
    where = f"replica {i}" + ("" if device is None else f" on device {device}")
    text = "".join(traceback.format_exception(error))
    message = f"Caught {type(error).__name__} in {where}.\nOriginal {text}"
    try:
        made = type(error)(message)
    except Exception:
        made = RuntimeError(message)
    made.__cause__ = error
    return made
