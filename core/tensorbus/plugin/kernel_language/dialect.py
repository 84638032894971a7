"""What the generator must know of a kernel language."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """A C-like kernel language, as a text of definitions and a few facts.

    ``prelude`` goes in front of every kernel and defines, by typedef or macro:

    - types ``i8 u8 i16 i32 u32 i64 u64 f32 f16`` and, where the device has it, ``f64``;
      ``f16`` is only pointed at, never computed with;
    - ``KERNEL`` (before a kernel, with its return type), ``GLOBAL`` (of a pointer to device
      memory), ``FUNCTION`` (before a helper function);
    - ``ITEM`` and ``ROW``, the number of the work item in the first and second dimension;
    - ``LOAD_HALF(p, i)`` gives an ``f32``; ``STORE_HALF(p, i, v)`` rounds to nearest even;
    - ``BITS32(x) BITS64(x) FLOAT32(u) FLOAT64(u)``: the same bits in another type;
    - ``MULHI(a, b)``: the high half of a product of two ``u64``;
    - ``CAS32(p, old, new)`` on a ``GLOBAL u32 *`` and, where ``atomics64``, ``CAS64``: compare and
      swap, giving what was there;
    - ``VECTOR`` (``vector`` floats), ``VLOAD(p)`` and ``VSTORE(p, v)`` at any ``f32`` address,
      ``SPLAT(x)``, ``MULADD(a, b, c)`` (a * b + c, rounded once where that is the faster way);
    - ``SELECT32(c, x, y)``, ``c ? x : y`` of two ``f32``, only where the compiler makes a branch of
      that and so leaves vectors;
    - C's math functions under their C names, generic in the float type, and ``NAN``,
      ``INFINITY``.

    The compiler must neither contract to FMA nor relax IEEE rules, and divide correctly rounded.
    """

    prelude: str
    group: int = 64
    """Work items in a group: global sizes are rounded up to a multiple of it."""
    float64: bool = True
    float16: bool = True
    atomics64: bool = False
    vector: int = 1
    """Floats in a ``VECTOR``."""
    units: int = 8
    """Work items that keep the device busy enough; with fewer, reductions are cut in pieces."""
    polynomials: frozenset[str] = frozenset()
    """The functions of float32 that kernels compute by ``vector_maths``: those for which the
    compiler leaves vectors, so that one call is slower than all else in its loop."""
    tiles: bool = False
    """Whether a work item is better off with neighbouring results, for which the compiler can use
    vectors, than with one: so on processors, where its neighbours run after it."""
