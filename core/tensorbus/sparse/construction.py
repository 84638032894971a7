"""The constructors of sparse tensors."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._base import dtypes, formats, registered
from tensorbus._base.dtypes import as_dtype
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.cores import core
from tensorbus.ops.creation.factories import factory_shape
from tensorbus.sparse import coordinates, invariants
from tensorbus.sparse.tensor import Compressed, Coo, sparse_tensor

_NODES = {
    formats.sparse_coo: "SparseCooTensorWithDimsAndTensorsBackward0",
    **dict.fromkeys(
        (formats.sparse_csr, formats.sparse_csc, formats.sparse_bsr, formats.sparse_bsc),
        "SparseCompressedTensorBackward0",
    ),
}
"""What PyTorch calls the nodes of constructors."""


def _as_values(values: Any, dtype: Any, device: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values.to(device=values.device if device is None else device,
                         dtype=as_dtype(dtype) or values.dtype)  # fmt: skip
    return tensorbus.tensor(values, dtype=dtype, device=device)


def _as_indices(indices: Any, device: Any) -> Tensor:
    if isinstance(indices, Tensor):
        return indices.detach().to(device=device, dtype=dtypes.int64)
    return tensorbus.tensor(indices, dtype=dtypes.int64, device=device)


def _finished(array: Any, requires_grad: bool) -> Any:
    values = array.values
    if requires_grad:
        array = array.with_values(values.detach().requires_grad_())
    elif values.requires_grad:
        own = core("alias")(values)
        name_node(own, _NODES[array.layout])
        array = array.with_values(own)
    return sparse_tensor(array)


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor by coordinates: ``values[i]`` stands at column *i* of *indices*.

    *indices* is of shape (sparse dimensions, n), *values* of (n, dense dimensions...); values at
    one place are added up. ``sparse_coo_tensor(size)`` has no elements. Without a *size* it is the
    smallest that holds all coordinates. RuntimeError for parts that do not go together and for
    coordinates outside of the size, which ``check_invariants=False`` does not look for.

    >>> import tensorbus as torch
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse_coo_tensor.html
    """
    if values is None:
        if indices is None and size is None:
            raise TypeError("sparse_coo_tensor() needs indices and values, or a size")
        size = indices if size is None else size
        size = (size,) if isinstance(size, int) else size
        wrong = next(((i, n) for i, n in enumerate(size) if type(n) in (list, tuple, float)), None)
        if wrong is not None:
            raise TypeError(
                "sparse_coo_tensor(): argument 'size' (position 1) must be tuple of ints, but "
                f"found element of type {type(wrong[1]).__name__} at pos {wrong[0]}"
            )
        return _no_elements(size, dtype, device, requires_grad)
    given = _as_values(values, dtype, device)
    at = _as_indices(indices, given.device)
    if not given._s:
        given = given.reshape(1)
    invariants.check_coo_parts(at, given)
    check = invariants.wanted(check_invariants)
    if size is None:
        least = [0] * at._s[0]
        if at._s[1]:
            invariants.check_coo(at, given, (2**63,) * at._s[0])
            least = [n + 1 for n in at.amax(1).tolist()]
        shape = (*least, *tuple(given._s)[1:])
    else:
        shape = tuple(size)
        invariants.check_coo_sizes(at, given, shape)
        if check:
            invariants.check_coo(at, given, shape)
    if is_coalesced and check:
        flat = coordinates.flat_indices(at, shape[: at._s[0]])
        if not bool((flat[1:] > flat[:-1]).all()):
            raise RuntimeError(
                "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
            )
    return _finished(Coo(at, given, shape, bool(is_coalesced)), requires_grad)


@registered.construct_sparse.provide
def construct(dtype: Any, device: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """``sparse.FloatTensor(indices, values, size)``, or of sizes alone; without anything empty."""
    if not args or all(isinstance(n, int) for n in args):
        return _no_elements(args or (0,), dtype, device, False)
    return sparse_coo_tensor(*args, dtype=dtype, device=device, **named)


def _no_elements(size: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    shape = tuple(size)
    values = tensorbus.zeros(0, dtype=dtype, device=device)
    indices = coordinates.empty_indices(len(shape), values.device)
    return _finished(Coo(indices, values, shape, True), requires_grad)


@registered.without_elements.provide
def without_elements(name: str, args: tuple[Any, ...], options: Any) -> Any:
    """``zeros(2, 3, layout=torch.sparse_csr)`` and the like."""
    like = None
    if name.endswith("_like"):
        like, shape = args[0], tuple(args[0].shape)
    else:
        if name.startswith("new_"):
            like, *args = args  # type: ignore[assignment]
        shape = factory_shape(name, tuple(args))
    kind, layout = options.kind(like=like), options.sparse_layout
    requires_grad = bool(options.requires_grad)
    if layout is formats.sparse_coo:
        return _no_elements(shape, kind.dtype, kind.device, requires_grad)
    if layout not in (formats.sparse_csr, formats.sparse_csc):
        told = str(layout).removeprefix("torch.sparse_").capitalize()
        raise RuntimeError(
            "zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got "
            f"Sparse{told}"
        )
    if len(shape) < 2:
        raise RuntimeError(
            f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but "
            f"got size {list(shape)}"
        )
    *batch, rows, columns = shape
    count = (rows if layout is formats.sparse_csr else columns) + 1
    where = {"dtype": dtypes.int64, "device": kind.device}
    starts = tensorbus.zeros((*batch, count), **where)
    values = tensorbus.zeros((*batch, 0), dtype=kind.dtype, device=kind.device)
    parts = starts, tensorbus.zeros((*batch, 0), **where), values
    return _finished(Compressed(layout, *parts, shape), requires_grad)


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor of compressed rows or columns, of elements or of blocks, as *layout* says.

    *layout* is ``sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``. Without a *size*
    it is the smallest that holds all elements. RuntimeError for parts that do not go together,
    which ``check_invariants=False`` does not look for.

    >>> import tensorbus as torch
    >>> parts = [0, 1, 2], [1, 0], [3.0, 4.0]
    >>> torch.sparse_compressed_tensor(*parts, (2, 2), layout=torch.sparse_csr).to_dense()
    tensor([[0., 3.],
            [4., 0.]])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse_compressed_tensor.html
    """
    if layout not in _COMPRESSED:
        known = {None: "none", formats.strided: "Strided", formats.sparse_coo: "Sparse"}
        raise RuntimeError(
            "sparse_compressed_tensor expected sparse compressed tensor layout but got "
            f"{known.get(layout, layout)}"
        )
    given = _as_values(values, dtype, device)
    first, second = [
        x.detach().to(given.device)
        if isinstance(x, Tensor)
        else tensorbus.tensor(x, dtype=dtypes.int64, device=given.device)
        for x in (compressed_indices, plain_indices)
    ]
    shape = _least_shape(layout, first, second, given) if size is None else tuple(size)
    if invariants.wanted(check_invariants):
        invariants.check_compressed(layout, first, second, given, shape)
    return _finished(Compressed(layout, first, second, given, shape), requires_grad)


_COMPRESSED = (
    formats.sparse_csr, formats.sparse_csc, formats.sparse_bsr, formats.sparse_bsc,
)  # fmt: skip


def _least_shape(layout: Any, compressed: Tensor, plain: Tensor, values: Tensor) -> Any:
    batch = len(compressed._s) - 1
    blocked = layout in invariants.BLOCKED
    block = tuple(values._s)[batch + 1 : batch + 3] if blocked else (1, 1)
    across = int(plain.max()) + 1 if plain._s.numel() else 0
    grid = [compressed._s[-1] - 1, across]
    if layout in (formats.sparse_csc, formats.sparse_bsc):
        grid.reverse()
    sizes = [n * b for n, b in zip(grid, block, strict=True)]
    dense = tuple(values._s)[batch + 1 + 2 * blocked :]
    return (*tuple(compressed._s)[:-1], *sizes, *dense)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor by rows: those of row *i* begin at ``crow_indices[i]``.

    >>> import tensorbus as torch
    >>> torch.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 3.],
            [4., 0.]])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse_csr_tensor.html
    """
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, dtype=dtype, layout=formats.sparse_csr,
        device=device, requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor by columns: those of column *i* begin at ``ccol_indices[i]``.

    >>> import tensorbus as torch
    >>> torch.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 4.],
            [3., 0.]])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse_csc_tensor.html
    """
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, dtype=dtype, layout=formats.sparse_csc,
        device=device, requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor of blocks by rows: ``values[i]`` is a matrix.

    >>> import tensorbus as torch
    >>> torch.sparse_bsr_tensor([0, 1], [1], [[[3.0, 4.0]]], (1, 4)).to_dense()
    tensor([[0., 0., 3., 4.]])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse_bsr_tensor.html
    """
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, dtype=dtype, layout=formats.sparse_bsr,
        device=device, requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor of blocks by columns: ``values[i]`` is a matrix.

    >>> import tensorbus as torch
    >>> torch.sparse_bsc_tensor([0, 1], [1], [[[3.0], [4.0]]], (4, 1)).to_dense().T
    tensor([[0., 0., 3., 4.]])

    Source: https://pytorch.org/docs/stable/generated/torch.sparse_bsc_tensor.html
    """
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, dtype=dtype, layout=formats.sparse_bsc,
        device=device, requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip
