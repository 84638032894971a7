"""What classes and modes need that take part in the calls of public functions.

A class with ``__torch_function__(cls, func, types, args=(), kwargs=None)``, whether it derives from
Tensor or not, is asked by each function that sees an instance of it. ``TorchFunctionMode`` sees
all calls of a thread.

>>> import tensorbus as torch
>>> class Scaled:
...     def __init__(self, scale):
...         self.scale = scale
...     @classmethod
...     def __torch_function__(cls, func, types, args=(), kwargs=None):
...         return cls(args[0].scale * 2) if func is torch.add else NotImplemented
>>> torch.add(Scaled(3), 1).scale
6
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType, MethodWrapperType
from typing import Any, ParamSpec, TypeVar

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.modes import OVERRIDES as _OVERRIDES
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine import function_modes as _modes
from tensorbus.op_engine import override as _override
from tensorbus.op_engine.function_modes import BaseTorchFunctionMode, TorchFunctionMode
from tensorbus.op_engine.names import FUNCTIONS as _FUNCTIONS
from tensorbus.op_engine.names import METHODS as _METHODS

_P = ParamSpec("_P")
_T = TypeVar("_T")

_get_current_function_mode_stack = _modes.current_modes
_pop_mode_temporarily = _modes.without_innermost


def _get_current_function_mode() -> TorchFunctionMode | None:
    modes = _modes.current_modes()
    return modes[-1] if modes else None


# -- who is asked ------------------------------------------------------------------------------
def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a call with these arguments is to be given to ``handle_torch_function``.

    It is where a mode is on, or where one of them overrides and is no plain tensor.

    >>> import tensorbus as torch
    >>> torch.overrides.has_torch_function([torch.ones(1)])
    False
    """
    given = tuple(relevant_args)
    if not (_OVERRIDES.on or any(map(_override.is_duck, given))):
        return False
    return bool(_override.overriding(given))


def has_torch_function_unary(input: Any) -> bool:
    """``has_torch_function`` of one argument.

    >>> import tensorbus as torch
    >>> class Meters(torch.Tensor): pass
    >>> torch.overrides.has_torch_function_unary(torch.ones(1).as_subclass(Meters))
    True
    """
    return has_torch_function((input,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """``has_torch_function`` of arguments one by one.

    >>> import tensorbus as torch
    >>> class Meters(torch.Tensor): pass
    >>> x = torch.ones(1)
    >>> torch.overrides.has_torch_function_variadic(x, x.as_subclass(Meters))
    True
    """
    return has_torch_function(relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What those among the arguments that override make of a call of the function *public_api*.

    TypeError where all of them return NotImplemented.

    >>> import tensorbus as torch
    >>> from tensorbus.overrides import handle_torch_function, has_torch_function_unary
    >>> def area(x):
    ...     if has_torch_function_unary(x):
    ...         return handle_torch_function(area, (x,), x)
    ...     return x * x
    >>> class Side:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} of a side"
    >>> area(torch.tensor(3)), area(Side())
    (tensor(9), 'area of a side')
    """
    asked = _override.overriding(tuple(relevant_args))
    return _override.dispatch(public_api, asked, args, kwargs)


def wrap_torch_function(
    dispatcher: Callable[_P, Iterable[Any]],
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """A decorator for a function that asks the arguments which *dispatcher* returns.

    >>> import tensorbus as torch
    >>> @torch.overrides.wrap_torch_function(lambda a, b: (a, b))
    ... def scaled_sum(a, b):
    ...     return a + 2 * b
    >>> scaled_sum(torch.ones(1), torch.ones(1))
    tensor([3.])
    """

    def decorate(f: Callable[_P, _T]) -> Callable[_P, _T]:
        @functools.wraps(f)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                made: _T = handle_torch_function(call, relevant_args, *args, **kwargs)
                return made
            return f(*args, **kwargs)

        return call

    return decorate


def redispatch_function(func: Callable[..., _T], types: Any, args: Any, kwargs: Any) -> _T:
    """Call a function from ``__torch_function__`` without asking again for this one call.

    What a function of the program calls inside is seen again; a function of this library computes
    with plain tensors.

    >>> import tensorbus as torch
    >>> class Named(torch.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return torch.overrides.redispatch_function(func, types, args, kwargs)
    >>> x = torch.ones(2).as_subclass(Named)
    >>> type(torch.exp(x)) is torch.Tensor
    exp
    True
    """
    own = resolve_name(func) is not None
    if own:
        with _modes.DisableTorchFunction():
            return func(*args, **(kwargs or {}))
    _override._local.skip = True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _override._local.skip = False


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or of a class with ``__torch_function__``.

    >>> import tensorbus as torch
    >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like(1)
    (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


# -- the functions -----------------------------------------------------------------------------
_NAMESPACES = ("", "nn.functional", "linalg", "fft", "special")


@functools.cache
def _listed() -> tuple[dict[Any, list[Callable[..., Any]]], dict[Callable[..., Any], str]]:
    """The functions that ask, by namespace, and the names under which users find them."""
    found: dict[Any, list[Callable[..., Any]]] = {}
    names: dict[Callable[..., Any], str] = {}
    for space in _NAMESPACES:
        module = importlib.import_module(f"tensorbus.{space}".rstrip("."))
        shown = _FUNCTIONS if not space else {n: getattr(module, n) for n in dir(module)}
        prefix = f"torch.{space}.".replace("..", ".")
        for name, f in shown.items():
            if isinstance(f, FunctionType) and not name.startswith("_") and f not in names:
                names[f] = prefix + name
                if not _is_factory(f):
                    found.setdefault(module, []).append(f)
    for name in _METHODS:
        if name in _override.OBJECT_PROTOCOL:
            continue
        f = getattr(Tensor, name)
        if not isinstance(f, property):
            names.setdefault(f, f"torch.Tensor.{name}")
            found.setdefault(Tensor, []).append(f)
            continue
        found[f] = [f.__get__]
        names[f.__get__] = f"torch.Tensor.{name}.__get__"
        names[f.__set__] = f"torch.Tensor.{name}.__set__"
    return found, names


def _is_factory(f: Callable[..., Any]) -> bool:
    """Whether no argument of a function is a tensor, so that modes alone see it."""
    home = inspect.unwrap(f).__code__.co_filename.replace("\\", "/")
    parameters = list(inspect.signature(f).parameters)
    made = "/ops/creation/" in home or "/ops/random/" in home
    names = ("is_tensor", "tril_indices", "triu_indices")
    return f.__name__ in names or (made and parameters[:1] not in (["input"], ["x"]))


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that ask ``__torch_function__``, by the namespace in which they are.

    >>> import tensorbus as torch
    >>> torch.add in torch.overrides.get_overridable_functions()[torch]
    True
    """
    return {space: list(functions) for space, functions in _listed()[0].items()}


def get_ignored_functions() -> set[Callable[..., Any]]:
    """The functions that ask no argument, for none is a tensor: modes alone see them.

    >>> import tensorbus as torch
    >>> torch.ones in torch.overrides.get_ignored_functions()
    True
    """
    return {f for f in _FUNCTIONS.values() if isinstance(f, FunctionType) and _is_factory(f)}


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that asks, one with its signature that returns -1.

    >>> import tensorbus as torch
    >>> stand_in = torch.overrides.get_testing_overrides()[torch.add]
    >>> stand_in(torch.ones(1), 1)
    -1
    """
    made = {}
    for f in [f for functions in get_overridable_functions().values() for f in functions]:

        def stand_in(*args: Any, **kwargs: Any) -> int:
            return -1

        if not isinstance(f, MethodWrapperType):
            stand_in.__signature__ = inspect.signature(f)  # type: ignore[attr-defined]
        made[f] = stand_in
    return made


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name of a function that is seen by ``__torch_function__``; None for any other.

    >>> import tensorbus as torch
    >>> torch.overrides.resolve_name(torch.Tensor.add)
    'torch.Tensor.add'
    """
    try:
        return _listed()[1].get(f)
    except TypeError:  # not hashable
        return None


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of Tensor, or the getter or setter of a property.

    >>> import tensorbus as torch
    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
    True
    """
    return (resolve_name(func) or "").startswith("torch.Tensor.")


__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

__getattr__ = _attributes(__name__)
