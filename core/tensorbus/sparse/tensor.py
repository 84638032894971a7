"""``SparseTensor``: a tensor whose array is made of dense tensors, and who answers for it.

The dense tensors carry the history: the edge of a sparse tensor is that of its values. No op of
the engine sees such a tensor: each public call that does asks ``__torch_function__``, which looks
into a table of functions by name. Its kind has the device and the dtype, and no entries.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

from tensorbus._base import formats, registered
from tensorbus._base.size import Size, size_of
from tensorbus._dispatch.kinds import Kind
from tensorbus._tensor.sparse_array import SparseArray
from tensorbus._tensor.tensor import Tensor, new
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.override import DisableTorchFunctionSubclass
from tensorbus.sparse.deferred import BagRows


class Coo(SparseArray):
    """Coordinates: column *i* of ``indices`` says where element *i* of ``values`` stands.

    ``given`` is the tensor of the values, or what makes it when ``values`` is read.
    """

    __slots__ = ("coalesced", "given", "indices", "shape")
    layout = formats.sparse_coo

    def __init__(
        self, indices: Tensor, values: Tensor | BagRows, shape: Any, coalesced: bool = False
    ):
        self.indices = indices
        self.given = values
        self.shape: Size = size_of(tuple(shape))
        self.coalesced = coalesced or indices._s[1] < 2

    @property
    def values(self) -> Any:
        """The tensor of the values."""
        if type(self.given) is BagRows:
            self.given = self.given.made(self.indices[0])
        return self.given

    def with_values(self, values: Tensor) -> Coo:
        """The same coordinates of other values."""
        return Coo(self.indices, values, self.shape, self.coalesced)

    def parts(self) -> tuple[Tensor, ...]:
        """The dense tensors."""
        return self.indices, self.values


class Compressed(SparseArray):
    """Compressed rows or columns, of elements or of blocks: ``CSR``, ``CSC``, ``BSR``, ``BSC``.

    ``plain`` has the other coordinate of each element of ``values``, and ``compressed`` for each
    row (or column) where its elements begin.
    """

    __slots__ = ("compressed", "given", "layout", "plain", "shape")
    layout: formats.layout

    def __init__(
        self, layout: formats.layout, compressed: Tensor, plain: Tensor, values: Tensor, shape: Any
    ):
        self.layout = layout
        self.compressed = compressed
        self.plain = plain
        self.given = values
        self.shape: Size = size_of(tuple(shape))

    def with_values(self, values: Tensor) -> Compressed:
        """The same pattern of other values."""
        return Compressed(self.layout, self.compressed, self.plain, values, self.shape)

    def parts(self) -> tuple[Tensor, ...]:
        """The dense tensors."""
        return self.compressed, self.plain, self.values


# -- kinds -------------------------------------------------------------------------------------
class SparseKind(Kind):
    """The device and the dtype of sparse tensors; no op has an entry."""

    def fill(self) -> None:
        """Nothing: what computes are the values, whose kind is an ordinary one."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return functools.partial(_refuse_array, self, name)

    def __reduce__(self) -> Any:
        return sparse_kind, (self.of(self.dtype),)


def _refuse_array(kind: Kind, name: str, *args: Any, **kwargs: Any) -> Any:
    where = kind.device.type.upper()
    raise unsupported(name, f"Sparse{where}")


for _name in "to_host layout contiguous is_contiguous cast write as_strided every_value".split():
    setattr(SparseKind, _name, functools.partialmethod(_refuse_array, _name))


@functools.cache
def sparse_kind(kind: Kind) -> Kind:
    """The kind of sparse tensors whose values have the given one."""
    return SparseKind(kind.device, kind.dtype, kind.backend)


def unsupported(name: str, place: str) -> NotImplementedError:
    """The error for a function that sparse tensors do not take."""
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{place}' backend. Sparse tensors "
        "do not take this function: convert with .to_dense() first, or compute with .values()"
    )


# -- the class ---------------------------------------------------------------------------------
TABLE: dict[str, Callable[..., Any]] = {}
"""What runs for the public functions, methods and properties that see a sparse tensor, by name."""


def sparse_op(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function be what sparse tensors have for functions and methods of these names."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            TABLE[name] = f
        return f

    return register


@functools.cache
def _property_names() -> dict[int, str]:
    return {id(p): name for name, p in METHODS.items() if isinstance(p, property)}


def _name_of(func: Any) -> str:
    owner = getattr(func, "__self__", None)
    if isinstance(owner, property):
        suffix = "=" if func.__name__ == "__set__" else ""
        return _property_names()[id(owner)] + suffix
    return func.__name__


_DESCRIBED = frozenset(
    "shape dtype device ndim dim ndimension size numel nelement itemsize element_size is_cpu "
    "is_cuda is_meta is_floating_point is_complex is_signed get_device is_inference names "
    "is_quantized is_mkldnn is_same_size requires_grad is_leaf grad_fn grad grad= retains_grad "
    "__len__ _base output_nr".split()
)
"""What hangs on shape, kind and edge alone, as it does for dense tensors."""


class SparseTensor(Tensor):
    """A tensor of sparse layout: what ``torch.sparse_coo_tensor`` and the like give."""

    _a: Any

    @property
    def _e(self) -> Any:
        return self._a.given._e

    @property
    def _g(self) -> Any:
        g = getattr(self._a.given, "_g", None)
        return None if g is None else sparse_tensor(self._a.with_values(g))

    @_g.setter
    def _g(self, value: Any) -> None:
        self._a.values._g = None if value is None else masked_values(value, self)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: tuple[type, ...], args: Any = (), kwargs: Any = None
    ) -> Any:
        """What the table has for the function; NotImplementedError where it has nothing."""
        name = _name_of(func)
        if name in _DESCRIBED:
            with DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        found = TABLE.get(name)
        if found is None:
            if name == "operator":
                name = next((n for n in METHODS if getattr(Tensor, n, None) is func), name)
            sparse = next((t for t in args if isinstance(t, SparseTensor)), None)
            raise unsupported(name, "Sparse" if sparse is None else place_of(sparse))
        return found(*args, **(kwargs or {}))

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Another tensor over the values' memory would keep processes from sharing it.
        a = self.detach()._a if self.requires_grad else self._a
        more = (a.coalesced,) if type(a) is Coo else ()
        return _rebuild, (a.layout, a.parts(), tuple(a.shape), self.requires_grad, *more)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            a = self._a
            memo[id(self)] = sparse_tensor(of_parts(a, copy.deepcopy(a.parts(), memo)))
        return memo[id(self)]


def of_parts(like: Any, parts: Any) -> Any:
    """A sparse array with the shape and layout of another, made of other dense tensors."""
    *places, values = parts
    if type(like) is Coo:
        return Coo(places[0], values, like.shape, like.coalesced)
    return Compressed(like.layout, places[0], places[1], values, like.shape)


def _rebuild(
    layout: Any, parts: Any, shape: Any, requires_grad: bool, coalesced: bool = False
) -> Any:
    *places, values = parts
    values = values.requires_grad_() if requires_grad else values
    if layout is formats.sparse_coo:
        return make_coo(places[0], values, shape, coalesced)
    return sparse_tensor(Compressed(layout, places[0], places[1], values, shape))


@registered.sparse_tensor.provide
def sparse_tensor(array: Any) -> Any:
    """The tensor of a sparse array."""
    t: Any = new(SparseTensor)
    t._a = array
    t._k = sparse_kind(array.given._k)
    t._s = array.shape
    t._c = None
    t._b = None
    return t


def make_coo(indices: Tensor, values: Tensor | BagRows, shape: Any, coalesced: bool = False) -> Any:
    """A sparse tensor by coordinates that are known to be right."""
    return sparse_tensor(Coo(indices, values, shape, coalesced))


def place_of(x: Any) -> str:
    """What PyTorch calls the place of a sparse tensor: ``SparseCPU``, ``SparseCsrCPU``."""
    layout = "Sparse" if x._a.layout is formats.sparse_coo else "SparseCsr"
    return layout + x._k.device.type.upper()


def masked_values(value: Any, like: Any) -> Tensor:
    """The values of a gradient at the places where *like* has elements."""
    a = getattr(value, "_a", None)
    own = like._a
    if isinstance(a, type(own)) and a.values._s == own.values._s:
        return a.values
    return value.sparse_mask(like)._a.values
