"""PyTorch's recorded answers: none passes that is missing, wrong, of another release or unused."""

from __future__ import annotations

import math
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle_answers import Answers, Tensor, agree, decode, encode

TESTS = """
import pytest

@pytest.mark.parametrize("n", [1, 2])
def test_square(oracle, n):
    assert n * n == oracle(lambda torch: torch.square(n))
"""


class Torch(types.ModuleType):
    """A stand-in for PyTorch, so that the mechanism is tried where PyTorch is missing."""

    __version__ = "1.0+cpu"
    Tensor = dtype = device = layout = type("Nothing", (), {})

    def square(self, n: int) -> int:
        return n * n


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project of two tests with the plugin, and a library that it takes for PyTorch."""
    monkeypatch.setitem(sys.modules, "torch", Torch("torch"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_numbers=TESTS)
    return pytester


def run(project: pytest.Pytester, *options: str, **outcomes: int) -> pytest.RunResult:
    # In a process of its own the stand-in would be the real PyTorch, or nothing.
    folder = project.path / "answers"
    plugins = ["-p", "no:cacheprovider", "-p", "oracle"]
    result = project.runpytest_inprocess(*plugins, f"--oracle-answers={folder}", *options)
    if outcomes:
        result.assert_outcomes(**outcomes)
    return result


def answers(project: pytest.Pytester) -> Path:
    return project.path / "answers" / "test_numbers.json.gz"


def test_what_was_recorded_is_compared_without_pytorch(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(project, "--oracle=record", passed=2)
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it is an ImportError
    run(project, passed=2)
    result = run(project, "--oracle=check")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--oracle=check asks PyTorch, which is not installed*"])


def test_a_missing_answer_fails_and_names_the_command(project: pytest.Pytester) -> None:
    result = run(project, failed=2)
    result.stdout.fnmatch_lines(
        ["*no answer of PyTorch is recorded for 'test_square?1? #1'*record test_numbers.py"]
    )


def test_a_wrong_answer_fails(project: pytest.Pytester) -> None:
    run(project, "--oracle=record", passed=2)
    known = Answers.read(answers(project))
    known["test_square[2] #1"] = 5
    known.write(answers(project))
    run(project, passed=1, failed=1)
    result = run(project, "--oracle=check", passed=1, failed=1)
    result.stdout.fnmatch_lines(["PyTorch's answer to *is not the recorded one: 4 instead of 5.*"])


def test_answers_of_another_release_fail_the_check(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(project, "--oracle=record", passed=2)
    monkeypatch.setattr(Torch, "__version__", "2.0")
    run(project, passed=2)
    result = run(project, "--oracle=check", failed=2)
    result.stdout.fnmatch_lines(["*are PyTorch 1.0's, and 2.0 is installed*"])


def test_an_answer_that_no_test_asks_for_fails_the_check(project: pytest.Pytester) -> None:
    run(project, "--oracle=record", passed=2)
    project.makepyfile(test_numbers=TESTS.replace("[1, 2]", "[2]"))
    run(project, passed=1)
    result = run(project, "--oracle=check")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*recorded for tests that test_numbers.py doesn't have*"])
    run(project, "--oracle=record", passed=1)
    run(project, "--oracle=check", passed=1)


def test_a_test_that_asks_nothing_fails(project: pytest.Pytester) -> None:
    project.makepyfile(test_numbers="def test_nothing(oracle):\n    pass")
    run(project, failed=1).stdout.fnmatch_lines(["*has the fixture oracle and asked nothing*"])


def test_a_part_of_a_file_is_not_recorded(project: pytest.Pytester) -> None:
    for options in (["-k", "1"], ["test_numbers.py::test_square"]):
        assert run(project, "--oracle=record", *options).ret == pytest.ExitCode.USAGE_ERROR
    assert not answers(project).exists()


def test_recording_the_same_leaves_the_file_alone(project: pytest.Pytester) -> None:
    run(project, "--oracle=record", passed=2)
    answers(project).touch()
    before = answers(project).stat().st_mtime_ns
    run(project, "--oracle=record", passed=2)
    assert answers(project).stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, 2.5, -0.0, math.inf, "é", b"\xff", 1 - 2j, 10**30,
        [1, (2, [3.0])], {"a": (1,), 2: {}}, np.arange(6.0).reshape(2, 3), np.array(True),
        np.float32(0.1), np.zeros((0, 3), np.int16), np.array([1 + 2j], np.complex64),
    ],
    ids=repr,
)  # fmt: skip
def test_values_come_back(value: Any) -> None:
    again = decode(encode(value))
    assert type(again) is type(value)
    assert repr(again) == repr(value)
    assert agree(value, again) == ""


def test_errors_come_back_as_the_nearest_built_in_class() -> None:
    class Special(IndexError):
        pass

    again = decode(encode(Special("beyond")))
    assert type(again) is IndexError and str(again) == "beyond"


def test_what_no_answer_can_hold_is_refused() -> None:
    for value in (object(), {1, 2}, np.array([None]), slice(2), range(3)):
        with pytest.raises(TypeError, match=r"an answer can't hold a \w+\.\w+"):
            encode([value])


def tensor(values: Any, **fields: Any) -> Tensor:
    array = np.asarray(values)
    kept = {"dtype": f"torch.{array.dtype}", "strides": (1,), "requires_grad": False}
    return Tensor(shape=array.shape, values=array, **(kept | fields))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0), (1, True), ("a", "b"), ([1], (1,)), ([1], [1, 2]), ({"a": 1}, {"b": 1}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (1.0, 1.0 + 1e-8), (math.nan, 0.0), (None, 0),
        (np.ones(2), np.ones(3)), (np.ones(2), np.ones(2, "f4")), (np.arange(3), np.arange(3) + 1),
        (ValueError("a"), ValueError("b")), (ValueError("a"), TypeError("a")),
        (tensor([1.0]), tensor([1.1])), (tensor([1.0]), tensor([1.0], strides=(2,))),
        (tensor([1.0]), tensor([1.0], requires_grad=True)),
        (tensor([1.0]), tensor([1.0], dtype="torch.bfloat16")), (tensor([1]), tensor([2])),
        ([[1, {"a": np.float32(1)}]], [[1, {"a": np.float32(1.001)}]]),
    ],
)  # fmt: skip
def test_answers_that_differ(one: Any, other: Any) -> None:
    assert "instead of" in agree(one, other)
    assert "instead of" in agree(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1.0, 1.0 + 1e-12), (math.nan, math.nan), (math.inf, math.inf),
        (np.float32([1, np.nan]), np.float32([1 + 2e-6, np.nan])), (tensor([1.0]), tensor([1.0])),
    ],
)  # fmt: skip
def test_answers_that_agree(one: Any, other: Any) -> None:
    assert agree(one, other) == ""


def test_a_tolerance_of_its_own() -> None:
    assert agree([1.0], [1.001]) and not agree([1.0], [1.001], rtol=0.01)


def test_the_recorded_answers_stay_small() -> None:
    files = list((Path(__file__).parents[1] / "answers").rglob("*.json.gz"))
    assert len(files) > 15
    assert sum(file.stat().st_size for file in files) < 3_000_000


def test_no_test_looks_for_pytorch_by_itself() -> None:
    """The fixture live_torch brings it, and its skip says what to install."""
    tests = Path(__file__).parents[1]
    words = [f'{call}("torch' for call in ("importorskip", "find_spec")]
    found = [
        str(file.relative_to(tests))
        for file in tests.rglob("*.py")
        if "gpu_session" not in file.parts  # a program of its own: it runs beside PyTorch if it can
        and any(word in file.read_text("utf-8") for word in words)
    ]
    assert found == []
