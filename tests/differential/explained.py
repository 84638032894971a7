"""What PyTorch doesn't promise, and the differences that docs/coverage.md tells of."""

from __future__ import annotations

from tests.differential.programs import Program
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
    if any("transpose_(" in earlier for earlier in program.lines[:n]):
        found.add("grad_fn")  # of what a tensor is a view of then, PyTorch has two readings
    if line.endswith(("transpose_(0, 1)", "squeeze_(0)", "squeeze_()")) or n >= len(program.lines):
        found.add("grad_fn")
    if program.family in ("linalg", "autograd"):
        found |= {"stride", "offset"}
    if program.family == "linalg":
        found.add("elements")
    if name.startswith(("g", "h")):
        found |= {"grad_fn", "stride", "offset", "requires_grad", "is_leaf"}
    return frozenset(found)


def explained(line: str, found: str, ours: Seen, theirs: Seen) -> str:
    """Why they may differ, as docs/coverage.md says under Different; empty where nothing does."""
    a, b = ours.facts or {}, theirs.facts or {}
    if theirs.kind == "error" and "not implemented for" in b["text"]:
        return "dtypes that an op of PyTorch lacks on the CPU"
    if theirs.kind == ours.kind == "error" and "not implemented for" in a["text"]:
        return "a call with two faults, of which the other one is told"
    if theirs.kind == "error" and "has been detached in-place" in b["text"]:
        return "detach_ of a tensor that a rule reads"
    late = a.get("grad_fn") == "AsStridedBackward0" or "more than one element" in a.get("text", "")
    if late and "a leaf Variable that" in b.get("text", ""):
        return "a write to a view whose base got a history after it was taken"
    if found.startswith("grad_fn 'AsStridedBackward0'") and a["view"]:
        return "a view of a view whose base got a history after it was taken"
    if b.get("is") == "torch.complex32" and a.get("is") == "torch.complex64":
        return "float16 with a complex number"
    if "slogdet" in line and found.startswith("part 0: requires_grad False"):
        return "signs of real determinants are constants"
    halves = b.get("dtype") == "complex32" or "ComplexHalf" in b.get("text", "")
    if halves and (a.get("dtype") == "complex64" or "ComplexFloat" in a.get("text", "")):
        return "float16 with a complex number"
    return ""
