"""The launcher, bounded by the test: within it (quick), or a process of its own, for signals."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tensorbus.distributed.run import main

PER_RANK = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "NO_COLOR")


def processes_with(word: str) -> list[int]:
    """The processes of this machine whose command line or environment has the word."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                text = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            except OSError:
                continue
            if word.encode() in text:
                found.append(int(folder.name))
    return found


def eventually(condition: Callable[[], bool], seconds: float = 60) -> bool:
    """Whether it comes true within the time."""
    stop = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > stop:
            return False
        time.sleep(0.02)
    return True


@contextlib.contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    """TimeoutError where it takes longer."""

    def late(*_: object) -> None:
        raise TimeoutError(f"not done within {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Launcher:
    """Starts launchers; each has a mark in its environment, by which its processes are found."""

    def __init__(
        self,
        folder: Path,
        patches: pytest.MonkeyPatch,
        captured: pytest.CaptureFixture[bytes],
    ):
        self.patches, self.captured = patches, captured
        self.folder, self.mark = folder, f"mark-of-{folder.name}-{os.getpid()}"
        self.started: list[subprocess.Popen[str]] = []

    def script(self, text: str, name: str = "script.py") -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def start(self, *words: str, **settings: str) -> subprocess.Popen[str]:
        kept = {k: v for k, v in os.environ.items() if k not in PER_RANK}
        process = subprocess.Popen(
            [sys.executable, "-m", "tensorbus.distributed.run", *words],
            env={**kept, "TENSORBUS_MARK": self.mark, **settings},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="surrogateescape",
        )
        self.started.append(process)
        return process

    def run(
        self, *words: str, command: Callable[..., int] = main, **settings: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the launcher within this process; the ranks are processes as ever."""
        with self.patches.context() as patch, _bounded(180):
            for name in PER_RANK:
                patch.delenv(name, raising=False)
            for name, value in {"TENSORBUS_MARK": self.mark, **settings}.items():
                patch.setenv(name, value)
            patch.chdir(self.folder)
            self.captured.readouterr()
            status = command(words)
        out, err = (text.decode("utf-8", "surrogateescape") for text in self.captured.readouterr())
        return subprocess.CompletedProcess(words, status, out, err)

    def left(self) -> list[int]:
        """Processes of this test that still run."""
        return processes_with(self.mark)


@pytest.fixture
def launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Iterator[Launcher]:
    """A launcher in a folder of its own; after the test nothing of it runs any more."""
    made = Launcher(tmp_path, monkeypatch, capfdbinary)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=240)
    assert eventually(lambda: not made.left()), f"still running: {made.left()}"
