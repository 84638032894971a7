"""The programs of the gallery run on each device, wait for none inside a step, and learn.

A new file in ``examples/gallery`` is tested without being named here. A step may read values from
its device in a ``print(...)``, and in lines that say why: ``# host: the game runs in Python``.
"""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import usable_or_skip

import tensorbus as torch

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "examples" / "gallery"
PROGRAMS = sorted(GALLERY.glob("*.py"))
NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"

programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)


def lines_in(program: Path) -> int:
    """All of them: docstring, imports and empty ones too."""
    return len(program.read_text("utf-8").splitlines())


def shown(program: Path) -> str:
    """The output in the docstring, below the command that it is of."""
    command = f"$ python examples/gallery/{program.name}\n"
    doc = ast.get_docstring(ast.parse(program.read_text("utf-8"))) or ""
    assert command in doc, f"the docstring lacks the line {command!r} with its output"
    return doc.partition(command)[2].partition("\n\n")[0]


def claims(program: Path) -> list[tuple[str, str, float]]:
    """What the docstring promises: of "Reaches loss below 0.5." the name, the word, the number."""
    doc = ast.get_docstring(ast.parse(program.read_text("utf-8"))) or ""
    found = re.findall(rf"Reaches (.+?) (below|above) ({NUMBER})", " ".join(doc.split()))
    assert found, "the docstring lacks a sentence such as 'Reaches loss below 0.5.'"
    return [(name, word, float(number)) for name, word, number in found]


def check_claims(program: Path, output: str) -> None:
    for name, word, bound in claims(program):
        values = re.findall(rf"{re.escape(name)} ({NUMBER})", output)
        assert values, f"no number after {name!r} in the output:\n{output}"
        assert (float(values[-1]) < bound) == (word == "below"), f"{name}: {values}"


def in_step(program: Path, stacks: list[list[int]]) -> list[int]:
    """The lines in loops, or 0 for another thread, that wait for the device and don't say why."""
    text = program.read_text("utf-8")
    loops, allowed = set(), {i for i, line in enumerate(text.splitlines(), 1) if "# host: " in line}
    for node in ast.walk(ast.parse(text)):
        span = range(getattr(node, "lineno", 0), (getattr(node, "end_lineno", 0) or 0) + 1)
        if isinstance(node, (ast.For, ast.While)):
            loops.update(span)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
            allowed.update(span)
    return [
        stack[0] if stack else 0
        for stack in stacks
        if (loops & {*stack} or 0 in stack) and not allowed & {*stack}
    ]


def run(program: Path, device: str, tmp_path: Path, *steps: str) -> str:
    """What the program prints, where nothing may run on another device and no step may wait."""
    report = tmp_path / "waits.json"
    command = [sys.executable, str(ROOT / "tests" / "support" / "gallery.py")]
    done = subprocess.run(
        [*command, str(report), str(program), device, *steps],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"TENSORBUS_FALLBACK": "error"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if device != "cpu":
        assert in_step(program, json.loads(report.read_text("utf-8"))) == []
    return done.stdout


@programs
def test_a_program_is_short_and_states_what_it_reaches(program):
    assert lines_in(program) <= 60
    check_claims(program, shown(program))
    assert f"[{program.stem}]({program.name})" in (GALLERY / "README.md").read_text("utf-8")


def test_twelve_programs_are_of_at_most_thirty_lines():
    assert sum(lines_in(program) <= 30 for program in PROGRAMS) >= 12


@pytest.mark.slow
@programs
def test_two_steps_run_without_another_device_or_a_wait(program, device, tmp_path):
    run(program, device, tmp_path, "2")


@pytest.mark.long
@programs
def test_the_whole_run_reaches_what_the_docstring_states(program, device, tmp_path):
    output = run(program, device, tmp_path)
    check_claims(program, output)

    def lines_of(text: str) -> set[str]:
        return {re.sub(NUMBER, "0", line.strip()) for line in text.splitlines()}

    measured = {line for line in lines_of(shown(program)) if "0" in line}
    assert measured <= lines_of(output), "the docstring shows other lines than the program prints"


@pytest.mark.slow
def test_a_wait_in_a_step_is_found(tmp_path, device):
    """The counter counts: a value read at each step, in a helper that a loop or a thread calls."""
    program = tmp_path / "reads.py"
    program.write_text(
        "import sys, threading\n"
        "import tensorbus as torch\n"
        "def step(x):\n"
        "    return x.sum().item()\n"
        "def main(device, steps='3'):\n"
        "    x = torch.ones(3, device=device)\n"
        "    for _ in range(int(steps)):\n"
        "        step(x)\n"
        "        print(step(x))\n"
        "        step(x)  # host: said\n"
        "    step(x)\n"
        "    thread = threading.Thread(target=step, args=(x,))\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "main(*sys.argv[1:])\n"
    )
    if device == "cpu":
        assert run(program, device, tmp_path) == "3.0\n" * 3
        return
    with pytest.raises(AssertionError, match=r"\[4, 4\] == \[\]"):
        run(program, device, tmp_path)


@pytest.mark.slow
def test_the_qrnn_is_right_and_takes_at_most_half_the_time_of_the_lstm(device, monkeypatch):
    """Its recurrence beside one in float64; steps of both layers, by turns, in processor time."""
    monkeypatch.syspath_prepend(str(GALLERY))
    program = runpy.run_path(str(GALLERY / "qrnn.py"))
    a, b, seed = np.random.default_rng(0).uniform(size=(3, 9, 2, 5))
    leaves = [torch.tensor(x.astype("float32"), device=device, requires_grad=True) for x in (a, b)]
    found = program["Scan"].apply(*leaves)
    grads = torch.autograd.grad(found, leaves, torch.tensor(seed, device=device).float())
    h, da, db, g = np.zeros((10, 2, 5)), np.zeros((9, 2, 5)), np.zeros((9, 2, 5)), 0.0
    for t in range(9):
        h[t] = a[t] * h[t - 1] + b[t]
    for t in reversed(range(9)):
        g = db[t] = seed[t] + g
        da[t] = g * h[t - 1]
        g = g * a[t]
    for x, expected in zip((found, *grads), (h[:9], da, db), strict=True):
        np.testing.assert_allclose(x.detach().cpu().numpy(), expected, rtol=1e-5, atol=1e-5)
    if device == "cpu":
        return  # the kernel is for OpenCL

    layers = {"qrnn": program["QRNN"](64, 384), "lstm": torch.nn.LSTM(32, 128)}
    x, costs = torch.randn(64, 16, 32, device=device), {name: [] for name in layers}
    for turn in range(8):
        for name, layer in layers.items():
            before = time.process_time()
            layer.to(device).zero_grad()
            result = layer(x) if name == "qrnn" else layer(x)[0]
            result.sum().backward()
            next(layer.parameters()).grad[0, 0].item()
            if turn >= 3:  # then all is compiled
                costs[name].append(time.process_time() - before)
    assert min(costs["qrnn"]) < min(costs["lstm"]) / 2, costs


@pytest.mark.slow
def test_a_batch_is_split_over_nine_devices(tmp_path):
    usable_or_skip("opencl")
    pyopencl = pytest.importorskip("pyopencl")
    if {p.name for p in pyopencl.get_platforms()} != {"Portable Computing Language"}:
        pytest.skip("only PoCL makes several devices of one")
    done = subprocess.run(
        [sys.executable, str(GALLERY / "data_parallel.py"), "opencl", "2"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"TENSORBUS_FALLBACK": "error", "POCL_DEVICES": " ".join(["basic"] * 9)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("9 devices: accuracy ")
