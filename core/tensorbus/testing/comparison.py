"""``assert_close``: whether what was computed is what was expected, and where it is not."""

from __future__ import annotations

import cmath
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tensorbus
from tensorbus._base.warning import warn_user

_TOLERANCES = {
    tensorbus.float16: (1e-3, 1e-5),
    tensorbus.bfloat16: (1.6e-2, 1e-5),
    tensorbus.float32: (1.3e-6, 1e-5),
    tensorbus.float64: (1e-7, 1e-7),
    tensorbus.complex64: (1.3e-6, 1e-5),
    tensorbus.complex128: (1e-7, 1e-7),
}
"""Relative and absolute, for each dtype; others are compared exactly."""
_NUMBERS: dict[type, Any] = {
    int: tensorbus.int64, float: tensorbus.float64, complex: tensorbus.complex128,
}  # fmt: skip

Message = str | Callable[[str], str]


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message | None = None,
) -> None:
    """AssertionError where ``|actual - expected| > atol + rtol * |expected|`` anywhere.

    Takes tensors, NumPy arrays, numbers, bools, None, and sequences and mappings of them. Shapes
    must be equal, and so must devices, dtypes and layouts unless their check is off. *rtol* and
    *atol* are given together or follow from the dtype (float32: 1.3e-6 and 1e-5; ints: 0). *msg*
    replaces the error's text, or makes it from the usual one. TypeError for other types.

    >>> import tensorbus
    >>> expected = tensorbus.tensor([1.0, 2.0])
    >>> tensorbus.testing.assert_close(expected + 1e-7, expected)
    >>> tensorbus.testing.assert_close({"x": 1.0}, {"x": 1.5})
    Traceback (most recent call last):
        ...
    AssertionError: Scalars are not close!
    <BLANKLINE>
    Expected 1.5 but got 1.0.
    Absolute difference: 0.5 (up to 1e-07 allowed)
    Relative difference: 0.3333333333333333 (up to 1e-07 allowed)
    <BLANKLINE>
    The failure occurred for item ['x']

    Source: https://pytorch.org/docs/stable/testing.html
    """
    __tracebackhide__ = True
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    for name, limit in (("rtol", rtol), ("atol", atol)):
        if limit is not None and not (isinstance(limit, int | float) and limit >= 0):
            raise RuntimeError(f"{name} must be a number that is not negative, but got {limit!r}.")
    how = _How(
        allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout,
        check_stride,
    )  # fmt: skip
    try:
        # What cannot be compared is found before anything is.
        for compare in list(_comparisons(actual, expected, how, "")):
            compare()
    except _Different as e:
        text = str(e)
        if callable(msg):
            text = msg(text)
        elif isinstance(msg, str):
            text = msg
    else:
        return
    raise AssertionError(text)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older ``assert_close``: dtypes may differ, and NaN equals NaN.

    >>> import tensorbus
    >>> tensorbus.testing.assert_allclose(tensorbus.tensor([1.0]), [1.00001])

    Source: https://pytorch.org/docs/stable/testing.html
    """
    warn_user(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a "
        "future release. Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
    )
    got = actual if isinstance(actual, tensorbus.Tensor) else tensorbus.tensor(actual)
    want = expected
    if not isinstance(want, tensorbus.Tensor):
        want = tensorbus.tensor(expected, dtype=got.dtype)
    if rtol is None and atol is None:
        pairs = [_ALLCLOSE.get(t.dtype, (0.0, 0.0)) for t in (got, want)]
        rtol, atol = (max(each) for each in zip(*pairs, strict=True))
    assert_close(
        got, want, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None
    )


_ALLCLOSE = {
    tensorbus.float16: (1e-3, 1e-3),
    tensorbus.float32: (1e-4, 1e-5),
    tensorbus.float64: (1e-5, 1e-8),
}


class _Different(Exception):
    """The text says where and how."""


@dataclass(frozen=True)
class _How:
    """What ``assert_close`` was asked for."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        """Relative and absolute: what was given, or the largest of the dtypes'."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        rtol, atol = zip(*(_TOLERANCES.get(d, (0.0, 0.0)) for d in dtypes), strict=True)
        return max(rtol), max(atol)


def _comparisons(actual: Any, expected: Any, how: _How, where: str) -> Iterator[Callable[[], None]]:
    """One function for each pair of values, which raises where they differ."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise _different(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", where
            )
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            yield from _comparisons(a, e, how, f"{where}[{i}]")
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, more = (
            [k for k in expected if k not in actual],
            [k for k in actual if k not in expected],
        )
        if missing or more:
            raise _different(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {_sorted(missing)}\n"
                f"Additional keys in the actual mapping: {_sorted(more)}",
                where,
            )
        for key in _sorted(list(actual)):
            yield from _comparisons(actual[key], expected[key], how, f"{where}[{key!r}]")
    else:
        compare = _pair(actual, expected, how, where)
        yield functools.partial(compare, actual, expected, how, where)


def _pair(actual: Any, expected: Any, how: _How, where: str) -> Callable[..., None]:
    """What compares the two."""
    if actual is None or expected is None:
        return _compare_none
    if all(isinstance(v, bool | np.bool_) for v in (actual, expected)):
        return _compare_bools
    if all(isinstance(v, int | float | complex | np.number) for v in (actual, expected)):
        return _compare_numbers
    mine, theirs = type(actual), type(expected)
    related = issubclass(mine, theirs) or issubclass(theirs, mine)
    if related and (how.allow_subclasses or mine is theirs):
        if isinstance(actual, tensorbus.Tensor):
            return _compare_tensors
        if isinstance(actual, np.ndarray) and actual.dtype.kind in "biufc":
            return _compare_tensors
    raise TypeError(
        f"No comparison pair was able to handle inputs of type {mine} and {theirs}." + _item(where)
    )


def _compare_none(actual: Any, expected: Any, how: _How, where: str) -> None:
    if actual is not expected:
        raise _different(f"None mismatch: {actual} is not {expected}", where)


def _compare_bools(actual: Any, expected: Any, how: _How, where: str) -> None:
    if bool(actual) is not bool(expected):
        raise _different(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}", where)


def _compare_numbers(actual: Any, expected: Any, how: _How, where: str) -> None:
    actual, expected = (v.item() if isinstance(v, np.number) else v for v in (actual, expected))
    if how.check_dtype and type(actual) is not type(expected):
        raise _different(f"The (d)types do not match: {type(actual)} != {type(expected)}.", where)
    rtol, atol = how.tolerances(
        *(next(d for t, d in _NUMBERS.items() if isinstance(v, t)) for v in (actual, expected))
    )
    _check_numbers(actual, expected, how, rtol, atol, where)


def _check_numbers(
    actual: Any, expected: Any, how: _How, rtol: float, atol: float, where: str
) -> None:
    if actual == expected:
        return
    if how.equal_nan and all(cmath.isnan(v) for v in (actual, expected)):
        return
    off = abs(actual - expected)
    if cmath.isfinite(off) and off <= atol + rtol * abs(expected):
        return
    share = off / abs(expected) if expected else float("inf")
    raise _different(
        f"{_headline('Scalars', rtol, atol)}Expected {expected} but got {actual}.\n"
        f"Absolute difference: {off}{_allowed(rtol, atol, atol)}\n"
        f"Relative difference: {share}{_allowed(rtol, atol, rtol)}",
        where,
    )


def _compare_tensors(actual: Any, expected: Any, how: _How, where: str) -> None:
    a, e = (
        v.detach() if isinstance(v, tensorbus.Tensor) else tensorbus.as_tensor(v)
        for v in (actual, expected)
    )
    checked = [("shape", True), ("device", how.check_device), ("dtype", how.check_dtype)]
    strided = a.layout == e.layout == tensorbus.strided
    checked += [("layout", how.check_layout), ("stride()", how.check_stride and strided)]
    for name in (name for name, wanted in checked if wanted):
        mine, theirs = (t.stride() if name == "stride()" else getattr(t, name) for t in (a, e))
        if mine != theirs:
            raise _different(
                f"The values for attribute {name!r} do not match: {mine} != {theirs}.", where
            )
    if a.is_meta or e.is_meta:  # there are no values to compare
        return
    rtol, atol = how.tolerances(a.dtype, e.dtype)
    common = tensorbus.promote_types(a.dtype, e.dtype)
    if a.device != e.device:
        a, e = a.cpu(), e.cpu()
    a, e = a.to(common), e.to(common)
    if a.layout != e.layout:
        a, e = (t if t.layout == tensorbus.strided else t.to_dense() for t in (a, e))
    for mine, theirs, name in _parts(a, e, where):
        limits = (0.0, 0.0) if name.endswith("indices") else (rtol, atol)
        _compare_values(mine, theirs, how, limits, where, name)


def _parts(a: Any, e: Any, where: str) -> Iterator[tuple[Any, Any, str]]:
    """The dense tensors to compare, and what they are called."""
    if a.layout == tensorbus.strided:
        yield a, e, "Tensor-likes"
        return
    kind = str(a.layout)[-3:].upper()
    counts = {"sparse dimensions": "sparse_dim"} if a.is_sparse else {}
    for what, method in (counts | {"specified values": "_nnz"}).items():
        mine, theirs = (getattr(t, method)() for t in (a, e))
        if mine != theirs:
            raise _different(
                f"The number of {what} in sparse {kind} tensors does not match: {mine} != {theirs}",
                where,
            )
    if a.is_sparse:
        yield a._indices(), e._indices(), "Sparse COO indices"
        yield a._values(), e._values(), "Sparse COO values"
        return
    from tensorbus.sparse.invariants import names_of  # here: most compare strided tensors

    for method in names_of(a.layout)[:2]:
        mine, theirs = (getattr(t, method)().to(tensorbus.int64) for t in (a, e))
        yield mine, theirs, f"Sparse {kind} {method}"
    yield a.values(), e.values(), f"Sparse {kind} values"


def _compare_values(
    a: Any, e: Any, how: _How, limits: tuple[float, float], where: str, name: str
) -> None:
    rtol, atol = limits
    matches = tensorbus.isclose(a, e, rtol=rtol, atol=atol, equal_nan=how.equal_nan)
    if matches.all():
        return
    if not a.dim():
        _check_numbers(a.item(), e.item(), how, rtol, atol, where)
    raise _different(_summary(a, e, matches, rtol, atol, name), where)


def _summary(a: Any, e: Any, matches: Any, rtol: float, atol: float, name: str) -> str:
    """How many elements differ, and the greatest differences with their indices."""
    if not a.dtype.is_floating_point and not a.dtype.is_complex:
        a, e = a.to(tensorbus.int64), e.to(tensorbus.int64)
    off = (a - e).abs().masked_fill(matches, 0)
    share = (off / e.abs()).masked_fill(matches, 0)
    lines = []
    for kind, values, limit in (("absolute", off, atol), ("relative", share, rtol)):
        at = int(values.flatten().argmax())
        index = tuple(int(i) for i in np.unravel_index(at, values.shape))
        lines.append(
            f"Greatest {kind} difference: {values[index].item()} at index {index}"
            f"{_allowed(rtol, atol, limit)}"
        )
    wrong, total = int((~matches).sum()), matches.numel()
    return (
        f"{_headline(name, rtol, atol)}Mismatched elements: {wrong} / {total} "
        f"({wrong / total:.1%})\n" + "\n".join(lines)
    )


def _headline(what: str, rtol: float, atol: float) -> str:
    return f"{what} are not {'close' if rtol or atol else 'equal'}!\n\n"


def _allowed(rtol: float, atol: float, limit: float) -> str:
    return f" (up to {limit} allowed)" if rtol or atol else ""


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _sorted(keys: list[Any]) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return keys


def _item(where: str) -> str:
    return f"\n\nThe failure occurred for item {where}" if where else ""


def _different(text: str, where: str) -> _Different:
    return _Different(text + _item(where))
