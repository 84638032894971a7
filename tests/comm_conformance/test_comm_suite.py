"""The comm suite: tcp and local pass, values are exact in any order, ids, choices, reports."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import json
import multiprocessing.util
import os
import re
import signal
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import tensorbus.distributed as dist
from tensorbus import cli, discovery
from tensorbus.plugin import CommContext
from tensorbus_conformance import ExceptionsError, KnownGap, Report, formats
from tensorbus_conformance.comms import about, cases, run_comm, values


# -- the comms that come with the library ----------------------------------------------------
@pytest.mark.parametrize(
    ("ranks", "profile"), [(3, "core"), pytest.param((1, 2, 4), "full", marks=pytest.mark.long)]
)
def test_local_passes(ranks, profile):
    report = run_comm("local", ranks, profile=profile, threads=True)
    assert report.ok, report.failures[:5]
    declared = {r.id for r in report.results if r.outcome == "not supported"}
    assert declared and all(id.startswith("C2/") for id in declared)
    assert report.counts()["pass"] == len(report.results) - len(declared)


def test_tcp_passes_the_core_of_c0_and_c1():
    report = run_comm("tcp", 2, "C0,C1", profile="core")
    assert report.ok, report.failures[:5]
    assert {r.outcome for r in report.results} == {"pass"} and len(report.results) > 150


def test_tcp_names_a_rank_that_is_lost():
    wanted = "C2/kill/any/rank-0-in-all_reduce,C2/hang/any/comm-all_reduce,C2/leave/*"
    report = run_comm("tcp", 3, pattern=wanted)
    assert [r.outcome for r in report.results] == ["pass"] * 4, report.failures


@pytest.mark.long
def test_tcp_passes_everything():
    assert run_comm("tcp", (2, 4), jobs=2).ok


@pytest.mark.parametrize("rounds", [10, pytest.param(100, marks=pytest.mark.long)])
def test_random_rounds_agree_with_numpy(rounds):
    report = run_comm("tcp", 4, soak=rounds, seed=rounds)
    assert len(report.results) == rounds and report.ok, report.failures[:3]
    assert report.seeds == {"soak": rounds}


def test_a_round_is_repeated_by_its_id():
    (first,) = cases.soak_cases(7, 1)
    report = run_comm("local", 2, pattern=first.id, threads=True)
    assert [r.id for r in report.results] == [f"{first.id}/2-ranks"] and report.ok
    assert report.repro(report.results[0]).endswith(f"--ranks 2 --threads -k '{first.id}'")


# -- values ----------------------------------------------------------------------------------
@pytest.mark.parametrize("d", formats.ALL, ids=lambda d: d.name)
def test_combinations_are_exact_in_any_order(d):
    for size, op in itertools.product((2, 3, 5), values.ops_of(d)):
        rows = values.operands(d, op, 50, size)
        want = values.combined(rows, op)
        assert np.array_equal(formats.round_to(rows, d), rows)
        for order in itertools.permutations(range(size)):
            total = rows[order[0]]
            for r in order[1:]:
                total = formats.round_to(values.combined(np.stack([total, rows[r]]), op), d)
            assert np.array_equal(total, want), (size, op, order)


@pytest.mark.parametrize(
    ("d", "narrow"), [(formats.FLOAT64, np.float32), (formats.FLOAT32, np.float16)]
)
def test_a_narrower_sum_would_differ(d, narrow):
    rows = values.operands(d, "sum", 1009, 2)
    with np.errstate(over="ignore"):
        low = rows.astype(narrow).sum(axis=0, dtype=narrow)
    assert (low != values.combined(rows, "sum")).mean() > 0.9


def test_values_of_ranks_differ_and_repeat():
    one, two = values.any_bits(formats.FLOAT32, 100, 0), values.any_bits(formats.FLOAT32, 100, 1)
    assert one.tobytes() != two.tobytes()
    assert one.tobytes() == values.any_bits(formats.FLOAT32, 100, 0).tobytes()


# -- ids and choices -------------------------------------------------------------------------
def test_ids_are_unique_and_can_be_found_again():
    ids = [case.id for case in cases.all_cases()]
    assert len(set(ids)) == len(ids) > 350
    assert [cases.find(id).id for id in ids] == ids
    assert [id.partition("/")[0] for id in ids] == sorted(id.partition("/")[0] for id in ids)


def test_choices():
    core, full = cases.select(profile="core"), cases.select()
    assert len(core) < len(full) * 0.75 and set(core) < set(full)
    one = cases.select(pattern="C1/all_reduce/float32/sum-1")
    assert [c.id for c in one] == ["C1/all_reduce/float32/sum-1"]
    several = cases.select(pattern="C1/all_reduce/float32/sum-1,C1/barrier/*")
    assert {c.op for c in several} == {"all_reduce", "barrier"}
    with pytest.raises(ValueError, match="unknown level C7; there are C0, C1, C2"):
        cases.select(["C7"])
    with pytest.raises(ValueError, match="profile training is for devices"):
        cases.select(profile="training")
    with pytest.raises(ValueError, match="ranks are numbers from 1"):
        run_comm("tcp", (0,))
    with pytest.raises(ValueError, match="can't be imported"):
        run_comm(lambda context: None, 2)


# -- known gaps ------------------------------------------------------------------------------
def test_known_gaps_excuse_and_are_told_when_stale():
    day = datetime.date(2099, 1, 1)
    gaps = [KnownGap("C1/barrier/*", "a reason", day)]
    report = run_comm("local", 2, pattern="C1/barrier/*", threads=True, known=gaps)
    assert report.ok and all(r.stale for r in report.results)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", None),
        ("[[exception]]\nid='C1/barrier/*'\nreason='x'\nexpires=2099-01-01", None),
        ("[[exception]]\nid='C1/nothing'\nreason='x'\nexpires=2099-01-01", "matches no case"),
        ("[[exception]]\nid='C1/barrier/*'\nreason='x'\nexpires=2001-01-01", "expired on 2001"),
        ("[[exception]]\nid='C1/barrier/*'", "lacks reason, expires"),
        ("[[exception]]\nid='C1/*'\nreason='x'\nexpires=2099-01-01", "not about one op"),
        ("[[", "not valid TOML"),
    ],
)
def test_the_exceptions_file_is_checked(tmp_path, monkeypatch, text, words):
    name = f"acme_gaps_{abs(hash(text))}"  # modules of one name are imported once
    package = tmp_path / name
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "conformance.toml").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    if words is None:
        assert len(about.known_gaps(name)) == text.count("[[")
    else:
        with pytest.raises(ExceptionsError, match=words):
            about.known_gaps(name)


# -- the command -----------------------------------------------------------------------------
def test_the_command_prints_and_writes_reports(tmp_path, capsys):
    files = {kind: tmp_path / f"report.{kind}" for kind in ("json", "junit", "html")}
    options = [word for kind, file in files.items() for word in (f"--{kind}", str(file))]
    words = ["conformance", "--comm", "local", "--threads", "--ranks", "2", "-k", "C1/barrier/*"]
    assert cli.main([*words, *options]) == 0
    out = capsys.readouterr().out
    assert "comm:local passes a part of profile full (C0, C1, C2): 3 cases that match" in out
    report = Report.read_json(files["json"])
    assert report.ok and report.versions["tensorbus"] and len(report.results) == 3
    assert json.loads(files["json"].read_text())["backend"] == "comm:local"
    assert ET.parse(files["junit"]).getroot().attrib["tests"] == "3"
    assert "comm:local" in files["html"].read_text()


def test_the_command_fails_where_a_case_does(capsys, monkeypatch):
    spec = dataclasses.replace(discovery.comm_spec("local"), threads=False)
    monkeypatch.setattr(discovery, "comm_spec", lambda name: spec)  # its ranks never meet so
    words = "conformance --comm local --ranks 2 --timeout 0.7 -k C1/barrier/any/often"
    assert cli.main(words.split()) == 1
    assert "tensorbus conformance --comm local --ranks 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--comm nosuch", "local, "),
        ("--comm tcp cpu", "--comm tcp and the device cpu do not go together"),
        ("--comm tcp --explore 1", "do not go together"),
        ("--comm tcp --ranks two", "give numbers with commas"),
        ("--comm tcp --soak 0", "1 or more"),
        ("--comm tcp --timeout -1", "above 0"),
        ("--comm tcp --profile training", "is for devices"),
        ("--comm tcp --level L1", "unknown level L1"),
        ("--comm tcp --json /nowhere/x", "there is no folder"),
        ("cpu --ranks 2", "--ranks goes with --comm NAME"),
        ("", "which device, or which comm?"),
    ],
)
def test_what_cannot_be_run_is_told(words, text, capsys):
    assert cli.main(["conformance", *words.split()]) == 2
    assert text in capsys.readouterr().err


def test_the_soak_prints_its_seed(capsys):
    words = "conformance --comm local --threads --soak 2 --seed 5 --ranks 2"
    assert cli.main(words.split()) == 0
    assert "seed of the soak: 5" in capsys.readouterr().out


# -- pages -----------------------------------------------------------------------------------
def test_what_the_pages_show_runs():
    folder = Path(__file__).parents[2] / "docs"
    page = (folder / "write-a-comm.md").read_text("utf-8")
    names: dict = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S):
        exec(block, names)
    context = CommContext("a group", 1, (4, 7), 5.0, dist.HashStore())
    error = names["late"](context, 0)
    assert error.ranks == (4,) and "rank 4 (rank 0 of its group)" in str(error)
    context.store.set("address/0", "there")
    assert names["addresses"](context, "here") == ["there", "here"]
    page = (folder / "comm-conformance.md").read_text("utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    exec(block, {"__name__": "a page"})
    ids = re.findall(r"`(C\d/\w+/\w+/[\w-]+)(?:/4-ranks)?`", page)
    assert len(ids) >= 3 and all(cases.find(id) for id in ids if "seed-S" not in id)


# -- nothing is left behind ------------------------------------------------------------------
def test_nothing_of_a_run_is_left(tmp_path, monkeypatch):
    multiprocessing.util.get_temp_dir()  # made once in a process, and there until its end
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run_comm("tcp", 2, pattern="C2/kill/any/comm-recv,C1/barrier/any/often")
    assert list(tmp_path.iterdir()) == []
    left = _children(str(tmp_path))
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def _children(folder: str) -> set[int]:
    """Processes of ranks: they write their errors into the run's folder."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            target = os.readlink(f"/proc/{pid}/fd/2")
        except OSError:
            continue
        if target.startswith(folder):
            found.add(int(pid))
    return found
