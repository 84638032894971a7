"""Casts, fills and copies go through overlays that list ``copy_``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import tensorbus as torch
from tensorbus._dispatch.kinds import Kind

OVERLAY = """
from tensorbus.plugin import Overlay, OverlaySpec, hookimpl

seen = []

class {name}(Overlay):
    name = "{name}"
    def __init__(self, backend):
        self.backend = backend
    def copy_(self, dst, dst_dtype, src, src_dtype):
        seen.append(("{name}", dst_dtype.name, src_dtype and src_dtype.name))
        if {declines}:
            return NotImplemented
        dst[...] = {value}

@hookimpl
def tensorbus_overlay():
    return OverlaySpec("{name}", "cpu", ("copy_",), load={name}, priority={priority},
                       supports=lambda op, dtype, index: dtype.name != "uint8")
"""
PROGRAM = """
import json, sys
import tensorbus as torch
import {modules}

x, i = torch.arange(6.0).reshape(2, 3), torch.arange(6).reshape(2, 3)
calls = {calls}
found = {{}}
for text in calls:
    for module in ({modules},):
        module.seen.clear()
    made = eval(text)
    seen = sum((module.seen for module in ({modules},)), [])
    values = made.tolist() if isinstance(made, torch.Tensor) else None
    found[text] = [seen, values]
print(json.dumps(found))
"""


def overlaid(tmp_path: Path, calls: list[str], **overlays: dict[str, Any]) -> Any:
    """What each call asked the overlays for, and gave, in a program that has them installed."""
    for name, options in overlays.items():
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[tensorbus.overlays]\n{name} = {name}\n")
        (tmp_path / f"{name}.py").write_text(OVERLAY.format(name=name, **options))
    program = PROGRAM.format(modules=", ".join(overlays), calls=calls)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_an_overlay_is_asked_for_casts_fills_and_copies(tmp_path: Path) -> None:
    of = {
        "x.to(torch.int64)": ("int64", "float32"),
        "x.bool()": ("bool", "float32"),
        "x + i": ("float32", "int64"),
        "torch.zeros(2)": ("float32", None),
        "torch.full((2,), 3)": ("int64", None),
        "torch.empty(2).fill_(4)": ("float32", None),
        "torch.zeros_like(x)": ("float32", None),
        "torch.empty(3, 2).copy_(x.T)": ("float32", "float32"),
        "x.T.contiguous()": ("float32", "float32"),
        "x.T.reshape(6)": ("float32", "float32"),
        "x.clone()": ("float32", "float32"),
        "x.clone().__setitem__(0, 5)": ("float32", None),
        "torch.cat([x, i.double()])": ("float64", "float32"),
        "torch.nn.functional.pad(x, (1, 1))": ("float32", "float32"),
        "torch.vmap(lambda t: t.double())(x)": ("float64", "float32"),
        "torch.add(x, x, out=torch.empty(2, 3))": ("float32", "float32"),
    }
    nothing = {"value": "None", "priority": 0, "declines": "True"}
    found = overlaid(tmp_path, [*of, "x.to(torch.uint8)", "x + x"], watching=nothing)
    for call, pair in of.items():
        assert ["watching", *pair] in found[call][0], call
    assert found["x.to(torch.uint8)"] == [[], [[0, 1, 2], [3, 4, 5]]]  # not supported
    assert found["x + x"] == [[], [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]]
    assert found["x.T.contiguous()"][1] == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


def test_copies_go_by_priority_and_on_where_one_declines(tmp_path: Path) -> None:
    found = overlaid(
        tmp_path,
        ["x.to(torch.int64)", "torch.full((2,), 3.0)", "x.double()"],
        low={"value": "8", "priority": 1, "declines": "dst_dtype.name == 'float64'"},
        high={"value": "9", "priority": 2, "declines": "src_dtype is not None"},
    )
    casts, fills, doubles = found.values()
    assert sorted(casts[0]) == [["high", "int64", "float32"], ["low", "int64", "float32"]]
    assert casts[1] == [[8] * 3] * 2
    assert fills == [[["high", "float32", None]], [9.0, 9.0]]
    assert len(doubles[0]) == 2 and doubles[1] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_a_kind_without_overlays_copies_by_the_backend_itself() -> None:
    kind: Kind = torch.ones(2)._k
    assert kind.copies == kind.backend.copy_
