"""After the common case of a call raised: another way, or the error in the user's words."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tensorbus import discovery
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.errors import is_interrupt
from tensorbus._base.float_warnings import quietly, silence
from tensorbus._base.size import MAX_RANK, check_numel, check_rank
from tensorbus._dispatch.memory import check_memory
from tensorbus._dispatch.resolve import StoredDtype, WrongDomain
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.mixed_operands import common_kind
from tensorbus.op_engine.older_broadcasting import FALLBACK, as_one_dimensional
from tensorbus.plugin.faults import IndexFault
from tensorbus.rows.layouts import broadcast_shapes
from tensorbus.rows.registry import Row


def failed(row: Row, arguments: tuple[Any, ...], error: Exception) -> Any:
    """What to do when the common case raised: another way, or the user's error."""
    try:
        return _recover(row, arguments, error)
    finally:
        del error


def _recover(row: Row, arguments: tuple[Any, ...], error: Exception) -> Any:
    device = next((x.device for x in _tensors(arguments)), None)
    if is_interrupt(error):
        # Or a kernel's own: which of them, nobody can tell.
        if device is not None:
            discovery.note_origin(error, row.name, device)
        raise error
    if isinstance(error, StoredDtype):
        d = next(x._k.dtype for x in _tensors(arguments) if not x._k.dtype.computes)
        raise NotImplementedError(
            f"\"{row.name}\" not implemented for '{scalar_name(d)}'"
        ) from None
    if isinstance(error, WrongDomain):
        if row.outside is not None:
            return row.outside(*arguments)
        tensors = _tensors(arguments)
        if row.check is not None:
            row.check(*arguments)
        kind = common_kind(row, *tensors)
        if kind is tensors[0]._k:
            raise NotImplementedError(
                f"\"{row.name}\" not implemented for '{scalar_name(kind.dtype)}'"
            ) from None
        return core(row.name)(
            *(
                [to_kind(each, kind) for each in x]
                if name in row.sequences
                else to_kind(x, kind)
                if isinstance(x, Tensor)
                else x
                for name, x in zip(row.arguments, arguments, strict=False)
            )
        )
    if isinstance(error, RuntimeWarning) and set(np.geterr().values()) != {"ignore"}:
        # Warnings became errors since: floating point edge cases are values here, not faults. Our
        # filter does not know the modules of plugins, so the second attempt raises no flags at all.
        silence()
        return quietly(core(row.name), *arguments)
    if isinstance(error, IndexFault):
        raise IndexFault(error.value, error.dim, error.n) from None
    if device is not None:
        check_memory(error, device, _bytes_of_result(row, arguments))
    if row.otherwise is not None:
        return row.otherwise(*arguments)
    if row.form == "binary":
        if FALLBACK.on and (flat := as_one_dimensional(*arguments)):
            return core(row.name)(*flat)
        broadcast_shapes(*(x._s for x in arguments if isinstance(x, Tensor)))
    if row.form == "view":
        _check_shapes(row, arguments, error)
    if device is not None:
        discovery.note_origin(error, row.name, device)
    try:
        raise error
    finally:
        del error


def _tensors(arguments: tuple[Any, ...]) -> list[Tensor]:
    """The tensors among the arguments, those in sequences too."""
    each = (x if isinstance(x, (list, tuple)) else (x,) for x in arguments)
    return [x for several in each for x in several if isinstance(x, Tensor)]


def _bytes_of_result(row: Row, arguments: tuple[Any, ...]) -> int:
    """How much memory the result of a call takes: 0 where that is not known."""
    tensors = _tensors(arguments)
    if not tensors or row.form == "view":
        return 0
    if row.sequences:  # joined, so far
        return sum(x._k.dtype.itemsize * x._s.numel() for x in tensors)
    size = tensors[0]._k.dtype.itemsize
    if row.shape is None:
        return size * tensors[0]._s.numel() if row.form == "unary" else 0
    try:
        return size * prod(row.shape(*(x._a if isinstance(x, Tensor) else x for x in arguments)))
    except Exception:  # the arguments do not fit each other: that will be told next
        return 0


def _check_shapes(row: Row, arguments: tuple[Any, ...], error: Exception) -> None:
    """RuntimeError where a view failed for it has more dimensions or elements than may be."""
    for x in arguments:
        if isinstance(x, tuple):
            check_numel(check_rank(x))
        elif isinstance(x, Tensor) and len(x._s) == MAX_RANK:
            check_rank((*x._s, 1))
    if isinstance(error, (ValueError, OverflowError)):
        raise RuntimeError(
            f"{row.name}: no tensor may have such sizes or strides: {arguments[1:]}"
        ) from None
