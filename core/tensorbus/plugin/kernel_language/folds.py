"""Reductions as C text around and in the loop of a nest."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tensorbus._base.dtypes import FLOAT, INTEGER, dtype
from tensorbus.plugin.kernel_language.axes import Declined
from tensorbus.plugin.kernel_language.reduce import LANES
from tensorbus.plugin.kernel_language.types import compute_type, unsigned

EACH = f"for (int u = 0; u < {LANES}; u++) "


class FoldText(NamedTuple):
    """The C text of a reduction around and in its loop; *name* is the variable of its result."""

    name: str
    before: str
    start: str
    """At the start of a block."""
    update: str
    """For each element, in lane ``u``."""
    end: str
    """At the end of a block."""
    after: str = ""


def fold_text(
    op: str, name: str, value: str, source: dtype, target: dtype, tiled: bool = False
) -> FoldText:
    """The text of a reduction of *value*, an expression of *source*; ``Declined``.

    The lanes are of one result; where it is *tiled*, each is a result, in ``name[u]``.
    """
    t = compute_type(target)
    lane, rest = f"{name}_lane", f"{name}_rest"
    half = f"for (int w = {LANES // 2}; w; w /= 2) for (int u = 0; u < w; u++) "
    total, sum_of, every, size = name, f"{lane}[0]", "", ""
    if tiled:
        total, sum_of, every, size = f"{name}[u]", f"{lane}[u]", EACH, f"[{LANES}]"
        rest += "[u]"

    def fold(first: str, join: Callable[[str, str], str]) -> FoldText:
        lanes = "" if tiled else f"{half}{{ {join(f'{lane}[u]', f'{lane}[u + w]')} }}\n"
        return FoldText(
            total,
            f"{t} {name}{size};\n{every}{total} = {first};\n",
            f"{t} {lane}[{LANES}];\n{EACH}{lane}[u] = {first};\n",
            f"{{ {t} v = {value}; {join(f'{lane}[u]', 'v')} }}\n",
            f"{lanes}{every}{{ {join(total, sum_of)} }}\n",
        )

    if op == "sum" and target.category == FLOAT:
        plain = fold("0", lambda a, v: f"{a} += {v};")
        joined = "" if tiled else f"{half}{lane}[u] += {lane}[u + w];\n"
        joined += (
            f"{every}{{ {t} v = {sum_of}, s = {total} + v;\n"
            f"{rest} += fabs({total}) >= fabs(v) ? ({total} - s) + v : (v - s) + {total};\n"
            f"{total} = s; }}\n"
        )
        return plain._replace(
            before=f"{t} {name}{size}, {name}_rest{size};\n{every}{{ {total} = 0; {rest} = 0; }}\n",
            end=joined,
            after=f"{every}if (fabs({rest}) < INFINITY) {total} += {rest};\n",
        )
    if op in ("sum", "prod") and target.category == INTEGER:
        u, sign = unsigned(t), "+" if op == "sum" else "*"
        return fold(str(int(op == "prod")), lambda a, v: f"{a} = ({t})(({u}){a} {sign} ({u}){v});")
    if op == "prod" and target.category == FLOAT:
        return fold("1", lambda a, v: f"{a} *= {v};")
    if op in ("amax", "amin") and source.category == FLOAT:
        sign, least = (">", "-INFINITY") if op == "amax" else ("<", "INFINITY")
        return fold(least, lambda a, v: f"{a} = {v} {sign} {a} || {v} != {v} ? {v} : {a};")
    raise Declined
