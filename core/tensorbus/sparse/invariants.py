"""What holds for the parts of sparse tensors, and whether constructors check it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any

from tensorbus._base import dtypes, formats
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.leaving import Leaving
from tensorbus._tensor.tensor import Tensor


class _State:
    def __init__(self) -> None:
        self.on: bool | None = None


_STATE = _State()


class check_sparse_tensor_invariants(Leaving):
    """Whether constructors of sparse tensors check what they are given: a block, or a decorator.

    Where neither it nor ``check_invariants`` of a constructor says anything, they check all the
    same, since a coordinate outside of the shape would give wrong numbers: PyTorch does not.

    >>> import tensorbus as torch
    >>> with torch.sparse.check_sparse_tensor_invariants(False):
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    False

    Source: https://pytorch.org/docs/stable/generated/torch.sparse.check_sparse_tensor_invariants.html
    """

    def __init__(self, enable: bool = True):
        self.state = enable

    @staticmethod
    def is_enabled() -> bool:
        """Whether the checks were asked for."""
        return bool(_STATE.on)

    @staticmethod
    def enable() -> None:
        """Check from now on."""
        _STATE.on = True

    @staticmethod
    def disable() -> None:
        """Check no longer, but where ``check_invariants=True`` is given."""
        _STATE.on = False

    def within(self, outer: Callable[[], None]) -> Generator[Any, None, None]:
        """The length of a block."""
        before = _STATE.on
        try:
            _STATE.on = self.state
            yield self
        finally:
            self.close = outer
            _STATE.on = before

    def __call__(self, mth: Callable[..., Any]) -> Callable[..., Any]:
        """The function as one that runs inside such a block."""

        @functools.wraps(mth)
        def run(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return mth(*args, **kwargs)

        return run


def wanted(check_invariants: bool | None) -> bool:
    """Whether a constructor checks, which was given this argument."""
    if check_invariants is not None:
        return check_invariants
    return _STATE.on is not False


def _least_and_most(x: Tensor) -> tuple[list[int], list[int]]:
    return x.amin(-1).tolist(), x.amax(-1).tolist()


def check_coo(indices: Tensor, values: Tensor, shape: tuple[int, ...]) -> None:
    """RuntimeError for a coordinate outside of the shape."""
    if not indices._s.numel() or not indices._k.has_values:
        return
    least, most = _least_and_most(indices)
    for dim, (low, high) in enumerate(zip(least, most, strict=True)):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {dim}")
        if high >= shape[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but found "
                f"index {high}"
            )


def check_coo_sizes(indices: Tensor, values: Tensor, shape: tuple[int, ...]) -> None:
    """RuntimeError for indices, values and a shape that do not go together."""
    sparse, dense = indices._s[0], len(values._s) - 1
    if len(shape) != sparse + dense:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: "
            f"len(size) = {len(shape)}, sparse_dim = {sparse}, dense_dim = {dense}"
        )
    expected = [values._s[0], *shape[sparse:]]
    if list(values._s) != expected:
        raise RuntimeError(f"values has incorrect size, expected {expected}, got {list(values._s)}")


def check_coo_parts(indices: Tensor, values: Tensor) -> None:
    """RuntimeError for indices that are no matrix, and for another number of values."""
    if len(indices._s) != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices._s)}")
    if not values._s or indices._s[1] != values._s[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {indices._s[1]}, "
            f"nnz from values: {values._s[0] if values._s else 1}"
        )


BLOCKED = (formats.sparse_bsr, formats.sparse_bsc)


def names_of(layout: Any) -> tuple[str, str, str]:
    """What PyTorch calls the compressed and the plain indices, and what the first count."""
    if layout in (formats.sparse_csr, formats.sparse_bsr):
        return "crow_indices", "col_indices", "rows"
    return "ccol_indices", "row_indices", "cols"


def _check_sizes(
    layout: Any, compressed: Tensor, plain: Tensor, values: Tensor, shape: tuple[int, ...]
) -> list[int]:
    """How many lines, or lines of blocks, there are along and across."""
    many, one, _ = names_of(layout)
    batch, blocked = len(compressed._s) - 1, 2 * (layout in BLOCKED)
    if batch < 0:
        raise RuntimeError(f"{many} must have dimensionality >= 1 but got 0")
    if len(plain._s) != batch + 1:
        raise RuntimeError(
            f"{many} and {one} dimensionalities must be equal but got {batch + 1} and "
            f"{len(plain._s)}, respectively"
        )
    dense = len(values._s) - batch - blocked - 1
    if dense < 0:
        raise RuntimeError(
            "values must have dimensionality > sum of batch and block dimensionalities "
            f"(={batch} + {blocked}) but got {len(values._s)}"
        )
    if len(shape) != batch + 2 + dense:
        raise RuntimeError(
            "tensor dimensionality must be sum of batch, base, and dense dimensionalities "
            f"(={batch} + 2 + {dense}) but got {len(shape)}"
        )
    block = tuple(values._s)[batch + 1 : batch + 3] if blocked else (1, 1)
    for at, (n, b) in enumerate(zip(shape[batch : batch + 2], block, strict=True)):
        if b < 1:
            raise RuntimeError(f"blocksize must be positive, but got {list(block)}")
        if n % b:
            raise RuntimeError(
                f"tensor shape[{batch + at}] (={n}) must be divisible with blocksize[{at}] (={b}) "
                "as defined by values shape"
            )
    grid = [n // b for n, b in zip(shape[batch : batch + 2], block, strict=True)]
    by_rows = many == "crow_indices"
    grid = grid if by_rows else grid[::-1]
    which = (
        ("row blocks" if by_rows else "column blocks")
        if blocked
        else ("rows" if by_rows else "columns")
    )
    if compressed._s[-1] != grid[0] + 1:
        raise RuntimeError(
            f"{many}.shape[-1] must be equal to the number of {which} + 1 (={grid[0] + 1}), but "
            f"got {compressed._s[-1]}"
        )
    nnz = plain._s[-1]
    if values._s[batch] != nnz:
        raise RuntimeError(
            f"{one}.shape[-1] must be equal to nnz (={values._s[batch]}) as defined by "
            f"values.shape[{batch}], but got {nnz}"
        )
    batches = [list(t._s)[:batch] for t in (compressed, plain, values)]
    if any(sizes != list(shape[:batch]) for sizes in batches):
        raise RuntimeError(
            f"all batch dimensions of {many} (={batches[0]}), {one} (={batches[1]}), and values "
            f"(={batches[2]}) must be equal to tensor batch dimensions (={list(shape[:batch])})"
        )
    return grid


def check_compressed(
    layout: Any, compressed: Tensor, plain: Tensor, values: Tensor, shape: tuple[int, ...]
) -> None:
    """RuntimeError where the parts of a compressed tensor do not go together."""
    many, one, counted = names_of(layout)
    by_rows = many == "crow_indices"
    lines, across = _check_sizes(layout, compressed, plain, values, shape)
    nnz = plain._s[-1]
    first, second = scalar_name(compressed.dtype), scalar_name(plain.dtype)
    if first != second:
        raise RuntimeError(
            f"{many} and {one} must have the same dtype, bot got {first} and {second}, respectively"
        )
    if compressed.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"{many} and {one} dtype must be Int or Long, but got {first}")
    if not compressed._k.has_values:
        return

    def hold(true: Any, text: str) -> None:
        if not bool(true):
            raise RuntimeError(f"`{text}` is not satisfied.")

    hold((compressed[..., 0] == 0).all(), f"{many}[..., 0] == 0")
    hold((compressed[..., -1] == nnz).all(), f"{many}[..., -1] == nnz")
    steps = compressed[..., 1:] - compressed[..., :-1]
    hold(
        ((steps >= 0) & (steps <= across)).all(),
        f"0 <= {many}[..., 1:] - {many}[..., :-1] <= n{'cols' if by_rows else 'rows'}",
    )
    if not nnz:
        return
    least = "ncols" if by_rows else "nrows"
    hold(((plain >= 0) & (plain < across)).all(), f"0 <= {one} < {least}")
    from tensorbus.sparse.coordinates import rows_of

    for starts, places in zip(
        compressed.reshape(-1, lines + 1).unbind(0), plain.reshape(-1, nnz).unbind(0), strict=True
    ):
        flat = rows_of(starts.to(dtypes.int64)) * across + places
        hold(
            (flat[1:] > flat[:-1]).all(),
            f"{one}[..., {many}[..., i - 1]:{many}[..., i]] for all i = 1, ..., n{counted} are "
            "sorted and distinct along the last dimension values",
        )
