"""The suite's own parts: ids, measures, references, the exceptions file, the report."""

from __future__ import annotations

import datetime
import importlib
import json
import math
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tensorbus import discovery, plugin
from tensorbus.plugin import PRIMITIVES, VIEWS
from tensorbus_conformance import (
    Case,
    ExceptionsError,
    KnownGap,
    Mismatch,
    Report,
    Result,
    all_cases,
    compare,
    exceptions,
    formats,
    layouts,
    run,
    select,
    sharp_values,
    values,
    worker,
)
from tensorbus_conformance.case import LEVELS
from tensorbus_conformance.cases import creation, ordering, reductions, views
from tensorbus_conformance.command import command
from tensorbus_conformance.pointwise_reference import reference
from tensorbus_conformance.primitives import whole_domain
from tensorbus_conformance.report import FAIL, PASS
from tensorbus_conformance.reporting.summary import verdict
from tensorbus_conformance.samples import all_ops


def test_every_primitive_has_cases_of_every_mandatory_dtype_it_takes() -> None:
    ops = {case.op for case in all_cases() if case.level == "L1"}
    assert ops == set(PRIMITIVES)
    by_op = {op: {d for c in all_cases() if c.op == op for d in c.dtypes} for op in PRIMITIVES}
    for op in set(PRIMITIVES) - {"random_bits"}:  # its cases are of int64 without saying so
        assert set(whole_domain(op)) <= by_op[op], op


def test_every_view_has_calls() -> None:
    assert set(views.CALLS) == set(VIEWS)


def test_ids_are_unique_and_speak() -> None:
    ids = [case.id for case in all_cases()]
    assert not [id for id, n in Counter(ids).items() if n > 1]
    assert not [name for name, n in Counter(op.name for op in all_ops()).items() if n > 1]
    assert "L0/copy_/float32-int8/transposed" in ids
    assert "L1/add/float32/broadcast" in ids
    assert all(re.fullmatch(r"L[0-5](/[A-Za-z0-9_.\-]+)+", id) for id in ids)


def test_selection() -> None:
    assert {c.level for c in select(["L0"])} == {"L0"}
    assert {c.op for c in select(pattern="L1/add/*")} == {"add"}
    assert all("float32-int8" in c.id for c in select(pattern="float32-int8"))
    with pytest.raises(ValueError, match="unknown level L9; there are L0, L1, L2"):
        select(["L9"])


@pytest.mark.parametrize(
    ("got", "exact", "ulp"),
    [
        (1.0, 1.0, 0.0),
        (np.nextafter(np.float32(1), np.float32(2)), 1.0, 1.0),
        (np.nextafter(np.float32(1), np.float32(0)), 1.0, 0.5),
        (0.0, 2.0**-149, 1.0),
        (math.inf, math.inf, 0.0),
        (math.inf, 1e39, 0.0),
        (math.inf, -1e39, math.inf),
        (math.nan, math.nan, 0.0),
        (math.nan, 1.0, math.inf),
        (1.0, math.nan, math.inf),
        (np.float32(3.4028235e38), math.inf, math.inf),
        (math.inf, 3.4028234663852886e38, 1.0),
    ],
)
def test_ulp_error(got: float, exact: float, ulp: float) -> None:
    found = formats.ulp_error(np.array([got], np.float32), np.array([exact]), plugin.float32)
    # Infinities of opposite sign are as far apart as can be; how far is not told.
    assert found[0] == ulp or (math.isinf(ulp) and found[0] > 1e6)


def test_bfloat16_rounds_to_nearest_even() -> None:
    halfway = np.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-16, np.nan, -np.inf], np.float32)
    found = formats.round_to(halfway, plugin.bfloat16)
    np.testing.assert_array_equal(found, [1.0, 1 + 2**-6, 1 + 2**-7, np.nan, -np.inf])


def test_equal_sees_signs_of_zeros_only_where_asked() -> None:
    got, want = np.array([-0.0], np.float32), np.array([0.0], np.float32)
    compare.equal(got, want, plugin.float32, zeros=False)
    with pytest.raises(Mismatch, match=r"1 of 1 elements differ; at \(0,\): got .*-0.0"):
        compare.equal(got, want, plugin.float32)


def test_layouts_mirror_their_values() -> None:
    array = np.arange(24).reshape(2, 3, 4)
    for layout in layouts.LAYOUTS:
        if layout == "expanded":
            continue
        length, strides, offset = layouts.plan(array.shape, layout)
        buffer = np.full(length, -1)
        layouts.window(buffer, array.shape, strides, offset)[...] = array
        np.testing.assert_array_equal(np.sort(buffer[buffer >= 0]), np.arange(24), layout)


def test_samples_are_the_same_on_every_run() -> None:
    code = (
        "from tensorbus_conformance import values, formats; import zlib;"
        "print(zlib.crc32(values.plain(formats.FLOAT32, (50,), 'x').tobytes()))"
    )
    told = {subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(2)}
    assert told == {f"{_checksum()}\n"}


@pytest.mark.parametrize("make", [values.plain, sharp_values.anywhere, values.poison])
def test_values_that_are_kept_are_not_the_callers(make: Callable[..., np.ndarray]) -> None:
    args = (60, plugin.int16) if make is values.poison else (plugin.float32, (60,))
    first = make(*args, "kept")
    before = first.copy()
    first[:] = 0
    assert before.any()
    np.testing.assert_array_equal(make(*args, "kept"), before)
    assert (make(*args, "another") != before).any()


def _checksum() -> int:
    import zlib

    return zlib.crc32(values.plain(formats.FLOAT32, (50,), "x").tobytes())


def test_integer_references_are_the_tables() -> None:
    def one(op: str, d: plugin.dtype, *numbers: int) -> int:
        arrays = [np.array([v], formats.value_dtype(d)) for v in numbers]
        return int(reference(op, d, arrays)[0])

    i8, u8 = plugin.int8, plugin.uint8
    assert one("abs", i8, -128) == -128
    assert one("floor_divide", i8, -128, -1) == -128
    assert one("floor_divide", i8, -7, 2) == -4
    assert one("fmod", i8, -7, 3) == -1
    assert one("fmod", i8, -128, -1) == 0
    assert [one("pow", i8, *ab) for ab in [(2, -1), (1, -3), (-1, -3), (-1, -2), (0, 0)]] == [
        0, 1, -1, 1, 1,
    ]  # fmt: skip
    assert one("pow", u8, 3, 255) == pow(3, 255, 256)
    assert one("lshift", i8, 1, 7) == -128
    assert [one("lshift", i8, 1, 8), one("lshift", i8, 1, -1)] == [0, 0]
    assert [one("rshift", i8, -5, 8), one("rshift", i8, 5, -1), one("rshift", i8, -5, 1)] == [
        -1, 0, -3,
    ]  # fmt: skip


def test_float_floor_divide_is_pythons() -> None:
    numbers = [0.0, 1.0, -1.0, 0.3, -0.3, 7.5, 1e10, -1e-10, math.inf]
    a, b = (m.ravel() for m in np.meshgrid(numbers, [n for n in numbers if n]))
    got = reference("floor_divide", plugin.float64, [a, b])
    for x, y, found in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        want = x // y
        assert found == want or (math.isnan(found) and math.isnan(want)), (x, y)


def test_order_references() -> None:
    rows = np.array([[2.0, np.nan, -0.0, 0.0, np.nan, -np.inf]])
    np.testing.assert_array_equal(ordering.expected(rows, 1), [[5, 2, 3, 0, 1, 4]])
    assert reductions.first_extreme("argmax", rows, 1).tolist() == [1]
    assert reductions.first_extreme("argmin", rows[:, 2:4], 1).tolist() == [0]


def test_the_random_stream_is_the_published_one() -> None:
    for key, offset, words in creation.KNOWN_BLOCKS:
        found = creation.stream(key, offset, 4).view(np.uint64)
        assert tuple(int(w) for w in found) == words


GAP = """
[[exception]]
id = "L1/pow/float32/*"
reason = "an example"
expires = {expires}
"""


def test_exceptions_file() -> None:
    gaps = exceptions.parse(GAP.format(expires="2999-01-01"))
    assert gaps == [KnownGap("L1/pow/float32/*", "an example", datetime.date(2999, 1, 1))]
    assert gaps[0].covers("L1/pow/float32/edges") and not gaps[0].covers("L1/pow/float64/edges")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GAP.format(expires="2020-01-01"), "expired on 2020-01-01"),
        (GAP.format(expires='"soon"'), "must be a date"),
        (GAP.format(expires="2999-01-01").replace("an example", ""), "lacks reason"),
        ("[[exception]\n", "not valid TOML"),
        *(
            (GAP.format(expires="2999-01-01").replace("L1/pow/float32/*", id), "not about one op")
            for id in ("*", "L1/*", "L?/pow/float32/*", "L1", "L1/po*/float32/*", "*pow*", "L1//x")
        ),
    ],
)
def test_unusable_exceptions_file(text: str, message: str) -> None:
    with pytest.raises(ExceptionsError, match=message):
        exceptions.parse(text)


def test_an_exception_matches_a_case(tmp_path, monkeypatch) -> None:
    package = tmp_path / "acme_powder"
    package.mkdir()
    (package / "__init__.py").write_text("class Acme: pass\n")
    entries = GAP + GAP.replace("L1/pow/", "C1/barrier/")  # of a comm in the same package
    monkeypatch.syspath_prepend(tmp_path)
    backend = importlib.import_module("acme_powder").Acme()
    (package / "conformance.toml").write_text(entries.format(expires="2999-01-01"))
    assert [gap.id for gap in exceptions.load(backend)] == ["L1/pow/float32/*"]
    (package / "conformance.toml").write_text(
        entries.format(expires="2999-01-01").replace("pow", "powder")
    )
    with pytest.raises(ExceptionsError, match="acme_powder/conformance.toml: .* matches no case"):
        exceptions.load(backend)


def test_the_word_conforms_is_for_the_whole_profile(only: Callable[..., Report]) -> None:
    whole = {"levels": LEVELS}
    passed, gap = (
        Result("L1/add/int8/a", "pointwise", PASS),
        Result("L1/pow/int8/a", "pointwise", FAIL, excepted="a reason"),
    )
    for report, words in (
        (only(passed, **whole), f"conforms to profile full ({', '.join(LEVELS)}): 1 case in"),
        (only(passed, gap, **whole), "L5) except for 1 known gap: 2 cases in"),
        (only(passed, **whole, pattern="add"), "passes a part of profile full"),
        (only(passed, gap, levels=("L1",)), "passes a part of profile full (L1): 2 cases but 1"),
        (only(passed, replace(gap, excepted=None), **whole), "does not conform: 1 of 2 cases"),
    ):
        assert words in verdict(report), verdict(report)


def _broken(op: str) -> type:
    """The cpu backend with one primitive wrong, and none of the kernels beyond primitives."""
    CPU = type(discovery.backend("cpu"))

    class Broken(CPU):
        def kernel(self, name, dtype, index):
            if name not in PRIMITIVES and name not in VIEWS:
                return None
            kernel = super().kernel(name, dtype, index)
            return (lambda x, out=None: kernel(x) + 1) if name == op else kernel

    return Broken


def test_what_a_failing_primitive_explains_is_blocked() -> None:
    backend = _broken("exp")()
    report = run(backend, pattern="*/[es][xo]*/float32/*", gaps=())
    outcomes = {r.id: r for r in report.results}
    assert outcomes["L1/exp/float32/contiguous"].outcome == "fail"
    blocked = outcomes["L4/softmax/float32/dim0"]
    assert blocked.outcome == "blocked" and not blocked.bad
    assert blocked.message.startswith("needs the primitive exp/float32, which fails; ")
    # What is declared explains nothing that is not.
    gap = KnownGap("L1/exp/float32/*", "an example", datetime.date(2999, 1, 1))
    declared = run(backend, ("L1", "L4"), "*/[es][xo][pf]*/float32/[cd]*", gaps=(gap,))
    assert {r.op for r in declared.gaps} == {"exp"}
    assert "L4/softmax/float32/dim0" in [r.id for r in declared.failures]
    # Without level 1 there is nothing to blame.
    alone = run(backend, "L4", "L4/softmax/float32/dim0", gaps=()).results
    assert [r.outcome for r in alone] == ["fail"]


def test_ops_that_ran_on_the_cpu_are_fallbacks() -> None:
    class Lacking(type(discovery.backend("cpu"))):
        def kernel(self, name, dtype, index):
            return super().kernel(name, dtype, index) if name in VIEWS else None

    report = run(Lacking(), "L4", "L4/softmax/float32/dim0", gaps=())
    assert [r.outcome for r in report.results] == ["fallback"] and report.ok
    assert "exp" in report.results[0].used


def test_profiles() -> None:
    core, training, full = (
        {c.id for c in select(profile=name)} for name in ("core", "training", "full")
    )
    assert core < training < full
    assert {id[:2] for id in core} == {"L0", "L1", "L2", "L4"}
    assert {id[:2] for id in training} == {"L0", "L1", "L2", "L3", "L4", "L5"}
    with pytest.raises(
        ValueError, match="unknown profile huge; there are core, training, full, large"
    ):
        select(profile="huge")


def test_jobs_give_what_one_process_gives() -> None:
    pattern = "L1/*d/float32/*"
    together = run("cpu", pattern=pattern, isolate=True, jobs=2)
    alone = run("cpu", pattern=pattern)
    assert [(r.id, r.outcome) for r in together.results] == [
        (r.id, r.outcome) for r in alone.results
    ]
    assert len(alone.results) > 50


def test_an_excepted_case_that_passes_is_told() -> None:
    gap = KnownGap("L1/add/float32/*", "an example", datetime.date(2999, 1, 1))
    report = run("cpu", pattern="L1/add/float32/contiguous", gaps=[gap])
    assert [r.stale for r in report.results] == [True]
    assert report.ok


def test_report_as_json(tmp_path) -> None:
    report = run("cpu", level="L1", pattern="L1/exp/float32/*")
    assert report.ok and report.exit_code == 0
    report.write_json(tmp_path / "report.json")
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["backend"] == "cpu" and document["ok"] is True
    assert document["counts"]["pass"] == len(document["results"])
    worst = max(r["ulp"] for r in document["results"] if r["ulp"] is not None)
    assert 0 < worst <= 3


def test_nothing_ran_is_not_conformance() -> None:
    report = run("cpu", pattern="no such case")
    assert not report.results and report.exit_code == 2


def _command(*words: str) -> int:
    import argparse

    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(words))


def test_command(capsys, tmp_path) -> None:
    file = tmp_path / "report.json"
    assert _command("cpu", "-k", "L1/add/float32/*", "--json", str(file)) == 0
    assert "L1 pointwise" in capsys.readouterr().out
    assert json.loads(file.read_text())["pattern"] == "L1/add/float32/*"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("cpu", "--level", "L7"), "unknown level L7"),
        (("cpu:x",), "a device is named like"),
        (("nosuchdevice",), "nosuchdevice"),
    ],
)
def test_command_that_cannot_run(capsys, words, message) -> None:
    assert _command(*words) == 2
    assert message in capsys.readouterr().err


def test_a_case_that_kills_its_process_is_a_crash() -> None:
    # What the worker runs is looked up in a fresh process, so the case that dies is a stand-in
    # whose id the worker does not have: it ends with a KeyError there.
    real = select(pattern="L1/add/float32/contiguous")
    dying = Case("L1/dies", "pointwise", real[0].check)
    results = list(worker.run_apart("cpu", [real[0], dying, *real], ()))
    assert [r.outcome for r in results] == ["pass", "crash", "pass"]
    assert "exit code 1" in results[1].message and results[1].bad


def test_isolation_needs_a_name() -> None:
    with pytest.raises(ValueError, match="isolate needs the name of a device"):
        run(discovery.backend("cpu"), isolate=True)


def test_the_package_imports_lazily() -> None:
    code = "import tensorbus_conformance.pytest_plugin, sys; print('numpy' in sys.modules)"
    told = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert told.strip() == "False"
