"""How the ops are called that backends have kernels of their own for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorbus_conformance.op import I, S, Sample, T

NINE = (1, 2, 1, 2, 1, 1, 3, 1, 2)
MANY = (263, 509)
_F = "nn.functional."


@dataclass(frozen=True)
class Form:
    """One op: samples of a few elements, of one each, of many, of nine dimensions."""

    plain: Sample
    one: Sample | None
    many: Sample | None
    nine: Sample | None = None
    same: Sample | None = None
    """One whose result has an operand's values."""
    slopes: bool = True
    kernel: str = ""
    """The kernel without which the op is a composition of so many that it is not tried here."""


def _given(array: Any, grad: bool = True) -> T:
    return T(data=np.asarray(array, np.float64), grad=grad)


_WHOLE = np.arange(1.0, 7.0).reshape(2, 3)


def _forms() -> Iterator[tuple[str, Form]]:
    unary = {
        # the values that it takes, and one that it leaves as it is
        "nn.functional.relu": ("spread", 1.0), "neg": ("spread", 0.0), "sign": ("nonzero", 1.0),
        "ceil": ("spread", 3.0), "trunc": ("spread", 3.0), "rsqrt": ("positive", 1.0),
        "square": ("spread", 1.0), "reciprocal": ("nonzero", 1.0), "exp2": ("spread", None),
        "log2": ("positive", None), "log10": ("positive", None), "tan": ("unit", 0.0),
        "asin": ("unit", 0.0), "acos": ("unit", None), "atan": ("spread", 0.0),
        "sinh": ("spread", 0.0), "cosh": ("spread", None), "asinh": ("spread", 0.0),
        "acosh": ("above one", None), "atanh": ("unit", 0.0), "sigmoid": ("spread", None),
    }  # fmt: skip
    for name, (of, fixed) in unary.items():
        kinked = name in ("ceil", "trunc")
        same = None if fixed is None else S("", _given(np.full((2, 3), fixed), not kinked))
        yield name, Form(
            S("", T(3, 5, of=of)), S("", T(1, of=of)), S("", T(*MANY, of=of)),
            S("", T(*NINE, of=of)), same,
        )  # fmt: skip
    series: dict[str, Any] = {
        "digamma": "positive", "lgamma": "above one", "erf": "spread", "erfc": "spread",
        "erfinv": "unit", "logit": (0.3, 0.8), "special.erfcx": "spread", "special.ndtr": "spread",
        "special.log_ndtr": "spread", "special.ndtri": (0.25, 0.45),
        "special.bessel_y0": "positive", "special.bessel_y1": "positive",
    }  # fmt: skip
    for name, of in series.items():
        yield name, Form(
            S("", T(3, 5, of=of)), S("", T(1, of=of)), S("", T(*MANY, of=of)),
            S("", T(*NINE, of=of)), slopes="bessel" not in name,
            kernel=name.removeprefix("special."),
        )  # fmt: skip
    classes = {"isnan": "holes", "isinf": "infinite", "isfinite": "holes", "logical_not": "ties"}
    for name, of in classes.items():
        yield name, Form(
            S("", T(3, 5, of=of)), S("", T(1)), S("", T(*MANY, of=of)), S("", T(*NINE, of=of)),
            slopes=False,
        )  # fmt: skip
    for name, other in (("remainder", 100.0), ("hypot", 0.0), ("copysign", 1.0)):

        def pair(*shape: int) -> Sample:
            return S("", T(*shape, of="positive"), T(*shape, of=(0.3, 0.9)))

        same = S("", _given(_WHOLE), T(data=np.full((2, 3), other), grad=False))
        yield name, Form(pair(3, 5), pair(1), pair(*MANY), pair(*NINE), same, name != "remainder")

    def positive(*shape: int) -> Sample:
        return S("", T(*shape, of="positive"), T(*shape, of="positive"))

    plain, one, many, nine = positive(3, 5), positive(1), positive(*MANY), positive(*NINE)
    yield "special.xlog1py", Form(plain, one, many, nine, kernel="xlog1py")
    for name in ("igamma", "igammac"):

        def orders(*shape: int) -> Sample:
            return S("", T(*shape, of="positive", grad=False), T(*shape, of="positive"))

        yield name, Form(orders(3, 5), orders(1), orders(*MANY), orders(*NINE), kernel=name)
    for name in ("gt", "ge"):

        def two(*shape: int) -> Sample:
            return S("", T(*shape), T(*shape, of="ties"))

        yield name, Form(two(3, 5), two(1), two(*MANY), two(*NINE), slopes=False)
    for name, bounds in (("clamp", (-0.4, 0.6)), ("clamp_min", (-0.4,)), ("clamp_max", (0.6,))):
        shapes = ((3, 5), (1,), MANY, NINE)
        plain, one, many, nine = (S("", T(*shape), *bounds) for shape in shapes)
        yield name, Form(plain, one, many, nine, S("", _given([0.25, 0.5]), *bounds))
    for name in ("softmax", "log_softmax", "logsumexp", "logcumsumexp", "mean"):
        column = np.full((4, 1), 0.0 if name == "log_softmax" else 1.0)
        samples = [S("", T(*shape), d) for shape, d in _along(3, 5)]
        plain, one, many, nine = samples
        yield name, Form(plain, one, many, nine, S("", _given(column), 1))
    plain, one, many, nine = [S("", T(*shape), 2, d) for shape, d in _along(3, 5)]
    same = S("", _given(np.ones((4, 1))), 2, 1)
    yield "linalg.vector_norm", Form(plain, one, many, nine, same)
    for name in ("any", "all"):
        samples = [S("", T(*shape, of="ties"), d) for shape, d in _along(40, 3)]
        plain, one, many, nine = samples
        yield name, Form(plain, one, many, nine, slopes=False)
    yield "cat", Form(
        S("", [T(2, 3), T(1, 3)], 0), S("", [T(1), T(1)], 0), S("", [T(200, 509), T(3, 509)], 0),
        S("", [T(*NINE), T(*NINE)], 6), S("", [_given(_WHOLE)], 0),
    )  # fmt: skip
    yield "nonzero", Form(S("", T(3, 5, of="ties")), S("", T(1)), S("", T(*MANY)), S("", T(*NINE)),
                          slopes=False)  # fmt: skip
    yield from _ordered()
    yield from _windowed()


def _along(*plain: int) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Shapes, each with the dimension that an op goes along."""
    return (plain, 1), ((1,), 0), (MANY, 1), (NINE, 6)


def _ordered() -> Iterator[tuple[str, Form]]:
    """What sorts or chooses along a dimension, by kernels that return indices."""
    many, nine = T(2_048, 70), T(*NINE)
    yield "sort", Form(
        S("", T(3, 5), 1, True), S("", T(1), 0, True), S("", many, 1, True), S("", nine, 6, True),
        slopes=False,
    )  # fmt: skip
    # Indices that equal the integers they are of.
    yield "topk", Form(
        S("", T(3, 5), 2, 1), S("", T(1), 1, 0), S("", many, 30, 1), S("", nine, 2, 6),
        S("", I([0, 1, 2, 3]), 4, 0, False), slopes=False,
    )  # fmt: skip
    yield "kthvalue", Form(
        S("", T(3, 5), 2, 1), S("", T(1), 1, 0), S("", many, 30, 1), S("", nine, 2, 6),
        S("", I([[0], [0], [0]]), 1, 1), slopes=False,
    )  # fmt: skip


def _windowed() -> Iterator[tuple[str, Form]]:
    x = T(1, 2, 4, 5)
    one = T(1, 1, 1, 1)
    yield _F + "conv2d", Form(
        S("", x, T(4, 1, 2, 3), None, (1, 2), (1, 0), (2, 1), 2), S("", one, T(1, 1, 1, 1)),
        S("", T(1000, 2, 7, 7), T(2, 2, 2, 2)), None,
        S("", _given(np.arange(12.0).reshape(1, 1, 3, 4) / 8), _given(np.ones((1, 1, 1, 1)))),
    )  # fmt: skip
    image = _given(np.arange(12.0).reshape(1, 1, 3, 4) / 8)
    for name in ("max_pool2d", "avg_pool2d"):
        yield _F + name, Form(
            S("", x, (2, 3), (1, 2), (1, 0)), S("", one, 1), S("", T(2000, 2, 6, 6), 2, 1), None,
            S("", image, 1),
        )  # fmt: skip
    yield _F + "linear", Form(
        S("", T(3, 5), T(4, 5), T(4)), S("", T(1, 1), T(1, 1), T(1)),
        S("", T(520, 2, 131), T(131, 131), T(131)),
    )  # fmt: skip
    yield _F + "cross_entropy", Form(
        S("", T(4, 5), I([3, 0, 4, 1])), S("", T(1, 1), I([0])),
        S("", T(509, 131), I(np.arange(509) % 131)),
    )  # fmt: skip


FORMS = dict(_forms())
