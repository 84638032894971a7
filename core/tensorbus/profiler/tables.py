"""Averages of events as a table of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorbus.profiler.units import check_unit, memory_text, share_text, time_text

_WIDTH = 12
_GAP = "  "
_SCALES = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


class _Column:
    def __init__(self, title: str, width: int = _WIDTH, left: bool = False):
        self.title = title
        self.width = width
        self.left = left

    def cell(self, text: str) -> str:
        """A text with the spaces that the column wants, and the gap behind it."""
        return (text.ljust if self.left else text.rjust)(self.width) + _GAP

    def rule(self) -> str:
        """The line above and below the titles."""
        return "-" * self.width + _GAP


def table(
    events: Sequence[Any],
    *,
    sort_by: str | None,
    row_limit: int,
    widths: tuple[int, int, int],
    header: str | None,
    profile_memory: bool,
    with_flops: bool,
    top_level_only: bool,
    time_unit: str | None,
    footer: Sequence[str],
) -> str:
    """The table of averages, or of single events; *widths* are those of source, name and shapes."""
    if not events:
        return ""
    check_unit(time_unit)
    whole = sum(e.self_cpu_time_total for e in events)
    if sort_by is not None:
        events = sorted(events, key=lambda e: _sort_key(e, sort_by), reverse=True)
    if top_level_only:
        events = [e for e in events if e.cpu_parent is None]
    shown = events if row_limit < 0 else events[:row_limit]
    name_width = _wide_enough([str(e.key) for e in events], widths[1])
    shapes = any(e.input_shapes for e in events)
    stacks = any(e.stack for e in events)
    scale, scale_name = _flops_scale(events)

    columns = [_Column("Name", name_width)]
    columns += [_Column(t) for t in ("Self CPU %", "Self CPU", "CPU total %", "CPU total")]
    columns.append(_Column("CPU time avg"))
    if profile_memory:
        columns += [_Column("CPU Mem"), _Column("Self CPU Mem")]
    columns.append(_Column("# of Calls"))
    if shapes:
        texts = [str(e.input_shapes) for e in events]
        columns.append(_Column("Input Shapes", _wide_enough(texts, widths[2])))
    if stacks:
        sources = [line for e in events for line in e.stack or ()]
        columns.append(_Column("Source Location", _wide_enough(sources, widths[0]), left=True))
    if with_flops:
        columns.append(_Column(f"Total {scale_name}"))

    lines: list[str] = []
    full = "".join(c.rule() for c in columns)
    if header is not None:
        lines += ["=" * len(full.rstrip()), header]
    if top_level_only:
        lines += ["=" * len(full.rstrip()), "This report only display top-level ops statistics"]
    lines += [full, "".join(c.cell(c.title) for c in columns), full]
    for e in shown:
        values = [
            _short(str(e.key), name_width),
            share_text(e.self_cpu_time_total, whole),
            time_text(e.self_cpu_time_total, time_unit),
            share_text(e.cpu_time_total, whole),
            time_text(e.cpu_time_total, time_unit),
            time_text(e.cpu_time, time_unit),
        ]
        if profile_memory:
            values += [memory_text(e.cpu_memory_usage), memory_text(e.self_cpu_memory_usage)]
        values.append(str(e.count))
        if shapes:
            values.append(str(e.input_shapes)[: widths[2]])
        if stacks:
            values.append(_end(e.stack[0], widths[0]) if e.stack else "")
        if with_flops:
            values.append(f"{e.flops * scale:.3f}" if e.flops else "--")
        lines.append("".join(c.cell(v) for c, v in zip(columns, values, strict=True)))
        if stacks:
            lines += [
                "".join(c.cell(_end(line, widths[0]) if c.left else "") for c in columns)
                for line in (*(e.stack or ())[1:], "")
            ]
    lines += [full, f"Self CPU time total: {time_text(whole, time_unit)}", *footer]
    return "\n".join(lines) + "\n"


def _sort_key(event: Any, name: str) -> Any:
    name = name.replace("cuda", "device")
    try:
        return getattr(event, name)
    except AttributeError:
        raise AttributeError(
            f"{type(event).__name__!r} object has no attribute {name!r}: sort by cpu_time, "
            "cpu_time_total, self_cpu_time_total, cpu_memory_usage, self_cpu_memory_usage, count, "
            "flops, launches or written"
        ) from None


def _wide_enough(texts: Sequence[str], most: int) -> int:
    return min(max(map(len, texts), default=0) + 4, most)


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _end(path: str, width: int) -> str:
    """The end of a path, which says more than its beginning."""
    return path if len(path) <= width else "..." + path[3 - width :]


def _flops_scale(events: Sequence[Any]) -> tuple[float, str]:
    counts = [e.flops for e in events if e.flops]
    if not counts:
        return 1.0, _SCALES[0]
    power = min(max(0, int(math.log10(min(counts)) / 3)), len(_SCALES) - 1)
    return 1000.0**-power, _SCALES[power]
