"""Einstein's notation: contractions, and sums of one operand."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance.op import ANY, NUMBERS, E, S, T
from tensorbus_conformance.samples.linalg import magnitude, product, whole


def _einsum(*args: Any) -> Any:
    equation, *operands = (whole(a) for a in args)
    if isinstance(equation, str) and "..." in equation and "..." not in equation.split("->")[-1]:
        equation = equation.replace("...", "z")  # NumPy sums over letters only
    return np.einsum(equation, *operands, optimize=False)


_SAY = r"einsum\(\): "
_CHARACTER = (
    r"invalid subscript given at index {} in the equation string, subscripts must be in \[a-zA-Z\]"
)
_COUNT = r"the number of subscripts in the equation \({}\) {} the number of dimensions \({}\) for "

_PRODUCTS = [
    S("matrices", "ij,jk->ik", T(2, 3), T(3, 4)),
    S("implied", "ij,jk", T(2, 3), T(3, 4)),
    S("implied-order", "kj,ji", T(2, 3), T(3, 4)),
    S("transposed", "ij,kj->ki", T(2, 3), T(4, 3)),
    S("batches", "bij,bjk->bik", T(2, 3, 2), T(2, 2, 3)),
    S("batch-last", "ijb,jkb->bki", T(2, 3, 2), T(3, 2, 2)),
    S("inner", "i,i->", T(4), T(4)),
    S("inner-implied", "i,i", T(4), T(4)),
    S("frobenius", "ij,ij->", T(2, 3), T(2, 3)),
    S("matrix-vector", "ij,j->i", T(2, 3), T(3)),
    S("bilinear", "bi,oij,bj->bo", T(2, 3), T(4, 3, 2), T(2, 2)),
    S("three", "ij,jk,kl->il", T(2, 3), T(3, 2), T(2, 4)),
    S("capitals", "aB,Bc->ac", T(2, 3), T(3, 2)),
    S("spaces", " i j , j k -> i k ", T(2, 3), T(3, 2)),
    S("dots", "...ij,...jk->...ik", T(2, 2, 3), T(2, 3, 2)),
    S("dots-broadcast", "...ij,...jk->...ik", T(2, 1, 2, 3), T(3, 3, 2)),
    S("dots-implied", "...ij,jk", T(2, 2, 3), T(3, 2)),
    S("dots-inside", "i...j,j->...i", T(2, 2, 3), T(3)),
    S("diagonals", "ii,ij->j", T(3, 3), T(3, 2)),
    S("no-inner", "ij,jk->ik", T(2, 0), T(0, 3)),
    S("list", "ij,jk->ik", [T(2, 3), T(3, 4)]),
]
_OUTER = [
    S("outer", "i,j->ij", T(3), T(2)),
    S("pointwise", "ij,ij->ij", T(2, 3), T(2, 3)),
    S("scaled-rows", "ij,i->ij", T(2, 3), T(2)),
    S("scalar", ",ij->ij", T(), T(2, 3)),
    S("scalars", ",->", T(), T()),
    S("permuted", "ijk->kij", T(2, 3, 2)),
    S("diagonal", "ii->i", T(3, 3)),
    S("batch-diagonal", "bii->bi", T(2, 3, 3)),
    S("same", "ij->ij", T(2, 3)),
    S("dots-swapped", "...ij->...ji", T(2, 2, 3)),
]
_SUMS = [
    S("all", "ij->", T(2, 3)),
    S("rows", "ij->i", T(2, 3)),
    S("columns", "ij->j", T(2, 3)),
    S("trace", "ii", T(3, 3)),
    S("batch-trace", "bii->b", T(2, 3, 3)),
    S("dots-summed", "...ij->ij", T(2, 2, 3)),
    S("empty", "ij->i", T(2, 0)),
]
_MIXED = [
    S("ones-broadcast", "ij,jk->ik", T(2, 1), T(3, 4)),
    S("outer-sums", "ij,kl->ik", T(2, 3), T(2, 4)),
]
_LISTS = [
    S("matrices", T(2, 3), [0, 1], T(3, 4), [1, 2], [0, 2]),
    S("implied", T(2, 3), [0, 1], T(3, 4), [1, 2]),
    S("dots", T(2, 2, 3), [..., 0, 1], T(3, 2), [1, 2], [..., 0, 2]),
]


def _listed(reference: Any) -> Any:
    """The reference, where the operands may come as one list."""

    def call(equation: Any, *operands: Any) -> Any:
        flat = operands[0] if operands and isinstance(operands[0], list) else operands
        return reference(equation, *flat)

    return call


OPS = [
    product(
        "einsum", _listed(_einsum), _PRODUCTS, ulp=6.0, scale=magnitude(_listed(_einsum)),
        errors=[
            E("no-operand", ValueError, _SAY + "must specify the equation string and at least one "
              "operand, or at least one operand and its subscripts list", "ij,jk"),
            E("few", RuntimeError, _SAY + "fewer operands were provided than specified in the "
              "equation", "ij,jk", T(2, 2)),
            E("many", RuntimeError, _SAY + "more operands were provided than specified in the "
              "equation", "ij", T(2, 2), T(2, 2)),
            E("ranks", RuntimeError, _SAY + _COUNT.format(3, "does not match", 2)
              + "operand 0 and no ellipsis was given", "ijk", T(2, 2)),
            E("ranks-dots", RuntimeError, _SAY + _COUNT.format(3, "is more than", 2) + "operand 0",
              "...ijk", T(2, 2)),
            E("extents", RuntimeError, _SAY + "subscript j has size 2 for operand 1 which does not "
              "broadcast with previously seen size 3", "ij,jk", T(2, 3), T(2, 3)),
            E("repeated", RuntimeError, _SAY + "subscript i is repeated for operand 0 but the "
              "sizes don't match, 3 != 2", "ii", T(2, 3)),
            E("output-unknown", RuntimeError, _SAY + "output subscript k does not appear in the "
              "equation for any input operand", "ij->ik", T(2, 3)),
            E("output-twice", RuntimeError, _SAY + "output subscript i appears more than once in "
              "the output", "ij->ii", T(2, 3)),
            E("character", RuntimeError, _SAY + _CHARACTER.format(4), "ij,j1", T(2, 3), T(3, 2)),
            E("output-character", RuntimeError, _SAY + _CHARACTER.format(5), "ij->i1", T(2, 3)),
            E("dots-twice", RuntimeError, _SAY + r"found '\.' for operand 0 for which an ellipsis "
              "was already found", "...i...", T(2, 3)),
            E("dot", RuntimeError, _SAY + r"found '\.' for operand 0 that is not part of any "
              "ellipsis", "i.j", T(2, 3)),
            E("output-dots-twice", RuntimeError, _SAY + r"found '\.' for output but an ellipsis "
              r"\(\.\.\.\) was already found", "ij->...i...", T(2, 3)),
            E("subscript-list", ValueError, _SAY + "subscript in subscript list is not within the "
              r"valid range \[0, 52\)", T(2, 3), [0, 77]),
        ],
    ),
    product("einsum-outer", _einsum, _OUTER, dtypes=ANY, ulp=1.0, fresh=False,
            call=tensorbus.einsum),
    product("einsum-sum", _einsum, _SUMS, dtypes=NUMBERS, result="sum", call=tensorbus.einsum),
    product("einsum-summed-first", _einsum, _MIXED, dtypes=NUMBERS, result="sum", ulp=6.0,
            call=tensorbus.einsum),
    product("einsum-lists", _einsum, _LISTS, dtypes=NUMBERS, ulp=6.0, call=tensorbus.einsum),
]  # fmt: skip
