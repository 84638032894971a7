"""What the launcher looks like on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest

PROGRAM = """
import os, sys, time
def await_file(name):
    while not os.path.exists(os.path.join(sys.argv[1], name)):
        time.sleep(0.01)
for percent in (0, 50):
    sys.stderr.write(f"\\r{percent}% " + "#" * 200)
    sys.stderr.flush()
    await_file(f"seen-{percent}")
sys.stderr.write("\\r100% done\\n")
print("\\x1b[1mbold")
if os.environ["RANK"] == "0":
    open(os.path.join(sys.argv[1], "done"), "w").close()
if os.environ["RANK"] == os.environ.get("BAD"):
    await_file("done")
    sys.exit("it went wrong")
"""


def on_terminal(*words: str, folder: Path, columns: int = 60, **settings: str) -> str:
    """What a terminal receives; rank 0 is told in *folder* when a percentage of its has come."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tensorbus.distributed.run", *words, str(folder)],
        stdin=side,
        stdout=side,
        stderr=side,
        env={**kept, "TERM": "xterm", **settings},
    )
    os.close(side)
    received = bytearray()

    def read() -> None:
        try:
            while data := os.read(main, 65536):
                received.extend(data)
                for percent in (0, 50):
                    # The second form is that of a rank that has the terminal itself.
                    if re.search(rb"(rank 0\] (\x1b\[0m)?|\r)%d%% #" % percent, received):
                        (folder / f"seen-{percent}").touch()
        except OSError:
            pass  # the other side is closed

    reader = threading.Thread(target=read)
    reader.start()
    process.wait(timeout=120)
    reader.join(timeout=240)
    os.close(main)
    return received.decode()


def screen(text: str) -> list[str]:
    """The rows that stay: what was cleared is gone."""
    rows = []
    for row in text.split("\r\n"):
        rows.append(row.rsplit("\r\x1b[K", 1)[-1])
    return rows


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "program.py").write_text(PROGRAM)
    return str(tmp_path / "program.py")


def test_colours_bars_and_the_last_words(program: str, tmp_path: Path) -> None:
    text = on_terminal("--nproc", "2", program, folder=tmp_path, BAD="1")
    cyan, yellow = "\x1b[36m[rank 0] \x1b[0m", "\x1b[33m[rank 1] \x1b[0m"
    rows = screen(text)
    for prefix in (cyan, yellow):
        assert f"{prefix}100% done" in rows
        assert f"{prefix}\x1b[1mbold\x1b[0m" in rows
    # A bar is cut, so that it can be cleared: a terminal of 60 columns never wraps it.
    assert f"\x1b[K{cyan}50% {'#' * 46}\r" in text
    assert rows[-5].startswith("\x1b[1;31mtensorbus run: rank 1 failed first: exit code 1 (")
    assert rows[-4:] == ["Its error output ended with:", "  100% done", "  it went wrong", ""]


def test_no_colour(program: str, tmp_path: Path) -> None:
    text = on_terminal("--nproc", "2", program, folder=tmp_path, NO_COLOR="1")
    assert "\x1b[3" not in text
    assert sorted(row for row in screen(text) if "done" in row) == [
        "[rank 0] 100% done",
        "[rank 1] 100% done",
    ]


def test_an_attached_rank_has_the_terminal(program: str, tmp_path: Path) -> None:
    text = on_terminal("--nproc", "2", "--attach", "0", program, folder=tmp_path)
    # Both write to the terminal when they like, so a line of the one may stand behind the other's.
    framed = "\x1b[33m[rank 1] \x1b[0m\x1b[1mbold\x1b[0m\r\n"
    assert text.count(framed) == 1 and "[rank 0]" not in text
    assert "\x1b[1mbold" in text.replace(framed, "")
