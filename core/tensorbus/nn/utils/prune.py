"""Pruning: parameters of which some entries stay zero.

>>> from tensorbus import nn
>>> from tensorbus.nn.utils import prune
>>> layer = prune.l1_unstructured(nn.Linear(10, 10), "weight", amount=0.3)
>>> (layer.weight == 0).sum()
tensor(30)
>>> prune.is_pruned(layer), prune.is_pruned(prune.remove(layer, "weight"))
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorbus
from tensorbus._base.page import show_pages as _show_pages
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules._hooks import pre_hooks_of
from tensorbus.nn.modules.module import Module
from tensorbus.nn.utils._pruning_hooks import BasePruningMethod, PruningContainer
from tensorbus.nn.utils._pruning_methods import (
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    RandomStructured,
    RandomUnstructured,
)
from tensorbus.nn.utils.convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


def identity(module: Module, name: str) -> Module:
    """Prune nothing, but make the parameter ``name_orig`` and the buffer ``name_mask``.

    >>> from tensorbus import nn
    >>> layer = nn.utils.prune.identity(nn.Linear(2, 3), "bias")
    >>> layer.bias_mask
    tensor([1., 1., 1.])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.identity.html
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune entries of a parameter that are drawn at random.

    *amount* is their number, or a float between 0 and 1 for their share of what is not pruned yet.
    TypeError and ValueError for other amounts.

    >>> from tensorbus import nn
    >>> layer = nn.utils.prune.random_unstructured(nn.Linear(2, 3), "weight", amount=1)
    >>> (layer.weight_mask == 0).sum()
    tensor(1)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.random_unstructured.html
    """
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Tensor | None = None
) -> Module:
    """Prune the entries of a parameter that have the least absolute value, or the least score.

    *amount* is as that of ``random_unstructured``.

    >>> import tensorbus as torch
    >>> layer = torch.nn.Linear(3, 1)
    >>> scores = torch.tensor([[1.0, -5.0, 0.5]])
    >>> layer = torch.nn.utils.prune.l1_unstructured(layer, "weight", 2, scores)
    >>> layer.weight_mask
    tensor([[0., 1., 0.]])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.l1_unstructured.html
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune channels of a parameter along *dim* that are drawn at random.

    *amount* is as that of ``random_unstructured``, of channels. ValueError for vectors.

    >>> from tensorbus import nn
    >>> layer = nn.utils.prune.random_structured(nn.Linear(5, 3), "weight", amount=2, dim=1)
    >>> (layer.weight.sum(dim=0) == 0).sum()
    tensor(2)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.random_structured.html
    """
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: float,
    n: float,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the channels of a parameter along *dim* with the least norm of order *n*.

    *amount* is as that of ``random_unstructured``, of channels. ValueError for vectors.

    >>> import tensorbus as torch
    >>> layer = torch.nn.Linear(2, 2)
    >>> scores = torch.tensor([[1.0, 1.0], [2.0, 2.0]])
    >>> layer = torch.nn.utils.prune.ln_structured(layer, "weight", 1, 2, 0, scores)
    >>> layer.weight_mask
    tensor([[0., 0.],
            [1., 1.]])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.ln_structured.html
    """
    LnStructured.apply(
        module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
    )
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one vector.

    Args:
        parameters: pairs of a module and a name.
        pruning_method: a class of which the ``PRUNING_TYPE`` is 'unstructured'.
        importance_scores: rank entries by these tensors instead of by their own values.
        kwargs: what the class is made with, such as the amount.

    TypeError for what is not such a collection, dict or class.

    >>> import tensorbus as torch
    >>> from tensorbus.nn.utils import prune
    >>> net = torch.nn.Sequential(torch.nn.Linear(10, 4), torch.nn.Linear(4, 1))
    >>> pairs = [(net[0], "weight"), (net[1], "weight")]
    >>> prune.global_unstructured(pairs, prune.L1Unstructured, amount=10)
    >>> sum((layer.weight_mask == 0).sum() for layer in net)
    tensor(10)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.global_unstructured.html
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is None:
        importance_scores = {}
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    tensors = [getattr(module, name) for module, name in pairs]
    scores = [importance_scores.get(p, t) for p, t in zip(pairs, tensors, strict=True)]
    masks = [
        getattr(module, f"{name}_mask", tensorbus.ones_like(t))
        for (module, name), t in zip(pairs, tensors, strict=True)
    ]
    container, method = PruningContainer(), pruning_method(**kwargs)
    container._tensor_name = method._tensor_name = "all of them"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    joined = container.compute_mask(parameters_to_vector(scores), parameters_to_vector(masks))
    parts = joined.split([t.numel() for t in tensors])
    for (module, name), t, part in zip(pairs, tensors, parts, strict=True):
        custom_from_mask(module, name, mask=part.view_as(t))


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune the entries of a parameter for which a mask has a zero.

    >>> import tensorbus as torch
    >>> layer = torch.nn.Linear(5, 3)
    >>> mask = torch.tensor([0, 1, 0])
    >>> layer = torch.nn.utils.prune.custom_from_mask(layer, "bias", mask)
    >>> layer.bias_mask
    tensor([0., 1., 0.])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.custom_from_mask.html
    """
    CustomFromMask.apply(module, name, mask=mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter a plain one, whose pruned entries are zero and trained again.

    ValueError where it is not pruned.

    >>> from tensorbus import nn
    >>> layer = nn.utils.prune.random_unstructured(nn.Linear(5, 7), "weight", amount=0.2)
    >>> layer = nn.utils.prune.remove(layer, "weight")
    >>> sorted(layer.state_dict())
    ['bias', 'weight']

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.remove.html
    """
    for hook_id, hook in pre_hooks_of(module, BasePruningMethod):
        if hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[hook_id]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module: Module) -> bool:
    """Whether a parameter of a module, or of one below it, is pruned.

    >>> from tensorbus import nn
    >>> layer = nn.Linear(5, 7)
    >>> nn.utils.prune.is_pruned(layer)
    False
    >>> nn.utils.prune.is_pruned(nn.utils.prune.identity(layer, "bias"))
    True

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.is_pruned.html
    """
    return any(pre_hooks_of(part, BasePruningMethod) for part in module.modules())


_show_pages(__name__, [(name, globals()[name]) for name in __all__])
