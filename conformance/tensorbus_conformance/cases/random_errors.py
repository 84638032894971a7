"""Level 5: what draws refuse, with the same text on every device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import tensorbus
import tensorbus.nn.functional
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.random_streams import FAMILY, keeping
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial


def cases() -> Iterator[Case]:
    for id, (call, error, text) in REFUSED.items():
        op, _, variant = id.partition("/")
        check = keeping(_refused, call, error, text)
        yield Case(f"L5/{op}/errors/{variant}", FAMILY, check, (formats.FLOAT32,))


def _refused(call: Any, error: type[Exception], text: str, t: Trial) -> None:
    where = Bench(t).device

    def zeros(*shape: int, dtype: Any = formats.FLOAT32) -> Any:
        return tensorbus.zeros(shape, dtype=dtype, device=where)

    raised = expect_raises(lambda: call(zeros, where), error)
    first = str(raised).partition("\n")[0]
    if first != text:
        raise Mismatch(f"the message is {first!r}, expected {text!r}")


_I, _U8, _I8 = formats.INT64, formats.UINT8, formats.INT8
_RANGE = "random_ expects 'from' to be less than 'to', but got from={} >= to={}"
_NO_UNIFORM = "\"check_uniform_bounds\" not implemented for 'Long'"
_NO_NORMAL = "\"normal_kernel_cpu\" not implemented for 'Long'"
_WEIGHTS = "probability tensor contains either `inf`, `nan` or element < 0"

REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "rand/integers": (lambda z, w: tensorbus.rand(2, dtype=_I, device=w), NotImplementedError,
                      _NO_UNIFORM),
    "rand/negative": (lambda z, w: tensorbus.rand(2, -1, device=w), RuntimeError,
                      "Trying to create tensor with negative dimension -1: [2, -1]"),
    "rand/fraction": (lambda z, w: tensorbus.rand(2.5, device=w), TypeError,
                      "rand(): argument 'size' (position 1) must be tuple of ints, not float"),
    "randn/integers": (lambda z, w: tensorbus.randn(2, dtype=_I, device=w), NotImplementedError,
                       _NO_NORMAL),
    "rand_like/integers": (lambda z, w: tensorbus.rand_like(z(2, dtype=_I)), NotImplementedError,
                           _NO_UNIFORM),
    "randint/empty-range": (lambda z, w: tensorbus.randint(5, 5, (2,), device=w), RuntimeError,
                            _RANGE.format(5, 5)),
    "randint/reversed": (lambda z, w: tensorbus.randint(5, 2, (2,), device=w), RuntimeError,
                         _RANGE.format(5, 2)),
    "randint/no-size": (lambda z, w: tensorbus.randint(5, 2, device=w), TypeError,
                        "randint(): argument 'size' (position 2) must be tuple of ints, not int"),
    "randint/beyond": (lambda z, w: tensorbus.randint(0, 300, (2,), dtype=_U8, device=w),
                       RuntimeError, "to - 1 is out of bounds for unsigned char"),
    "randint/below": (lambda z, w: tensorbus.randint(-1, 3, (2,), dtype=_U8, device=w),
                      RuntimeError, "from is out of bounds for unsigned char"),
    "random_/beyond": (lambda z, w: z(2, dtype=_I8).random_(0, 300), RuntimeError,
                       "to - 1 is out of bounds for signed char"),
    "random_/empty-range": (lambda z, w: z(2).random_(5, 5), RuntimeError, _RANGE.format(5, 5)),
    "randperm/negative": (lambda z, w: tensorbus.randperm(-1, device=w), RuntimeError,
                          "Trying to create tensor with negative dimension -1: [-1]"),
    "randperm/beyond": (lambda z, w: tensorbus.randperm(300, dtype=_U8, device=w), RuntimeError,
                        "value cannot be converted to type uint8_t without overflow"),
    "randperm/bool": (lambda z, w: tensorbus.randperm(3, dtype=formats.BOOL, device=w),
                      NotImplementedError, "\"randperm\" not implemented for 'Bool'"),
    "bernoulli/integers": (lambda z, w: tensorbus.bernoulli(z(2, dtype=_I)), NotImplementedError,
                           "\"bernoulli_tensor_cpu_p_\" not implemented for 'Long'"),
    "bernoulli/number": (lambda z, w: tensorbus.bernoulli(z(2), 2.0), RuntimeError,
                         "bernoulli_ expects p to be in [0, 1], but got p=2"),
    "bernoulli/tensor": (lambda z, w: tensorbus.bernoulli(z(2) + 2), RuntimeError,
                         "Expected p_in >= 0 && p_in <= 1 to be true, but got false."),
    "bernoulli_/number": (lambda z, w: z(2).bernoulli_(-0.5), RuntimeError,
                          "bernoulli_ expects p to be in [0, 1], but got p=-0.5"),
    "multinomial/negative": (lambda z, w: tensorbus.multinomial(z(2) - 1, 1), RuntimeError,
                             _WEIGHTS),
    "multinomial/nan": (lambda z, w: tensorbus.multinomial(z(2) * math.nan, 1), RuntimeError,
                        _WEIGHTS),
    "multinomial/zeros": (lambda z, w: tensorbus.multinomial(z(2), 1), RuntimeError,
                          "invalid multinomial distribution (sum of probabilities <= 0)"),
    "multinomial/too-many": (lambda z, w: tensorbus.multinomial(z(2) + 1, 3), RuntimeError,
                             "cannot sample n_sample > prob_dist.size(-1) samples without "
                             "replacement"),
    "multinomial/none": (lambda z, w: tensorbus.multinomial(z(2) + 1, 0), RuntimeError,
                         "cannot sample n_sample <= 0 samples"),
    "multinomial/rank": (lambda z, w: tensorbus.multinomial(z(2, 2, 2) + 1, 1), RuntimeError,
                         "prob_dist must be 1 or 2 dim"),
    "multinomial/integers": (lambda z, w: tensorbus.multinomial(z(2, dtype=_I) + 1, 1),
                             RuntimeError, "multinomial only supports floating-point dtypes for "
                             "input, got: Long"),
    "poisson/negative": (lambda z, w: tensorbus.poisson(z(2) - 1), RuntimeError,
                         "invalid Poisson rate, expected rate to be non-negative"),
    "poisson/integers": (lambda z, w: tensorbus.poisson(z(2, dtype=_I)), NotImplementedError,
                         "\"poisson_cpu\" not implemented for 'Long'"),
    "binomial/integers": (lambda z, w: tensorbus.binomial(z(2, dtype=_I), z(2)), ValueError,
                          "binomial only supports floating-point dtypes for count, got: Long"),
    "normal/deviation": (lambda z, w: tensorbus.normal(0.0, -1.0, (2,), device=w), RuntimeError,
                         "normal expects std >= 0.0, but found std -1"),
    "normal/deviations": (lambda z, w: tensorbus.normal(z(2), z(2) - 1), RuntimeError,
                          "normal expects all elements of std >= 0.0"),
    "normal/shapes": (lambda z, w: tensorbus.normal(z(2), z(3)), RuntimeError,
                      "The size of tensor a (2) must match the size of tensor b (3) at "
                      "non-singleton dimension 0"),
    "normal_/deviation": (lambda z, w: z(2).normal_(0, -1), RuntimeError,
                          "normal expects std >= 0.0, but found std -1"),
    "normal_/integers": (lambda z, w: z(2, dtype=_I).normal_(), NotImplementedError, _NO_NORMAL),
    "uniform_/reversed": (lambda z, w: z(2).uniform_(2, 1), RuntimeError, "uniform_ expects to "
                          "return a [from, to) range, but found from=2 > to=1"),
    "uniform_/infinite": (lambda z, w: z(2).uniform_(0, math.inf), RuntimeError,
                          "to is out of bounds for float"),
    "uniform_/integers": (lambda z, w: z(2, dtype=_I).uniform_(), NotImplementedError, _NO_UNIFORM),
    "exponential_/rate": (lambda z, w: z(2).exponential_(-1), RuntimeError,
                          "exponential_ expects lambda > 0.0, but found lambda=-1"),
    "exponential_/integers": (lambda z, w: z(2, dtype=_I).exponential_(), RuntimeError,
                              "Exponential distribution is a continuous probability distribution. "
                              "dtype must be a floating point but you specified Long"),
    "cauchy_/width": (lambda z, w: z(2).cauchy_(0, 0), RuntimeError,
                      "cauchy_ expects sigma > 0.0, but found sigma=0"),
    "cauchy_/integers": (lambda z, w: z(2, dtype=_I).cauchy_(), RuntimeError,
                         "Cauchy distribution is a continuous probability distribution. "
                         "dtype must be a floating point but you specified Long"),
    "log_normal_/deviation": (lambda z, w: z(2).log_normal_(0, 0), RuntimeError,
                              "log_normal_ expects std > 0.0, but found std=0"),
    "log_normal_/integers": (lambda z, w: z(2, dtype=_I).log_normal_(), NotImplementedError,
                             "\"log_normal_cpu\" not implemented for 'Long'"),
    "geometric_/chance": (lambda z, w: z(2).geometric_(1.0), RuntimeError,
                          "geometric_ expects p to be in (0, 1), but got p=1"),
    "nn.functional.dropout/chance": (lambda z, w: tensorbus.nn.functional.dropout(z(2), 1.5),
                                     ValueError, "dropout probability has to be between 0 and 1, "
                                     "but got 1.5"),
}  # fmt: skip
