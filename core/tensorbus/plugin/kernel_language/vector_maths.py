"""Functions of float32 without branches or calls, so that compilers may use vectors for them.

Arguments are reduced as in Cody and Waite, *Software Manual for the Elementary Functions*; the
coefficients are those of Cephes (exp, tanh), FreeBSD's msun (log, log1p), and N. Juffa (erf).
"""

from __future__ import annotations

_EXP = """
FUNCTION f32 exp_f32(f32 v) {
    f32 x = v > 90.0f ? 90.0f : v < -105.0f ? -105.0f : v;
    f32 near = x * 1.44269504088896341f + 12582912.0f, n = near - 12582912.0f;
    f32 r = MULADD(n, -1.42860677e-6f, MULADD(n, -0.693145752f, x));
    f32 p = MULADD(1.9875691500e-4f, r, 1.3981999507e-3f);
    p = MULADD(p, r, 8.3334519073e-3f);
    p = MULADD(p, r, 4.1665795894e-2f);
    p = MULADD(p, r, 1.6666665459e-1f);
    p = MULADD(p, r, 5.0000001201e-1f);
    p = MULADD(p, r * r, r) + 1.0f;
    i32 k = (i32)(BITS32(near) - 0x4B400000u), h = k >> 1;
    return p * FLOAT32((u32)(h + 127) << 23) * FLOAT32((u32)(k - h + 127) << 23);
}
"""
_EXPM1 = """
FUNCTION f32 expm1_f32(f32 v) {
    f32 x = v > 88.9f ? 88.9f : v < -20.0f ? -20.0f : v;
    f32 near = x * 1.44269504088896341f + 12582912.0f, n = near - 12582912.0f;
    f32 r = MULADD(n, -1.42860677e-6f, MULADD(n, -0.693145752f, x));
    f32 p = MULADD(1.9875691500e-4f, r, 1.3981999507e-3f);
    p = MULADD(p, r, 8.3334519073e-3f);
    p = MULADD(p, r, 4.1665795894e-2f);
    p = MULADD(p, r, 1.6666665459e-1f);
    p = MULADD(p, r, 5.0000001201e-1f);
    p = MULADD(p, r * r, r);
    f32 half_scale = FLOAT32((u32)((i32)(BITS32(near) - 0x4B400000u) + 126) << 23);
    f32 y = MULADD(p, half_scale, half_scale - 0.5f) * 2.0f;
    return n == 0.0f ? (fabs(v) < 1e-7f ? v : p) : y;
}
"""
# Of f = m - 1 with m between sqrt(1/2) and sqrt(2), and s = f / (2 + f).
_LOG_OF_ONE_PLUS = """
FUNCTION f32 log_part_f32(f32 f, f32 k, f32 rest) {
    f32 s = f / (2.0f + f), z = s * s, w = z * z, half_square = 0.5f * f * f;
    f32 r = z * MULADD(w, 0.28498786688f, 0.66666662693f);
    r += w * MULADD(w, 0.24279078841f, 0.40000972152f);
    f32 low = MULADD(s, half_square + r, MULADD(k, 9.0580006145e-06f, rest));
    return MULADD(k, 6.9313812256e-01f, (low - half_square) + f);
}
"""
_LOG = """
FUNCTION f32 log_f32(f32 x) {
    int tiny = x < 1.17549435e-38f;
    u32 bits = BITS32(tiny ? x * 8388608.0f : x);
    i32 k = (i32)(bits - 0x3F3504F3u) >> 23;
    f32 f = FLOAT32(bits - ((u32)k << 23)) - 1.0f;
    f32 y = log_part_f32(f, (f32)k - (tiny ? 23.0f : 0.0f), 0.0f);
    y = x < INFINITY ? y : x;
    return x > 0.0f ? y : x == 0.0f ? -INFINITY : NAN;
}
"""
_LOG1P = """
FUNCTION f32 log1p_f32(f32 x) {
    f32 u = 1.0f + x;
    u32 bits = BITS32(u);
    i32 k = (i32)(bits - 0x3F3504F3u) >> 23;
    f32 rest = (k >= 2 ? 1.0f - (u - x) : x - (u - 1.0f)) / u;
    f32 f = k == 0 ? x : FLOAT32(bits - ((u32)k << 23)) - 1.0f;
    f32 y = log_part_f32(f, (f32)k, k == 0 ? 0.0f : rest);
    y = x < INFINITY ? y : x;
    y = fabs(x) < 2e-8f ? x : y;
    return x > -1.0f ? y : x == -1.0f ? -INFINITY : NAN;
}
"""
_SIGN = """
FUNCTION f32 signed_f32(f32 size, f32 x) {
    return FLOAT32((BITS32(size) & 0x7FFFFFFFu) | (BITS32(x) & 0x80000000u));
}
"""
_TANH = """
FUNCTION f32 tanh_f32(f32 x) {
    f32 t = fabs(x), z = t * t;
    f32 p = MULADD(-5.70498872745e-3f, z, 2.06390887954e-2f);
    p = MULADD(p, z, -5.37397155531e-2f);
    p = MULADD(p, z, 1.33314422036e-1f);
    p = MULADD(p, z, -3.33332819422e-1f);
    f32 near = MULADD(p * z, t, t), far = 1.0f - 2.0f / (exp_f32(t + t) + 1.0f);
    return signed_f32(t > 0.625f ? far : near, x);
}
"""
_SIGMOID = """
FUNCTION f32 sigmoid_f32(f32 x) {
    f32 e = exp_f32(-fabs(x)), r = 1.0f / (1.0f + e);
    return x < 0.0f ? e * r : r;
}
"""
_ERF = """
FUNCTION f32 erf_f32(f32 x) {
    f32 t = fabs(x);
    t = t > 10.0f ? 10.0f : t;
    f32 s = t * t;
    f32 far = MULADD(-1.72853470e-5f, t, 3.83197126e-4f);
    far = MULADD(far, s, MULADD(-3.88396438e-3f, t, 2.42546219e-2f));
    far = MULADD(far, t, -1.06777877e-1f);
    far = MULADD(far, t, -6.34846687e-1f);
    far = MULADD(far, t, -1.28717512e-1f);
    far = 1.0f - exp_f32(MULADD(far, t, -t));
    f32 near = MULADD(-5.96761703e-4f, s, 4.99119423e-3f);
    near = MULADD(near, s, -2.67681349e-2f);
    near = MULADD(near, s, 1.12819925e-1f);
    near = MULADD(near, s, -3.76125336e-1f);
    near = MULADD(near, s, 1.28379166e-1f);
    near = MULADD(near, t, t);
    return signed_f32(t > 0.927734375f ? far : near, x);
}
"""

_TEXTS = {
    "exp": _EXP,
    "expm1": _EXPM1,
    "log": _LOG_OF_ONE_PLUS + _LOG,
    "log1p": _LOG_OF_ONE_PLUS + _LOG1P,
    "tanh": _SIGN + _TANH,
    "sigmoid": _SIGMOID,
    "erf": _SIGN + _ERF,
}
_CALLS = {
    # Below, exp(-x) overflows before the result is 0.
    "sigmoid": "FUNCTION f32 sigmoid_f32(f32 x) "
    "{ return x < -80 ? exp(x) : 1.0f / (1.0f + exp(-x)); }\n"
}
ULP = {
    "exp": 1.1,
    "expm1": 1.6,
    "log": 0.9,
    "log1p": 0.9,
    "tanh": 1.4,
    "sigmoid": 2.8,
    "erf": 1.2,
}
"""The error of each polynomial, in units in the last place, with fused multiply-add or without."""
POLYNOMIALS = frozenset(_TEXTS)
"""The functions that there are polynomials for."""


def vector_maths(source: str, polynomials: frozenset[str]) -> str:
    """The functions of float32 that a text calls by the names ``exp_f32``, ``log_f32``, ...

    Those in *polynomials* are these, the others the language's own.
    """
    found: list[str] = []
    for op in reversed(_TEXTS):  # those that others call come last
        if f"{op}_f32(" in source:
            own = _CALLS.get(op, f"#define {op}_f32(x) {op}(x)\n")
            text = _TEXTS[op] if op in polynomials else own
            source += text
            parts = _parts(text)  # what two functions share comes before both
            found = [part for part in found if part not in parts] + parts
    return "".join(reversed(found))


def _parts(text: str) -> list[str]:
    """The functions of a text, the last one first."""
    shared = [part for part in (_LOG_OF_ONE_PLUS, _SIGN) if text.startswith(part)]
    return [text[sum(map(len, shared)) :], *shared]
