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
    lines += ["", 'inf, nan = float("inf"), float("nan")']
    lines += ["infj, nanj = complex(0, inf), complex(0, nan)", f'device = "{device}"']
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
    expected = found.expected()
    wanted, one = flatten(expected), not isinstance(expected, (tuple, list))
    if not all(isinstance(w, (np.ndarray, np.generic)) for w in wanted):
        got = "got" if one else "flatten(got)" if found.op.call is not None else "list(got)"
        return [f'assert {got} == expected, "the result is wrong"']
    both = "got, expected" if found.op.call is None else "flatten(got), expected"
    dtypes = found.op.result_dtypes(found.dtype, len(wanted))
    scales = [None] * len(wanted) if (s := found.scale()) is None else flatten(s)
    rows = [_allowed(found.op, w, d, s) for w, d, s in zip(wanted, dtypes, scales, strict=True)]
    pairs = ", ".join(
        f"(torch.{d.name}, {np.shape(w)}, {relative}, {absolute.tolist()}, "
        f"{_nearest(w, d, relative, absolute)})"
        for w, d, (relative, absolute) in zip(wanted, dtypes, rows, strict=True)
    )
    return [
        "",
        "# of each result: its dtype, its shape, the allowed errors, relative and absolute,",
        "# and the nearest values of the dtype where they are farther away (beyond its range: inf)",
        f"allowed = [{pairs}]",
        f"pairs = zip({'[got], [expected]' if one else both}, allowed, strict=True)",
        "for result, wanted, (dtype, shape, relative, absolute, nearest) in pairs:",
        '    assert result.dtype is dtype, f"the dtype is {result.dtype}"',
        '    assert tuple(result.shape) == shape, f"the shape is {result.shape}"',
        "    close = np.isclose(result.tolist(), wanted, relative, absolute, equal_nan=True)",
        "    if nearest is not None:",
        "        close |= np.isclose(result.tolist(), nearest, 0, 0, equal_nan=True)",
        '    assert close.all(), "the result is wrong"',
    ]


def _allowed(op: Op, want: np.ndarray, d: Dtype, scale: Any) -> tuple[float, np.ndarray]:
    """The relative and the absolute error from which on the suite calls a result wrong."""
    if not (d in formats.FLOATS or d in formats.COMPLEX) or op.ulp == 0:
        return 0.0, np.zeros(())
    epsilon = 2 * formats.unit_roundoff(d)
    if compare.by_element(d, op.measure, scale):
        # A unit in the last place is at least half of that.
        bound = compare.element_bound(op.ulp, d)
        return compare.QUALITY * bound * epsilon / 2, np.array(formats.smallest_normal(d))
    size = compare.magnitude(want) if scale is None else np.asarray(scale)
    absolute = compare.QUALITY * compare.scale_bound(op.ulp, d) * epsilon * size
    return 0.0, np.minimum(absolute, np.finfo(np.float64).max)  # isclose warns of inf


def _nearest(want: np.ndarray, d: Dtype, relative: float, absolute: np.ndarray) -> Any:
    """The rounded values, which are right at any tolerance, or None where it holds them."""
    if d not in (*formats.FLOATS, *formats.COMPLEX):
        return None
    nearest = formats.round_to(want, d)
    held = np.isclose(nearest, want, relative, absolute, equal_nan=True)
    return None if held.all() else nearest.tolist()


def _operand(name: str, host: np.ndarray, dtype: str, layout: str) -> list[str]:
    made = f"torch.tensor({{}}, dtype=torch.{dtype}).to(device)"
    if layout == "contiguous":
        # A list can't say the sizes that follow a size of 0.
        shaped = "" if host.size else f".reshape({host.shape})"
        return [f"{name} = {made.format(_literal(host))}{shaped}"]
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
    expected = found.expected()
    wanted = flatten(expected)
    dtypes = found.op.result_dtypes(found.dtype, len(wanted))
    leaves = [_plain(w, d) for w, d in zip(wanted, dtypes, strict=True)]
    return repr(leaves if isinstance(expected, (tuple, list)) else leaves[0])


def _plain(want: Any, d: Dtype) -> Any:
    """What Python prints of a result; integers wrapped into their dtype."""
    if not isinstance(want, (np.ndarray, np.generic)):
        return want
    whole = d in formats.INTS or d is formats.BOOL
    return (want.astype(formats.value_dtype(d)) if whole else want).tolist()
