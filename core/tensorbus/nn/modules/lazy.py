"""What lazy modules have in common: they infer the shapes of their parameters from the first input.

The layers are in ``lazy_layers.py``.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import tensorbus
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """A base, before the module's class, of modules that learn shapes from their first input.

    The class registers ``UninitializedParameter`` and ``UninitializedBuffer``, and defines
    ``initialize_parameters(*args)``, which gets the arguments of the first call and calls
    ``materialize`` on each of them. After that the module becomes one of ``cls_to_become``.
    A state dict with values gives shapes too.

    Example:
        >>> net = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2))
        >>> net(tensorbus.ones(1, 3)).shape
        torch.Size([1, 2])
        >>> net[0]
        Linear(in_features=3, out_features=4, bias=True)
    """

    cls_to_become: type[Any] | None = None
    _load_hook: Any
    _initialize_hook: Any

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def _save_to_state_dict(
        self: Any, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        for name, param in self._parameters.items():
            if param is not None:
                known = not (keep_vars or is_lazy(param))
                destination[prefix + name] = param.detach() if known else param
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                known = not (keep_vars or is_lazy(buffer))
                destination[prefix + name] = buffer.detach() if known else buffer

    def _lazy_load_hook(self: Any, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Give what has no shape yet that of the state dict's value."""
        for name, own in chain(self._parameters.items(), self._buffers.items()):
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(own) and not is_lazy(given):
                with tensorbus.no_grad():
                    own.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialise parameters and buffers for these arguments; subclasses define it."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self: Any) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(map(is_lazy, chain(self._parameters.values(), self._buffers.values())))

    def _infer_parameters(self: Any, module: Any, args: Any, kwargs: Any = None) -> None:
        """The hook before the first ``forward``."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Module:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. "
            "Run a dummy forward pass to correctly initialize the modules"
        )
