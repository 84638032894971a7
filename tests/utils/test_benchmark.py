"""Timers, measurements and their tables; the texts are those that PyTorch 2.13 prints."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tensorbus as torch
from tensorbus.utils import benchmark
from tensorbus.utils.benchmark import Compare, Measurement, TaskSpec, Timer


def took(times: list[float], **task: Any) -> Measurement:
    """Runs of 100 executions that took so many seconds each."""
    spec = {"stmt": "f(x)", "setup": "pass", "env": "v1", **task}
    return Measurement(100, [100 * t for t in times], TaskSpec(**spec))


WIDE = took([1e-6, 1.1e-6, 1.2e-6, 5e-6], label="L", sub_label="s1", description="d1")
TWO = took(
    [1e-3, 1.1e-3, 1.2e-3, 1.3e-3, 1.25e-3],
    label="L", sub_label="s2", description="d1", num_threads=2,
)  # fmt: skip
SURE = took([2e-3] * 6, label="L", sub_label="s1", description="d2", env="v2")
OTHER = took([2e-5] * 6, label="other", sub_label="s1", description="d2")

PLAIN = """\
[------------- L --------------]
            |    d1    |    d2  
1 threads: ---------------------
  (v1)  s1  |     1.2  |        
  (v2)  s1  |          |  2000.0
2 threads: ---------------------
  (v1)  s2  |  1200.0  |        

Times are in microseconds (us).

[---- other ----]
          |   d2 
1 threads: ------
      s1  |  20.0

Times are in microseconds (us).
"""  # noqa: W291

TRIMMED = """\
[--------------- L ----------------]
            |       d1       |   d2 
1 threads: -------------------------
  (v1)  s1  |  <   1 (! 93%)>  |      
  (v2)  s1  |                |  <2000>
2 threads: -------------------------
  (v1)  s2  |  <1000 (! 12%)>  |      

Times are in microseconds (us).
(! XX%) Measurement has high variance, where XX is the IQR / median * 100.
"""  # noqa: W291


def test_tables() -> None:
    table = Compare([WIDE, TWO, SURE, OTHER])
    assert str(table) == PLAIN
    table.trim_significant_figures()
    table.highlight_warnings()
    table.colorize()
    text = str(table).partition("\n\n[--- other")[0] + "\n"
    best, end = "\033[92m\033[1m", "\033[0m\033[0m"
    assert text == TRIMMED.replace("<", best).replace(">", end)


@pytest.mark.parametrize(
    ("slower", "color"),
    [(1.005, "\033[92m\033[1m"), (1.08, "\033[34m\033[1m"), (1.5, ""), (3, "\033[2m\033[91m"),
     (6, "\033[31m\033[1m")],
)  # fmt: skip
def test_colors_compare_rows_or_columns(slower: float, color: str) -> None:
    quick = took([1e-3] * 4, label="L", sub_label="s", description="a")
    other = took([slower * 1e-3] * 4, label="L", sub_label="s", description="b")
    table = Compare([quick, other])
    table.colorize(rowwise=True)
    assert f"|  {color}{slower:.1f}" in str(table)
    table.colorize()
    assert str(table).count("\033[92m") == 2  # the best of its column each


@pytest.mark.parametrize(
    ("measured", "told", "figures"),
    [
        (WIDE, "L: s1\nd1\n  Median: 1.15 us\n  IQR:    1.08 us (1.08 to 2.15)\n"
         "  4 measurements, 100 runs per measurement, 1 thread\n"
         "  WARNING: Interquartile range is 93.5% of the median measurement.\n"
         "           This suggests significant environmental influence.", 1),
        (TWO, "L: s2\nd1\n  Median: 1.20 ms\n  IQR:    0.15 ms (1.10 to 1.25)\n"
         "  5 measurements, 100 runs per measurement, 2 threads\n"
         "  WARNING: Interquartile range is 12.5% of the median measurement.\n"
         "           This could indicate system fluctuation.", 1),
        (SURE, "L: s1\nd2\n  Median: 2.00 ms\n  IQR:    0.00 ms (2.00 to 2.00)\n"
         "  6 measurements, 100 runs per measurement, 1 thread", 4),
        (took([3e-9]), "f(x)\n  3.00 ns\n  1 measurement, 100 runs , 1 thread", 1),
        (took([2.0] * 2, stmt="a\nb", setup="c\nd"),
         "stmt:\n  a\n  b\n\nsetup:\n  c\n  d\n\n  Median: 2.00 s\n"
         "  2 measurements, 100 runs per measurement, 1 thread", 4),
    ],
)  # fmt: skip
def test_measurements(measured: Measurement, told: str, figures: int) -> None:
    first, _, rest = repr(measured).partition("\n")
    assert re.fullmatch(
        "<torch.utils.benchmark.utils.common.Measurement object at 0x[0-9a-f]+>", first
    )
    assert rest == told and measured.significant_figures == figures
    assert measured.has_warnings == ("WARNING" in told)


def test_merged_measurements_are_of_one_execution() -> None:
    merged, other = Measurement.merge([WIDE, SURE, WIDE])
    assert merged.number_per_run == 1 and merged.raw_times == WIDE.times * 2
    assert other.median == pytest.approx(2e-3)


def test_a_timer_measures_what_it_says() -> None:
    calls: list[int] = []
    clock = iter(range(1000)).__next__  # a second between two readings

    def f() -> None:
        calls.append(torch.get_num_threads())

    before = torch.get_num_threads()
    timer = Timer("f()", timer=clock, globals={"f": f}, num_threads=before + 1, label="f")
    measured = timer.timeit(300)
    assert measured.raw_times == [1] and measured.number_per_run == 300
    assert calls == [before + 1] * 303 and torch.get_num_threads() == before


def test_blocks_grow_until_reading_the_time_does_not_count() -> None:
    now, seen = [0.0], []

    def clock() -> float:
        now[0] += 1e-6
        return now[0]

    def f() -> None:
        now[0] += 9e-5

    timer = Timer("f()", timer=clock, globals={"f": f})
    measured = timer.blocked_autorange(lambda n, seconds: seen.append((n, seconds)), 0.2)
    assert measured.number_per_run == 1000  # of 100 the clock's 1 us is too large a part
    assert [n for n, _ in seen] == [1000] * 3 and measured.raw_times == [s for _, s in seen]
    assert measured.median == pytest.approx(9e-5, rel=1e-4)
    adaptive = timer.adaptive_autorange()
    assert len(adaptive.raw_times) == 4 and not adaptive.has_warnings


def test_an_uneven_statement_is_measured_until_the_time_is_up() -> None:
    now, turn = [0.0], [0]

    def f() -> None:
        turn[0] += 1
        now[0] += 1.0 if turn[0] % 2 else 3.0

    timer = Timer("f()", timer=lambda: now[0], globals={"f": f})
    measured = timer.adaptive_autorange(max_run_time=9)
    assert measured.raw_times == [3, 1, 3, 1, 3] and measured.has_warnings


def test_the_time_is_read_when_the_devices_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.ones(1)
    waited = []
    backend = torch.discovery.backend("cpu")
    monkeypatch.setattr(backend, "synchronize", waited.append)
    first, second = benchmark.timer(), benchmark.timer()
    assert waited == [0, 0] and first <= second


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"stmt": len}, ValueError, "Currently only a `str` stmt is supported."),
        ({"language": "fortran"}, ValueError, "Invalid language `fortran`."),
        ({"language": "c++"}, NotImplementedError, "there is no C++ interface"),
        ({"global_setup": "x"}, ValueError, "global_setup is C++ only, got `x`."),
    ],
)
def test_what_is_refused(arguments: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=re.escape(told)):
        Timer(**arguments)


def test_what_is_not_offered_says_so() -> None:
    with pytest.raises(NotImplementedError, match="See `Timer.blocked_autorange.`"):
        Timer().repeat()
    with pytest.raises(NotImplementedError, match="valgrind"):
        Timer().collect_callgrind()
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        Compare([1])  # type: ignore[list-item]
