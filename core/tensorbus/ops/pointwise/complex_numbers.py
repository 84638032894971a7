"""Complex tensors from their parts, and their parts."""

from __future__ import annotations

import functools
import math
from typing import Any

from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.factories import empty
from tensorbus.ops.views.reinterpretation import refuse_recording, view_as_real
from tensorbus.rows.layouts import broadcast_shapes
from tensorbus.rows.registry import row

row(
    "angle",
    "x:T",
    "unary",
    doc="The angle of real numbers: pi below 0, else 0, NaN of NaN, element by element.",
    domain="float",
    composite=lambda F, x: F.where(
        F.lt(x, 0.0), F.number(math.pi), F.where(F.eq(x, x), F.number(0.0), x)
    ),
    x=lambda F, g: F.zeros(tuple(g.shape)),
)


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
@composed(layout="order", operands=2)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers of the given real and imaginary parts, which broadcast."""
    check_tensors("complex", real=real, imag=imag)
    _check_parts(real, imag)
    refuse_recording("complex", real, imag)
    shape = broadcast_shapes(tuple(real._s), tuple(imag._s))
    out = empty(tuple(shape), dtype=real._k.dtype.to_complex(), device=real._k.device)
    parts = view_as_real(out)
    parts.select(-1, 0).copy_(real.detach())
    parts.select(-1, 1).copy_(imag.detach())
    return out


@public(method=False, out=SAME)
@composed(layout="order", operands=2)
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
def angle(input: Tensor) -> Tensor:
    """The angle of a complex number; of a real one pi where it is negative, else 0."""
    check_tensors("angle", input=input)
    if input._k.dtype.is_complex:
        return core("atan2")(imag(input), real(input))
    return core("angle")(input)


def abs_of_complex(x: Tensor) -> Tensor:
    """The absolute values of complex numbers, in the dtype of their parts."""
    return core("hypot")(real(x), imag(x))


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
    size = abs_of_complex(input)
    return input / size.masked_fill(size == 0, 1)


@public(out=SAME, inplace=True)
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
    return complex(real(input), -imag(input))


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
