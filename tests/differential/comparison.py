"""When two libraries were seen to do the same: the only place that says how far apart is equal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.differential.seen import Seen

# Two correct roundings of one operation, and a little more for functions that are not rounded
# correctly in either library: what a chain of operations or a badly conditioned one adds is
# measured (conditioning.py), not granted to all.
ULPS = {"float16": 1, "bfloat16": 1, "float32": 4, "complex64": 4}
ULPS_FLOAT64 = 4
# Of an algorithm for matrices: LAPACK promises p(n) roundings on the scale of the matrix, where p
# grows modestly (Users' Guide, chapter 4), and processors have kernels of their own.
ULPS_OF_MATRICES = 16
HALVES = ("float16", "bfloat16")
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "complex64": 2.0**-23}
EPSILON_FLOAT64 = 2.0**-52

# The texts that are PyTorch's to the letter (tests/test_error_texts.py); of others the type is.
PROMISED = re.compile(
    "The size of tensor a|output with shape|a leaf Variable|a view of a leaf|result type |"
    "one of the variables needed|Dimension out of range|shape '|only one dimension can be|"
    "element 0 of tensors does not|Trying to backward|dim .* appears multiple|"
    "One of the differentiated Tensors|view size is not compatible|too many indices"
)

# Times what PyTorch's own result moves when each of its operations is off by a rounding. Of halves
# that is already much, and both libraries compute them in float32.
WOBBLES = {"float16": 2, "bfloat16": 2}
WOBBLES_WIDE = 16


def difference(
    ours: Seen,
    theirs: Seen,
    wobbled: tuple[Seen, ...] = (),
    without: frozenset[str] = frozenset(),
    ulps: float = ULPS_OF_MATRICES,
) -> str:
    """Where two values differ, in words; empty where they agree. Facts *without* are not compared.

    "elements" among them: numbers are compared on the scale of the largest one of the tensor, to
    *ulps* roundings, as those of halves are with "elements of halves"; with "infinite or NaN",
    either is the other.
    *wobbled*: the same value in runs of PyTorch whose operations were each off by a rounding.
    """
    if ours.kind != theirs.kind:
        if any(w.kind == ours.kind for w in wobbled):
            return ""
        return f"{_told(ours)} instead of {_told(theirs)}"
    if len(ours.parts) != len(theirs.parts):
        return f"{len(ours.parts)} parts instead of {len(theirs.parts)}"
    for n, (a, b) in enumerate(zip(ours.parts, theirs.parts, strict=True)):
        others = tuple(w.parts[n] for w in wobbled if len(w.parts) == len(theirs.parts))
        if found := difference(a, b, others, without | {"writes"}, ulps):
            return f"part {n}: {found}"
    found = next(_facts(ours, theirs, without), "")
    if found and not any(not next(_facts(ours, w, without), "") for w in wobbled):
        return found
    return "" if found else _values(ours, theirs, wobbled, without, ulps)


def _facts(ours: Seen, theirs: Seen, without: frozenset[str]) -> Iterator[str]:
    a, b = ours.facts or {}, theirs.facts or {}
    for fact in b:
        if fact == "view" or fact in without or (fact == "text" and not PROMISED.match(b[fact])):
            continue
        if fact == "grad_fn" and a["view"] != b["view"]:
            continue  # a write to a fresh result that is a view inside is named as such
        if fact in ("stride", "offset") and (a["shape"] != b["shape"] or 0 in b["shape"]):
            continue
        if fact == "offset" and not (a["view"] and b["view"]):
            continue  # a fresh result may lie anywhere in a storage that nobody else has
        if fact == "type":
            # Which of PyTorch's refusals are NotImplementedErrors isn't documented.
            wanted = "RuntimeError" if b[fact][0] == "NotImplementedError" else b[fact][0]
            if wanted not in a[fact]:
                yield f"{a[fact][0]}: {a['text']} instead of {b[fact][0]}: {b['text']}"
        elif fact == "stride":
            views = a["view"] and b["view"]
            if _strides(a) != _strides(b) and (views or (_dense(b) and "order" not in without)):
                yield f"stride {tuple(a[fact])} instead of {tuple(b[fact])}, shape {b['shape']}"
        elif fact == "text":
            if _text(a[fact]) != _text(b[fact]):
                yield f"text {a[fact]!r} instead of {b[fact]!r}"
        elif a.get(fact) != b[fact]:
            yield f"{fact} {a.get(fact)!r} instead of {b[fact]!r}"


def _text(text: str) -> str:
    """A text without its hint, and without names of nodes and types that builds choose."""
    text = re.sub(r"output (\d+) of [\w:]+", r"output \1", text.partition(" Hint:")[0])
    return re.sub(r"\[CPU(\w+)Type ", r"[torch.\1Tensor ", text)


def zeros(seen: Seen) -> int:
    """How many of its numbers are 0."""
    return 0 if seen.values is None else int(np.count_nonzero(seen.values == 0))


def strides(seen: Seen) -> list[int]:
    """The strides of a tensor that lead anywhere; nothing of other values."""
    return _strides(seen.facts) if seen.facts and "stride" in seen.facts else []


def _strides(facts: dict[str, Any]) -> list[int]:
    """The strides that lead anywhere: those of a dimension of size 1 are as good as any other."""
    return [s for s, size in zip(facts["stride"], facts["shape"], strict=True) if size != 1]


def _dense(facts: dict[str, Any]) -> bool:
    """Whether it lies without gaps, and in one order only.

    What PyTorch does to the gaps of others isn't documented, and dimensions of size 1 leave two
    readings of an order (docs/architecture.md, Left out today).
    """
    if 1 in facts["shape"]:
        return False
    expected = 1
    for stride, size in sorted(zip(facts["stride"], facts["shape"], strict=True)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def _values(
    ours: Seen, theirs: Seen, wobbled: tuple[Seen, ...], without: frozenset[str], together: float
) -> str:
    a, b = ours.values, theirs.values
    if a is None or b is None or a.shape != b.shape:
        return ""
    if a.dtype != b.dtype:
        return f"numbers of {a.dtype} instead of {b.dtype}"
    dtype = (theirs.facts or {}).get("dtype", a.dtype.name)
    like = [w.values for w in wobbled if w.values is not None and w.values.shape == b.shape]
    whole = np.abs(b).astype(np.float64)
    together = together if "elements" in without else 0.0
    if "infinite or NaN" in without:
        a = np.where(np.isfinite(a) | np.isfinite(b), a, b)
    if b.size and (together or (dtype in HALVES and "elements of halves" in without)):
        whole = np.full_like(whole, np.max(whole, where=np.isfinite(whole), initial=0.0))
    if b.dtype.kind == "c":
        return _real(a.real, b.real, dtype, [w.real for w in like], whole, together) or _real(
            a.imag, b.imag, dtype, [w.imag for w in like], whole, together
        )
    return _real(a, b, dtype, like, whole, together)


def _real(
    a: np.ndarray,
    b: np.ndarray,
    dtype: str,
    like: list[np.ndarray],
    size: np.ndarray,
    together: float,
) -> str:
    """*size*: the scale on which each number is rounded, such as a complex one's absolute value.

    *together*: how many roundings of it a number of a matrix may be off; 0 for other numbers.
    """
    same = a == b
    if b.dtype.kind == "f":
        same |= np.isnan(a) & np.isnan(b)
        epsilon = EPSILON.get(dtype, EPSILON_FLOAT64)
        with np.errstate(all="ignore"):
            ulps = together or ULPS.get(dtype, ULPS_FLOAT64)
            room = ulps * epsilon * size
            for w in like:
                moved = np.abs(w.astype(np.float64) - b.astype(np.float64))
                moved = np.nanmax(moved, initial=0.0) if together else moved
                room = np.fmax(room, WOBBLES.get(dtype, WOBBLES_WIDE) * moved)
            close = np.abs(a.astype(np.float64) - b.astype(np.float64)) <= room
        same |= close & np.isfinite(a) & np.isfinite(b)
    for w in like:
        same |= w == a
        if b.dtype.kind == "f":
            same |= (np.isfinite(w) != np.isfinite(b)) & (np.isfinite(w) == np.isfinite(a))
    if same.all():
        return ""
    place = tuple(int(i) for i in np.argwhere(~same)[0])
    where = f" at {place}" if place else ""
    return f"{a[place]!r} instead of {b[place]!r}{where} ({dtype}, {int((~same).sum())} differ)"


def _told(seen: Seen) -> str:
    if seen.kind == "error":
        facts = seen.facts or {}
        return f"{facts['type'][0]}: {facts['text']}"
    return f"a {seen.kind} {seen.facts and seen.facts.get('shape', '')}"
