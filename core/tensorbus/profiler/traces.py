"""Profiles as files: traces that Chrome and Perfetto show, and stacks for flame graphs."""

from __future__ import annotations

import gzip
import json
import os
import socket
from collections.abc import Iterable, Mapping
from typing import Any


def trace_of(events: Iterable[Any], notes: Mapping[str, Any], base: int) -> dict[str, Any]:
    """The trace as a dict: event times count from *base*, nanoseconds since 1970."""
    process = os.getpid()
    made: list[dict[str, Any]] = []
    threads: set[int] = set()
    for event in events:
        threads.add(event.thread)
        span = event.time_range
        args: dict[str, Any] = {"External id": event.id, "Sequence number": event.sequence_nr}
        if event.input_shapes:
            args["Input Dims"] = event.input_shapes
        if event.stack:
            args["Call stack"] = ";".join(event.stack)
        if event.args is not None:
            args["Args"] = event.args
        for device, (launches, written) in event.usage.items():
            args["Device"], args["Launches"], args["Bytes written"] = device, launches, written
        if event.cpu_memory_usage:
            args["Bytes allocated"] = event.cpu_memory_usage
        made.append(
            {
                "ph": "X",
                "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
                "name": event.trace_name,
                "pid": process,
                "tid": event.thread,
                "ts": round(span.start, 3),
                "dur": round(span.elapsed_us(), 3),
                "args": args,
            }
        )
    named: list[dict[str, Any]] = [_named("process_name", "python", process, 0)]
    named += [_named("thread_name", f"thread {t}", process, t) for t in sorted(threads)]
    return {
        "schemaVersion": 1,
        "deviceProperties": [],
        "host_name": socket.gethostname(),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base,
        **notes,
        "traceEvents": named + made,
    }


def _named(what: str, name: str, process: int, thread: int) -> dict[str, Any]:
    args = {"name": name}
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "ts": 0, "args": args}


def write_trace(path: Any, events: Iterable[Any], notes: Mapping[str, Any], base: int) -> None:
    """Write the trace as JSON, compressed where the path ends in ``.gz``."""
    path = os.fspath(path)
    text = json.dumps({**trace_of(events, notes, base), "traceName": path})
    if path.endswith(".gz"):
        with gzip.open(path, "wt", encoding="utf-8") as packed:
            packed.write(text)
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def write_stacks(path: Any, events: Iterable[Any], metric: str) -> None:
    """A line for each event with a stack: its frames from the outermost, and its microseconds."""
    with open(path, "w", encoding="utf-8") as file:
        for event in events:
            value = int(getattr(event, metric))
            if event.stack and value > 0:
                frames = ";".join(line.translate(_PLAIN) for line in reversed(event.stack))
                file.write(f"{frames} {value}\n")


_PLAIN = str.maketrans(" ;\t\n", "____")
