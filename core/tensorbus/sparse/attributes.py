"""What a sparse tensor says of itself, its parts, its history, and copies of it."""

from __future__ import annotations

from typing import Any

from tensorbus._base import formats
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.cores import core
from tensorbus.sparse import coordinates
from tensorbus.sparse.tensor import (
    Compressed,
    Coo,
    SparseTensor,
    masked_values,
    place_of,
    sparse_op,
    sparse_tensor,
    unsupported,
)

_CLASSES = {
    formats.sparse_coo: "Sparse",
    formats.sparse_csr: "SparseCsr",
    formats.sparse_csc: "SparseCsc",
    formats.sparse_bsr: "SparseBsr",
    formats.sparse_bsc: "SparseBsc",
}


def need_coo(x: Any, name: str) -> Coo:
    """The coordinates of a tensor that has them; RuntimeError for other layouts."""
    if type(x._a) is not Coo:
        raise RuntimeError(
            f"{name} expected sparse coordinate tensor layout but got {_CLASSES[x._a.layout]}"
        )
    return x._a


def _need_lines(x: Any, name: str, layouts: tuple[Any, ...], what: str) -> Compressed:
    if x._a.layout not in layouts:
        raise RuntimeError(
            f"{name} expected sparse {what} compressed tensor layout but got "
            f"{_CLASSES[x._a.layout]}"
        )
    return x._a


_ROWS = (formats.sparse_csr, formats.sparse_bsr)
_COLUMNS = (formats.sparse_csc, formats.sparse_bsc)


# -- layout ------------------------------------------------------------------------------------
@sparse_op("layout")
def layout(self: Any) -> formats.layout:
    """The layout."""
    return self._a.layout


@sparse_op("is_sparse")
def is_sparse(self: Any) -> bool:
    """Whether it is by coordinates."""
    return type(self._a) is Coo


@sparse_op("is_sparse_csr")
def is_sparse_csr(self: Any) -> bool:
    """Whether it is by compressed rows."""
    return self._a.layout is formats.sparse_csr


@sparse_op("sparse_dim")
def sparse_dim(self: Any) -> int:
    """How many dimensions are sparse."""
    return self._a.indices._s[0] if type(self._a) is Coo else 2


@sparse_op("dense_dim")
def dense_dim(self: Any) -> int:
    """How many dimensions are dense."""
    if type(self._a) is Coo:
        return len(self._a.given._s) - 1
    return len(self._s) - 2 - (len(self._a.compressed._s) - 1)


@sparse_op("_nnz")
def nnz(self: Any) -> int:
    """How many elements, or dense parts, it has."""
    return self._a.indices._s[1] if type(self._a) is Coo else self._a.plain._s[-1]


@sparse_op("stride")
def stride(self: Any, dim: int | None = None) -> Any:
    """Zeros, of coordinates; RuntimeError for compressed ones."""
    if type(self._a) is not Coo:
        raise RuntimeError("Sparse CSR tensors do not have strides")
    return (0,) * len(self._s) if dim is None else 0


@sparse_op("storage_offset")
def storage_offset(self: Any) -> int:
    """0."""
    return 0


@sparse_op("is_contiguous")
def is_contiguous(self: Any, *, memory_format: Any = None) -> bool:
    """False: there is no storage."""
    return False


@sparse_op("data_ptr", "storage", "untyped_storage", "nbytes", "tolist")
def no_storage(self: Any, *args: Any) -> Any:
    """NotImplementedError: the values and the indices have storages."""
    raise NotImplementedError("Cannot access storage of SparseTensorImpl")


@sparse_op("numpy", "__array__")
def numpy(self: Any, *args: Any, **kwargs: Any) -> Any:
    """TypeError: it is to be dense first."""
    raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")


@sparse_op("reshape", "flatten")
def no_reshape(self: Any, *args: Any, **kwargs: Any) -> Any:
    """RuntimeError, as in PyTorch."""
    raise RuntimeError("reshape is not implemented for sparse tensors")


@sparse_op("expand", "expand_as", "repeat")
def no_expand(self: Any, *args: Any, **kwargs: Any) -> Any:
    """RuntimeError, as in PyTorch."""
    raise RuntimeError("expand is unsupported for Sparse tensors")


@sparse_op("__bool__", "is_nonzero")
def truth(self: Any) -> bool:
    """Whether the one element is not zero."""
    if self.numel() > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(item(self))


@sparse_op("item", "__float__", "__int__")
def item(self: Any) -> Any:
    """The number of a tensor of one element."""
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return self.to_dense().item()


@sparse_op("__setitem__")
def no_assignment(self: Any, key: Any, value: Any) -> Any:
    """TypeError, as in PyTorch."""
    raise TypeError("Cannot assign to a sparse tensor")


@sparse_op("__contains__", "__iter__", "__format__")
def python_protocol(self: Any, *args: Any) -> Any:
    """A text for formats; NotImplementedError else."""
    if args and isinstance(args[0], str):
        return format(repr(self), args[0])
    raise unsupported("contains", place_of(self))


# -- parts -------------------------------------------------------------------------------------
@sparse_op("_indices")
def raw_indices(self: Any) -> Tensor:
    """The coordinates as they are."""
    return need_coo(self, "_indices").indices


@sparse_op("_values")
def raw_values(self: Any) -> Tensor:
    """The values as they are, without history."""
    return need_coo(self, "_values").values.detach()


def _need_coalesced(self: Any, what: str) -> Coo:
    a = need_coo(self, what)
    if not a.coalesced:
        raise RuntimeError(
            f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first"
        )
    return a


@sparse_op("indices")
def indices(self: Any) -> Tensor:
    """The coordinates of a coalesced tensor."""
    return core("alias")(_need_coalesced(self, "indices").indices)


@sparse_op("values")
def values(self: Any) -> Tensor:
    """The values, with their history."""
    if type(self._a) is Coo:
        _need_coalesced(self, "values")
    return core("alias")(self._a.values)


@sparse_op("crow_indices")
def crow_indices(self: Any) -> Tensor:
    """Where each row begins."""
    return _need_lines(self, "crow_indices", _ROWS, "row").compressed


@sparse_op("col_indices")
def col_indices(self: Any) -> Tensor:
    """The column of each element."""
    return _need_lines(self, "col_indices", _ROWS, "row").plain


@sparse_op("ccol_indices")
def ccol_indices(self: Any) -> Tensor:
    """Where each column begins."""
    return _need_lines(self, "ccol_indices", _COLUMNS, "column").compressed


@sparse_op("row_indices")
def row_indices(self: Any) -> Tensor:
    """The row of each element."""
    return _need_lines(self, "row_indices", _COLUMNS, "column").plain


@sparse_op("is_coalesced")
def is_coalesced(self: Any) -> bool:
    """Whether each coordinate is there once, in order."""
    return need_coo(self, "is_coalesced").coalesced


@sparse_op("coalesce")
def coalesce(self: Any) -> Any:
    """The tensor with each coordinate once, in order; values at one place are added up."""
    a = need_coo(self, "coalesce")
    return self if a.coalesced else sparse_tensor(coordinates.coalesced(a))


@sparse_op("_coalesced_")
def set_coalesced(self: Any, coalesced: bool) -> Any:
    """Say whether each coordinate is there once and in order."""
    need_coo(self, "_coalesced_").coalesced = coalesced
    return self


# -- history -----------------------------------------------------------------------------------
@sparse_op("_version")
def version(self: Any) -> int:
    """How often the values were written."""
    return self._a.values._version


@sparse_op("typename")
def typename(obj: Any) -> str:
    """The name of the tensor's type."""
    return obj.type()


@sparse_op("requires_grad=")
def set_requires_grad(self: Any, value: bool) -> None:
    """Start or stop recording."""
    self._a.values.requires_grad = value


@sparse_op("requires_grad_")
def requires_grad_(self: Any, requires_grad: bool = True) -> Any:
    """Start or stop recording."""
    self._a.values.requires_grad_(requires_grad)
    return self


@sparse_op("detach", "data")
def detach(self: Any) -> Any:
    """The same parts without history."""
    return sparse_tensor(self._a.with_values(self._a.values.detach()))


@sparse_op("detach_")
def detach_(self: Any) -> Any:
    """Forget the history."""
    self._a = self._a.with_values(self._a.values.detach())
    return self


@sparse_op("retain_grad")
def retain_grad(self: Any) -> None:
    """Keep the gradient."""
    self._a.values.retain_grad()


@sparse_op("backward")
def backward(
    self: Any, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False,
    inputs: Any = None,
) -> None:  # fmt: skip
    """A backward pass from a gradient for each element."""
    if not isinstance(self, SparseTensor):
        raise TypeError("backward(): the gradient of a dense tensor must be dense: use .to_dense()")
    if not self.requires_grad:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    if gradient is None:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    self._a.values.backward(
        masked_values(gradient, self), retain_graph, create_graph, inputs=inputs
    )


@sparse_op("register_hook")
def register_hook(self: Any, hook: Any) -> Any:
    """Call *hook* with the gradient, which is sparse in the same places."""
    a = self._a

    def called(g: Tensor) -> Any:
        made = hook(sparse_tensor(a.with_values(g)))
        return None if made is None else masked_values(made, self)

    return a.values.register_hook(called)
