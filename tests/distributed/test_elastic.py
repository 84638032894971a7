"""``record``, as programs for PyTorch's launcher use it."""

from __future__ import annotations

import json
import time

import pytest

import tensorbus.distributed as dist
from tensorbus.distributed.elastic.multiprocessing.errors import ErrorHandler, record


def test_what_is_raised_is_written_down_and_raised_as_ever(tmp_path, monkeypatch):
    @record
    def main(digit, *, text="no such digit"):
        """Train."""
        raise ValueError(f"{text}: {digit}")

    path = tmp_path / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(path))
    begun = int(time.time())
    with pytest.raises(ValueError, match="^no such digit: 11$"):
        main(11)
    message = json.loads(path.read_text())["message"]
    assert message["message"] == "ValueError: no such digit: 11"
    stack = message["extraInfo"]["py_callstack"].splitlines()
    assert stack[0] == "Traceback (most recent call last):"
    assert stack[-1] == "ValueError: no such digit: 11"
    assert begun <= int(message["extraInfo"]["timestamp"]) <= time.time()
    assert (main.__name__, main.__doc__) == ("main", "Train.")


def test_without_a_file_or_with_one_that_cannot_be_written(tmp_path, monkeypatch):
    @record
    def main():
        raise KeyError("digit")

    monkeypatch.delenv("TORCHELASTIC_ERROR_FILE", raising=False)
    with pytest.raises(KeyError):
        main()
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "nowhere" / "error.json"))
    with pytest.warns(UserWarning, match="can't be written to"), pytest.raises(KeyError):
        main()


def test_ends_in_order():
    assert record(lambda a, b=2: a + b)(1, b=4) == 5
    for code, kept in ((0, False), (3, True), ("wrong", True), (None, True)):

        def leave(code=code):
            raise SystemExit(code)

        if kept:
            with pytest.raises(SystemExit) as caught:
                record(leave)()
            assert caught.value.code == code
        else:
            assert record(leave)() is None


def test_a_handler_of_ones_own():
    seen = []

    class Handler(ErrorHandler):
        def initialize(self):
            seen.append("begins")

        def record_exception(self, e):
            seen.append(repr(e))

    def main():
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        record(main, error_handler=Handler())()
    assert seen == ["begins", "OSError('full')"]


def test_who_was_launched(monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert not dist.is_torchelastic_launched()
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    assert dist.is_torchelastic_launched()
