"""``x[...] = value`` in all its forms, on a copy of the operand."""

from __future__ import annotations

from typing import Any

from tensorbus_conformance import formats
from tensorbus_conformance.index_reference import written
from tensorbus_conformance.op import ANY, E, I, M, Op, S, T
from tensorbus_conformance.samples.getitem import beyond

_ALL = slice(None)


def assigned(x: Any, index: Any, value: Any) -> Any:
    """A copy after the assignment; other tensors than the copy stay as they are."""
    made = x.clone()
    made[index] = value
    return made


def _op(name: str, samples: list[Any], errors: Any = (), **more: Any) -> Op:
    more = {"dtypes": ANY, "call": assigned, **more}
    return Op(f"setitem-{name}", written, samples, ulp=0, errors=errors, family="setitem", **more)


def fits_not(kind: str) -> str:
    """The text for a number that a dtype cannot hold."""
    return f"value cannot be converted to type {kind} without overflow"


OPS = [
    _op(
        "number",
        [
            S("row", T(3, 2), 1, 1),
            S("element", T(3, 2), (2, -1), 1),
            S("slice", T(4, 2), slice(1, 3), 0),
            S("step", T(5), slice(None, None, 2), 1),
            S("ellipsis", T(2, 3, 2), (..., 0), 1),
            S("all", T(2, 3), ..., 1),
            S("none", T(2, 3), (None, 1), 0),
            S("scalar", T(), ..., 1),
            S("nothing", T(3, 2), slice(2, 1), 1),
        ],
        [
            E("row", IndexError, beyond(3, 0, 3), T(3, 2), 3, 0),
            E("column", IndexError, beyond(-3, 1, 2), T(3, 2), (0, -3), 0),
            E("too-many", IndexError, "too many indices for tensor of dimension 1",
              T(3), (0, 0), 1),
            E("backwards", ValueError, "step must be greater than zero",
              T(3), slice(None, None, -1), 0),
            E("byte", RuntimeError, fits_not("uint8_t"), T(3), 0, 256, dtype=formats.UINT8),
            E("complex", RuntimeError, fits_not("float"), T(3), 0, 1j),
            E("text", TypeError, "can't assign a str to a torch.FloatTensor", T(3), 0, "a"),
        ],
    ),
    _op(
        "tensor",
        [
            S("row", T(3, 2), 1, T(2)),
            S("slice", T(4, 2), slice(1, 3), T(2, 2)),
            S("broadcast", T(4, 2), slice(0, 3), T(2)),
            S("column", T(3, 2), (_ALL, 1), T(3)),
            S("scalar", T(3, 2), (slice(1, None), 0), T()),
            S("leading-ones", T(3, 2), 1, T(1, 1, 2)),
            S("all", T(2, 2), ..., T(2, 2)),
            S("cast", T(3), slice(1, None), I([1, 0])),
        ],
        [
            E("shape", RuntimeError,
              r"The expanded size of the tensor \(2\) must match the existing size \(3\) at "
              r"non-singleton dimension 0\.  Target sizes: \[2\]\.  Tensor sizes: \[3\]",
              T(3, 2), 1, T(3)),
        ],
    ),
    _op(
        "at-indices",
        [
            S("rows", T(4, 2), I([3, 0]), T(2, 2)),
            S("rows-number", T(4, 2), I([-1, 1]), 1),
            S("rows-broadcast", T(4, 2), I([3, 0]), T(2)),
            S("columns", T(2, 4), (_ALL, I([3, 0])), T(2, 2)),
            S("pairs", T(3, 4), (I([0, 2]), I([3, -1])), T(2)),
            S("pairs-number", T(3, 4), (I([0, 2]), I([3, -1])), 1),
            S("grid", T(3, 4), (I([[0], [2]]), I([1, 3])), T(2, 2)),
            S("apart", T(2, 3, 4), (I([0, 1]), _ALL, I([3, 0])), T(2, 3)),
            S("int-tensor", T(2, 4), (1, I([3, 0])), T(2)),
            S("list", T(4), [2, 0], T(2)),
            S("matrix", T(4), I([[0, 1], [2, 3]]), T(2, 2)),
            S("nothing", T(4, 2), I([]), 1),
            S("mask-tensor", T(2, 3), (M([True, False]), I([2])), 1),
        ],
        [
            E("row", IndexError, beyond(4, 0, 4), T(4, 2), I([0, 4]), 0),
            E("column", IndexError, beyond(7, 1, 2), T(4, 2), (_ALL, I([0, 7])), T(4, 2)),
            E("second", IndexError, beyond(-5, 1, 4), T(3, 4), (I([0, 1]), I([0, -5])), T(2)),
            E("after-int", IndexError, beyond(4, 1, 4), T(2, 4), (1, I([0, 4])), 1),
            E("shape", RuntimeError,
              r"shape mismatch: value tensor of shape \[3\] cannot be broadcast to indexing result "
              r"of shape \[2, 2\]", T(4, 2), I([0, 1]), T(3)),
            E("dtype", RuntimeError,
              r"Index put requires the source and destination dtypes match, got Float for the "
              r"destination and Long for the source\.", T(4), I([0, 1]), I([1, 2])),
        ],
    ),
    _op(
        "where-masked",
        [
            S("rows", T(3, 2), M([True, False, True]), 1),
            S("same", T(2, 3), M([[True, False, True], [False, False, True]]), 0),
            S("tensor", T(2, 3), M([[True, False, True], [False, False, True]]), T(3)),
            S("rows-tensor", T(3, 2), M([True, False, True]), T(2, 2)),
            S("broadcast", T(3, 2), M([True, False, True]), T(2)),
            S("scalar-tensor", T(3, 2), M([True, False, True]), T()),
            S("columns", T(2, 3), (_ALL, M([False, True, True])), 1),
            S("none", T(3), M([False, False, False]), 1),
            S("scalar-mask", T(2), True, 1),
        ],
        [
            E("extent", IndexError,
              r"The shape of the mask \[2\] at index 0 does not match the shape of the indexed "
              r"tensor \[3, 2\] at index 0", T(3, 2), M([True, False]), 0),
            E("count", RuntimeError,
              r"shape mismatch: value tensor of shape \[3\] cannot be broadcast to indexing result "
              r"of shape \[2\]", T(4), M([True, False, True, False]), T(3)),
        ],
    ),
]  # fmt: skip
