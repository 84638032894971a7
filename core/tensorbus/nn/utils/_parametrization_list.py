"""``ParametrizationList``: the parametrizations of one tensor, and the tensors they start from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import tensorbus
from tensorbus._base.public_place import show_in as _show_in
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules.container import ModuleList
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parameter import Parameter


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and the tensors that they start from.

    These are ``original``, or ``original0``, ``original1``... where the first parametrization is of
    several. ``register_parametrization`` makes it and keeps it in ``module.parametrizations``.

    Args:
        modules: what is applied, one after the other.
        original: the tensor that is parametrized; what comes out of its ``right_inverse``s is kept.
        unsafe: whether shape and dtype may change.

    ValueError without modules, for inverses that give no tensors, and for changed shapes or dtypes.

    >>> from tensorbus import nn
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> parametrization = layer.parametrizations.weight
    >>> type(parametrization).__name__, parametrization.original0.shape
    ('ParametrizationList', torch.Size([3, 1]))

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.ParametrizationList.html
    """

    original: Tensor
    unsafe: bool

    def __init__(
        self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False
    ) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = original
        with tensorbus.no_grad():
            for module in reversed(list(self)):
                new = inverse(module, new, new)
        self.is_tensor = isinstance(new, Tensor)
        if self.is_tensor:
            self._keep_one(original, new)
        else:
            self._keep_several(original, new)
        if not unsafe:
            result = self()
            if not isinstance(result, Tensor):
                raise ValueError(
                    f"A parametrization must return a tensor. Got {type(result).__name__}."
                )
            _check_same("dtype", dtype, result.dtype)
            _check_same("shape", shape, result.shape)

    def _keep_one(self, original: Tensor, new: Tensor) -> None:
        for what in ("dtype", "device"):
            before, after = getattr(original, what), getattr(new, what)
            if before != after:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {before}\nright_inverse(original).{what}: {after}"
                )
        self.ntensors = 1
        set_value(original, new)
        register(self, "original", original)

    def _keep_several(self, original: Tensor, new: Any) -> None:
        text = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)."
        if not isinstance(new, Sequence):
            raise ValueError(f"{text} Got {type(new).__name__}")
        self.ntensors = len(new)
        for i, part in enumerate(new):
            if not isinstance(part, Tensor):
                raise ValueError(
                    f"{text} Got element {i} of the sequence with type {type(part).__name__}."
                )
            if isinstance(original, Parameter):
                part = Parameter(part, original.requires_grad)
            register(self, f"original{i}", part.requires_grad_(original.requires_grad))

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals to what ``forward`` makes *value* of: the inverses, from the last on.

        RuntimeError where a parametrization has none.
        """
        with tensorbus.no_grad():
            result: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                result = cast(Any, module).right_inverse(result)
            if self.is_tensor:
                self._set_one(result)
            else:
                self._set_several(result)

    def _set_one(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if value.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} "
                f"while `original` has dtype {self.original.dtype}"
            )
        set_value(self.original, value)

    def _set_several(self, values: Any) -> None:
        if not isinstance(values, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(values).__name__}."
            )
        if len(values) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(values)}."
            )
        for i, value in enumerate(values):
            original = getattr(self, f"original{i}")
            if not isinstance(value, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors. "
                    f"Got element {i} of type {type(value).__name__}."
                )
            if original.dtype != value.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {value.dtype} "
                    f"while `original{i}` has dtype {original.dtype}"
                )
            set_value(original, value)

    def forward(self) -> Tensor:
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
        first, *others = self
        result = first(*[getattr(self, name) for name in names])
        for module in others:
            result = module(result)
        return cast(Tensor, result)


def inverse(module: Module, value: Any, missing: Any) -> Any:
    """What a parametrization makes *value* of; *missing* where it has no inverse."""
    if not hasattr(module, "right_inverse"):
        return missing
    try:
        return cast(Any, module).right_inverse(value)
    except NotImplementedError:
        return missing


def _check_same(what: str, before: Any, after: Any) -> None:
    if before != after:
        raise ValueError(
            f"Registering a parametrization may not change the {what} of the tensor, "
            "unless `unsafe` flag is enabled.\n"
            f"unparametrized {what}: {before}\nparametrized {what}: {after}"
        )


def set_value(target: Tensor, value: Tensor) -> None:
    """Give a tensor another's memory, without a part in its history."""
    with tensorbus.no_grad():
        target.data = value.detach()


def register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


_show_in("tensorbus.nn.utils.parametrize", [("ParametrizationList", ParametrizationList)])
