"""What the generated functions leave aside: promotion, layouts, overrides, stale views, errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus import discovery
from tensorbus._base import dtypes
from tensorbus._base.errors import device_error
from tensorbus._base.float_warnings import silence
from tensorbus._base.size import Size, size_of
from tensorbus._device import defaults
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._dispatch.resolve import WrongDomain
from tensorbus._tensor.tensor import PERMUTED, Tensor, from_array, new, version_of
from tensorbus.autograd.node import AccumulateGrad, Node
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.override import SUBCLASSES, ask, overriding, plain
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.scalars import scalar_name
from tensorbus.plugin.backend import IndexFault
from tensorbus.rows.layouts import (
    broadcast_shapes,
    contiguous_strides,
    empty_in_layout,
    pointwise_strides,
)
from tensorbus.rows.recipes import steps
from tensorbus.rows.registry import DOMAINS, Row

_NUMBERS = (bool, int, float, complex)


# -- layouts ---------------------------------------------------------------------------------
def pointwise(row: Row, k: Kind, *operands: Any) -> tuple[Any, Size, Any]:
    """(array, Size, base mark) of a pointwise op whose operands differ in shape or layout."""
    entry = getattr(k, row.name)
    tensors = [o for o in operands if isinstance(o, Tensor)]
    for t in tensors:
        if t._b is not None and t._b is not PERMUTED:
            t._e = edge_of(t)
    arrays = [o._a if isinstance(o, Tensor) else o for o in operands]
    if all(t._b is None or k.is_contiguous(t._a) for t in tensors):
        r = entry(*arrays)
        return r, size_of(r.shape), None
    shape = tuple(broadcast_shapes(*(t._s for t in tensors)))
    laid = [(tuple(t._s), tuple(t._k.layout(t._a)[2])) for t in tensors]
    strides = pointwise_strides(shape, *laid)
    rk = k.bool if row.result == "bool" else k
    out = empty_in_layout(rk, shape, strides)
    entry(*arrays, out=out)
    return out, size_of(shape), None if strides == contiguous_strides(shape) else PERMUTED


def laid_out(k: Kind, r: Any, *tensors: Tensor) -> tuple[Any, Any]:
    """(array, base mark) of a pointwise result, in the layout that its operands ask for."""
    shape = tuple(r.shape)
    strides = pointwise_strides(
        shape, *((tuple(t._s), tuple(t._k.layout(t._a)[2])) for t in tensors)
    )
    if tuple(k.layout(r)[2]) != strides:
        out = empty_in_layout(k, shape, strides)
        k.copy_(out, r)
        r = out
    return r, None if strides == contiguous_strides(shape) else PERMUTED


# -- promotion -------------------------------------------------------------------------------
def binary(row: Row, a: Any, b: Any) -> Any:
    """A pointwise op on two operands of any kinds, one of which may be a number."""
    from tensorbus.op_engine.generate import core
    from tensorbus.op_engine.public import METHODS

    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        other = b if isinstance(a, Tensor) else a
        if not isinstance(other, _NUMBERS):
            other = _host_number(other)
            if other is None:
                return NotImplemented
            a, b = (a, other) if isinstance(a, Tensor) else (other, b)
    if SUBCLASSES.on and row.name in METHODS and (classes := overriding((a, b))):
        return ask(METHODS[row.name], classes, (a, b), {})
    if row.name == "sub":
        _refuse_bool(a, b)
    kind = common_kind(row, a, b)
    a, b = (operand(x, kind) for x in (a, b))
    if type(b) is not Tensor:  # the generated text knows that class and Parameter
        b = plain(b)
    return core(row.name)(a, b)


def _refuse_bool(*operands: Any) -> None:
    """Truth values have no difference."""
    bools = [
        x._k.dtype is dtypes.bool if isinstance(x, Tensor) else isinstance(x, bool)
        for x in operands
    ]
    if all(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    if any(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead."
        )


def operand(x: Any, kind: Kind) -> Tensor:
    """A tensor of a kind for a tensor or a number."""
    if not isinstance(x, Tensor):
        return from_array(kind.full((), x), kind)
    if x._k.device is not kind.device and x._s:
        raise device_error(x._k.device, kind.device)
    return to_kind(x, kind)


def common_kind(row: Row, *operands: Any) -> Kind:
    """The kind in which an op computes, by PyTorch's promotion rules."""
    d = result_type(*operands)
    tensors = [x for x in operands if isinstance(x, Tensor)]
    device = next((t._k.device for t in tensors if t._s), None)
    if device is None:
        device = next((t._k.device for t in tensors if t._k.device.type != "cpu"), None)
    if device is None:
        device = tensors[0]._k.device if tensors else defaults.get_default_device()
    for t in tensors:
        if t._k.device is not device and (t._s or t._k.device.type != "cpu"):
            raise device_error(device, t._k.device)
    if DOMAINS[row.domain][0] == dtypes.FLOAT and d.category < dtypes.FLOAT:
        d = defaults.get_default_dtype()
    _check_domain(row, d)
    return kind_of(device, d)


def _check_domain(row: Row, d: dtypes.dtype) -> None:
    if d.category > DOMAINS[row.domain][1]:
        raise NotImplementedError(f"\"{row.name}\" not implemented for '{scalar_name(d)}'")


def _host_number(value: Any) -> Any:
    """The Python number of a NumPy scalar or the like; None for anything else."""
    item = getattr(value, "item", None)
    if item is None or getattr(value, "shape", None) != ():
        return None
    number = item()
    return number if isinstance(number, _NUMBERS) else None


# -- after a failure -------------------------------------------------------------------------
def failed(row: Row, arguments: tuple[Any, ...], error: Exception) -> Any:
    """What to do when the common case raised: another way, or the user's error."""
    try:
        return _recover(row, arguments, error)
    finally:
        del error


def _recover(row: Row, arguments: tuple[Any, ...], error: Exception) -> Any:
    from tensorbus.op_engine.generate import core

    if isinstance(error, WrongDomain):
        if row.outside is not None:
            return row.outside(*arguments)
        tensors = [x for x in arguments if isinstance(x, Tensor)]
        if row.name == "sub":
            _refuse_bool(*arguments)
        kind = common_kind(row, *tensors)
        if kind is tensors[0]._k:
            raise NotImplementedError(
                f"\"{row.name}\" not implemented for '{scalar_name(kind.dtype)}'"
            ) from None
        return core(row.name)(
            *(to_kind(x, kind) if isinstance(x, Tensor) else x for x in arguments)
        )
    if isinstance(error, RuntimeWarning) and set(np.geterr().values()) != {"ignore"}:
        # Warnings became errors since: floating point edge cases are values here, not faults. Our
        # filter does not know the modules of plugins, so the second attempt raises no flags at all.
        silence()
        with np.errstate(all="ignore"):
            return core(row.name)(*arguments)
    if isinstance(error, IndexFault):
        raise IndexFault(error.value, error.dim, error.n) from None
    if row.otherwise is not None:
        return row.otherwise(*arguments)
    if row.form == "binary":
        broadcast_shapes(*(x._s for x in arguments if isinstance(x, Tensor)))
    device = next((x.device for x in arguments if isinstance(x, Tensor)), None)
    if device is not None:
        discovery.note_origin(error, row.name, device)
    try:
        raise error
    finally:
        del error


# -- modes -----------------------------------------------------------------------------------
def rare(row: Row, arguments: tuple[Any, ...]) -> Any:
    """A call while some mode is active: nothing handles one yet."""
    raise RuntimeError(f"{row.name}: a mode is active that no module handles")


# -- history ---------------------------------------------------------------------------------
def edge_of(t: Tensor) -> Any:
    """The tensor's edge; that of a view whose base was written to is made anew."""
    base = t._b
    if base is None or base is PERMUTED or base._e is None or t._r is None:
        return t._e
    version = version_of(t)
    if t._e is None:
        if isinstance(base._e, AccumulateGrad):
            return None
    elif t._v == version:
        return t._e
    from tensorbus.autograd.grad_mode import enable_grad

    with enable_grad():
        t._e = replay(base, t._r)._e
    t._v = version
    return t._e


def replay(base: Tensor, recipe: Any) -> Tensor:
    """The view of a base, made the way a recipe says."""
    from tensorbus.op_engine.generate import core

    for row, params in steps(recipe):
        base = core(row.name)(base, *params)
    return base


def saved_result(n: Node) -> Tensor:
    """A node's kept result as a tensor with its history."""
    t = new(Tensor)
    t._a = n.r_out  # type: ignore[attr-defined]
    t._k = n.k
    t._s = size_of(t._a.shape)
    t._c = n.c_out  # type: ignore[attr-defined]
    t._e = n
    t._b = None if n.k.is_contiguous(t._a) else PERMUTED
    return t
