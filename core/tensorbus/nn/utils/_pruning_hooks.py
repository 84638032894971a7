"""``BasePruningMethod``, the hook that masks entries of a tensor, and containers of several."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Any

import tensorbus
from tensorbus._base.public_place import show_in as _show_in
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules._hooks import pre_hooks_of
from tensorbus.nn.modules.module import Module


class BasePruningMethod(abc.ABC):
    """Base class of methods, each object of which is the hook that prunes one tensor.

    A subclass says its ``PRUNING_TYPE`` ('unstructured', 'structured' or 'global') and defines
    ``compute_mask``. ``apply`` puts the parameter ``name_orig`` and the buffer ``name_mask`` in the
    tensor's place; before each ``forward`` the tensor is set to their product.

    >>> import tensorbus as torch
    >>> from tensorbus.nn.utils import prune
    >>> class EverySecond(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = torch.nn.Linear(4, 1, bias=False)
    >>> method = EverySecond.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1., 0., 1.]])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.BasePruningMethod.html
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abc.abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Define to give a mask like *default_mask*, the mask so far, by the importances *t*."""

    def apply_mask(self, module: Module) -> Tensor:
        """The original tensor with its masked entries zero."""
        mask = getattr(module, f"{self._tensor_name}_mask")
        original = getattr(module, f"{self._tensor_name}_orig")
        pruned: Tensor = mask.to(dtype=original.dtype) * original
        return pruned

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prune a tensor of a module by a method with these arguments, and register the hook.

        A tensor that is pruned already is pruned further, by a ``PruningContainer``.

        Args:
            module: whose tensor it is.
            name: the tensor's name.
            importance_scores: rank entries by this tensor instead of by their own values.
        """
        method = cls._combined(module, name, *args, **kwargs)
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {importance_scores.shape} vs {original.shape}"
            )
        further = isinstance(method, PruningContainer)
        if further:
            mask = getattr(module, f"{name}_mask").detach().clone()
        else:
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
            mask = tensorbus.ones_like(original, requires_grad=False)
        try:
            mask = method.compute_mask(importance_scores, default_mask=mask)
            module.register_buffer(f"{name}_mask", mask)
            method(module, ())
            module.register_forward_pre_hook(method)
        except Exception:
            if not further:
                module.register_parameter(name, getattr(module, f"{name}_orig"))
                del module._parameters[f"{name}_orig"]
            raise
        return method

    @classmethod
    def _combined(cls, module: Module, name: str, *args: Any, **kwargs: Any) -> BasePruningMethod:
        """A new method, or the container of it and of the one that there is, which is taken out."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        hooks = [
            (i, h) for i, h in pre_hooks_of(module, BasePruningMethod) if h._tensor_name == name
        ]
        if len(hooks) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module "
                f"{module}. Use a PruningContainer."
            )
        for hook_id, old in hooks:
            del module._forward_pre_hooks[hook_id]
            container = old if isinstance(old, PruningContainer) else PruningContainer(old)
            container.add_pruning_method(method)
            return container
        return method

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """A tensor with its masked entries zero; no module and no hook has a part in it."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                "importance_scores should have the same shape as tensor t, "
                f"got {importance_scores.shape} vs {t.shape}"
            )
        if default_mask is None:
            default_mask = tensorbus.ones_like(t)
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor a parameter again, in which the masked entries are zero."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters[f"{name}_orig"]
        original.data = pruned.data
        del module._parameters[f"{name}_orig"]
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods, one after the other, each of which prunes what those before it left.

    >>> from tensorbus import nn
    >>> layer = nn.Linear(4, 4)
    >>> first = nn.utils.prune.RandomUnstructured.apply(layer, "weight", amount=4)
    >>> both = nn.utils.prune.L1Unstructured.apply(layer, "weight", amount=4)
    >>> len(both), layer.weight_mask.sum()
    (2, tensor(8.))

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.prune.PruningContainer.html
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method; TypeError for anything else, ValueError for one of another tensor."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. "
                f"Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, which sees what *default_mask* leaves."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if mask is default_mask:
            mask = mask.clone()
        left = _left(method, t, default_mask)
        part = method.compute_mask(t[left], default_mask=default_mask[left])
        mask[left] = part.to(dtype=mask.dtype)
        return mask


def _left(method: BasePruningMethod, t: Tensor, mask: Tensor) -> Any:
    """The index of what a mask leaves for a method: entries, whole channels, or everything."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    where: list[Any] = [slice(None)] * t.dim()
    if method.PRUNING_TYPE == "structured":
        if not hasattr(method, "dim"):
            raise AttributeError(
                'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` '
                "defined."
            )
        dim = method.dim + t.dim() if method.dim < 0 else method.dim
        if dim < 0:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
        others = [d for d in range(t.dim()) if d != dim]
        where[dim] = mask.sum(dim=others) != 0
    elif method.PRUNING_TYPE != "global":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    return tuple(where)


_show_in(
    "tensorbus.nn.utils.prune",
    [("BasePruningMethod", BasePruningMethod), ("PruningContainer", PruningContainer)],
)
