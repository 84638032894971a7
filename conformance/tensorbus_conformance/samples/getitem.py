"""``x[...]`` in all its forms."""

from __future__ import annotations

import operator
from typing import Any

from tensorbus_conformance import formats
from tensorbus_conformance.index_reference import chosen
from tensorbus_conformance.op import ANY, BOOL, E, I, M, Op, S, T


def beyond(value: int, dim: int, n: int) -> str:
    """The text for an index outside its dimension."""
    return f"index {value} is out of bounds for dimension {dim} with size {n}"


NO_INDEX = (
    r"only integers, slices \(`:`\), ellipsis \(`\.\.\.`\), None and long or byte Variables are "
    r"valid indices \(got {kind}\)"
)
_ALL = slice(None)


def _op(name: str, samples: list[Any], errors: Any = (), **more: Any) -> Op:
    more = {"dtypes": ANY, "call": operator.getitem, **more}
    return Op(f"getitem-{name}", chosen, samples, ulp=0, errors=errors, family="getitem", **more)


def _view(name: str, samples: list[Any], errors: Any = ()) -> Op:
    return _op(name, samples, errors, view=True)


def I32(data: Any) -> T:
    """An int32 index."""
    return T(data=data, dtype=formats.INT32)


OPS = [
    _view(
        "int",
        [
            S("row", T(3, 2), 1),
            S("negative", T(3, 2), -3),
            S("vector", T(3), 2),
            S("both", T(2, 3), (1, -1)),
            S("some", T(2, 3, 2), (0, 2)),
            S("tensor", T(3, 2), I(2)),
            S("empty-row", T(2, 0), 1),
        ],
        [
            E("row", IndexError, beyond(3, 0, 3), T(3, 2), 3),
            E("negative", IndexError, beyond(-4, 0, 3), T(3, 2), -4),
            E("column", IndexError, beyond(2, 1, 2), T(3, 2), (0, 2)),
            E("after-ellipsis", IndexError, beyond(-3, 1, 2), T(3, 2), (..., -3)),
            E("tensor", IndexError, beyond(5, 0, 3), T(3, 2), I(5)),
            E("too-many", IndexError, "too many indices for tensor of dimension 2",
              T(3, 2), (0, 0, 0)),
            E("scalar", IndexError,
              r"invalid index of a 0-dim tensor\. Use `tensor\.item\(\)` in Python or "
              r"`tensor\.item<T>\(\)` in C\+\+ to convert a 0-dim tensor to a number", T(), 0),
            E("empty", IndexError, beyond(0, 0, 0), T(0, 2), 0),
            E("float", IndexError, NO_INDEX.format(kind="float"), T(3, 2), 1.5),
        ],
    ),
    _view(
        "slice",
        [
            S("rows", T(5, 2), slice(1, 4)),
            S("step", T(5, 2), slice(None, None, 2)),
            S("negative", T(5), slice(-3, -1)),
            S("beyond", T(3, 2), slice(1, 9)),
            S("nothing", T(3, 2), slice(2, 1)),
            S("two", T(4, 5), (slice(1, 3), slice(0, None, 3))),
            S("last", T(2, 3, 4), (_ALL, _ALL, slice(2, None))),
            S("all", T(2, 3), _ALL),
            S("empty", T(0, 2), slice(0, 3)),
        ],
        [
            E("backwards", ValueError, "step must be greater than zero",
              T(3), slice(None, None, -1)),
            E("second-backwards", ValueError, "step must be greater than zero",
              T(3, 2), (0, slice(None, None, -1))),
            E("zero", ValueError, "slice step cannot be zero", T(3), slice(None, None, 0)),
            E("scalar", IndexError, r"slice\(\) cannot be applied to a 0-dim tensor\.", T(), _ALL),
            E("too-many", IndexError, "too many indices for tensor of dimension 1",
              T(3), (_ALL, _ALL)),
        ],
    ),
    _view(
        "basic",
        [
            S("mixed", T(3, 4, 2), (1, slice(None, 2))),
            S("ellipsis", T(2, 3, 2), (..., 1)),
            S("ellipsis-between", T(2, 3, 2), (0, ..., slice(1, None))),
            S("ellipsis-alone", T(2, 3), ...),
            S("ellipsis-of-nothing", T(2, 3), (0, ..., 1)),
            S("scalar", T(), ...),
            S("none", T(2, 3), None),
            S("none-between", T(2, 3), (_ALL, None, 1)),
            S("none-last", T(2), (..., None)),
            S("nones", T(2, 3), (None, slice(1), None, ...)),
            S("scalar-none", T(), None),
            S("nothing", T(2, 3), ()),
        ],
        [
            E("text", TypeError, NO_INDEX.format(kind="str"), T(3, 2), (0, "a")),
        ],
    ),
    _op(
        "tensor",
        [
            S("rows", T(4, 2), I([3, 0, 3])),
            S("negative", T(4, 2), I([-1, 1])),
            S("columns", T(2, 4), (_ALL, I([3, 0]))),
            S("matrix", T(4, 2), I([[0, 1], [2, 3]])),
            S("list", T(4, 2), [2, 0, 0]),
            S("int32", T(4), I32([3, 1])),
            S("one", T(4, 2), I([2])),
            S("nothing", T(4, 2), I([])),
            S("of-nothing", T(0, 2), I([])),
            S("last", T(2, 2, 3), (..., I([2, 0]))),
        ],
        [
            E("row", IndexError, beyond(4, 0, 4), T(4, 2), I([0, 4])),
            E("negative", IndexError, beyond(-5, 0, 4), T(4, 2), I([-5])),
            E("column", IndexError, beyond(7, 1, 2), T(4, 2), (_ALL, I([[0, 7]]))),
            E("list", IndexError, beyond(9, 0, 4), T(4, 2), [1, 9]),
            E("empty", IndexError, beyond(0, 0, 0), T(0, 2), I([0])),
            E("float", IndexError,
              "tensors used as indices must be long, int, byte or bool tensors",
              T(4), T(data=[0.5], dtype=formats.FLOAT32)),
        ],
    ),
    _op(
        "tensors",
        [
            S("pairs", T(3, 4), (I([0, 2, 1]), I([3, -1, 0]))),
            S("broadcast", T(3, 4), (I([[0], [2]]), I([1, 3]))),
            S("some", T(3, 4, 2), (I([0, 2]), I([1, 1]))),
            S("inner", T(2, 3, 4), (_ALL, I([0, 2]), I([1, 3]))),
            S("apart", T(2, 3, 4), (I([0, 1, 1]), _ALL, I([3, 0, 2]))),
            S("three", T(2, 3, 2), (I([0, 1]), I([2, 0]), I([1, 1]))),
            S("list", T(3, 4), ([0, 1], [2, 3])),
            S("nothing", T(3, 4), (I([]), I([]))),
        ],
        [
            E("first", IndexError, beyond(3, 0, 3), T(3, 4), (I([0, 3]), I([0, 1]))),
            E("second", IndexError, beyond(-5, 1, 4), T(3, 4), (I([0, 1]), I([0, -5]))),
            E("apart", IndexError, beyond(4, 2, 4), T(2, 3, 4), (I([0, 1]), _ALL, I([4, 0]))),
            E("shapes", IndexError,
              r"shape mismatch: indexing tensors could not be broadcast together with shapes "
              r"\[2\], \[3\]", T(3, 4), (I([0, 1]), I([0, 1, 2]))),
            E("too-many", IndexError, "too many indices for tensor of dimension 1",
              T(3), (I([0]), I([0]))),
        ],
    ),
    _op(
        "mixed",
        [
            S("int-tensor", T(2, 4), (1, I([3, 0]))),
            S("int-between", T(2, 3, 4), (I([1, 0]), 2, I([3, 0]))),
            S("int-slice-tensor", T(2, 3, 4), (0, slice(1, None), I([2, 2]))),
            S("slice-tensor", T(3, 4), (slice(None, None, 2), I([3, 1]))),
            S("none-tensor", T(3, 2), (None, I([2, 0]))),
            S("tensor-none", T(3, 2), (I([2, 0]), None)),
            S("tensor-ellipsis", T(3, 2, 2), (I([2, 0]), ..., 1)),
            S("tensor-mask", T(2, 3), (I([1, 0]), M([True, False, True]))),
        ],
        [
            E("after-int", IndexError, beyond(4, 1, 4), T(2, 4), (1, I([0, 4]))),
            E("after-int-and-slice", IndexError, beyond(-5, 2, 4),
              T(2, 3, 4), (0, _ALL, I([0, -5]))),
        ],
    ),
    _op(
        "mask",
        [
            S("rows", T(3, 2), M([True, False, True])),
            S("same", T(2, 3), M([[True, False, True], [False, False, True]])),
            S("leading", T(2, 2, 2), M([[True, False], [False, True]])),
            S("columns", T(2, 3), (_ALL, M([False, True, True]))),
            S("int", T(2, 3), (1, M([False, True, True]))),
            S("none", T(3, 2), M([False, False, False])),
            S("list", T(3), [True, False, True]),
            S("scalar", T(2, 3), True),
            S("scalar-false", T(2), False),
            S("bytes", T(3), T(data=[1, 0, 1], dtype=formats.UINT8)),
            S("empty", T(0, 2), M([])),
        ],
        [
            E("extent", IndexError,
              r"The shape of the mask \[2\] at index 0 does not match the shape of the indexed "
              r"tensor \[3, 2\] at index 0", T(3, 2), M([True, False])),
            E("second", IndexError,
              r"The shape of the mask \[3, 1\] at index 1 does not match the shape of the indexed "
              r"tensor \[3, 2\] at index 1", T(3, 2), M([[True], [True], [False]])),
            E("too-many", IndexError, "too many indices for tensor of dimension 1",
              T(2), M([[True, False]])),
        ],
    ),
    Op("getitem-own-mask", lambda x: x[x], [S("plain", T(3, 2))], dtypes=BOOL, ulp=0,
       call=lambda x: x[x], family="getitem"),
    Op("Tensor.__contains__", lambda x, value: bool((x == value).any()),
       [S("absent", T(2, 3), 77), S("present", T(data=[[1, 0], [1, 1]]), 0)],
       dtypes=ANY, ulp=0, gradient=False, call=operator.contains, family="getitem"),
]  # fmt: skip
