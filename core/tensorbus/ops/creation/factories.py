"""New tensors of a shape: uninitialised, filled with one value, or like another tensor."""

from __future__ import annotations

from typing import Any

from tensorbus._base.errors import type_error
from tensorbus._base.size import check_rank, check_storage
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_int, as_number, ints_of
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.dims import shape_argument
from tensorbus.op_engine.options import Options, factory
from tensorbus.op_engine.scalars import fitted
from tensorbus.ops.creation.from_data import inferred
from tensorbus.rows.layouts import contiguous_strides

Shape = tuple[int, ...]

_COMMON = 2**15
"""Sizes up to which four dimensions or fewer need no look at the number of elements."""


def factory_shape(name: str, size: tuple[Any, ...]) -> Shape:
    """The shape that a factory was called with; errors name the function."""
    for n in size:
        if type(n) is not int or not 0 <= n <= _COMMON:
            break
    else:
        if 0 < len(size) <= 4:
            return size
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    if len(size) > 1 or not isinstance(size[0], (tuple, list)):
        for n in size:
            if isinstance(n, (float, str)):
                raise type_error(name, "size", 1, "tuple of ints", n)
    shape = shape_argument(name, "size", size)
    for n in shape:
        if n < 0:
            raise RuntimeError(
                "zeros: Dimension size must be non-negative."
                if name == "zeros"
                else f"Trying to create tensor with negative dimension {n}: {list(shape)}"
            )
    return check_storage(shape)


@factory("out", "memory_format")
def empty(*size: Any, options: Options) -> Any:
    """A tensor of any values: ``empty(2, 3)``, ``empty((2, 3))`` or ``empty(size=(2, 3))``.

    RuntimeError for a negative size, TypeError where a size is no integer.
    """
    shape = factory_shape("empty", size)
    k = options.kind()
    return k.given_out(options.empty(shape))


def _constant_factory(name: str, value: int) -> Any:
    def make(*size: Any, options: Options) -> Any:
        shape = factory_shape(name, size)
        return options.kind().full(shape, value)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""A tensor of {name}, in the shape given as numbers, a tuple, or ``size=``.

    RuntimeError for a negative size, TypeError where a size is no integer.
    """
    return factory("out")(make)


zeros = _constant_factory("zeros", 0)
ones = _constant_factory("ones", 1)


@factory("out")
def full(size: Any, fill_value: Any, *, options: Options) -> Any:
    """A tensor with one value everywhere, whose dtype the value decides.

    >>> import tensorbus
    >>> tensorbus.full((2, 2), 3)
    tensor([[3, 3],
            [3, 3]])
    """
    if not isinstance(size, (tuple, list)):
        raise type_error("full", "size", 1, "tuple of ints", size)
    fill_value = _fill_number("full", fill_value)
    k = options.kind(inferred(fill_value))
    value = fitted(fill_value, k.dtype)
    return k.full(factory_shape("full", (size,)), value)


def _fill_number(name: str, value: Any) -> Any:
    if isinstance(value, Tensor) and not value._s:
        return value.item()
    found = as_number(value)
    if found is None:
        raise type_error(name, "fill_value", 2, "Number", value)
    return found


# -- like another tensor ---------------------------------------------------------------------
def _like(input: Tensor, value: Any, options: Options) -> Any:
    """A tensor in another's shape, where nothing else is asked for in its layout too."""
    check_tensors(options.name, input=input)
    k = options.kind(like=input)
    array = options.empty(tuple(input._s), like=input)
    return k.given_out(array) if value is None else k.copy_(array, value)


def _like_factory(name: str, value: int | None, doc: str) -> Any:
    def make(input: Tensor, *, options: Options) -> Any:
        return _like(input, value, options)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{doc} in the shape of another tensor, with its dtype and device if not given."
    return factory("memory_format")(make)


empty_like = _like_factory("empty_like", None, "A tensor of any values")
zeros_like = _like_factory("zeros_like", 0, "A tensor of zeros")
ones_like = _like_factory("ones_like", 1, "A tensor of ones")


@factory("memory_format")
def full_like(input: Tensor, fill_value: Any, *, options: Options) -> Any:
    """One value in the shape of another tensor, with its dtype and device if not given."""
    check_tensors("full_like", input=input)
    value = _fill_number("full_like", fill_value)
    return _like(input, fitted(value, options.dtype or input._k.dtype), options)


# -- by strides ------------------------------------------------------------------------------
def _strided(size: Any, stride: Any, options: Options, like: Tensor | None = None) -> Any:
    shape = ints_of(size, options.name, "size", 1)
    strides = ints_of(stride, options.name, "stride", 2)
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
    check_storage(check_rank(shape))
    k = options.kind(like=like)
    elements = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    check_storage((elements,))
    storage = k.given_out(k.empty((0 if 0 in shape else elements,)))
    return k.as_strided(storage, shape, strides, 0)


@factory()
def empty_strided(size: Any, stride: Any, *, options: Options) -> Any:
    """A tensor of any values with the given strides, in elements."""
    return _strided(size, stride, options)


@factory()
def empty_permuted(size: Any, physical_layout: Any, *, options: Options) -> Any:
    """A dense tensor of any values whose dimensions lie in the given order, outermost first.

    RuntimeError where the order is no permutation of the dimensions.

    >>> import tensorbus
    >>> tensorbus.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    shape = ints_of(size, "empty_permuted", "size", 1)
    order = ints_of(physical_layout, "empty_permuted", "physical_layout", 2)
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(
            f"empty_permuted: physical_layout={list(order)} must name each of the {len(shape)} "
            f"dimensions of size={list(shape)} once"
        )
    inner = contiguous_strides(tuple(shape[d] for d in order))
    return _strided(shape, [inner[order.index(d)] for d in range(len(shape))], options)


@factory("out")
def eye(n: int, m: int | None = None, *, options: Options) -> Any:
    """The matrix (n, m or n) with ones on its diagonal and zeros elsewhere."""
    shape = []
    for name, given in (("n", n), ("m", n if m is None else m)):
        size = as_int(given)
        if size is None:
            raise type_error("eye", name, 1 if name == "n" else 2, "int", given)
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
        shape.append(size)
    check_storage(tuple(shape))
    k = options.kind()
    array = k.full(tuple(shape), 0)
    if min(shape):
        k.copy_(k.as_strided(array, (min(shape),), (shape[1] + 1,), 0), 1)
    return array


# -- methods: a new tensor of this one's kind ------------------------------------------------
def _new_factory(name: str, value: int | None, doc: str) -> Any:
    def make(self: Tensor, *size: Any, options: Options) -> Any:
        shape = factory_shape(name, size)
        k = options.kind(like=self)
        return k.given_out(k.empty(shape)) if value is None else k.full(shape, value)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{doc} of the given shape, with this tensor's dtype and device if not given."
    return factory(method=True)(make)


_new_factory("new_empty", None, "A tensor of any values")
_new_factory("new_zeros", 0, "A tensor of zeros")
_new_factory("new_ones", 1, "A tensor of ones")


@factory(method=True)
def new_full(self: Tensor, size: Any, fill_value: Any, *, options: Options) -> Any:
    """One value in the given shape, with this tensor's dtype and device if not given."""
    k = options.kind(like=self)
    shape = factory_shape("new_full", (ints_of(size, "new_full", "size", 1),))
    return k.full(shape, fitted(_fill_number("new_full", fill_value), k.dtype))


@factory(method=True)
def new_empty_strided(self: Tensor, size: Any, stride: Any, *, options: Options) -> Any:
    """``empty_strided`` with this tensor's dtype and device if not given."""
    return _strided(size, stride, options, like=self)
