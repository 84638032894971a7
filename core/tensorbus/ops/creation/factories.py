"""New tensors of a shape: uninitialised, filled with one value, or like another tensor."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import type_error
from tensorbus._dispatch.kinds import Kind
from tensorbus._tensor.tensor import Tensor, wrap_like
from tensorbus.op_engine.arguments import check_fill
from tensorbus.op_engine.dims import shape_argument
from tensorbus.op_engine.in_place import write_out
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.from_data import finished, inferred, kind_for
from tensorbus.rows.layouts import (
    contiguous_strides,
    empty_in_layout,
    pointwise_strides,
)

Shape = tuple[int, ...]


def factory_shape(name: str, size: tuple[Any, ...]) -> Shape:
    """The shape that a factory was called with; errors name the function."""
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    if len(size) > 1 or not isinstance(size[0], (tuple, list)):
        for n in size:
            if isinstance(n, (float, str)):
                raise type_error(name, "size", 1, "tuple of ints", n)
    shape = shape_argument(size)
    for n in shape:
        if n < 0:
            raise RuntimeError(
                "zeros: Dimension size must be non-negative."
                if name == "zeros"
                else f"Trying to create tensor with negative dimension {n}: {list(shape)}"
            )
    return shape


def _sizes(size: tuple[Any, ...], keyword: Any) -> tuple[Any, ...]:
    """A shape given by position, or as ``size=``."""
    if keyword is None:
        return size
    if size:
        raise TypeError("the size was given twice: by position and as size=")
    return (keyword,)


def _delivered(t: Tensor, out: Tensor | None, requires_grad: bool) -> Tensor:
    """A factory's result, in *out* where that is given."""
    if out is None:
        return t
    write_out(t.detach(), out)
    return out.requires_grad_() if requires_grad else out


def _out_kind(dtype: Any, device: Any, out: Tensor | None) -> Kind:
    """The kind of a factory's result: that of *out* decides what is not named."""
    if out is not None:
        dtype, device = dtype or out._k.dtype, device or out._k.device
    return kind_for(dtype, device)


@public(method=False)
def empty(
    *size: Any,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
    **keywords: Any,
) -> Tensor:
    """A tensor of any values: ``empty(2, 3)``, ``empty((2, 3))`` or ``empty(size=(2, 3))``.

    RuntimeError for a negative extent, TypeError where an extent is no integer.
    """
    shape = factory_shape("empty", _sizes(size, _only_size("empty", keywords)))
    k = _out_kind(dtype, device, out)
    if out is not None:
        return _delivered(finished(k.empty(shape), k, False), out, requires_grad)
    return finished(k.empty(shape), k, requires_grad)


def _only_size(name: str, keywords: dict[str, Any]) -> Any:
    """The value of ``size=``, the one keyword that has no place in the signature."""
    size = keywords.pop("size", None)
    for keyword in keywords:
        raise TypeError(f"{name}() got an unexpected keyword argument '{keyword}'")
    return size


def _constant_factory(name: str, value: int) -> Any:
    def factory(
        *size: Any,
        out: Tensor | None = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **keywords: Any,
    ) -> Tensor:
        shape = factory_shape(name, _sizes(size, _only_size(name, keywords)))
        k = _out_kind(dtype, device, out)
        if out is not None:
            return _delivered(finished(k.full(shape, value), k, False), out, requires_grad)
        return finished(k.full(shape, value), k, requires_grad)

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = f"""A tensor of {name}, in the shape given as numbers, a tuple, or ``size=``.

    RuntimeError for a negative extent, TypeError where an extent is no integer.
    """
    return public(method=False)(factory)


zeros = _constant_factory("zeros", 0)
ones = _constant_factory("ones", 1)


@public(method=False)
def full(
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with one value everywhere, whose dtype the value decides.

    >>> import tensorbus
    >>> tensorbus.full((2, 2), 3)
    tensor([[3, 3],
            [3, 3]])
    """
    if not isinstance(size, (tuple, list)):
        raise type_error("full", "size", 1, "tuple of ints", size)
    fill_value = _fill_number("full", fill_value)
    if dtype is None and out is None:
        dtype = inferred(fill_value)
    k = _out_kind(dtype, device, out)
    check_fill(fill_value, k.dtype)
    array = k.full(factory_shape("full", (size,)), fill_value)
    if out is not None:
        return _delivered(finished(array, k, False), out, requires_grad)
    return finished(array, k, requires_grad)


def _fill_number(name: str, value: Any) -> Any:
    if isinstance(value, Tensor):
        if value._s:
            raise type_error(name, "fill_value", 2, "Number", value)
        return value.item()
    if not isinstance(value, (int, float, complex)) and hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, (int, float, complex)):
        raise type_error(name, "fill_value", 2, "Number", value)
    return value


# -- like another tensor ---------------------------------------------------------------------
def _like(
    name: str, input: Any, value: Any, dtype: Any, device: Any, requires_grad: bool, order: Any
) -> Tensor:
    """A tensor in another's shape; a dense one's order of dimensions is kept."""
    if not isinstance(input, Tensor):
        raise type_error(name, "input", 1, "Tensor", input)
    k = kind_for(dtype or input._k.dtype, device or input._k.device)
    shape = tuple(input._s)
    strides = contiguous_strides(shape)
    if input._b is not None and (order is None or str(order) == "torch.preserve_format"):
        strides = pointwise_strides(shape, (shape, tuple(input._k.layout(input._a)[2])))
    array = empty_in_layout(k, shape, strides)
    if value is not None:
        k.copy_(array, value)
    t = wrap_like(array, k, None)
    return grown_leaf(t) if requires_grad else t


def grown_leaf(t: Tensor) -> Tensor:
    """A new tensor that operations on it are recorded for."""
    if t._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return t.requires_grad_()


def _like_factory(name: str, value: int | None, doc: str) -> Any:
    def like(
        input: Tensor,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        return _like(name, input, value, dtype, device, requires_grad, memory_format)

    like.__name__ = like.__qualname__ = name
    like.__doc__ = f"{doc} in the shape of another tensor, with its dtype and device if not given."
    return public(method=False)(like)


empty_like = _like_factory("empty_like", None, "A tensor of any values")
zeros_like = _like_factory("zeros_like", 0, "A tensor of zeros")
ones_like = _like_factory("ones_like", 1, "A tensor of ones")


@public(method=False)
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """One value in the shape of another tensor, with its dtype and device if not given."""
    value = _fill_number("full_like", fill_value)
    if isinstance(input, Tensor):
        check_fill(value, dtype or input._k.dtype)
    return _like("full_like", input, value, dtype, device, requires_grad, memory_format)


# -- by strides ------------------------------------------------------------------------------
@public(method=False)
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of any values with the given strides, in elements."""
    shape, strides = shape_argument((size,)), shape_argument((stride,))
    if len(shape) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides "
            f"({len(strides)})"
        )
    if any(n < 0 for n in shape) or any(s < 0 for s in strides):
        raise RuntimeError(
            f"empty_strided: sizes and strides must not be negative, but sizes={list(shape)} and "
            f"strides={list(strides)}"
        )
    k = kind_for(dtype, device)
    places = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    storage = k.empty((0 if 0 in shape else places,))
    t = wrap_like(k.as_strided(storage, shape, strides, 0), k, None)
    return grown_leaf(t) if requires_grad else t


@public(method=False)
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The matrix (n, m or n) with ones on its diagonal and zeros elsewhere."""
    shape = []
    for name, extent in (("n", n), ("m", n if m is None else m)):
        if not isinstance(extent, int):
            raise type_error("eye", name, 1 if name == "n" else 2, "int", extent)
        if extent < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {extent}")
        shape.append(extent)
    k = _out_kind(dtype, device, out)
    array = k.full(tuple(shape), 0)
    if min(shape):
        k.copy_(k.as_strided(array, (min(shape),), (shape[1] + 1,), 0), 1)
    if out is not None:
        return _delivered(finished(array, k, False), out, requires_grad)
    return finished(array, k, requires_grad)


# -- methods: a new tensor of this one's kind ------------------------------------------------
def _new_factory(name: str, value: int | None, doc: str) -> Any:
    def make(
        self: Tensor,
        *size: Any,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **keywords: Any,
    ) -> Tensor:
        shape = factory_shape(name, _sizes(size, _only_size(name, keywords)))
        k = kind_for(dtype or self._k.dtype, device or self._k.device)
        array = k.empty(shape) if value is None else k.full(shape, value)
        return finished(array, k, requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{doc} of the given shape, with this tensor's dtype and device if not given."
    return public(function=False)(make)


_new_factory("new_empty", None, "A tensor of any values")
_new_factory("new_zeros", 0, "A tensor of zeros")
_new_factory("new_ones", 1, "A tensor of ones")


@public(function=False)
def new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """One value in the given shape, with this tensor's dtype and device if not given."""
    k = kind_for(dtype or self._k.dtype, device or self._k.device)
    shape = factory_shape("new_full", (size,))
    value = _fill_number("new_full", fill_value)
    check_fill(value, k.dtype)
    return finished(k.full(shape, value), k, requires_grad)


@public(function=False)
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A copy of the data, with this tensor's dtype and device if not given."""
    from tensorbus.ops.creation.from_data import tensor

    return tensor(
        data,
        dtype=dtype or self._k.dtype,
        device=device or self._k.device,
        requires_grad=requires_grad,
    )


@public(function=False)
def new_empty_strided(
    self: Tensor,
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """``empty_strided`` with this tensor's dtype and device if not given."""
    return empty_strided(
        size,
        stride,
        dtype=dtype or self._k.dtype,
        device=device or self._k.device,
        requires_grad=requires_grad,
    )
