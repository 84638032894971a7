"""Parameters and buffers without a shape yet: what lazy modules hold before their first call.

They override, and the first class that does makes every published function look for such tensors:
so the classes begin to when the first object of one is made, not where a library imports them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._base.public_place import show_in
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.parameter import Parameter, UninitializedTensorMixin
from tensorbus.op_engine.override import Overriding, adopt

_ALLOWED = (
    "__hash__ size copy_ is_complex is_floating_point half float double char short int long cuda "
    "cpu to get_device"
).split()


class _Uninitialized(UninitializedTensorMixin):
    """What both have in common: all but moving and converting is refused."""

    __slots__ = ()
    cls_to_become: ClassVar[type]
    _allowed_methods: ClassVar[list[Any]] = [getattr(Tensor, name) for name in _ALLOWED]

    def materialize(self: Any, shape: Sequence[int], device: Any = None, dtype: Any = None) -> None:
        """Get memory for *shape*, and become an ordinary parameter or tensor.

        The values are undefined. Device and dtype are kept where none are given.
        """
        self.data = tensorbus.empty(
            tuple(shape),
            device=self.data.device if device is None else device,
            dtype=self.data.dtype if dtype is None else dtype,
        )
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """RuntimeError: it is not known yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self) -> Any:
        """RuntimeError: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)  # type: ignore[attr-defined]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # Properties come as the `__get__` of theirs.
        if func in cls._allowed_methods or type(func).__name__ == "method-wrapper":
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[misc]
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you "
            "are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{cls.__name__}` objects. When using LazyModules Call `forward` "
            "with a dummy batch to initialize the parameters before calling torch functions"
        )


def _begin(cls: type) -> None:
    """Let a class override from now on."""
    if not issubclass(cls, Overriding):
        adopt(cls)


class UninitializedParameter(_Uninitialized, Parameter, between=True):  # type: ignore[misc]
    """A parameter whose shape is not known yet.

    It can be moved to a device and converted to a dtype; ``materialize(shape)`` makes it a
    ``Parameter``. All else is an error.

    Raises:
        ValueError: it is used in an operation.
        RuntimeError: its shape is asked for.

    Example:
        >>> p = nn.UninitializedParameter()
        >>> p
        <UninitializedParameter>
        >>> p.materialize((2, 3))
        >>> p.shape
        torch.Size([2, 3])
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        _begin(cls)
        data = tensorbus.empty(0, device=device, dtype=dtype)
        return Parameter.__new__(cls, data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            data = self.data
            memo[id(self)] = type(self)(self.requires_grad, data.device, data.dtype)
        return memo[id(self)]


class UninitializedBuffer(_Uninitialized, Tensor, between=True):  # type: ignore[misc]
    """A buffer whose shape is not known yet; ``materialize(shape)`` makes it a tensor.

    Raises:
        ValueError: it is used in an operation.
        RuntimeError: its shape is asked for.
    """

    __slots__ = ()
    cls_to_become = Tensor
    persistent: bool
    _is_buffer: bool

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        _begin(cls)
        data = tensorbus.empty(0, device=device, dtype=dtype)
        made: Any = Tensor._make_subclass(cls, data, requires_grad)  # type: ignore[arg-type]
        made.persistent = persistent
        made._is_buffer = True
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            made = type(self)(
                self.requires_grad, self.data.device, self.data.dtype,
                getattr(self, "persistent", True),
            )  # fmt: skip
            memo[id(self)] = made
        return memo[id(self)]


show_in(
    "tensorbus.nn.parameter",
    [
        ("UninitializedParameter", UninitializedParameter),
        ("UninitializedBuffer", UninitializedBuffer),
    ],
)
