"""Results put into the tensors that users give as ``out=``."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import c_name
from tensorbus._base.dtypes import can_cast
from tensorbus._base.modes import RARE
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import PERMUTED, Tensor, bump, check_inference
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.autograd.node import follow, is_unknown
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.in_place import refuse_overlap
from tensorbus.op_engine.row_handlers import WRITE, handled, seen
from tensorbus.op_engine.scalars import scalar_name_of
from tensorbus.rows.layouts import is_dense

CAST = "cast"
"""The rule of an op whose result goes into any dtype of its category, or of one above."""
SAME = "same"
"""The rule of an op that wants *out* to have the dtype of its result."""
COMPUTED = "computed"
"""The rule of an op that computes in the dtype of *out* where it is told none."""
JOINED = "joined"
"""``CAST`` of what joins tensors, where another dtype is a TypeError."""
TRUTH = "truth"
"""The rule of an op whose truth values also go into bytes, as 0 and 1."""


def write_out(
    y: Any, out: Any, name: str, rule: str = CAST, warns: bool = True, operands: Any = ()
) -> Any:
    """Put results into the tensors given as ``out=`` to the function called *name*.

    A UserWarning where one with elements gets another shape, but for factories, as PyTorch has it.
    RuntimeError where it is one of the *operands* that a pointwise op broadcasts.
    Several results come back as they would without ``out=``, with names where they have names.
    """
    if not isinstance(y, tuple):
        _check(y, out, name, rule)
        if out._s != y._s and any(x is out for x in operands):
            raise RuntimeError(
                f"output with shape {list(out._s)} doesn't match the broadcast shape {list(y._s)}"
            )
        return _written(y, out, warns)
    if not isinstance(out, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}"
        )
    if len(out) != len(y):
        raise TypeError(f"expected tuple of {len(y)} elements but got {len(out)}")
    for result, target in zip(y, out, strict=True):
        _check(result, target, name, SAME)
    made = [_written(result, target, warns) for result, target in zip(y, out, strict=True)]
    return type(y)(*made) if hasattr(y, "_fields") else tuple(made)


def _check(y: Tensor, out: Any, name: str, rule: str) -> None:
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    check_inference(out)
    recorded = (GRAD.on or THREAD.on) and y._k.dtype is not dtypes.bool
    if recorded and ((edge_of(y) is not None and not is_unknown(y)) or edge_of(out) is not None):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    have, wanted = out._k.dtype, y._k.dtype
    if rule in (CAST, JOINED):
        if not can_cast(wanted, have):
            raise (TypeError if rule == JOINED else RuntimeError)(
                f"result type {scalar_name_of(y)} can't be cast to the desired output type "
                f"{scalar_name_of(out)}"
            )
    elif have is not wanted and not (rule == TRUTH and have is dtypes.uint8):
        raise RuntimeError(
            f"{name}(): Expected out tensor to have dtype {c_name(wanted)}, but got {c_name(have)} "
            "instead"
        )


def _written(y: Tensor, out: Tensor, warns: bool) -> Tensor:
    if out._s != y._s:
        if warns and out._s.numel():
            warn_user(
                "An output with one or more elements was resized since it had shape "
                f"{list(out._s)}, which does not match the required output shape {list(y._s)}. "
                "This behavior is deprecated: give an output of that shape, or one without "
                "elements, which t.resize_(0) makes of a tensor."
            )
        out.resize_(tuple(y._s))
        if y._b is PERMUTED:
            _lie_as(y, out)
    else:
        refuse_overlap(out)
    if RARE.on and seen(out, y):
        return handled(WRITE, (out, y), lambda row, given: _copied(*given))
    return _copied(out, y)


def _lie_as(y: Tensor, out: Tensor) -> None:
    """Give a tensor that has just been resized the strides of a result that is dense."""
    k, shape, strides = out._k, tuple(y._s), tuple(y._k.strides(y._a))
    if is_dense(shape, strides):
        out._a = k.as_strided(out._a, shape, strides, k.layout(out._a)[1])
        if out._b is None:
            out._b = PERMUTED


def _copied(out: Tensor, y: Tensor) -> Tensor:
    y = to_kind(y, out._k)
    bump(out)
    out._k.copy_(out._a, y._a)
    if y._e is not None and is_unknown(y):
        follow(out, y._e)
    return out
