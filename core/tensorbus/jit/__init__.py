"""``torch.jit`` as it is under ``PYTORCH_JIT=0``: nothing is compiled, functions run as they stand.

PyTorch deprecates its TorchScript. Decorators give back what they are given, so that libraries
which have them work; what would write or read compiled programs raises NotImplementedError.

>>> import tensorbus
>>> @tensorbus.jit.script
... def double(x):
...     return x + x
>>> double(3), tensorbus.jit.is_scripting()
(6, False)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tensorbus._base.absent import attributes as _attributes
from tensorbus.futures import Future
from tensorbus.nn import Module as _Module

_T = TypeVar("_T")

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

Error = RuntimeError
"""What PyTorch raises where a compiled function fails."""


class TracerWarning(Warning):
    """What PyTorch warns with where a trace would not hold for other inputs."""


class ScriptFunction:
    """The class of compiled functions, of which there are none: for ``isinstance``.

    >>> import tensorbus
    >>> isinstance(tensorbus.jit.script(abs), tensorbus.jit.ScriptFunction)
    False
    """

    def __init__(self) -> None:
        _refuse("a ScriptFunction")


class ScriptModule(_Module):
    """A module whose methods PyTorch would compile: an ordinary one here.

    >>> import tensorbus
    >>> issubclass(tensorbus.jit.ScriptModule, tensorbus.nn.Module)
    True
    """


RecursiveScriptModule = TopLevelTracedModule = TracedModule = ScriptModule


class Attribute:
    """A value with the type that compiled code would give it.

    >>> import tensorbus
    >>> tensorbus.jit.Attribute(0.1, float).value
    0.1
    """

    def __init__(self, value: Any, type: Any):
        self.value = value
        self.type = type


def _refuse(what: str) -> Any:
    raise NotImplementedError(
        f"torch.jit: {what} is not supported: nothing is compiled here. Keep the Python program, "
        "and save weights with torch.save(model.state_dict(), file)"
    )


def script(obj: _T, *args: Any, **kwargs: Any) -> _T:
    """*obj* itself, a function, a class or a module: it runs as Python.

    >>> import tensorbus
    >>> tensorbus.jit.script(abs)(-2)
    2
    """
    return obj


def trace(func: _T, *args: Any, **kwargs: Any) -> _T:
    """*func* itself, a function or a module: it is not run with the example inputs.

    >>> import tensorbus
    >>> tensorbus.jit.trace(abs, -1)(-2)
    2
    """
    return func


def trace_module(mod: _T, inputs: Any, *args: Any, **kwargs: Any) -> _T:
    """*mod* itself, a module.

    >>> import tensorbus
    >>> tensorbus.jit.trace_module(tensorbus.nn.Identity(), {"forward": 1})
    Identity()
    """
    return mod


def script_if_tracing(fn: _T) -> _T:
    """*fn* itself.

    >>> import tensorbus
    >>> tensorbus.jit.script_if_tracing(abs)(-2)
    2
    """
    return fn


def script_method(fn: _T) -> _T:
    """*fn* itself, a method of a ``ScriptModule``."""
    return fn


def export(fn: _T) -> _T:
    """*fn* itself, a method which compiled modules would have too.

    >>> import tensorbus
    >>> tensorbus.jit.export(abs)(-2)
    2
    """
    return fn


def unused(fn: _T) -> _T:
    """*fn* itself, which compiled code would not call.

    >>> import tensorbus
    >>> tensorbus.jit.unused(abs)(-2)
    2
    """
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself, which compiled code would leave to Python; or a decorator.

    >>> import tensorbus
    >>> tensorbus.jit.ignore(abs)(-2), tensorbus.jit.ignore(drop=True)(abs)(-2)
    (2, 2)
    """
    return drop if callable(drop) else lambda fn: fn


def interface(obj: _T) -> _T:
    """*obj* itself, a class.

    >>> import tensorbus
    >>> tensorbus.jit.interface(int)
    <class 'int'>
    """
    return obj


def freeze(mod: _T, *args: Any, **kwargs: Any) -> _T:
    """*mod* itself, a module.

    >>> import tensorbus
    >>> tensorbus.jit.freeze(tensorbus.nn.Identity())
    Identity()
    """
    return mod


def optimize_for_inference(mod: _T, *args: Any, **kwargs: Any) -> _T:
    """*mod* itself, a module.

    >>> import tensorbus
    >>> tensorbus.jit.optimize_for_inference(tensorbus.nn.Identity())
    Identity()
    """
    return mod


def annotate(the_type: Any, the_value: _T) -> _T:
    """*the_value*: Python needs no types.

    >>> import tensorbus
    >>> tensorbus.jit.annotate(list[int], [])
    []
    """
    return the_value


def fork(func: Callable[..., _T], *args: Any, **kwargs: Any) -> Future[_T]:
    """A future of ``func(*args, **kwargs)``, which is called at once, as outside of compiled code.

    >>> import tensorbus
    >>> tensorbus.jit.wait(tensorbus.jit.fork(abs, -2))
    2
    """
    future: Future[_T] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[_T]) -> _T:
    """What a future of ``fork`` has.

    >>> import tensorbus
    >>> tensorbus.jit.wait(tensorbus.jit.fork(max, 1, 2))
    2
    """
    return future.wait()


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether *obj* is of a type, or a container of such: ``list[int]``, ``dict[str, Tensor]``.

    A tuple of types stands for any of them; an empty list or dict is of every such type.

    >>> import tensorbus
    >>> tensorbus.jit.isinstance([1, 2], list[int]), tensorbus.jit.isinstance(["a"], list[int])
    (True, False)
    """
    from tensorbus.jit.refining import is_of

    return is_of(obj, target_type)


def export_opnames(m: Any) -> list[str]:
    """The ops of a compiled module. NotImplementedError: there are none.

    >>> import tensorbus
    >>> tensorbus.jit.export_opnames(tensorbus.nn.Identity())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    NotImplementedError: torch.jit: listing the ops of a compiled module is not supported: ...
    """
    found: list[str] = _refuse("listing the ops of a compiled module")
    return found


_fusion: list[tuple[str, int]] = [("STATIC", 2), ("DYNAMIC", 10)]


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Keep how compiled code would be fused, and give what was kept; it changes nothing.

    ValueError for other words than STATIC and DYNAMIC.

    >>> import tensorbus
    >>> tensorbus.jit.set_fusion_strategy([("STATIC", 2), ("DYNAMIC", 10)])
    [('STATIC', 2), ('DYNAMIC', 10)]
    """
    for word, _ in strategy:
        if word not in ("STATIC", "DYNAMIC"):
            raise ValueError(f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {word}")
    before = list(_fusion)
    _fusion[:] = strategy
    return before


class strict_fusion:
    """A block whose compiled code must be fused whole; outside of compiled code nothing happens.

    >>> import tensorbus
    >>> with tensorbus.jit.strict_fusion():
    ...     pass
    """

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...


def enable_onednn_fusion(enabled: bool) -> None:
    """Let compiled code be fused by oneDNN; nothing is compiled, so nothing happens.

    >>> import tensorbus as torch
    >>> torch.jit.enable_onednn_fusion(True)
    """


def onednn_fusion_enabled() -> bool:
    """Whether compiled code is fused by oneDNN: False.

    >>> import tensorbus
    >>> tensorbus.jit.onednn_fusion_enabled()
    False
    """
    return False


def is_scripting() -> bool:
    """Whether the caller is compiled: False."""
    return False


def is_tracing() -> bool:
    """Whether the caller is being traced: False."""
    return False


def save(m: Any, f: Any, **kwargs: Any) -> None:
    """Raise NotImplementedError: there are no compiled modules.

    >>> import tensorbus
    >>> tensorbus.jit.save(tensorbus.nn.Identity(), "file")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    NotImplementedError: torch.jit: writing a compiled module is not supported: ...
    """
    _refuse("writing a compiled module")


def load(f: Any, map_location: Any = None, **kwargs: Any) -> Any:
    """Raise NotImplementedError: a file of compiled code is not read.

    >>> import tensorbus
    >>> tensorbus.jit.load("file")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    NotImplementedError: torch.jit: reading a compiled module is not supported: ...
    """
    _refuse("reading a compiled module")


def _get_trace_graph(f: Any, *args: Any, **kwargs: Any) -> Any:
    _refuse("the graph of a traced module")


_script_if_tracing = script_if_tracing
_overload = export
_overload_method = export
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
