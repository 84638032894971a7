"""Exploration finds what no sample shows, tells it as a script, and keeps it as a sample."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tensorbus import discovery, plugin
from tensorbus_conformance import found, repro, run
from tensorbus_conformance.command import command
from tensorbus_conformance.explore import explorable, explore
from tensorbus_conformance.op import S, Sample, T
from tensorbus_conformance.runner import find_backend
from tensorbus_conformance.trial import Device

CPU = type(discovery.backend("cpu"))


class WrongInFives(CPU):
    """Its expm1 is wrong in rows of five, which no sample has."""

    def kernel(self, op, dtype, index):
        kernel = super().kernel(op, dtype, index)
        if op != "expm1":
            return kernel

        def expm1(x, out=None):
            made = kernel(x)
            if x.shape[-1:] == (5,):
                made = made + made.dtype.type(1)
            if out is None:
                return made
            out[...] = made
            return out

        return expm1


def _explore(backend, pattern: str, seconds: float = 600.0):
    with discovery.plugged(backend) as type:
        device = Device(backend, 0, type)
        return list(explore(device, explorable(pattern), seconds, seed=1))


@pytest.fixture(scope="module")
def wrong() -> tuple[found.Found, str]:
    backend = WrongInFives()
    shown = run(backend, ("L2", "L4"), "*/expm1/*", gaps=()).failures
    assert not shown, f"a sample shows it: {shown[0]}"
    calls = _explore(backend, "expm1")
    assert [call.op.name for call, _ in calls] == ["expm1"]
    return calls[0]


def test_what_is_found_is_small(wrong) -> None:
    call, message = wrong
    assert call.hosts[0].shape == (2, 5) and call.layouts == ("contiguous",)
    assert not call.hosts[0].any()
    assert "elements differ" in message


def _run(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "repro.py").write_text(text)
    words = [sys.executable, folder / "repro.py"]
    return subprocess.run(words, text=True, capture_output=True, timeout=240)


def test_the_script_stands_alone(wrong, tmp_path) -> None:
    call, message = wrong
    text = repro.script(call, "cpu", message)
    assert "tensorbus_conformance" not in text
    sound = _run(text, tmp_path)
    assert sound.returncode == 0, sound.stderr
    assert re.fullmatch(r"got +tensor\(.*\)\nexpected \[\[.*\]\]\n", sound.stdout, re.DOTALL)


def test_the_script_fails_while_the_kernel_is_wrong(wrong, tmp_path) -> None:
    text = repro.script(wrong[0], "cpu", wrong[1])
    doubled = text.replace("got = torch.expm1(x0)", "got = torch.expm1(x0) + 1e-3")
    failed = _run(doubled, tmp_path)
    assert failed.returncode == 1 and "AssertionError: the result is wrong" in failed.stderr
    other = _run(text.replace("(x0)", "(x0).reshape(-1)"), tmp_path)
    assert other.returncode == 1 and "AssertionError: the shape is" in other.stderr


def test_scripts_of_all_ops_run_and_pass(tmp_path) -> None:
    """On a sound device; one call of each op, as its first sample has it."""
    lines = []
    for op in explorable(None):
        sample = next(s for s in op.samples if s.operands())
        dtype = next(d for d in op.dtypes if sample.takes(d))
        needed = (dtype, *op.result_dtypes(dtype, 1), *(t.dtype for t in sample.operands()))
        if plugin.bfloat16 in needed:
            continue  # cpu has none
        hosts = tuple(t.make(t.dtype or dtype) for t in sample.operands())
        call = found.Found(op, sample, dtype, hosts, ("contiguous",) * len(hosts))
        lines.append(f"print({op.name!r})\n" + repro.script(call, "cpu", ""))
    done = _run("\n".join(lines), tmp_path)
    assert done.returncode == 0, f"{done.stdout.splitlines()[-3:]} {done.stderr[-600:]}"


def _call_of(name: str, sample: Sample, d: plugin.dtype, *values: list) -> found.Found:
    op = next(op for op in explorable(None) if op.name == name)
    hosts = tuple(np.array(v, d.name) for v in values)
    return found.Found(op, sample, d, hosts, ("contiguous",) * len(hosts))


BEYOND = [  # calls whose exact results are beyond the range of their dtype
    _call_of("exp", S("beyond", T(2)), plugin.float16, [12.0, 0.5]),
    _call_of("add", S("beyond", T(2), T(2)), plugin.float16, [65504.0, 1.0], [60000.0, 1.0]),
    _call_of(
        "special.hermite_polynomial_h",
        S("beyond", T(2), 9),
        plugin.float16,
        [8.0, 0.5],
    ),
    _call_of("exp", S("beyond", T(2)), plugin.complex64, [100.0 + 1.0j, 0.5]),
]


@pytest.mark.parametrize("call", BEYOND, ids=lambda call: f"{call.op.name}-{call.dtype.name}")
def test_a_script_takes_what_is_beyond_the_range_as_infinite(call, capsys) -> None:
    text = repro.script(call, "cpu", "")
    exec(text, {})
    assert "inf" in capsys.readouterr().out.partition("expected")[0]
    for wrong in ("-got", "got * 0", "got.nan_to_num(posinf=6e4)"):
        with pytest.raises(AssertionError, match="the result is wrong"):
            exec(text.replace("\nexpected = ", f"\ngot = {wrong}\nexpected = "), {})


@pytest.mark.slow
def test_every_op_can_be_explored() -> None:
    device = Device(*find_backend("cpu"))
    ops = explorable(None)
    assert len(ops) > 600
    wrong = list(explore(device, ops, 600.0, seed=3, examples=2, turns=1))
    assert wrong == [], [(call.op.name, message) for call, message in wrong]


def test_a_class_of_a_script_is_judged(tmp_path) -> None:
    script = """
from tensorbus import discovery
from tensorbus_conformance import run

class Mine(type(discovery.backend("cpu"))):
    name = "mine"

print(run(Mine(), pattern="L1/add/float32/*").ok)
"""
    assert _run(script, tmp_path).stdout == "True\n"


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided"])
def test_the_script_makes_the_call_that_was_wrong(wrong, layout, capsys) -> None:
    op = wrong[0].op
    host = np.array([[0.5, -0.25, 1.0], [2.0, -2.0, 0.0]], np.float32)
    call = found.Found(op, wrong[0].sample, plugin.float32, (host,), (layout,))
    names: dict = {}
    exec(repro.script(call, "cpu", ""), names)
    np.testing.assert_allclose(names["got"].numpy(), np.expm1(host), rtol=1e-3)
    assert names["x0"].is_contiguous() == (layout == "contiguous")
    assert "expected [[0.64" in capsys.readouterr().out


def test_what_is_found_can_be_kept_and_run_again(wrong, tmp_path) -> None:
    file = tmp_path / "found.json"
    found.save([wrong[0]], file)
    found.save([wrong[0]], file)
    assert len(json.loads(file.read_text())) == 1
    again = run(WrongInFives(), pattern="no case of the suite", gaps=(), samples=file)
    assert [r.outcome for r in again.results] == ["fail"]
    assert again.results[0].id.startswith("L2/expm1/")
    sound = run("cpu", pattern="no case of the suite", samples=file, isolate=True)
    assert [r.outcome for r in sound.results] == ["pass"]


@pytest.mark.parametrize(
    "text",
    ["", "[{}]", '[{"op": "no such op"}]', '{"op": 1}'],
    ids=["empty", "lacks", "op", "kind"],
)
def test_an_unusable_file_of_samples(tmp_path, text) -> None:
    (tmp_path / "found.json").write_text(text)
    with pytest.raises(ValueError, match="holds no samples that can be run"):
        list(found.load(tmp_path / "found.json"))


def test_nothing_is_found_on_a_sound_device() -> None:
    assert _explore(discovery.backend("cpu"), "expm1", 1.0) == []


def test_command(capsys, tmp_path) -> None:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    words = ["cpu", "--explore", "0.5", "--seed", "7", "-k", "exp"]
    assert command.run(parser.parse_args(words)) == 0
    assert "exploring " in (told := capsys.readouterr().out) and "--seed 7" in told
    assert "0 of " in told
    assert command.run(parser.parse_args([*words[:-1], "no such op"])) == 2
