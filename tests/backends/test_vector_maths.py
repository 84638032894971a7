"""Polynomials in place of a language's functions keep their stated error over all of float32."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special

from tensorbus.plugin.kernel_language.vector_maths import POLYNOMIALS, ULP, vector_maths


def logistic(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e / (1 + e), 1 / (1 + e))


REFERENCES = {
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "tanh": np.tanh,
    "sigmoid": logistic, "erf": scipy.special.erf,
}  # fmt: skip
EXACT = {
    "exp": mpmath.exp, "expm1": mpmath.expm1, "log": mpmath.log, "log1p": mpmath.log1p,
    "tanh": mpmath.tanh, "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)), "erf": mpmath.erf,
}  # fmt: skip


def errors(got, wanted):
    """The distance from float64 values in units in the last place of float32."""
    nearest = wanted.astype("float32")
    np.testing.assert_array_equal(np.isnan(got), np.isnan(nearest))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(nearest))
    finite = np.isfinite(nearest)
    np.testing.assert_array_equal(np.sign(got[~finite]), np.sign(nearest[~finite]))
    unit = np.maximum(np.spacing(np.abs(nearest[finite])), np.float32(2**-149)).astype(float)
    return np.abs(got[finite].astype(float) - wanted[finite]) / unit


@pytest.mark.parametrize("op", sorted(POLYNOMIALS))
def test_the_error_is_what_is_stated(generated, op):
    everywhere = np.arange(0, 1 << 32, 4099, dtype=np.uint32).view("float32")
    dense = np.linspace(-3, 3, 400_001, dtype="float32")
    special = np.array(
        [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.17549435e-38, 88.72284,
         88.7229, -87.33655, -103.9, -104, 16777216, 3.4028235e38, -3.4028235e38], "float32"
    )  # fmt: skip
    for x in (everywhere, dense, special):
        with np.errstate(all="ignore"):
            wanted = REFERENCES[op](x.astype(float))
        found = errors(generated(op, x), wanted)
        if generated.backend.name == "c" or op in generated.backend.dialect(0).polynomials:
            assert found.max() <= ULP[op]


@pytest.mark.parametrize("op", sorted(POLYNOMIALS))
def test_the_reference_in_double_is_exact_enough(op):
    x = np.linspace(0.1, 9.7, 97)
    exact = np.array([float(EXACT[op](mpmath.mpf(v))) for v in x])
    np.testing.assert_allclose(REFERENCES[op](x), exact, rtol=1e-14)


def test_signs_of_zero_stay(generated):
    for op in ("expm1", "log1p", "tanh", "erf"):
        got = generated(op, np.array([0.0, -0.0], "float32"))
        assert list(np.signbit(got)) == [False, True]


def test_only_what_a_text_calls_is_defined():
    assert vector_maths("x + y", POLYNOMIALS) == ""
    plain = vector_maths("exp_f32(x) + sigmoid_f32(y)", frozenset())
    assert "#define exp_f32" in plain and "MULADD" not in plain
    text = vector_maths("tanh_f32(x) + erf_f32(x)", POLYNOMIALS - {"exp"})
    assert text.index("#define exp_f32") < text.index("f32 tanh_f32")
    assert text.count("signed_f32(f32 size") == 1


@pytest.mark.parametrize(
    "shared, ops", [("log_part", ("log", "log1p")), ("signed", ("erf", "tanh"))]
)
def test_what_two_functions_share_comes_before_both(shared, ops):
    text = vector_maths(" ".join(f"{op}_f32(x)" for op in ops), POLYNOMIALS)
    assert text.count(f"FUNCTION f32 {shared}_f32(") == 1
    defined = text.index(f"FUNCTION f32 {shared}_f32(")
    assert all(defined < text.index(f"FUNCTION f32 {op}_f32(") for op in ops)
