"""``take``, ``gather``, ``put``, ``scatter``: one launch that checks each index where it is used.

A kernel gets the indexed array as a view whose stride along *dim* is 0, and adds the index times
the true stride itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from tensorbus.plugin import Array, Kernel, dtype, float32
from tensorbus_cuda_cupy.faults import FAULT, LOCKS, Faults
from tensorbus_cuda_cupy.texts import elementwise

Maker = Callable[[dtype, Faults, int], Kernel]

_WHERE = "int64 given, int64 n, int64 stride, int64 dim, bool wrap, raw int64 fault"
_CHECKED = """
i64 at = wrap && given < 0 ? given + n : given;
if (at < 0 || at >= n) { fault_at(&fault[0], given, dim, n); OTHERWISE }
else """

# Joins a value with what is there, while other threads may do the same: by compare-and-swap of the
# element's bits, or of the word around a small element, whose neighbours go back as they were.
UPDATE = """
template <class To, class From> FUNCTION To same_bits(From x) {
    return *reinterpret_cast<To *>(&x);
}

template <class Word, class T, class F> FUNCTION void swap_in(T *p, F join) {
    Word *w = reinterpret_cast<Word *>(p), now = *w, was;
    do {
        was = now;
        now = atomicCAS(w, was, same_bits<Word>(join(same_bits<T>(was))));
    } while (now != was);
}

template <class Part, class T, class F> FUNCTION void swap_part(T *p, F join) {
    u32 *w = reinterpret_cast<u32 *>((u64)p & ~(u64)3), now = *w, was;
    u32 shift = (u32)((u64)p & 3) * 8, mask = (Part)-1;
    do {
        was = now;
        Part made = same_bits<Part>((T)join(same_bits<T>((Part)(was >> shift))));
        now = atomicCAS(w, was, (was & ~(mask << shift)) | ((u32)made << shift));
    } while (now != was);
}

// Complex numbers of 16 bytes have no compare-and-swap: their products take turns.
template <class T, class F> FUNCTION void locked(T *p, F join, u64 *locks) {
    u64 *lock = locks + ((u64)p / sizeof(T)) % LOCKS;
    volatile f64 *q = reinterpret_cast<volatile f64 *>(p);
    for (bool done = false; !done;) {
        if (atomicCAS(lock, (u64)0, (u64)1) != 0) continue;
        __threadfence();
        f64 real = q[0], imag = q[1];
        T made = join(T(real, imag));
        q[0] = made.real();
        q[1] = made.imag();
        __threadfence();
        atomicExch(lock, (u64)0);
        done = true;
    }
}

template <class T, class F> FUNCTION void update(T *p, F join, u64 *locks) {
    if constexpr (sizeof(T) == 8) swap_in<u64>(p, join);
    else if constexpr (sizeof(T) == 4) swap_in<u32>(p, join);
    else if constexpr (sizeof(T) == 2) swap_part<unsigned short>(p, join);
    else if constexpr (sizeof(T) == 1) swap_part<unsigned char>(p, join);
    else locked(p, join, locks);
}
"""


def _stretched(x: Array, shape: tuple[int, ...], dim: int) -> tuple[Array, int, int]:
    """*x* in the shape of a loop, with stride 0 along *dim*; its size and bytes of stride there."""
    if not x.ndim:  # one element, as of a vector
        return cupy.ndarray(shape, x.dtype, x.data, (0,) * len(shape)), 1, 0
    steps = (*x.strides[:dim], 0, *x.strides[dim + 1 :])
    return cupy.ndarray(shape, x.dtype, x.data, steps), x.shape[dim], x.strides[dim]


def _spanning(x: Array, dim: int, i: Array) -> tuple[tuple[int, ...], Array]:
    """The shape of a loop over whole slices of *x*, and the vector *i* along *dim* of it."""
    if not x.ndim:
        return i.shape, i
    shape = (*x.shape[:dim], i.size, *x.shape[dim + 1 :])
    return shape, i.reshape((-1, *[1] * (x.ndim - dim - 1)))


def _read(x: Array, dim: int, i: Array, shape: tuple[int, ...], wrap: bool, fault: Array) -> Array:
    kernel = elementwise(
        f"T x, {_WHERE}", "T z",
        _CHECKED.replace("OTHERWISE", "z = T(0);")
        + "z = *reinterpret_cast<const T *>(reinterpret_cast<const char *>(&x) + at * stride)",
        "tensorbus_take", FAULT,
    )  # fmt: skip
    view, n, stride = _stretched(x, shape, dim)
    return kernel(view, i, n, stride, dim, wrap, fault)


def _take(dtype: dtype, faults: Faults, index: int) -> Kernel:
    def take(x: Array, dim: int, i: Array, wrap: bool = False) -> Array:
        shape, along = _spanning(x, dim, i)
        return _read(x, dim, along, shape, bool(wrap), faults.words(index))

    return take


def _gather(dtype: dtype, faults: Faults, index: int) -> Kernel:
    def gather(x: Array, dim: int, i: Array) -> Array:
        return _read(x, dim, i, i.shape, False, faults.words(index))

    return gather


def _statement(op: str, dtype: dtype) -> str:
    """C++ that writes ``v`` to ``*p``, or joins the two."""
    name = dtype.name
    if op == "set":
        return "*p = v;"
    if name == "bool":  # "or" and "and"
        return "if (v) *p = true;" if op in ("add", "amax") else "if (!v) *p = false;"
    if op == "add" and dtype.is_complex:
        part = "f32" if name == "complex64" else "f64"
        parts = f"{part} *q = reinterpret_cast<{part} *>(p); "
        return parts + "atomicAdd(q, v.real()); atomicAdd(q + 1, v.imag());"
    if op == "add" and dtype.is_floating_point:
        return "atomicAdd(p, v);"
    if op in ("amax", "amin"):
        sign = ">" if op == "amax" else "<"
        return f"update(p, [=](T old) {{ return v {sign} old || v != v ? v : old; }}, locks);"
    sign = "+" if op == "add" else "*"
    if dtype.is_floating_point or dtype.is_complex:
        return f"update(p, [=](T old) {{ return old {sign} v; }}, locks);"
    return f"update(p, [=](T old) {{ return (T)((u64)old {sign} (u64)v); }}, locks);"


def _write(
    out: Array, dim: int, i: Array, src: Any, shape: tuple[int, ...], op: str, wrap: bool,
    dtype: dtype, fault: Array,
) -> None:  # fmt: skip
    kernel = elementwise(
        f"T given_v, {_WHERE}", "T to",
        _CHECKED.replace("OTHERWISE", "")
        + "{ T *p = reinterpret_cast<T *>(reinterpret_cast<char *>(&to) + at * stride); "
        + f"u64 *locks = locks_of(&fault[0]); const T v = given_v; {_statement(op, dtype)} }}",
        f"tensorbus_put_{op}", FAULT + UPDATE.replace("LOCKS", str(LOCKS)),
    )  # fmt: skip
    view, n, stride = _stretched(out, shape, dim)
    kernel(src, i, n, stride, dim, wrap, fault, view)


def _written(
    out: Array, dim: int, i: Array, src: Any, shape: tuple[int, ...], op: str, wrap: bool,
    dtype: dtype, fault: Array,
) -> Array:  # fmt: skip
    if dtype.name == "float16" and op != "set":
        # Sums of float16 are those of float32, rounded once; only what was indexed goes back.
        wide = out.astype(np.float32)
        more = src.astype(np.float32) if isinstance(src, cupy.ndarray) else np.float32(src)
        _write(wide, dim, i, more, shape, op, wrap, float32, fault)
        src, op = _read(wide, dim, i, shape, wrap, fault).astype(np.float16), "set"
    _write(out, dim, i, src, shape, op, wrap, dtype, fault)
    return out


def _put(dtype: dtype, faults: Faults, index: int) -> Kernel:
    def put(out: Array, dim: int, i: Array, src: Any, op: str, wrap: bool = False) -> Array:
        shape, along = _spanning(out, dim, i)
        fault = faults.words(index)
        return _written(out, dim, along, src, shape, op, bool(wrap), dtype, fault)

    return put


def _scatter(dtype: dtype, faults: Faults, index: int) -> Kernel:
    def scatter(out: Array, dim: int, i: Array, src: Any, op: str) -> Array:
        return _written(out, dim, i, src, i.shape, op, False, dtype, faults.words(index))

    return scatter


MAKERS: dict[str, Maker] = {"take": _take, "gather": _gather, "put": _put, "scatter": _scatter}
