"""Arrays, axes and shapes that hypothesis makes for the array API's programs, and the programs.

A family is what its programs' names stand for, and the programs. Each of them runs on what is made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from array_api_programs import BINARY, REDUCTIONS, UNARY
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

DTYPES = {
    "i": ("int8", "int16", "int32", "int64", "uint8"), "f": ("float32", "float64"),
    "z": ("complex64", "complex128"), "b": ("bool",),
}  # fmt: skip
EVERY = tuple(d for found in DTYPES.values() for d in found)
AWKWARD = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, 3e38)


class Family(NamedTuple):
    """Programs over ``xp`` and names, and a strategy of what the names stand for."""

    names: st.SearchStrategy[dict[str, Any]]
    programs: tuple[str, ...]


def elements(dtype: str, awkward: bool = True) -> st.SearchStrategy[Any]:
    d = np.dtype(dtype)
    if d.kind in "bu":
        return hnp.from_dtype(d)
    if d.kind == "i":
        return st.integers(-5, 5) | hnp.from_dtype(d)
    reals: st.SearchStrategy[Any] = st.integers(-40, 40).map(lambda n: n / 8)
    # Which part of a complex product of infinities is NaN hangs on the order of its terms: NumPy's
    # own loops differ. The tables of special cases have what the standard says of them.
    if awkward and d.kind == "f":
        reals |= st.sampled_from(AWKWARD)
    return reals if d.kind == "f" else st.builds(complex, reals, reals)


def array(dtype: str, shape: Any, awkward: bool = True) -> st.SearchStrategy[Any]:
    return hnp.arrays(dtype, shape, elements=elements(dtype, awkward))


SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


@st.composite
def pairs(draw: Any, letter: str) -> dict[str, Any]:
    """Two arrays that broadcast: ``x``, ``y`` of any dtypes of a kind, ``v`` of x's dtype.

    ``d`` are numbers to divide by, ``n`` small ones, ``s`` a Python number, and x broadcasts ``w``.
    """
    shape = draw(SHAPES)
    other = tuple(draw(st.sampled_from((n, 1))) for n in shape[draw(st.integers(0, len(shape))) :])
    first, second = (draw(st.sampled_from(DTYPES[letter])) for _ in range(2))
    x, y = draw(array(first, shape)), draw(array(second, other))
    number = {
        "i": st.integers(1, 5), "f": st.integers(-8, 8).map(lambda k: k / 2), "b": st.booleans(),
        "z": st.builds(complex, st.integers(-3, 3), st.integers(-3, 3)),
    }[letter]  # fmt: skip
    v = draw(array(first, other))
    made = {"x": x, "y": y, "v": v, "s": draw(number)}
    if letter == "i":
        made["d"] = np.where(v == 0, 1, v).astype(first)
        made["n"] = np.abs(draw(hnp.arrays(first, other, elements=st.integers(0, 5))))
        made["t"] = np.where(x == 0, 1, x).astype(first)
    return made


def written(operator: str, value: str) -> str:
    """An in-place operation on a copy, as an expression."""
    return f"[a := xp.asarray(x, copy=True), a.__i{operator}__({value})][1]"


def _elementwise(letter: str) -> tuple[str, ...]:
    """Each function with arrays and numbers, and each operator, reflected and in place too."""
    two = [n for n in BINARY[letter].split() if not (letter == "i" and n in INTEGER)]
    programs = [f"xp.{n}(x)" for n in UNARY[letter].split()]
    programs += [f"xp.{n}({a})" for n in two for a in ("x, y", "x, v", "x, s", "s, x")]
    for operator in OPERATORS[letter].split():
        programs += [f"x {operator} v", f"x {operator} s", f"s {operator} x"]
    programs += [f"{operator}(x)" for operator in PREFIXES[letter].split()]
    for name in WRITING[letter].split():
        programs += [written(name, "v"), written(name, "s")]
    if letter == "i":
        programs += [f"xp.{n}(x, {a})" for n in INTEGER[:2] for a in ("d", "s")]
        programs += [f"xp.{n}(s, t)" for n in INTEGER[:2]]
        programs += [f"xp.{n}(x, {a})" for n in INTEGER[2:] for a in ("n", "s")]
        programs += [f"x {o} {a}" for o in ("//", "%") for a in ("d", "s")] + ["s // t", "s % t"]
        programs += [f"x {o} {a}" for o in ("<<", ">>") for a in ("n", "s")]
        programs += [written(n, "d") for n in ("floordiv", "mod")]
        programs += [written(n, "n") for n in ("lshift", "rshift")]
    return tuple(programs)


INTEGER = ("floor_divide", "remainder", "pow", "bitwise_left_shift", "bitwise_right_shift")
"""Of integers, not every second operand has a result that the standard states."""
OPERATORS = {
    "f": "+ - * / // % ** < <= > >= == !=", "i": "+ - * < <= > >= == != & | ^",
    "b": "& | ^ == !=", "z": "+ - * / == !=",
}  # fmt: skip
PREFIXES = {"f": "- + abs", "i": "- + ~ abs", "b": "~", "z": "- + abs"}
WRITING = {"f": "add sub mul truediv pow", "i": "add sub mul and or xor", "b": "and or xor",
           "z": "add sub mul truediv"}  # fmt: skip

ELEMENTWISE = {k: Family(pairs(k), _elementwise(k)) for k in DTYPES}


@st.composite
def with_axes(draw: Any, letter: str, least: int = 1) -> dict[str, Any]:
    """An array ``x`` with an axis ``k``, several ``ks``, and an order of all ``p``."""
    side = draw(st.integers(0, 1))
    shape = draw(hnp.array_shapes(min_dims=least, max_dims=3, min_side=side, max_side=3))
    x = draw(array(draw(st.sampled_from(DTYPES[letter])), shape, awkward=False))
    order = draw(st.permutations(range(x.ndim)))
    several = tuple(d - draw(st.sampled_from((0, x.ndim))) for d in order)
    k = draw(st.integers(-x.ndim, x.ndim - 1))
    ends = {name: draw(array(x.dtype.name, (*shape[: k % x.ndim], n, *shape[k % x.ndim + 1 :]),
                             awkward=False)) for name, n in (("u", 1), ("v", 2))}  # fmt: skip
    high, count = max(shape[k], 1), 2 if shape[k] else 0
    places = hnp.arrays("int64", (count,), elements=st.integers(-high, high - 1))
    along = (*shape[: k % x.ndim], count, *shape[k % x.ndim + 1 :])
    return {
        "x": x, "k": k, "ks": several[: draw(st.integers(0, x.ndim))], "p": tuple(order),
        "q": draw(st.booleans()), "m": draw(st.integers(-4, 4)), "c": draw(st.integers(0, 3)),
        "e": draw(st.integers(-x.ndim - 1, x.ndim)), "i": draw(places),
        "along": draw(hnp.arrays("int64", along, elements=st.integers(-high, high - 1))),
        "times": draw(hnp.arrays("int64", (shape[k],), elements=st.integers(0, 2))), **ends,
    }  # fmt: skip


REDUCED = {
    letter: Family(
        with_axes(letter),
        tuple(
            f"xp.{name}(x, {options})"
            for name in names.split()
            for options in ("keepdims=q", "axis=k", "axis=k, keepdims=q")
            + (() if name.startswith("arg") else ("axis=ks", "axis=ks, keepdims=q"))
        )
        + EXTRA.get(letter, ()),
    )
    for EXTRA in (
        {
            "f": ("xp.std(x, axis=ks, correction=0.5)", "xp.var(x, axis=k, correction=1)",
                  "xp.cumulative_sum(x, axis=k, include_initial=q)",
                  "xp.cumulative_prod(x, axis=k)", "xp.diff(x, axis=k, n=c)"),
            "i": ("xp.sum(x, axis=ks, dtype=xp.int8)", "xp.prod(x, axis=ks, dtype=xp.float64)",
                  "xp.cumulative_sum(x, axis=k, include_initial=q)", "xp.diff(x, axis=k, n=c)",
                  "xp.cumulative_sum(x, axis=k, dtype=xp.int16)", "xp.cumulative_prod(x, axis=k)",
                  "xp.diff(x, axis=k, n=c, prepend=u, append=v)"),
            "z": ("xp.cumulative_sum(x, axis=k)", "xp.diff(x, axis=k)"),
        },
    )
    for letter, names in REDUCTIONS.items()
}  # fmt: skip

REARRANGED = (
    "xp.concat([x, v, u], axis=k)", "xp.concat([x, v], axis=None)", "xp.expand_dims(x, axis=e)",
    "xp.flip(x)", "xp.flip(x, axis=k)", "xp.flip(x, axis=ks)", "xp.moveaxis(x, k, 0)",
    "xp.moveaxis(x, p, tuple(range(x.ndim)))", "xp.permute_dims(x, p)", "xp.repeat(x, c)",
    "xp.repeat(x, c, axis=k)", "xp.repeat(x, times, axis=k)", "xp.reshape(x, (-1,), copy=q)",
    "xp.roll(x, m)", "xp.roll(x, m, axis=k)", "xp.roll(x, tuple(m for _ in ks), axis=ks)",
    "xp.squeeze(u, axis=k)", "xp.stack([x, x], axis=e)", "xp.take(x, i, axis=k)",
    "xp.take_along_axis(x, along, axis=k)", "xp.tile(x, (c,))", "xp.tile(x, (2, c, 1, 1))",
    "xp.unstack(x, axis=k)", "xp.broadcast_to(x, (2, *x.shape))", "xp.broadcast_arrays(x, u)",
    "xp.nonzero(x)", "xp.where(xp.astype(x, xp.bool), x, u)", "xp.astype(x, x.dtype, copy=q)",
    "xp.unique_all(x)", "xp.unique_counts(x)", "xp.unique_inverse(x)", "xp.unique_values(x)",
    "xp.zeros_like(x)", "xp.ones_like(x)", "xp.full_like(x, 1)", "x[..., None]", "xp.asarray(x)",
    "x[xp.astype(x, xp.bool)]", "xp.tril(x, k=m)", "xp.triu(x, k=m)", "x.mT", "xp.isin(x, u)",
    "x.shape, x.ndim, x.dtype == x.dtype", "xp.meshgrid(xp.unstack(xp.reshape(x, (-1, 1)))[0])",
)  # fmt: skip
SORTED = (
    "xp.sort(x, axis=k)", "xp.sort(x, axis=k, descending=True)", "xp.argsort(x, axis=k)",
    "xp.argsort(x, axis=k, descending=True)", "xp.sort(x, axis=k, stable=False)",
    "xp.searchsorted(xp.sort(xp.reshape(x, (-1,))), x)", "xp.clip(x, 1, 3)", "xp.clip(x, u, None)",
    "xp.searchsorted(xp.sort(xp.reshape(x, (-1,))), x, side='right')", "xp.clip(x, None, 2)",
)  # fmt: skip
MOVED = {
    k: Family(with_axes(k), REARRANGED + (SORTED if k in "if" else ())) for k in DTYPES
}  # fmt: skip
