"""Complex tensors from their parts, and their parts."""

from __future__ import annotations

import functools
import math
from typing import Any

from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.joining.joining import stack
from tensorbus.ops.pointwise.compositions import parts
from tensorbus.ops.views.reinterpretation import view_as_complex, view_as_real
from tensorbus.rows.layouts import broadcast_shapes
from tensorbus.rows.registry import row

row(
    "angle",
    "x:T",
    "unary",
    doc="The angle of real numbers: pi below 0, else 0, NaN of NaN, element by element.",
    domain="ordered float",
    composite=lambda F, x: F.where(
        F.lt(x, 0.0), F.number(math.pi), F.where(F.eq(x, x), F.number(0.0), x)
    ),
    x=lambda F, g: F.zeros(tuple(g.shape)),
)
row(
    "conj",
    "x:T",
    "unary",
    doc="The complex conjugate.",
    domain="complex",
    composite=lambda F, x: _conj(F, x),
    x=lambda F, g: F.conj(g),
)
row(
    "abs_complex",
    "x:T",
    "unary",
    doc="The absolute value of complex numbers.",
    domain="complex",
    result="real",
    node_name="AbsBackward0",
    composite=lambda F, x: F.real.hypot(*parts(F, x)),
    x=lambda F, g, x: _scaled(F.complex, F.complex.sgn_complex(x), g),
)
row(
    "sgn_complex",
    "x:T",
    "unary",
    doc="``x / abs(x)`` of complex numbers, 0 of 0.",
    domain="complex",
    node_name="SgnBackward0",
    composite=lambda F, x: _over(F, x, F.abs_complex(x)),
    x=lambda F, g, x: _turned(F, g, x),
)


def _conj(F: Any, x: Any) -> Any:
    both, d, R = F.view_as_real(x), len(x.shape), F.real
    negated = R.neg(R.slice(both, d, 1, 2, 1))
    return R.view_as_complex(R.cat(R.slice(both, d, 0, 1, 1), negated, d))


def _scaled(F: Any, z: Any, factor: Any) -> Any:
    """Complex numbers times real ones."""
    return F.mul(z, F.cast(factor, F.real))


def _over(F: Any, x: Any, size: Any) -> Any:
    """Complex numbers over real ones, 0 where these are 0."""
    size = F.cast(size, F.real)
    none = F.eq(size, 0.0)
    return F.where(none, F.number(0), F.div(x, F.where(none, F.number(1), size)))


def _turned(F: Any, g: Any, x: Any) -> Any:
    """What of *g* turns *x* without making it longer, over the length of *x*."""
    unit = F.sgn_complex(x)
    along = parts(F, F.mul(F.conj(unit), g))[0]
    return _over(F, F.sub(g, _scaled(F, unit, along)), F.abs_complex(x))


def _check_parts(a: Tensor, b: Tensor) -> None:
    names = [scalar_name(x._k.dtype) for x in (a, b)]
    if not all(x._k.dtype.name in ("float16", "float32", "float64") for x in (a, b)):
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{names[0]} and {names[1]}"
        )
    if a._k.dtype is not b._k.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second "
            "argument"
        )


@public(method=False, out=SAME)
@composed(node="ComplexBackward0", layout="order", operands=2)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers of the given real and imaginary parts, which broadcast."""
    check_tensors("complex", real=real, imag=imag)
    _check_parts(real, imag)
    shape = tuple(broadcast_shapes(tuple(real._s), tuple(imag._s)))
    k = real._k.complex.real
    both = tuple(core("expand")(to_kind(x, k), shape) for x in (real, imag))
    return view_as_complex(stack(both, -1))


@public(method=False, out=SAME)
@composed(node="PolarBackward0", layout="order", operands=2, autocast="cpu float32")
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers of the given absolute values and angles, which broadcast."""
    check_tensors("polar", abs=abs, angle=angle)
    _check_parts(abs, angle)
    return complex(abs * angle.cos(), abs * angle.sin())


@public()
def real(input: Tensor) -> Tensor:
    """The real parts, sharing memory; a real tensor itself."""
    check_tensors("real", input=input)
    return view_as_real(input).select(-1, 0) if input._k.dtype.is_complex else input


@public()
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, sharing memory; RuntimeError for a real dtype."""
    check_tensors("imag", input=input)
    if not input._k.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return view_as_real(input).select(-1, 1)


METHODS["real"] = property(real, lambda self, value: real(self).copy_(value), doc=real.__doc__)
METHODS["imag"] = property(imag, lambda self, value: imag(self).copy_(value), doc=imag.__doc__)


@public(out=True)
@composed(node="AngleBackward0")
def angle(input: Tensor) -> Tensor:
    """The angle of a complex number; of a real one pi where it is negative, else 0."""
    check_tensors("angle", input=input)
    if input._k.dtype.is_complex:
        return core("atan2")(imag(input), real(input))
    return core("angle")(input)


def abs_of_complex(x: Tensor) -> Tensor:
    """The absolute values of complex numbers, in the dtype of their parts."""
    return core("abs_complex")(x)


def _abs_in_place(plain: Any) -> Any:
    @functools.wraps(plain)
    def call(self: Tensor) -> Tensor:
        if isinstance(self, Tensor) and self._k.dtype.is_complex:
            raise RuntimeError("In-place abs is not supported for complex tensors.")
        return plain(self)

    return call


METHODS["abs_"] = METHODS["absolute_"] = _abs_in_place(METHODS["abs_"])


@public(out=SAME, inplace=True)
@composed(node="SgnBackward0")
def sgn(input: Tensor) -> Tensor:
    """``input / abs(input)``, 0 where it is 0: for real numbers the sign.

    >>> import tensorbus
    >>> tensorbus.sgn(tensorbus.tensor([-2.5, 0.0, 3.0]))
    tensor([-1.,  0.,  1.])
    """
    check_tensors("sgn", input=input)
    if not input._k.dtype.is_complex:
        return core("sign")(input)
    return core("sgn_complex")(input)


@public(out=SAME, inplace=True)
@composed(node="ConjPhysicalBackward0")
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor itself."""
    check_tensors("conj_physical", input=input)
    return conj(input)


@public()
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor itself."""
    check_tensors("conj", input=input)
    if not input._k.dtype.is_complex:
        return input
    return core("conj")(input)


@public()
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are always computed at once here."""
    return input


@public()
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negations are always computed at once here."""
    return input


@public()
def is_conj(input: Tensor) -> bool:
    """False: conjugates are always computed at once here."""
    return False


@public()
def is_neg(input: Tensor) -> bool:
    """False: negations are always computed at once here."""
    return False
