"""Modules and optimizers in checkpoints: classes of ours, under their own names or PyTorch's.

A module's pickle names its class and gives its attributes. The class is looked up among ours,
nothing is called but ``__new__`` without arguments, and the tables that modules walk through are
checked; so a file can make any module that its values describe, and nothing else.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from typing import Any

import tensorbus
from tensorbus import nn, optim
from tensorbus.nn.modules.attention import NonDynamicallyQuantizableLinear
from tensorbus.op_engine.parameter import Parameter
from tensorbus.serialization.budget import spend
from tensorbus.serialization.errors import bad, shown

_FUNCTIONS = ("torch.nn.functional.", "torch._C._nn.", "tensorbus.nn.functional.")
_PARTS = {"NonDynamicallyQuantizableLinear": NonDynamicallyQuantizableLinear}
_APART = (nn.parallel.DistributedDataParallel,)  # made by joining a group of processes
_FACTORIES = (dict, list, set, int, float)
_TABLES: dict[str, type] = {"_parameters": Parameter, "_buffers": tensorbus.Tensor}


def find(full: str) -> Any:
    """What a name in a file means: a class or a function of ours, or None."""
    if full in _EXTRA:
        return _EXTRA[full]
    if full.startswith(_FUNCTIONS):
        return _public_function(full.rpartition(".")[2])
    package, _, path = full.partition(".")
    room, _, name = path.rpartition(".")
    if package not in ("torch", "tensorbus"):
        return None
    for namespace, base in ((nn, nn.Module), (optim, optim.Optimizer)):
        own = namespace.__name__.partition(".")[2]
        if room == own or room.startswith(f"{own}."):
            found = getattr(namespace, name, None) or _PARTS.get(name)
            if isinstance(found, type) and issubclass(found, base) and found not in _APART:
                return found
    return None


def _public_function(name: str) -> Any:
    """A function as the value of an attribute, as layers hold their activations."""
    found = None if name.startswith("_") else getattr(nn.functional, name, None)
    return found if callable(found) and not isinstance(found, type) else None


def _default_dict(factory: Any = None) -> Any:
    if factory is not None and factory not in _FACTORIES:
        raise bad(f"a defaultdict is made with {shown(factory)}")
    return defaultdict(factory)


def _no_backend() -> None:
    """What modules of before 1.2 kept as the place of their kernels."""


_CALLS: dict[Any, Any] = {defaultdict: _default_dict, _no_backend: _no_backend}
_EXTRA: dict[str, Any] = {
    "collections.defaultdict": defaultdict,
    "torch.nn.backends.thnn._get_thnn_function_backend": _no_backend,
    **{f"builtins.{t.__name__}": t for t in _FACTORIES},
}


def caller(found: Any, new: bool) -> Any:
    """How what ``find`` gave may be called; None where it may not."""
    if isinstance(found, type) and issubclass(found, nn.Module | optim.Optimizer):
        return functools.partial(found.__new__, found) if new and find(_path(found)) else None
    return None if isinstance(found, type) and found is not defaultdict else _CALLS.get(found)


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__name__}"


def is_ours(target: Any) -> bool:
    """Whether an object's state is for ``restore``."""
    return isinstance(target, nn.Module | optim.Optimizer)


def restore(target: Any, state: Any) -> None:
    """Give a module or an optimizer its attributes, with the tables it walks through checked."""
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise bad(f"the state of a {type(target).__name__} is not a dict")
    if isinstance(target, nn.Module):
        for name, kind in (*_TABLES.items(), ("_modules", nn.Module)):
            _check_table(target, name, state.get(name), kind)
    else:
        _check_groups(target, state)
    target.__setstate__(state)


def _check_table(target: Any, name: str, table: Any, kind: type) -> None:
    if type(table) not in (dict, OrderedDict):
        raise bad(f"a {type(target).__name__} has no table {name}")
    spend(len(table))
    for key, value in table.items():
        if type(key) is not str or not (value is None or isinstance(value, kind)):
            raise bad(f"the {name} of a {type(target).__name__} hold {shown(value)}")


def _check_groups(target: Any, state: Any) -> None:
    groups = state.get("param_groups")
    well = (
        type(groups) is list
        and type(state.get("defaults")) is dict
        and type(state.get("state")) in (dict, defaultdict)
        and all(type(group) is dict and type(group.get("params")) is list for group in groups)
    )
    if not well:
        raise bad(f"a {type(target).__name__} has no state, defaults and groups of parameters")
    for group in groups:
        spend(len(group["params"]))
        if not all(isinstance(p, tensorbus.Tensor) for p in group["params"]):
            raise bad(f"a {type(target).__name__} has parameters that are no tensors")
