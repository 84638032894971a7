"""Parameters as functions of others: ``weight`` computed from what is really trained."""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Generator, Iterable
from typing import Any, cast

import tensorbus
from tensorbus._base.leaving import block
from tensorbus._base.page import show_pages as _show_pages
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules.container import ModuleDict
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parameter import Parameter
from tensorbus.nn.utils._parametrization_list import (
    ParametrizationList,
    inverse,
    register,
    set_value,
)

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


class _Cache:
    """What parametrized tensors are while caching is on, by the module's id and their name."""

    __slots__ = ("depth", "values")

    def __init__(self) -> None:
        self.depth = 0
        self.values: dict[tuple[int, str], Tensor] = {}


_CACHE = _Cache()


@block
def cached() -> Generator[None]:
    """Inside, each parametrized tensor is computed once, when it is first asked for.

    The values are forgotten when the outermost block ends.

    >>> from tensorbus import nn
    >>> from tensorbus.nn.utils import parametrize
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> with parametrize.cached():
    ...     layer.weight is layer.weight
    True

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.cached.html
    """
    _CACHE.depth += 1
    try:
        yield
    finally:
        _CACHE.depth -= 1
        if not _CACHE.depth:
            _CACHE.values = {}


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a parameter or buffer be computed by a module from what is trained instead of it.

    Then ``module.weight`` is ``parametrization(original)``, where the original is
    ``module.parametrizations.weight.original``. Assigning to ``module.weight`` goes through
    ``parametrization.right_inverse``, if it has that method; registering does too. A second
    parametrization is applied to what the first one gives. The module's class becomes one of its
    own, so that others of the class stay as they are.

    Args:
        module: whose tensor it is.
        tensor_name: the name of the parameter or buffer.
        parametrization: a module; its ``right_inverse`` may give several tensors, which ``forward``
            takes then.
        unsafe: whether dtype and shape may change, and consistency is not checked.

    ValueError for a name that is missing, and for results of another dtype or shape.

    >>> import tensorbus as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(3, 3)
    >>> layer = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T)
    True

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.register_parametrization.html
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(module, tensor_name, parametrization)
        known = _tables(module)[tensor_name]
        known.append(parametrization)
        known.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _give_class(module)
            module.parametrizations = ModuleDict()
        _give_property(module, tensor_name)
        _tables(module)[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_further(module: Module, name: str, parametrization: Module) -> None:
    """Raise ValueError unless a further parametrization keeps dtype and shape, both ways."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for what in ("dtype", "shape"):
        if getattr(after, what) != getattr(before, what):
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless "
                "the `unsafe` flag is enabled.\n"
                f"module.{name}.{what}: {getattr(before, what)}\n"
                f"parametrization(module.{name}).{what}: {getattr(after, what)}"
            )
    back = inverse(parametrization, after, before)
    if not isinstance(back, Tensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}"
        )
    for what in ("dtype", "shape"):
        if getattr(back, what) != getattr(before, what):
            raise ValueError(
                "The tensor returned by parametrization.right_inverse must have the same "
                f"{what} as module.{name}, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{what}: {getattr(before, what)}\n"
                f"returned {what}: {getattr(back, what)}"
            )


def _tables(module: Module) -> Any:
    """The parametrizations of a module, by the names of the tensors."""
    return module.parametrizations


def _give_class(module: Module) -> None:
    """Give a module a class of its own, which properties can be put into."""
    cls = type(module)

    def copied(self: Module, memo: dict[int, Any]) -> Module:
        if id(self) in memo:
            return cast(Module, memo[id(self)])
        # A class of its own too: taking out the property of one must leave the other's.
        own = type(self)
        twin: Any = self.__new__(type(own.__name__, own.__bases__, dict(vars(own))))
        memo[id(self)] = twin
        twin.__dict__ = copy.deepcopy(self.__dict__, memo)
        for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
            if hasattr(self, slot):
                setattr(twin, slot, copy.deepcopy(getattr(self, slot), memo))
        return cast(Module, twin)

    def state(self: Module) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    members: dict[str, Any] = {"__getstate__": state, "__module__": cls.__module__}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = copied
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _give_property(module: Module, name: str) -> None:
    def read(self: Module) -> Tensor:
        parametrization = _tables(self)[name]
        if not _CACHE.depth:
            return cast(Tensor, parametrization())
        key = id(self), name
        value = _CACHE.values.get(key)
        if value is None:
            value = _CACHE.values[key] = parametrization()
        return value

    def write(self: Module, value: Tensor) -> None:
        _tables(self)[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, of one of its tensors or of any.

    >>> from tensorbus import nn
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> nn.utils.parametrize.is_parametrized(layer, "weight")
    True
    >>> nn.utils.parametrize.is_parametrized(layer, "bias")
    False

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.is_parametrized.html
    """
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Let a tensor be a parameter or a buffer again.

    It keeps the value that its parametrizations gave it; unless *leave_parametrized*, it gets back
    the original one. ValueError where it has none, and where its originals are several and the
    parametrized value is not to be kept.

    >>> from tensorbus import nn
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> layer = nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.remove_parametrizations.html
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found: ParametrizationList = _tables(module)[tensor_name]
    if found.is_tensor:
        original = found.original
        if leave_parametrized:
            with tensorbus.no_grad():
                set_value(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del _tables(module)[tensor_name]
    register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before it was parametrized.

    >>> from tensorbus import nn
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> type(layer).__name__
    'ParametrizedLinear'
    >>> nn.utils.parametrize.type_before_parametrizations(layer) is nn.Linear
    True

    Source: https://pytorch.org/docs/stable/nn.html
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another, and their originals.

    Both share the modules and tensors then. Of *from_module* all parametrized tensors are taken,
    or the one that is named.

    >>> from tensorbus import nn
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> other = nn.utils.parametrize.transfer_parametrizations_and_params(layer, nn.Linear(2, 2))
    >>> other.parametrizations.weight.original0 is layer.parametrizations.weight.original0
    True

    Source: https://pytorch.org/docs/stable/nn.html
    """
    if not is_parametrized(from_module):
        return to_module
    names: Iterable[str] = _tables(from_module) if tensor_name is None else [tensor_name]
    for name in names:
        given: ParametrizationList = _tables(from_module)[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in given:
            register_parametrization(to_module, name, parametrization)
        taken = _tables(to_module)[name]
        originals = (
            ["original"] if given.is_tensor else [f"original{i}" for i in range(given.ntensors)]
        )
        for original in originals:
            setattr(taken, original, getattr(given, original))
    return to_module


_show_pages(__name__, [(name, globals()[name]) for name in __all__])
