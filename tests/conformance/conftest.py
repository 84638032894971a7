"""A report in which everything occurs, for the tests of what is made of reports; and the parts in
which levels 0 and 1 are run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tensorbus_conformance import Report, Result, select
from tensorbus_conformance.report import BLOCKED, CRASH, FAIL, FALLBACK, PASS, QUALITY, UNSUPPORTED

EVIL = "<script>alert('x')</script> & \x1b[31m \x00 \ud800 ]]> \"quoted\""

KERNELS = ("L0/*", *(f"L1/[{ops}]*" for ops in ("a", "b-e", "f-l", "m-o", "p-r", "s-z")))


@pytest.fixture(params=KERNELS)
def kernels(request: pytest.FixtureRequest) -> str:
    """The pattern of a part of levels 0 and 1, which together are all of them."""
    return request.param


@pytest.fixture(scope="session", autouse=True)
def the_parts_are_the_whole() -> None:
    parts = [case.id for pattern in KERNELS for case in select(pattern=pattern)]
    assert sorted(parts) == sorted(case.id for case in select(("L0", "L1")))


@pytest.fixture
def evil() -> str:
    """A message that would be markup, or obeyed by a terminal, where it isn't escaped."""
    return EVIL


@pytest.fixture
def sample() -> Report:
    """A report in which everything occurs."""
    results = [
        Result("L0/capabilities", "runtime", PASS, seconds=0.001),
        Result("L0/copy_/float32-int8/contiguous", "copy_", PASS),
        Result("L1/add/float32/contiguous", "pointwise", PASS, ulp=0.5, relative=2.0),
        Result("L1/add/float32/reversed", "pointwise", UNSUPPORTED, "trait negative_strides"),
        Result("L1/add/float32/edges", "pointwise", PASS, ulp=0.25, relative=4.0),
        Result("L1/add/bfloat16/edges", "pointwise", UNSUPPORTED, "bfloat16 is not claimed"),
        Result("L1/exp/float32/edges", "pointwise", QUALITY, "3.9 ULP", ulp=3.9),
        Result("L1/exp/float16/edges", "pointwise", PASS, ulp=0.5, excepted="once was wrong"),
        Result("L1/pow/float32/edges", "pointwise", FAIL, "wrong", excepted="the vendor's <pow>"),
        Result("L1/sum/float32/edges", "reductions", FAIL, EVIL, ulp=80.0, used=("sum/float32",)),
        Result("L1/sum/int8/edges", "reductions", CRASH, "exit code -11"),
        Result("L1/take/int8/a", "index", FAIL, "kernel('take', int8, 0) is None: not offered"),
        Result("L1/take/int8/b", "index", FAIL, "kernel('take', int8, 0) is None: not offered"),
        Result("L1/take/bool/a", "index", FAIL, "kernel('take', bool, 0) is None: not offered"),
        Result("L4/gelu/float32/plain", "composite", FALLBACK, "on the CPU", used=("erf", "take")),
        Result("L4/gelu/float32/fused", "composite", PASS),
        Result("L4/erf/float32/plain", "composite", FALLBACK, "on the CPU", used=("erf",)),
        Result("L4/norm/float32/plain", "composite", BLOCKED, "L1/sum failed", used=("sum",)),
    ]
    return Report(
        backend="npu",
        index=1,
        device="Example <NPU>",
        levels=("L0", "L1", "L4"),
        pattern=None,
        versions={"python": "3.13.1", "npu-driver": "5 <beta>"},
        results=results,
        seconds=1.5,
        seeds={"explore": 7},
        capabilities={"dtypes": ["float32"], "memory_total": 2**30, "details": {"driver": "5"}},
        git={"commit": "0123456789abcdef", "dirty": True, "of": "backend"},
    )


@pytest.fixture
def only(sample: Report) -> Callable[..., Report]:
    """The sample with the given results alone."""

    def made(*results: Result, **changes: object) -> Report:
        return replace(sample, results=list(results), **changes)

    return made
