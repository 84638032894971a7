"""The dtypes, shapes and numbers of operations on any two dtypes, numbers and 0-dim tensors."""

from __future__ import annotations

from tests.differential.drawing import ALL, COMPLEX, Draw

ARITHMETIC = "add sub mul div true_divide".split()
REAL = (
    "maximum minimum fmod remainder floor_divide atan2 fmax fmin copysign hypot logaddexp xlogy "
    "heaviside nextafter logaddexp2 float_power".split()
)
COMPARE = "eq ne lt le gt ge".split()
LOGICAL = "logical_and logical_or logical_xor".split()
BITS = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm".split()
UNARY = (
    "abs neg sqrt exp sin cos tan tanh sigmoid sign sgn floor ceil round trunc frac reciprocal "
    "rsqrt square log1p expm1 exp2 log log2 log10 atan asinh erf isnan isfinite isinf "
    "logical_not positive sinh cosh asin acos angle real conj_physical lgamma erfc "
    "signbit deg2rad rad2deg nan_to_num sinc relu bitwise_not isreal atanh acosh erfinv i0 "
    "logit".split()
)
OPERATORS = "+ - * / // % ** < <= > >= == != & | ^".split()


def program(d: Draw) -> None:
    shape = d.shape(0, 2)
    names = []
    for _ in range(d.int(2, 3)):
        dtype = d.one(ALL)
        own = [] if d.chance(0.25) else d.broadcast(shape)
        names.append(d.disordered(d.tensor(dtype, own)))
    for _ in range(d.int(3, 6)):
        made = step(d, names)
        t = d.get(made)
        if isinstance(t, d.torch.Tensor) and d.chance(0.4) and t.dtype in _dtypes(d):
            names.append(made)


def _dtypes(d: Draw) -> list[object]:
    return [getattr(d.torch, name) for name in ALL]


def operand(d: Draw, names: list[str]) -> str:
    return d.scalar() if d.chance(0.3) else d.one(names)


def divided_by_none(d: Draw, *operands: str) -> bool:
    """Whether a complex number may be divided by 0: C leaves it to the library what comes of it.

    Or by itself, which is 1 or close to it.
    """
    tensors = [t for t in map(d.get, operands) if t is not None]
    zero = any(_zero(d, y) for y in operands)
    zero |= len({*operands}) < len(operands)
    return zero and (any(t.is_complex() for t in tensors) or "j" in "".join(operands))


def step(d: Draw, names: list[str]) -> str:
    x = d.one(names)
    kind = d.random.random()
    if kind < 0.3:
        f = d.one([*ARITHMETIC * 3, *REAL, *COMPARE * 2, *LOGICAL, *BITS])
        y = d.one(names) if f in (*REAL, *LOGICAL) else operand(d, names)
        if f == "float_power" and _far(d, x, y):
            return ""
        if f == "copysign" and bool(d.get(y).isnan().any()):
            return ""  # a NaN has no sign that anyone promises
        if "div" in f and divided_by_none(d, x, y):
            return ""
        return d.new(f"torch.{f}({x}, {y}{extra(d, f)})", "y")
    if kind < 0.5:
        y, o = operand(d, names), d.one(OPERATORS)
        if o in ("//", "%") and _zero(d, y):
            return ""
        if o == "**" and _far(d, x, y):
            return ""
        if o == "/" and divided_by_none(d, x, y):
            return ""
        pair = (x, y) if d.chance(0.7) or o in ("//", "%", "**") else (y, x)
        return d.new(f"{pair[0]} {o} {pair[1]}", "y")
    if kind < 0.65:
        f = d.one(UNARY)
        if f == "signbit" and bool(d.get(x).isnan().any()):
            return ""  # of bfloat16 it hangs on how many elements PyTorch divides
        if f in ("reciprocal", "rsqrt") and divided_by_none(d, x):
            return ""
        return d.new(f"torch.{f}({x})", "y")
    if kind < 0.75:
        return in_place(d, x, operand(d, names))
    if kind < 0.8:
        a, b = d.one(names), operand(d, names)
        return d.new(f"torch.where({x} != 0, {a}, {b})", "y")
    if kind < 0.85:
        a = d.one([n for n in names if d.get(n).shape == d.get(x).shape])
        return d.new(f"torch.{d.one(['stack', 'cat', 'hstack', 'vstack'])}([{x}, {a}])", "y")
    if kind < 0.9:
        return cast(d, x)
    y = operand(d, names)
    return d.new(
        d.one(
            [
                f"torch.result_type({x}, {y})",
                f"torch.clamp({x}, {d.scalar(('int64', 'float32'))})",
                f"torch.clamp({x}, {d.one(names)}, {d.one(names)})",
                f"torch.full_like({x}, {d.scalar(('bool', 'int64'))})",
                f"torch.lerp({x}, {d.one(names)}, 0.5)",
                f"torch.addcmul({x}, {d.one(names)}, {d.one(names)}, value=2)",
                f"torch.can_cast({x}.dtype, {d.one(names)}.dtype)",
                f"torch.isclose({x}, {d.one(names)})",
                f"torch.equal({x}, {d.one(names)})",
                f"torch.full({tuple(d.shape(0, 2))}, {d.scalar()})",
                f"torch.tensor([{d.scalar()}, {d.scalar()}])",
                f"torch.as_tensor({d.scalar()})",
                f"torch.complex({x}, {d.one(names)})",
                f"torch.polar({x}, {d.one(names)})",
            ]
        ),
        "y",
    )


def extra(d: Draw, f: str) -> str:
    if f in ("add", "sub") and d.chance(0.3):
        return f", alpha={d.scalar(('int64', 'float32'))}"
    if f == "div" and d.chance(0.3):
        return f", rounding_mode={d.one(['floor', 'trunc', None])!r}"
    return ""


def _zero(d: Draw, y: str) -> bool:
    t = d.get(y)
    return bool((t == 0).any()) if t is not None else eval(y) == 0


def _far(d: Draw, x: str, y: str) -> bool:
    """Whether the power may leave the range of floats, or whole numbers be raised to negative."""
    t = d.get(y)
    base = d.get(x)
    as_complex = base.is_complex() or (t is not None and t.is_complex()) or "j" in y
    if as_complex and bool((base == 0).any()):
        return True  # C leaves powers of a complex 0 to the library
    limit = t.to(d.torch.complex128).abs().max().item() if t is not None and t.numel() else 0
    limit = limit if t is not None else abs(eval(y))
    return limit > 5


def in_place(d: Draw, x: str, y: str) -> str:
    t = d.get(x)
    if any(s == 0 and n > 1 for s, n in zip(t.stride(), t.shape, strict=True)):
        return ""
    if y != x and d.get(y) is not None and d.shares(x, y):
        return ""
    o = d.one("+= -= *= /= add_ sub_ mul_ div_ copy_ eq_ logical_and_ fill_ where".split())
    if ("div" in o or o == "/=") and divided_by_none(d, x, y):
        return ""
    if o == "copy_":
        source = d.get(y)
        if source is None or not _castable(d, source, t.dtype):
            return ""
        d.do(f"{x}.copy_({y})")
    elif o == "fill_":
        if d.get(y) is None and str(t.dtype) in map("torch.{}".format, COMPLEX):
            d.do(f"{x}.fill_({y})")
    elif o == "where":
        out = d.new(f"torch.empty(0, dtype=torch.{d.one(ALL)})", "o")
        d.do(f"torch.add({x}, {y}, out={out})")
        return ""
    elif o.endswith("="):
        d.do(f"{x} {o} {y}")
    else:
        d.do(f"{x}.{o}({y})")
    return ""


def _castable(d: Draw, t: object, dtype: object) -> bool:
    """Whether all its numbers fit: casts of others are not defined."""
    torch = d.torch
    if not t.numel() or dtype.is_complex or dtype is torch.bool:
        return True
    if dtype.is_floating_point:
        return True
    t = t.real if t.is_complex() else t
    info = torch.iinfo(dtype)
    if not t.dtype.is_floating_point:
        return True
    t = t.double()
    return bool((t.isfinite() & (t > max(info.min, -(2**53))) & (t < min(info.max, 2**53))).all())


def cast(d: Draw, x: str) -> str:
    dtype = d.one(ALL)
    if not _castable(d, d.get(x), getattr(d.torch, dtype)):
        return ""
    form = d.one([f".to(torch.{dtype})", f".type(torch.{dtype})", f".to(torch.{dtype}, copy=True)"])
    return d.new(x + form, "y")
