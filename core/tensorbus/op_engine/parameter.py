"""Parameters and buffers: tensors that a module keeps."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import type_error
from tensorbus._device import defaults
from tensorbus._dispatch.kinds import kind_of
from tensorbus._tensor.sparse_array import SparseArray
from tensorbus._tensor.tensor import PERMUTED, Tensor, attributes_of, from_array, new
from tensorbus.autograd.node import AccumulateGrad, refuse_inference
from tensorbus.op_engine.override import disabled_torch_function

_SLOTS = ("_a", "_k", "_s", "_c", "_b")


def _empty() -> Tensor:
    kind = kind_of(defaults.get_default_device(), dtypes.get_default_dtype())
    return from_array(kind.empty((0,)), kind)


class _InstanceOfBuffer(type(Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Buffer:
            return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        return super().__instancecheck__(instance)


class _InstanceOfParameter(type(Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return (
            cls is Parameter
            and type(instance) is not Tensor
            and isinstance(instance, Tensor)
            and getattr(instance, "_is_param", False) is True
        )


class Parameter(Tensor, metaclass=_InstanceOfParameter):
    """A tensor that its module's ``parameters()`` lists, and that wants gradients by default.

    Of a tensor of a class of the program's own it is another one of that class, which
    ``isinstance`` takes for a Parameter. RuntimeError where its ``detach()`` is of another class.

    >>> import tensorbus
    >>> tensorbus.nn.Parameter(tensorbus.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function)

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = _empty()
        if not isinstance(data, Tensor):
            raise AttributeError(
                f"'{type(data).__name__}' object has no attribute 'detach': a Parameter is made of "
                "a tensor"
            )
        if not isinstance(requires_grad, bool):
            raise type_error("Parameter", "requires_grad", 2, "bool", requires_grad)
        if requires_grad and not data._k.differentiable:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        if isinstance(data._a, SparseArray):
            raise NotImplementedError(
                "Parameter: a sparse tensor is no parameter here: let its values be one, and make "
                "the sparse tensor of them in forward()"
            )
        if requires_grad:
            refuse_inference(data)
        if type(data) is not Tensor and not issubclass(type(data), Parameter):
            return _of_own_class(data, requires_grad)
        t = new(cls)
        for slot in _SLOTS:
            setattr(t, slot, getattr(data, slot))
        t._e = None
        if data._b is not None:
            t._b = None if t._k.is_contiguous(t._a) else PERMUTED
        if requires_grad:
            t._e = AccumulateGrad(t)
        return t

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) in memo:
            return memo[id(self)]
        made = type(self)(self.data.clone(), self.requires_grad)
        memo[id(self)] = made
        return made

    def __copy__(self) -> Parameter:
        made = type(self)(self.data, self.requires_grad)
        made.__dict__.update(attributes_of(self))
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild, (self.data, self.requires_grad), attributes_of(self) or None


def _of_own_class(data: Tensor, requires_grad: bool) -> Any:
    t = data.detach().requires_grad_(requires_grad)
    if type(t) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that "
            f"detach() returns an instance of the same type, but return type {type(t).__name__} "
            "was found instead. To use the type as a Parameter, please correct the detach() "
            "semantics defined by its __torch_dispatch__() implementation."
        )
    made: Any = t
    made._is_param = True
    return made


def _rebuild(data: Tensor, requires_grad: bool) -> Parameter:
    return Parameter(data, requires_grad)


class Buffer(Tensor, metaclass=_InstanceOfBuffer):
    """A tensor that its module keeps and saves without training it.

    ``Buffer(data, *, persistent=True)`` gives a plain tensor that ``Module`` registers as a buffer
    on assignment.
    """

    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function)
    _is_buffer: bool
    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        t: Any = (_empty() if data is None else data).detach()
        t._is_buffer = True
        t.persistent = persistent
        return t


class UninitializedTensorMixin:
    """The base class of parameters and buffers that have no shape yet."""

    __slots__ = ()


def is_lazy(param: Any) -> bool:
    """Whether *param* is an ``UninitializedParameter`` or ``UninitializedBuffer``.

    Example:
        >>> [nn.parameter.is_lazy(p) for p in (nn.LazyLinear(2).weight, nn.Linear(2, 2).weight)]
        [True, False]
    """
    return isinstance(param, UninitializedTensorMixin)
