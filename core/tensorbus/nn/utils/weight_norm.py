"""Weight norm in its older form: a hook that computes the weight before each ``forward``."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules._hooks import pre_hooks_of
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parameter import Parameter
from tensorbus.nn.utils._weight_matrices import with_length

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm:
    """The hook of one parameter: sets it from its length ``_g`` and its direction ``_v``."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight that length and direction give."""
        v, g = getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g")
        return with_length(v, g, self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Split a module's parameter, and register the hook."""
        warn_user(
            "`torch.nn.utils.weight_norm` is deprecated "
            "in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
        )
        if any(hook.name == name for _, hook in pre_hooks_of(module, WeightNorm)):
            raise RuntimeError(
                f"Cannot register two weight_norm hooks on the same parameter {name}"
            )
        made = WeightNorm(name, dim)
        weight = getattr(module, name)
        del module._parameters[name]
        length = tensorbus.norm_except_dim(weight, 2, made.dim).detach()
        module.register_parameter(f"{name}_g", Parameter(length))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
        made(module, ())
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module).detach()
        for name in (self.name, f"{self.name}_g", f"{self.name}_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train the length and the direction of a parameter apart, as ``name_g`` and ``name_v``; warns.

    ``nn.utils.parametrizations.weight_norm`` is the newer form.

    RuntimeError if the parameter has it already.

    >>> from tensorbus import nn
    >>> layer = nn.utils.weight_norm(nn.Linear(20, 40))
    >>> layer.weight_g.size(), layer.weight_v.size()
    (torch.Size([40, 1]), torch.Size([40, 20]))

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.weight_norm.html
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make a parameter with weight norm a plain one, with the value that it has.

    ValueError if it has none.

    >>> from tensorbus import nn
    >>> layer = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(2, 2)))
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.remove_weight_norm.html
    """
    for hook_id, hook in pre_hooks_of(module, WeightNorm):
        if hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[hook_id]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
