"""A wrong call as a script that stands alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance import layouts
from tensorbus_conformance.bench import flatten
from tensorbus_conformance.found import Found


def script(found: Found, device: str, message: str) -> str:
    """The text of a Python program that makes the call and prints got and expected."""
    lines = [f"# {found.op.name} on {device}: {line}" for line in message.splitlines()[:1]]
    lines += ["import tensorbus as torch"]
    if found.op.call is not None:  # it has no path: the suite knows how it is called
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
    lines += [f"got = {_call(found, names)}"]
    lines += ['print("got     ", got)', f'print("expected", {_expected(found.expected())})']
    return "\n".join(lines) + "\n"


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


def _expected(want: Any) -> str:
    leaves = [w.tolist() if isinstance(w, (np.ndarray, np.generic)) else w for w in flatten(want)]
    return repr(leaves[0] if len(leaves) == 1 else leaves)
