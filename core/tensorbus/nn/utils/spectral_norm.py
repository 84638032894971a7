"""Spectral norm in its older form: a hook that divides the weight before each ``forward``."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.modules._hooks import pre_hooks_of
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parameter import Parameter
from tensorbus.nn.utils._weight_matrices import as_matrix, dim_of_outputs

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]


class SpectralNorm:
    """The hook of one parameter: sets it to ``_orig`` over an estimate of its spectral norm."""

    _version: int = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but "
                f"got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight with its outputs as rows."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight over the estimate, which is improved first if wanted."""
        weight, u, v = (getattr(module, f"{self.name}_{end}") for end in ("orig", "u", "v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with tensorbus.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(tensorbus.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(tensorbus.mv(matrix, v), dim=0, eps=self.eps))
                # Copies, since the next call writes to both: this one's backward needs them.
                u, v = u.clone(), v.clone()
        return weight / tensorbus.dot(u, tensorbus.mv(matrix, v))

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with tensorbus.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def _v_for(self, matrix: Tensor, u: Tensor, sigma: Tensor) -> Tensor:
        """The v that a checkpoint without it had: W^T W v is W^T u, and u^T W v is sigma."""
        square = (matrix.t() @ matrix).pinverse()
        v = tensorbus.mv(square, tensorbus.mv(matrix.t(), u))
        return v * (sigma / tensorbus.dot(u, tensorbus.mv(matrix, v)))

    @staticmethod
    def apply(
        module: Module, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Put ``_orig``, ``_u`` and ``_v`` in a parameter's place, and register the hooks."""
        if any(hook.name == name for _, hook in pre_hooks_of(module, SpectralNorm)):
            raise RuntimeError(
                f"Cannot register two spectral_norm hooks on the same parameter {name}"
            )
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        with tensorbus.no_grad():
            u, v = (
                F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps)
                for size in as_matrix(weight, dim).shape
            )
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        # So that the attribute is there before the first call.
        setattr(module, name, weight.data)
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(made)
        module._register_state_dict_hook(SpectralNormStateDictHook(made))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(made))
        return made


class SpectralNormLoadStateDictPreHook:
    """Takes checkpoints of before ``_v`` was kept: they hold the weight and ``_u`` instead."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        fn = self.fn
        version = local_metadata.get("spectral_norm", {}).get(f"{fn.name}.version")
        if version is not None and version >= 1:
            return
        key = prefix + fn.name
        whole = all(key + end in state_dict for end in ("_orig", "_u", "_v"))
        if version is None and whole and key not in state_dict:
            return
        missing = [key + end for end in ("_orig", "", "_u") if key + end not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with tensorbus.no_grad():
            original, weight = state_dict[f"{key}_orig"], state_dict.pop(key)
            sigma = (original / weight).mean()
            matrix = fn.reshape_weight_to_matrix(original)
            state_dict[f"{key}_v"] = fn._v_for(matrix, state_dict[f"{key}_u"], sigma)


class SpectralNormStateDictHook:
    """Notes the version in a state dict's metadata."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        module: Module,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
    ) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.fn.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a parameter by an estimate of its spectral norm before each call.

    What is trained is ``name_orig``; ``name_u`` and ``name_v`` hold the estimate.
    ``nn.utils.parametrizations.spectral_norm`` is the newer form.

    Args:
        module: whose parameter it is.
        name: the parameter's name.
        n_power_iterations: steps of the estimate for each call in training mode.
        eps: what norms are at least, where they divide.
        dim: the dim of the outputs: by default 1 for transposed convolutions, else 0.

    RuntimeError if the parameter has it already.

    >>> from tensorbus import nn
    >>> layer = nn.utils.spectral_norm(nn.Linear(20, 40))
    >>> layer.weight_u.size(), layer.weight_v.size()
    (torch.Size([40]), torch.Size([20]))

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.spectral_norm.html
    """
    SpectralNorm.apply(module, name, n_power_iterations, dim_of_outputs(module, dim), eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make a parameter with spectral norm a plain one, with the value that it has.

    ValueError if it has none.

    >>> from tensorbus import nn
    >>> layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 2)))
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.remove_spectral_norm.html
    """
    found = [(i, hook) for i, hook in pre_hooks_of(module, SpectralNorm) if hook.name == name]
    if not found:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hook_id, hook = found[0]
    hook.remove(module)
    del module._forward_pre_hooks[hook_id]
    for table in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for other_id, other in tuple(table.items()):
            if getattr(other, "fn", None) is hook:
                del table[other_id]
    return module
