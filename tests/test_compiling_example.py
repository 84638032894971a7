"""The example overlay that compiles graphs is used by programs, and gives what is composed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "plugins" / "tensorbus-c-graphs"
PROGRAM = """
import json
import numpy as np
import tensorbus as torch
from tensorbus import discovery
from tensorbus_c_graphs import kernels

F = torch.nn.functional
calls = []
call = kernels.Pointwise.__call__
def counted(self, *inputs, out=None):
    made = call(self, *inputs, out=out)
    calls.append(made is not NotImplemented)
    return made
kernels.Pointwise.__call__ = counted

x = (torch.arange(40_000.0).reshape(200, 200) - 2e4) / 7e3
y = x.flip(0) * 0.5 + 0.1
programs = {
    "hardswish": lambda x, y: F.hardswish(x),
    "transposed": lambda x, y: F.hardswish(x.T),
    "strided": lambda x, y: F.smooth_l1_loss(x[:, ::2], y[:, ::2], reduction="none"),
    "broadcast": lambda x, y: F.huber_loss(x, y[:1].expand(200, 200), reduction="none"),
    "row": lambda x, y: torch.lerp(x, y[0], 0.3),
    "special": lambda x, y: torch.nan_to_num(torch.where(x > 1, x / 0, x * 0 / 0), nan=3.0),
    "double": lambda x, y: F.softshrink(x.double()),
    "small": lambda x, y: F.hardtanh(x[:3]),
}
found = {}
for name, program in programs.items():
    results = []
    for fusion in (False, True):
        torch.set_fusion(fusion)
        calls.clear()
        for _ in range(4):
            a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
            r = program(a, b)
            r.sum().backward()
        results.append((r.detach().numpy(), a.grad.numpy()))
    off, on = results
    same = all(np.array_equal(p, q, equal_nan=True) for p, q in zip(off, on))
    near = all(np.allclose(p, q, rtol=1e-6, atol=1e-7, equal_nan=True) for p, q in zip(off, on))
    found[name] = [sum(calls), len(calls), same, near]
print(json.dumps(found))
"""


def installed(folder: Path, **variables: str) -> dict[str, str]:
    """The environment of a program that has the overlay installed."""
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text("utf-8"))["project"]
    info = folder / "tensorbus_c_graphs-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n"
    )
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items())
            for group, entries in project["entry-points"].items()
        )
    )
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(FOLDER)]), **variables}


def ran(program: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_what_it_compiles_equals_what_is_composed(tmp_path: Path) -> None:
    done = ran(PROGRAM, installed(tmp_path))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    for name, (ran_, asked, _, near) in found.items():
        assert near, name
        if name == "small":
            assert asked > 0 and ran_ == 0  # declined at the call
        else:
            assert ran_ >= 2, name  # from the third call on
    assert all(found[name][2] for name in ("hardswish", "transposed", "special", "double"))


def test_without_a_compiler_ops_are_composed_after_one_warning(tmp_path: Path) -> None:
    program = """
import tensorbus as torch
x = torch.ones(100, 100)
for _ in range(5):
    assert (torch.nn.functional.hardswish(x) == 2 / 3).all()
    torch.nn.functional.softshrink(x)
"""
    done = ran(program, installed(tmp_path, PATH=str(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("overlay 'c_graphs'") == 1
    assert "no C compiler is on the path: install one of cc, gcc, clang" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["L0/compile/*", "*/hardtanh/float32/*/compiled*"])
def test_the_suite_passes_it(pattern: str, tmp_path: Path) -> None:
    program = f"""
from tensorbus_conformance import run
pattern = {pattern!r}.replace("hardtanh", "nn.functional.hardtanh")
report = run("cpu", pattern=pattern)
print(report.counts()["pass"], [(r.id, r.message) for r in report.failures])
"""
    done = ran(program, installed(tmp_path, C_GRAPHS_LEAST="0"))
    passed, _, failures = done.stdout.partition(" ")
    assert failures.strip() == "[]" and int(passed) >= 5, done.stdout + done.stderr
