"""What PyTorch doesn't promise, and the differences that docs/coverage.md tells of."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from tests.differential.comparison import ULPS_OF_MATRICES, difference
from tests.differential.programs import Program, told
from tests.differential.seen import Seen


def unpromised(program: Program, n: int, name: str) -> frozenset[str]:
    """The facts that nothing is promised of, in what was seen *n*-th: *name* is what it is of.

    - The names of nodes are PyTorch's for one op. What a composition or a derivative ends in is
      not documented, so names are compared where nearly all lines are one op, right after it.
    - Which order the dimensions of a fresh result lie in is documented of pointwise operations,
      copies and of what keeps its input's memory format. Views are compared everywhere.
    - Factors and solutions may be views of what else was computed, in any order.
    - Reductions of halves are made of several roundings in PyTorch, each to the size of the sum.
    - Algorithms for matrices are exact to the size of the matrix, not of each element.
    - Triangular matrices with a zero on the diagonal have no solution: its numbers that aren't
      finite are infinities or NaN.
    - Gradients have the leaf's strides once they are in its ``.grad``. Whether one can be
      differentiated again tells how its rule was written; the second gradients are compared.
    """
    found = set()
    line = program.lines[n] if n < len(program.lines) else ""
    if program.family not in ("views", "indexing"):
        found.add("grad_fn")
    if program.family not in ("views", "indexing", "promotion"):
        found.add("order")
    if name.startswith("o") or "out=" in line:
        found.add("order")
    if program.family == "reductions":
        found.add("elements of halves")
    if program.family == "functions":
        found |= {"elements", "stride", "offset", "written"}
    if any("transpose_(" in earlier for earlier in program.lines[:n]):
        found.add("grad_fn")  # of what a tensor is a view of then, PyTorch has two readings
    if line.endswith(("transpose_(0, 1)", "squeeze_(0)", "squeeze_()")) or n >= len(program.lines):
        found.add("grad_fn")
    if program.family in ("linalg", "autograd"):
        found |= {"stride", "offset"}
    if program.family == "linalg":
        found.add("elements")
    if any(made.startswith(f"{name} = torch.linalg.solve_triangular(") for made in program.lines):
        found.add("infinite or NaN")
    if name.startswith(("g", "h")):
        found |= {"grad_fn", "stride", "offset", "requires_grad", "is_leaf"}
    return frozenset(found)


def mended(program: Program, theirs: Seen) -> Program | None:
    """A program of the same values without a fault of PyTorch that it meets; None if it meets none.

    - Second gradients of logcumsumexp are NaN where the first one was 0, and it takes gradients
      that are NaN for 0, so that what comes out may be any numbers. Those of sgn and angle of
      complex numbers are NaN at 0.
    - sgn of real numbers gives a gradient that PyTorch's own rules fail to write to.
    """
    lines = program.lines
    if theirs.name.startswith("h"):
        lines = [_LOGCUMSUMEXP.sub(_BY_PARTS, line) for line in lines]
        lines = [_SGN.sub(_BY_LENGTH, line) for line in lines]
        lines = [_ANGLE.sub(_OFF_0, line) for line in lines]
    if theirs.kind == "error" and "ZeroTensors are immutable" in (theirs.facts or {})["text"]:
        lines = [line.replace("torch.sgn(", "torch.sign(") for line in lines]
    return None if lines == program.lines else Program(program.family, program.seed, lines)


_LOGCUMSUMEXP = re.compile(r"(\w+)\.logcumsumexp\((-?\d+)\)")
_BY_PARTS = (
    r"(torch.stack([\1.narrow(\2, 0, n).logsumexp(\2) for n in range(1, \1.shape[\2] + 1)], \2) "
    r"if \1.dim() else \1.sum(\2))"
)
_SGN = re.compile(r"torch\.sgn\((\w+)\)")
_ANGLE = re.compile(r"torch\.angle\((\w+)\)")
_NOT_0 = r"torch.where(\1 == 0, 1, \1)"
_OFF_0 = rf"torch.where(\1 == 0, \1.detach().angle(), {_NOT_0}.angle())"
_BY_LENGTH = (
    rf"(torch.where(\1 == 0, 0, {_NOT_0} / {_NOT_0}.abs()) if \1.is_complex() else torch.sign(\1))"
)


_PARTS_OF_RESHAPED = re.compile(
    r"(?:view_as_real\((\w+)\)|\b(\w+)\.(?:real|imag)\b).*\b(?:\1|\2)\.(?:transpose|(?:un)?squeeze)_\("
)


_RUNNING = re.compile(r"\bcumm(?:ax|in)\(")
_SUM = re.compile(r"\b(?:add|sub|subtract|rsub)_?\(| [-+]=? ")


def _parts_of_sums(ours: Seen, theirs: Seen) -> bool:
    """Whether complex numbers differ only where PyTorch's alpha of 1 has spread NaN."""
    if ours.values is None or theirs.values is None or ours.values.shape != theirs.values.shape:
        return False
    if not (np.iscomplexobj(ours.values) and np.iscomplexobj(theirs.values)):
        return False
    spread = ~np.isfinite(ours.values) & np.isnan(theirs.values)
    a, b = (replace(seen, values=np.where(spread, 0, seen.values)) for seen in (ours, theirs))
    return bool(spread.any()) and not difference(a, b, (), frozenset())


_REMAINDER = re.compile(r"\bremainder_?\(| %=? ")


def _turns(ours: Seen, theirs: Seen) -> bool:
    """Whether complex numbers differ only by whole turns of their imaginary parts."""
    a, b = ours.values, theirs.values
    if a is None or b is None or a.shape != b.shape or not np.iscomplexobj(b):
        return False
    turns = np.round(np.nan_to_num(a.imag - b.imag) / (2 * np.pi))
    turned = replace(ours, values=(a - 2j * np.pi * turns).astype(b.dtype))
    return bool(turns.any()) and not difference(turned, theirs, (), frozenset({"elements"}))


def _signs_of_infinities(ours: Seen, theirs: Seen) -> bool:
    """Whether real numbers differ only in which infinity they are."""
    a, b = ours.values, theirs.values
    if a is None or b is None or a.shape != b.shape or b.dtype.kind != "f":
        return False
    other = np.isinf(a) & np.isinf(b) & (a != b)
    same = replace(ours, values=np.where(other, b, a))
    return bool(other.any()) and not difference(same, theirs, (), frozenset())


_MADE_ANEW = ("AsStridedBackward0", "ViewAsRealBackward0", "ViewAsComplexBackward0")
_UNTRACKED = re.compile(r"with torch\.no_grad\(\): v\d+ = ")


def _sides_of_pi(ours: Seen, theirs: Seen) -> bool:
    """Whether angles differ only by being pi or -pi."""
    a, b = ours.values, theirs.values
    if a is None or b is None or a.shape != b.shape or b.dtype.kind != "f":
        return False
    other = (a == -b) & (np.abs(b) == np.asarray(np.pi, b.dtype))
    same = replace(ours, values=np.where(other, b, a))
    return bool(other.any()) and not difference(same, theirs, (), frozenset())


def _infinite_for_nan(ours: Seen, theirs: Seen) -> bool:
    """Whether real numbers differ only where one is infinite that is NaN in PyTorch."""
    a, b = ours.values, theirs.values
    if a is None or b is None or a.shape != b.shape or b.dtype.kind != "f":
        return False
    other = np.isposinf(a) & np.isnan(b)
    same = replace(ours, values=np.where(other, b, a))
    return bool(other.any()) and not difference(same, theirs, (), frozenset())


def _cancelled(ours: Seen, theirs: Seen) -> bool:
    """Whether numbers are as far apart as a few roundings of 1."""
    pairs = [(a.values, b.values) for a, b in zip(ours.parts, theirs.parts, strict=True)]
    return all(
        (a is None and b is None)
        or (a is not None and b is not None and np.allclose(a, b, 0, 16 * np.finfo(a.dtype).eps))
        for a, b in pairs
    )


def _both_singular(ours: Seen, theirs: Seen) -> bool:
    """Whether two condition numbers are those of matrices that are singular but for roundings.

    The least singular value of one is known to so many roundings of the largest.
    """
    a, b = ours.values, theirs.values
    if a is None or b is None or a.shape != b.shape or b.dtype.kind != "f":
        return False
    singular = np.minimum(a, b) >= 1 / (ULPS_OF_MATRICES * np.finfo(b.dtype).eps)
    ours, theirs = (replace(s, values=np.where(singular, 0, s.values)) for s in (ours, theirs))
    return bool(singular.any()) and not difference(ours, theirs, (), frozenset({"elements"}))


def explained(program: Program, n: int, found: str, ours: Seen, theirs: Seen) -> str:
    """Why they may differ, as docs/coverage.md says under Different; empty where nothing does."""
    a, b = ours.facts or {}, theirs.facts or {}
    line = program.lines[n] if n < len(program.lines) else ""
    if theirs.kind == "error" and "not implemented for" in b["text"]:
        return "dtypes that an op of PyTorch lacks on the CPU"
    if theirs.kind == ours.kind == "error" and "not implemented for" in a["text"]:
        return "a call with two faults, of which the other one is told"
    forbidden = b.get("text", "").startswith("A view was created in no_grad mode")
    if forbidden and ours.kind == "error":
        return "such a call, of a view whose use is refused besides"
    fails = theirs.kind == "error" and "INTERNAL ASSERT FAILED" in b["text"]
    if fails and ".index_reduce" in line and "'prod'" in line:
        return "index_reduce of halves, whose products PyTorch has no kernel for in some shapes"
    if theirs.kind == "error" and "Supports only ChannelsLast3d" in b["text"]:
        return "max_pool3d without a batch of what lies channels last"
    if theirs.kind == "error" and "has been detached in-place" in b["text"]:
        return "detach_ of a tensor that a rule reads"
    late = a.get("grad_fn") in _MADE_ANEW or "more than one element" in a.get("text", "")
    if late and "a leaf Variable that" in b.get("text", ""):
        return "a write to a view whose base got a history after it was taken"
    refused = a.get("text", "").startswith(("The size of tensor a", "output with shape"))
    if refused and told(line).startswith("v") and "a leaf Variable that" in b.get("text", ""):
        return "such a write, of what does not fit besides"
    earlier = " ".join(program.lines[:n])
    filled = "more than one element" in b.get("text", "") and line.startswith("g")
    if filled and (".fill_(" in earlier or ".zero_(" in earlier):
        return "a number written to an expanded tensor, which PyTorch has no backward pass for"
    zeros = theirs.parts and all(p.values is None or not p.values.any() for p in theirs.parts)
    constant = "element 0 of tensors does not require grad" in a.get("text", "")
    if constant and zeros and _RUNNING.search(earlier):
        return "a gradient of cummax of no elements, which PyTorch's rule takes its input for"
    if line.startswith("g") and _PARTS_OF_RESHAPED.search(earlier):
        return "a view of the parts of complex numbers, whose base got another shape in place"
    if found.startswith("grad_fn 'AsStridedBackward0'") and a["view"]:
        return "a view of a view whose base got a history after it was taken"
    if _SUM.search(line) and _parts_of_sums(ours, theirs):
        return "a complex sum with NaN, whose other part PyTorch makes NaN by alpha"
    if "logcumsumexp(" in line and _turns(ours, theirs):
        return "logarithms of complex numbers, which have many values"
    if _REMAINDER.search(earlier) and _signs_of_infinities(ours, theirs):
        return "a division by a zero of remainder, which has the divisor's sign"
    if "torch.i0(" in line and _infinite_for_nan(ours, theirs):
        return "i0 of infinite numbers"
    if "linalg.cond(" in line and _both_singular(ours, theirs):
        return "condition numbers of singular matrices, which are those of roundings"
    if "angle(" in line and _sides_of_pi(ours, theirs):
        return "an angle on the negative axis, where PyTorch's neg of many loses the sign of 0"
    factors = theirs.kind == ours.kind == "parts" and line.startswith("h") and ".prod(" in earlier
    if factors and _cancelled(ours, theirs):
        return "a product divided by its only factor, which is constant but for roundings"
    if "torch.inner(" in line and a.get("text", "").endswith("not implemented for 'Bool'"):
        return "inner of booleans, which PyTorch refuses but for some strides"
    stale = "modified by an inplace operation" in a.get("text", "") and theirs.kind == "parts"
    if stale and _UNTRACKED.search(earlier):
        return "a gradient that a view taken without history throws away, but reads for"
    if b.get("is") == "torch.complex32" and a.get("is") == "torch.complex64":
        return "float16 with a complex number"
    if "slogdet" in line and found.startswith("part 0: requires_grad False"):
        return "signs of real determinants are constants"
    halves = b.get("dtype") == "complex32" or "ComplexHalf" in b.get("text", "")
    if halves and (a.get("dtype") == "complex64" or "ComplexFloat" in a.get("text", "")):
        return "float16 with a complex number"
    return ""
