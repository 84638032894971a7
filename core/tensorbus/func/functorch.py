"""The package ``functorch`` of PyTorch 1.11 to 2: ``func`` by its older name, modules as functions.

Each name warns of its successor, as PyTorch's does. The alias gives this as ``functorch``.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tensorbus import func
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import Module
from tensorbus.ops.joining.joining import stack

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]


def _deprecated(name: str, new: str) -> None:
    warn_user(
        "We've integrated functorch into PyTorch. As the final step of the integration, "
        f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future "
        f"version of PyTorch >= 2.3. Please use `{new}` instead; see the PyTorch 2.0 release notes "
        "and/or the `torch.func` migration guide for more details "
        "https://pytorch.org/docs/main/func.migrating.html",
        FutureWarning,
    )


def _older(name: str) -> Callable[..., Any]:
    """The function of ``func`` of that name, with a warning."""
    now = getattr(func, name)

    @functools.wraps(now)
    def warned(*args: Any, **kwargs: Any) -> Any:
        _deprecated(name, f"torch.{name}" if name == "vmap" else f"torch.func.{name}")
        return now(*args, **kwargs)

    return warned


functionalize = _older("functionalize")
grad = _older("grad")
grad_and_value = _older("grad_and_value")
hessian = _older("hessian")
jacfwd = _older("jacfwd")
jacrev = _older("jacrev")
jvp = _older("jvp")
vjp = _older("vjp")
vmap = _older("vmap")


class _Stateless(Module):
    """A module that is called with its state, in the order of its names."""

    def __init__(self, model: Module) -> None:
        super().__init__()
        self.stateless_model = copy.deepcopy(model).to("meta")
        self.param_names = tuple(name for name, _ in model.named_parameters())
        self.buffer_names = tuple(name for name, _ in model.named_buffers())

    def _call(self, state: Iterable[Tensor], args: Any, kwargs: Any) -> Any:
        names = (*self.param_names, *self.buffer_names)
        named = dict(zip(names, state, strict=True))
        return func.functional_call(self.stateless_model, named, args, kwargs)


class FunctionalModule(_Stateless):
    """What ``make_functional`` gives: called with parameters, and what the module takes."""

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        return self._call(params, args, kwargs)


class FunctionalModuleWithBuffers(_Stateless):
    """The same with buffers, which are written to where the module writes to its own."""

    def forward(
        self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any
    ) -> Any:
        return self._call((*params, *buffers), args, kwargs)


def _state(model: Module, untracked: bool) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Copies of the parameters, leaves that require gradients unless *untracked*, and buffers."""
    own = copy.deepcopy(model)
    if untracked:
        own.requires_grad_(False)
    return tuple(own.parameters()), tuple(own.buffers())


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A module as a function of its parameters, and a copy of these.

    RuntimeError for a module with buffers. *disable_autograd_tracking* gives parameters that
    require no gradients.

    >>> import tensorbus
    >>> from tensorbus.func.functorch import make_functional
    >>> f, params = make_functional(tensorbus.nn.Linear(2, 1, bias=False))
    >>> f([tensorbus.ones(1, 2)], tensorbus.tensor([3.0, 4.0]))
    tensor([7.])
    """
    _deprecated("make_functional", "torch.func.functional_call")
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    return FunctionalModule(model), _state(model, disable_autograd_tracking)[0]


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A module as a function of its parameters and buffers, and copies of both."""
    _deprecated("make_functional_with_buffers", "torch.func.functional_call")
    return FunctionalModuleWithBuffers(model), *_state(model, disable_autograd_tracking)


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A function for ``vmap`` over modules of one class, their parameters and buffers stacked.

    RuntimeError where there is no module, or where they differ in class or mode.
    """
    _deprecated("combine_state_for_ensemble", "torch.func.stack_module_state")
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to have the same training/eval mode."
        )
    if len({type(m) for m in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to be of the same class."
        )
    states = [_state(m, untracked=False) for m in models]
    params, buffers = (
        tuple(stack(shards).detach() for shards in zip(*parts, strict=True))
        for parts in zip(*states, strict=True)
    )
    return FunctionalModuleWithBuffers(models[0]), params, buffers
