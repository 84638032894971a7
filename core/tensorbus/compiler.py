"""``torch.compiler``: nothing is compiled yet, and every name here says so.

>>> import tensorbus
>>> tensorbus.compiler.is_compiling()
False
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorbus._base.absent import attributes as _attributes

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_default_backend",
    "set_stance",
]

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_STANCES = (
    "default", "eager_then_compile", "aot_eager_then_compile", "force_eager", "eager_on_recompile",
    "fail_on_recompile",
)  # fmt: skip

_default: str | Callable[..., Any] = "eager"
_noted = False


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """*model* itself, a function or a module; without it, a decorator that gives its function.

    Nothing is compiled yet: the first call warns so, once in a process, and no argument has an
    effect. AssertionError where *model* is not callable; RuntimeError for an unknown *mode*, and
    for *mode* together with *options*.

    >>> import tensorbus
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     double = tensorbus.compile(lambda x: x + x)
    >>> double(tensorbus.ones(2))
    tensor([2., 2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if model is not None and not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if not disable:
        _note()
    return _same if model is None else model


def _note() -> None:
    """Warn at the user's line that nothing is compiled, the first time."""
    global _noted
    if not _noted:
        _noted = True
        warnings.warn(
            "torch.compile compiles nothing yet: functions and modules run as they stand.",
            stacklevel=3,
        )


def _same(model: Any) -> Any:
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """*fn* itself; without it, a decorator that gives its function.

    AssertionError where *fn* is not callable.
    """
    if fn is None:
        return _same
    if not callable(fn):
        raise AssertionError("fn must be callable")
    return fn


def allow_in_graph(fn: Any) -> Any:
    """*fn* itself: there is no graph."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """*fn* itself: every call of it is made."""
    return fn


def cudagraph_mark_step_begin() -> None:
    """Nothing happens: no graph of launches is kept."""


def reset() -> None:
    """Nothing happens: there is no compiled code to forget."""


def is_compiling() -> bool:
    """Whether the caller is being compiled or exported: False."""
    return False


def is_dynamo_compiling() -> bool:
    """Whether the caller's bytecode is being traced: False."""
    return False


def is_exporting() -> bool:
    """Whether the caller is being exported: False."""
    return False


def list_backends(exclude_tags: tuple[str, ...] = ("debug", "experimental")) -> list[str]:
    """The names of the compilers that ``compile`` may use: none yet."""
    return []


def get_default_backend() -> str | Callable[..., Any]:
    """What ``compile`` uses where no *backend* is given: what was set, or "eager"."""
    return _default


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Keep what ``get_default_backend`` gives, or forget it with None; nothing is compiled."""
    global _default
    _default = "eager" if backend is None else backend


class set_stance:
    """Whether functions are compiled, as a call, a block or a decorator: they are not, in any.

    RuntimeError for an unknown *stance*.

    >>> import tensorbus
    >>> with tensorbus.compiler.set_stance("force_eager"):
    ...     tensorbus.compiler.is_compiling()
    False
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable[..., Any] | None = None,
    ):
        if stance not in _STANCES:
            raise RuntimeError(f"invalid stance: {stance!r}; choose one of {', '.join(_STANCES)}")
        self.stance = stance

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return fn

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        pass


if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
