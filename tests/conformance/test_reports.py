"""Reports: JSON and back, the matrix, the terminal, what a run depends on, the command."""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace

import pytest

from tensorbus import discovery
from tensorbus_conformance import (
    Report,
    ReportError,
    Result,
    print_summary,
    to_markdown,
)
from tensorbus_conformance.command import command
from tensorbus_conformance.report import (
    BLOCKED,
    CRASH,
    FAIL,
    FALLBACK,
    FORMAT,
    OUTCOMES,
    PASS,
    QUALITY,
    UNSUPPORTED,
)
from tensorbus_conformance.reporting import advice, environment, matrix
from tensorbus_conformance.reporting.failures import alike
from tensorbus_conformance.reporting.progress import Progress


# -- JSON ------------------------------------------------------------------------------------------
def test_json_is_read_back(tmp_path, sample: Report) -> None:
    report = sample
    report.write_json(tmp_path / "report.json")
    again = Report.read_json(tmp_path / "report.json")
    assert again == report
    assert {r.outcome for r in again.results} == set(OUTCOMES)
    assert again.failures == report.failures and not again.ok


def test_json_has_what_a_reader_needs(sample: Report) -> None:
    document = json.loads(sample.to_json())
    assert document["format"] == FORMAT
    assert document["ok"] is False and document["counts"]["fail"] == 5
    assert document["families"]["L1 index"] == {"cases": 3, "seconds": 0.0}
    assert document["git"]["dirty"] is True and document["seeds"] == {"explore": 7}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", document["started"])


def test_json_has_no_numbers_that_json_lacks(only: Callable[..., Report]) -> None:
    report = only(Result("L1/a/b", "f", FAIL, ulp=float("inf"), relative=float("nan")))
    again = Report.from_json(report.to_json())
    assert again.results[0].ulp is None and again.results[0].relative is None
    assert "NaN" not in report.to_json() and "Infinity" not in report.to_json()


def test_an_empty_report_is_read_back(only: Callable[..., Report]) -> None:
    assert Report.from_json(only().to_json()) == only()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "a.json is not JSON"),
        ("[]", "a.json is not a report of tensorbus conformance --json"),
        ('{"results": []}', "a.json is not a report"),
        (json.dumps({"format": FORMAT}), "a.json lacks 'backend'"),
    ],
)
def test_what_is_no_report_is_refused(text: str, message: str) -> None:
    with pytest.raises(ReportError, match=re.escape(message)):
        Report.from_json(text, "a.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 99}, f"a.json has format 99, this version reads {FORMAT}: write it again"),
        ({"results": [{"id": "L1/add"}]}, "has a result that can't be read"),
        ({"results": [{"id": "L1/a", "family": "f", "outcome": "fine"}]}, "outcome 'fine'"),
        ({"results": [{"id": "L1", "family": "f", "outcome": "pass"}]}, "id 'L1'"),
        ({"results": 7}, "can't be read"),
    ],
)
def test_a_report_of_another_format_is_refused(
    changes: dict[str, object], message: str, sample: Report
) -> None:
    text = json.dumps({**json.loads(sample.to_json()), **changes})
    with pytest.raises(ReportError, match=re.escape(message)):
        Report.from_json(text, "a.json")


# -- the matrix ------------------------------------------------------------------------------------
def _cells(report: Report) -> dict[str, matrix.Cell]:
    return {
        f"{family.level}/{op}/{dtype}": cell
        for family in matrix.build(report.results)
        for op, row in family.rows.items()
        for dtype, cell in row.items()
    }


def test_a_cell_shows_the_worst_that_was_met(sample: Report) -> None:
    cells = _cells(sample)
    assert {key: cell.state.name for key, cell in cells.items()} == {
        "L0/capabilities/any": PASS,
        "L0/copy_/float32": PASS,
        "L0/copy_/int8": PASS,
        "L1/add/float32": PASS,
        "L1/add/bfloat16": UNSUPPORTED,
        "L1/exp/float32": QUALITY,
        "L1/exp/float16": PASS,
        "L1/pow/float32": matrix.GAP,
        "L1/sum/float32": FAIL,
        "L1/sum/int8": CRASH,
        "L1/take/int8": FAIL,
        "L1/take/bool": FAIL,
        "L4/gelu/float32": FALLBACK,
        "L4/erf/float32": FALLBACK,
        "L4/norm/float32": BLOCKED,
    }
    add = cells["L1/add/float32"]
    assert (add.ulp, add.relative) == (0.5, 3.0)
    assert add.counts == {PASS: 2, UNSUPPORTED: 1}
    assert cells["L1/sum/float32"].worst.id == "L1/sum/float32/edges"


def test_every_state_has_a_symbol_of_its_own() -> None:
    assert {*OUTCOMES, matrix.GAP} == set(matrix.STATES)
    assert len({s.symbol for s in matrix.STATES.values()}) == len(matrix.STATES)


def test_columns_are_in_the_order_of_the_dtypes(sample: Report) -> None:
    families = matrix.build(sample.results)
    expected = ["bool", "int8", "float16", "bfloat16", "float32", "any"]
    assert matrix.columns(families) == expected


def test_what_runs_as_one_kernel_has_a_column_of_its_own() -> None:
    ids = {
        "L4/gelu/float32/plain": "float32",
        "L4/gelu/float32/plain/compiled": matrix.FUSED,
        "L3/gelu/float32/plain/compiled-special-grad1": matrix.FUSED,
        "L4/acos/float64/fused-held": matrix.FUSED,
        "L0/compile/float32/rows": "float32",
        "C0/init/any/fused": matrix.NO_DTYPE,
    }
    assert {id: matrix.columns_of(id) for id in ids} == {id: [c] for id, c in ids.items()}
    families = matrix.build(Result(id, "nn", PASS) for id in ids)
    assert matrix.columns(families) == ["float32", "any", "fused"]


# -- the terminal ----------------------------------------------------------------------------------
def test_summary(capsys, sample: Report) -> None:
    print_summary(sample)
    out = capsys.readouterr().out
    assert "\x1b" not in out and "\x00" not in out
    lines = out.splitlines()
    assert re.fullmatch(r"L1 pointwise +3 +1 +2 +1 +3.90 +0.0", lines[5].rstrip())
    assert "fail  L1/take/int8/a and 2 more like it" in lines
    assert "    tensorbus conformance npu:1 -k 'L1/sum/float32/edges'" in lines
    assert "known gap, 1 case: the vendor's <pow>" in lines
    assert any(
        line.startswith("excepted, yet passes, 1 case such as L1/exp/float16/edges")
        for line in lines
    )
    assert lines[-1] == "npu:1 does not conform: 5 of 18 cases fail (1.5 s)"


def test_summary_shows_the_first_failures_only(capsys, only: Callable[..., Report]) -> None:
    failures = [Result(f"L1/op{i}/int8/a", "f", FAIL, f"number {chr(65 + i)}") for i in range(30)]
    print_summary(only(*failures))
    out = capsys.readouterr().out
    assert "number T" in out and "number U" not in out
    assert "... and 10 more failures: --html FILE or --json FILE has them" in out


def test_failures_alike_are_told_once(capsys, only: Callable[..., Report]) -> None:
    def case(id: str, message: str) -> Result:
        return Result(id, "f", FAIL, message)

    failures = [
        case("L1/a/int8/x", "2 of 6 elements differ; got int8(-3)"),
        case("L1/a/int8/y", "2 of 6 elements differ; got int8(-3)"),
        case("L1/a/float32/x", "4 of 6 elements differ; got float32(1.5e-07)"),
        case("L1/a/float32/y", "raised ValueError"),
        case("L1/b/float32/y", "raised ValueError"),
    ]
    assert [len(group) for group in alike(failures)] == [2, 1, 1, 1]
    print_summary(only(*failures))
    out = capsys.readouterr().out
    assert "fail  L1/a/int8/x and 2 more like it\n" in out
    assert "fail  L1/a/float32/y\n" in out and "fail  L1/b/float32/y\n" in out


def test_the_next_op_is_the_one_most_cases_miss(
    sample: Report, only: Callable[..., Report]
) -> None:
    found = advice.missing_ops(sample)
    assert found == [advice.Missing("take", 1, 3), advice.Missing("erf", 2, 0)]
    assert advice.next_op(sample) == (
        "next op to write: take (1 case fell back to the CPU for it, "
        "3 cases failed because it is not offered)"
    )
    assert advice.next_op(only(Result("L1/add/int8/a", "pointwise", PASS))) == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_silent_where_nobody_looks(monkeypatch, sample: Report) -> None:
    quiet = io.StringIO()
    monkeypatch.setattr(sys, "stderr", quiet)
    with Progress() as progress:
        progress(sample.results[0], 1)
    assert quiet.getvalue() == ""


def test_progress_tells_how_far_it_is(monkeypatch, sample: Report) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    results = sample.results
    with Progress() as progress:
        for result in results:
            progress(result, len(results))
    assert "18/18" in screen.getvalue() and "5 failed" in screen.getvalue()


# -- what a run depends on -------------------------------------------------------------------------
def _repository(path) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
        subprocess.run(["git", "-C", str(path), *identity, *words], check=True, capture_output=True)

    git("init", "-q")
    (path / "file").write_text("one")
    git("add", "file")
    git("commit", "-qm", "first")


def test_git_state(tmp_path, monkeypatch) -> None:
    assert environment.git_state("json", tmp_path) is None
    checkout = tmp_path / "checkout"
    package = checkout / "untracked_plugin"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(checkout)
    _repository(checkout)
    environment.git_state.cache_clear()
    # The plugin lies in the checkout as an environment's site-packages may: it isn't part of it.
    assert environment.git_state("untracked_plugin", tmp_path) is None
    state = environment.git_state("json", checkout)
    assert re.fullmatch("[0-9a-f]{40}", state.pop("commit"))
    assert state == {"dirty": False, "of": "working directory"}
    (checkout / "file").write_text("two")
    subprocess.run(["git", "-C", str(checkout), "add", "."], check=True)
    environment.git_state.cache_clear()
    state = environment.git_state("untracked_plugin", tmp_path)
    assert state["of"] == "backend" and state["dirty"] is True
    environment.git_state.cache_clear()


def test_without_git_there_is_no_state(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    environment.git_state.cache_clear()
    assert environment.git_state("json", tmp_path) is None
    environment.git_state.cache_clear()


def test_what_a_run_is_described_by(sample: Report) -> None:
    cpu = discovery.backend("cpu")
    report = replace(sample, backend="cpu", index=0)
    environment.complete(report, cpu)
    assert {"python", "numpy", "tensorbus", "platform"} <= set(report.versions)
    assert set(report.capabilities["dtypes"]) == {d.name for d in cpu.capabilities(0).dtypes}
    assert report.capabilities["details"]["numpy"] == report.versions["numpy"]
    assert Report.from_json(report.to_json()) == report


# -- the command -----------------------------------------------------------------------------------
def _command(*words: object) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args([str(word) for word in words]))


def test_the_command_writes_every_kind(tmp_path, capsys) -> None:
    files = {kind: tmp_path / f"report.{kind}" for kind in ("json", "junit", "html")}
    options = [word for kind, file in files.items() for word in (f"--{kind}", file)]
    assert _command("cpu", "--in-process", "-k", "L1/exp/float32/*", *options) == 0
    report = Report.read_json(files["json"])
    assert report.ok and report.backend == "cpu" and report.pattern == "L1/exp/float32/*"
    assert "float32" in report.capabilities["dtypes"] and "platform" in report.versions
    root = ET.parse(files["junit"]).getroot()
    assert root.attrib["tests"] == str(len(report.results)) != "0"
    assert "L1 pointwise exp" in files["html"].read_text("utf-8")
    assert "cpu:0 passes a part of profile full" in capsys.readouterr().out


def test_the_command_compares(tmp_path, capsys, only: Callable[..., Report]) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    only(Result("L1/add/int8/a", "pointwise", PASS)).write_json(good)
    only(Result("L1/add/int8/a", "pointwise", FAIL)).write_json(bad)
    assert _command("--compare", good, good) == 0
    assert _command("--compare", good, bad) == 1
    assert "newly failing (1):" in capsys.readouterr().out
    assert _command("--compare", bad, good) == 0
    assert "newly passing (1):" in capsys.readouterr().out
    assert _command("--compare", good, tmp_path / "none.json") == 2
    assert "none.json can't be read" in capsys.readouterr().err
    (tmp_path / "old.json").write_text('{"format": 1}')
    assert _command("--compare", tmp_path / "old.json", good) == 2
    assert "old.json has format 1" in capsys.readouterr().err


def test_the_command_writes_the_page_of_capabilities(tmp_path, sample: Report) -> None:
    sample.write_json(tmp_path / "a.json")
    assert _command("--matrix", tmp_path / "page.md", tmp_path / "a.json") == 0
    assert (tmp_path / "page.md").read_text("utf-8") == to_markdown([sample])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "which device"),
        (("cpu", "--compare", "a", "b"), "--compare and --matrix stand alone"),
        (("--matrix", "page.md"), "name the JSON reports"),
        (("cpu", "--html", "no-such-folder/x.html"), "there is no folder no-such-folder"),
        (("--matrix", "page.md", "none.json"), "none.json can't be read"),
    ],
)
def test_what_the_command_refuses(words, message, capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    assert _command(*words) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_told(tmp_path, capsys) -> None:
    words = ("cpu", "--in-process", "-k", "L1/add/float32/edges", "--json", tmp_path)
    assert _command(*words) == 2
    assert f"{tmp_path} can't be written" in capsys.readouterr().err
