"""Powers of matrices, and e to the power of one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.errors import type_error
from tensorbus._base.float_warnings import quietly
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.batches import enter, leave
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.factories import eye
from tensorbus.ops.linalg.checks import check_floating, check_square
from tensorbus.ops.linalg.solving import linalg_inv, linalg_solve
from tensorbus.ops.matmul.matmul import matmul


@public(out=SAME)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """A square matrix multiplied with itself *n* times; its inverse *-n* times where n < 0.

    LinAlgError where a singular matrix would have to be inverted.
    """
    check_tensors("matrix_power", input=input)
    if isinstance(n, float) or not hasattr(n, "__index__"):
        raise type_error("matrix_power", "n", 2, "int", n)
    check_square("linalg.matrix_power", input)
    if n < 0:
        input, n = linalg_inv(input), -n
    if n == 0:
        one = eye(input._s[-1], dtype=input._k.dtype, device=input._k.device)
        # Recorded as a write over a copy: the power hangs on the matrix, with gradients of zero.
        return input.clone().copy_(one)
    result: Any = None
    power = input
    while True:
        if n & 1:
            result = power if result is None else matmul(result, power)
        n >>= 1
        if not n:
            return result.clone() if result is input else result
        power = matmul(power, power)


_REACH = {
    dtypes.float32: {3: 4.258730016922831e-1, 5: 1.880152677804762, 7: 3.925724783138660},
    dtypes.float64: {3: 1.495585217958292e-2, 5: 2.539398330063230e-1, 7: 9.504178996162932e-1,
                     9: 2.097847961257068, 13: 5.371920351148152},
}  # fmt: skip
"""Up to which 1-norm the quotients of each degree are exact to the precision (Higham, 2005)."""


def _coefficients(degree: int) -> list[float]:
    """Of the diagonal Pade approximant of exp, from the constant on."""
    n, f = degree, math.factorial
    return [f(2 * n - j) * f(n) / (f(2 * n) * f(n - j) * f(j)) for j in range(n + 1)]


@public(name="linalg_matrix_exp", function=False, method=False)
@composed(node="LinalgMatrixExpBackward0", layout="row_major")
def matrix_exp(input: Tensor) -> Tensor:
    """e to the power of each square matrix: the sum of ``input ** k / k!``.

    (..., n, n) -> (..., n, n) in the same dtype. By a quotient of polynomials near 0 and repeated
    squaring.
    """
    check_tensors("linalg_matrix_exp", input=input)
    check_square("linalg.matrix_exp", input)
    check_floating("linalg.matrix_exp", input)
    k = input._k
    if k.dtype.to_real().itemsize < 4:
        return to_kind(matrix_exp(to_kind(input, k.of(dtypes.float32))), k)
    if not input._s.numel() or not k.has_values:
        return input.clone()
    if k.inner is not None:
        together = leave(input)
        return enter(matrix_exp(together), together._s[0])
    sizes = input.detach().abs().sum(-2).amax(-1)
    found = sizes._k.to_host(sizes._a).astype(np.float64)
    degrees = _REACH[k.dtype.to_real()]
    reach = max(degrees.values())
    halvings = quietly(lambda: np.ceil(np.log2(found / reach)))
    halvings = np.where(np.isfinite(halvings), np.maximum(halvings, 0), 0)
    x = input
    if halvings.any():
        factors = k.from_host(np.exp2(-halvings)[..., None, None].astype(k.dtype.name))
        x = input * from_array(factors, k)
    largest = found.max()  # NaN and what is halved take the highest degree
    x = _near_zero(x, next((n for n, most in degrees.items() if largest <= most), max(degrees)))
    for step in range(int(halvings.max())):
        doubled = halvings > step
        squared = matmul(x, x)
        x = squared if doubled.all() else squared.where(_mask(doubled, k), x)
    return x


def _mask(values: np.ndarray, k: Any) -> Tensor:
    return from_array(k.bool.from_host(values[..., None, None]), k.bool)


def _near_zero(x: Tensor, degree: int) -> Tensor:
    """(even - odd)^-1 (even + odd), the even and the odd terms of a polynomial."""
    c = _coefficients(degree)
    square = matmul(x, x)
    one = eye(x._s[-1], dtype=x._k.dtype, device=x._k.device)
    even, odd = one * c[0] + square * c[2], one * c[1] + square * c[3]
    if degree == 13:  # two products fewer
        fourth = matmul(square, square)
        sixth = matmul(fourth, square)
        even, odd = even + fourth * c[4] + sixth * c[6], odd + fourth * c[5] + sixth * c[7]
        even = even + matmul(sixth, square * c[8] + fourth * c[10] + sixth * c[12])
        odd = odd + matmul(sixth, square * c[9] + fourth * c[11] + sixth * c[13])
    else:
        power = square
        for j in range(4, degree, 2):
            power = matmul(power, square)
            even, odd = even + power * c[j], odd + power * c[j + 1]
    odd = matmul(x, odd)
    return linalg_solve(even - odd, even + odd)


@public(name="matrix_exp")
def _matrix_exp(input: Tensor) -> Tensor:
    """``linalg.matrix_exp``."""
    check_tensors("matrix_exp", input=input)
    return matrix_exp(input)
