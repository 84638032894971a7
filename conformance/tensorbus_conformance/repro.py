"""A wrong call as a script that stands alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import compare, formats, layouts
from tensorbus_conformance.bench import flatten
from tensorbus_conformance.found import Found
from tensorbus_conformance.op import Op


def script(found: Found, device: str, message: str) -> str:
    """The text of a Python program that makes the call, and fails while its result is wrong."""
    lines = [f"# {found.op.name} on {device}: {line}" for line in message.splitlines()[:1]]
    lines += ["import numpy as np", "", "import tensorbus as torch"]
    if found.op.call is not None:  # it has no path: the suite knows how it is called
        lines += ["from tensorbus_conformance.bench import flatten"]
        lines += ["from tensorbus_conformance.samples import all_ops", ""]
        lines += [f"op = next(op for op in all_ops() if op.name == {found.op.name!r}).call"]
    lines += ["", 'inf, nan = float("inf"), float("nan")', f'device = "{device}"']
    names = []
    for i, (host, t, layout) in enumerate(
        zip(found.hosts, found.sample.operands(), found.layouts, strict=True)
    ):
        name = f"x{i}"
        names.append(name)
        lines += _operand(name, host, (t.dtype or found.dtype).name, layout)
    lines += [f"got = {_call(found, names)}", f"expected = {_expected(found)}"]
    lines += ['print("got     ", got)', 'print("expected", expected)', *_judgement(found)]
    return "\n".join(lines) + "\n"


def _judgement(found: Found) -> list[str]:
    """The lines that fail where a result is as wrong as the suite found it."""
    wanted = flatten(found.expected())
    one = len(wanted) == 1
    if not all(isinstance(w, (np.ndarray, np.generic)) for w in wanted):
        got = "got" if one else "flatten(got)" if found.op.call is not None else "list(got)"
        return [f'assert {got} == expected, "the result is wrong"']
    both = "got, expected" if found.op.call is None else "flatten(got), expected"
    dtypes = found.op.result_dtypes(found.dtype, len(wanted))
    scales = [None] * len(wanted) if (s := found.scale()) is None else flatten(s)
    rows = [_allowed(found.op, w, d, s) for w, d, s in zip(wanted, dtypes, scales, strict=True)]
    pairs = ", ".join(f"(torch.{d.name}, {a})" for d, a in zip(dtypes, rows, strict=True))
    return [
        "",
        "# of each result: its dtype, and the errors that are allowed, relative and absolute",
        f"allowed = [{pairs}]",
        f"pairs = zip({'[got], [expected]' if one else both}, allowed, strict=True)",
        "for result, wanted, (dtype, relative, absolute) in pairs:",
        '    assert result.dtype is dtype, f"the dtype is {result.dtype}"',
        '    assert tuple(result.shape) == np.shape(wanted), f"the shape is {result.shape}"',
        "    close = np.isclose(result.tolist(), wanted, relative, absolute, equal_nan=True)",
        '    assert close.all(), "the result is wrong"',
    ]


def _allowed(op: Op, want: np.ndarray, d: Dtype, scale: Any) -> str:
    """The relative and the absolute error from which on the suite calls a result wrong."""
    if not (d in formats.FLOATS or d in formats.COMPLEX) or op.ulp == 0:
        return "0, 0"
    epsilon = 2 * formats.unit_roundoff(d.to_real())
    if op.measure == "element" and scale is None:
        # A unit in the last place is at least half of that.
        return f"{compare.QUALITY * op.ulp * epsilon / 2}, {formats.smallest_normal(d)}"
    size = np.abs(want).max(initial=0.0) if scale is None else np.asarray(scale)
    return f"0, {(compare.QUALITY * op.ulp * epsilon * size).tolist()}"


def _operand(name: str, host: np.ndarray, dtype: str, layout: str) -> list[str]:
    made = f"torch.tensor({{}}, dtype=torch.{dtype}).to(device)"
    if layout == "contiguous":
        return [f"{name} = {made.format(_literal(host))}"]
    length, strides, offset = layouts.plan(host.shape, layout)
    buffer = np.zeros(length, host.dtype)
    layouts.window(buffer, host.shape, strides, offset)[...] = host
    flat = made.format(_literal(buffer))
    return [f"{name} = {flat}.as_strided({host.shape}, {strides}, {offset})"]


def _literal(host: np.ndarray) -> str:
    return repr(host.tolist())


def _call(found: Found, names: list[str]) -> str:
    rest = iter(names)
    args, kwargs = found.sample.replace(
        lambda _: _Name(next(rest)),
        dtype=_Name(f"torch.{found.dtype.name}"),
        device=_Name("device"),
    )
    given = [repr(a) for a in args] + [f"{k}={v!r}" for k, v in kwargs.items()]
    called = f"torch.{found.op.name}" if found.op.call is None else "op"
    return f"{called}({', '.join(given)})"


class _Name:
    """A name that is printed as it is."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _expected(found: Found) -> str:
    wanted = flatten(found.expected())
    dtypes = found.op.result_dtypes(found.dtype, len(wanted))
    leaves = [_plain(w, d) for w, d in zip(wanted, dtypes, strict=True)]
    return repr(leaves[0] if len(leaves) == 1 else leaves)


def _plain(want: Any, d: Dtype) -> Any:
    """What Python prints of a result; integers wrapped into their dtype."""
    if not isinstance(want, (np.ndarray, np.generic)):
        return want
    whole = d in formats.INTS or d is formats.BOOL
    return (want.astype(formats.value_dtype(d)) if whole else want).tolist()
