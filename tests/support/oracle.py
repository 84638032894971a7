"""Pytest plugin: PyTorch's answers, recorded as data, so that tests compare without PyTorch.

A test asks ``oracle(lambda torch: ...)`` and gets what the program returned when it was recorded:

- ``--oracle=recorded`` (the default): the answer in ``tests/answers/``. PyTorch isn't imported. An
  answer that is missing fails the test.
- ``--oracle=check``: PyTorch is asked, and its answer has to be the recorded one.
- ``--oracle=record``: PyTorch is asked, and its answers are written. ``scripts/oracle`` does both.

Answers are identified by the test's name with its parameters, and by the number of the question in
that test: neither the order of the tests nor the process that runs them matters.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from oracle_answers import Answers, agree, decode, encode

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parents[1] / "answers"

Oracle = Callable[..., Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--oracle",
        choices=["recorded", "check", "record"],
        default="recorded",
        help="where PyTorch's answers come from: tests/answers/ (the default), or PyTorch, which "
        "is compared with them or recorded anew (scripts/oracle)",
    )
    parser.addoption(
        "--oracle-answers", type=Path, default=FOLDER, help="another folder of answers"
    )


class Book:
    """The answers of every module of tests that was asked about in this run."""

    def __init__(self, mode: str, folder: Path) -> None:
        self.mode, self.folder = mode, folder
        self.modules: dict[str, Answers] = {}
        self.heard: dict[str, Answers] = {}

    def of(self, module: str) -> Answers:
        if module not in self.modules:
            self.modules[module] = Answers.read(self.file(module))
        return self.modules[module]

    def file(self, module: str) -> Path:
        return self.folder / module.removeprefix("tests/").replace(".py", ".json.gz")

    def advice(self, module: str) -> str:
        return f"Where PyTorch is installed, run: scripts/oracle record {module}"

    def recorded(self, module: str, key: str) -> Any:
        known = self.of(module)
        if key not in known:
            pytest.fail(
                f"no answer of PyTorch is recorded for {key!r}. {self.advice(module)}",
                pytrace=False,
            )
        return known[key]

    def ask(self, module: str, key: str, program: Callable[[Any], Any], rtol: float | None) -> Any:
        if self.mode == "recorded":
            return decode(self.recorded(module, key))
        import torch

        answer = encode(program(torch), torch)
        if self.mode == "record":
            self.heard.setdefault(module, Answers(torch=release(torch)))[key] = answer
        else:
            self.check(module, key, answer, release(torch), rtol)
        return decode(answer)

    def check(self, module: str, key: str, answer: Any, torch: str, rtol: float | None) -> None:
        expected = self.recorded(module, key)
        if self.of(module).torch != torch:
            pytest.fail(
                f"the answers of {module} are PyTorch {self.of(module).torch}'s, and {torch} is "
                f"installed. {self.advice(module)}",
                pytrace=False,
            )
        difference = agree(decode(expected), decode(answer), rtol)
        if difference:
            pytest.fail(
                f"PyTorch's answer to {key!r} is not the recorded one: {difference}. "
                f"{self.advice(module)}",
                pytrace=False,
            )

    def write(self) -> list[Path]:
        """Writes what was heard; only files whose answers changed."""
        return [
            self.file(module) for module, new in self.heard.items() if new.write(self.file(module))
        ]


def release(torch: Any) -> str:
    return str(torch.__version__).partition("+")[0]


BOOK = pytest.StashKey[Book]()
ASKED = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    mode = config.getoption("--oracle")
    some = config.getoption("-k") or any("::" in argument for argument in config.args)
    if mode == "record" and (some or config.getoption("numprocesses", None)):
        raise pytest.UsageError(
            "--oracle=record writes whole files: run it in one process (-n 0), with all tests of "
            "each file"
        )
    if mode != "recorded":
        try:
            import torch  # noqa: F401
        except ImportError:
            raise pytest.UsageError(
                f"--oracle={mode} asks PyTorch, which is not installed: pip install '.[bench]'"
            ) from None
    config.stash[BOOK] = Book(mode, config.getoption("--oracle-answers"))


def module_of(item: pytest.Item) -> str:
    return item.path.relative_to(item.config.rootpath).as_posix()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the tests that ask. In a check, answers to tests that are no more are a mistake."""
    for item in items:
        if "oracle" in getattr(item, "fixturenames", ()):
            item.add_marker("oracle")
    book = config.stash[BOOK]
    if book.mode != "check" or any("::" in argument for argument in config.args):
        return
    names: dict[str, set[str]] = {}
    for item in items:
        names.setdefault(module_of(item), set()).add(item.name)
    for module, known in names.items():
        stale = sorted({key.rpartition(" #")[0] for key in book.of(module)} - known)
        if stale:
            raise pytest.UsageError(
                f"answers are recorded for tests that {module} doesn't have: {stale[:5]}. "
                f"{book.advice(module)}"
            )


@pytest.fixture
def oracle(request: pytest.FixtureRequest) -> Oracle:
    """``oracle(lambda torch: ...)``: what the program returns on PyTorch, as recorded.

    Answers are None, numbers, strings, bytes, lists, tuples, dicts, NumPy arrays and scalars,
    built-in exceptions that the program returns, and PyTorch's tensors, as
    ``oracle_answers.Tensor``. Dtypes, devices and layouts come back as their text.

    A check compares floating-point numbers within *rtol* (default: ``oracle_answers.CLOSE``), since
    they depend on the processor's instructions; all else has to be equal.
    """
    test, book = request.node, request.config.stash[BOOK]
    test.stash[ASKED] = 0

    def ask(program: Callable[[Any], Any], *, rtol: float | None = None) -> Any:
        test.stash[ASKED] += 1
        return book.ask(module_of(test), f"{test.name} #{test.stash[ASKED]}", program, rtol)

    return ask


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """A test that has the fixture and passes without a question has compared nothing."""
    result = yield
    if item.stash.get(ASKED, 1) == 0:
        pytest.fail("the test has the fixture oracle and asked nothing", pytrace=False)
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    book = session.config.stash[BOOK]
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    for file in book.write():
        if reporter is not None:
            reporter.write_line(f"recorded {file} ({file.stat().st_size} bytes)")
