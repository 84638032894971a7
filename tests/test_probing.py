"""``tensorbus devices`` and ``doctor`` ask each plugin in a process of its own, a few at a time."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import pytest

from tensorbus import cli
from tensorbus.cli import devices, probe, probe_processes
from tensorbus.discovery.metadata import BACKENDS, OVERLAYS

BACKEND = """
from tensorbus.plugin import Backend, BackendSpec, Capabilities, float32, hookimpl

class Mine(Backend):
    name = "{name}"
    def device_count(self):
        return 1
    def capabilities(self, index):
        return Capabilities("Acme", frozenset([float32]))

@hookimpl
def tensorbus_backend():
    return BackendSpec("{name}", load=Mine)
"""

OVERLAY = """
from tensorbus.plugin import OverlaySpec, hookimpl

@hookimpl
def tensorbus_overlay():
    return OverlaySpec("{name}", "cpu", ("sum", "exp"), lambda op, dtype, index: None)
"""


def install_overlay(install, name: str, source: str) -> None:
    install(f"acme-{name}", {OVERLAYS: {name: f"acme_{name}"}}, {f"acme_{name}": source})


# -- overlays --------------------------------------------------------------------------------
OVERLAYS_SEEN = {
    "works": (OVERLAY.format(name="works"), "usable", "for cpu: sum, exp"),
    "raises": ("raise OSError('gone')", "not usable", "gone"),
    "exits": ("import sys; sys.exit(3)", "not usable", "3"),
    "kills": ("import os; os.abort()", "crashed", "was killed by SIGABRT"),
    "lazy": (
        OVERLAY.format(name="lazy").replace("lambda op, dtype, index: None", "load=lambda b: 7"),
        "not usable",
        "returned int, not a tensorbus.plugin.Overlay",
    ),
}


def test_overlays_are_rows_and_spoil_nobody(install, monkeypatch):
    for name, (source, *_) in OVERLAYS_SEEN.items():
        install_overlay(install, name, source)
    rows = {row[0]: row for row in devices.rows(devices.answers(240.0))}
    for name, (_, state, why) in OVERLAYS_SEEN.items():
        _, module, owner, seen, *_, text = rows[f"overlay:{name}"]
        assert (module, owner, seen) == (f"acme_{name}", f"acme-{name} 1.0", state)
        assert why in text
    assert rows["cpu:0"][3] == "usable"


def test_an_overlay_that_hangs_is_named_with_the_way_to_leave_it_out(install, monkeypatch, capsys):
    install_overlay(install, "hangs", "import time; time.sleep(1000)")
    monkeypatch.setenv("TENSORBUS_PLUGINS", "overlay:hangs")
    assert cli.main(["doctor", "--timeout", "0.5"]) == 0
    said = capsys.readouterr().out
    assert "overlay:hangs: no answer (acme-hangs 1.0): the plugin gave no answer within 0.5" in said
    (answer,) = probe.ask_each([], 0.5, ["hangs"])
    assert "leave the overlay out with TENSORBUS_PLUGINS" in answer.remedy
    monkeypatch.setenv("TENSORBUS_PLUGINS", "cpu")
    from tensorbus import discovery

    discovery.reset()
    rows = {row[0]: row for row in devices.rows(devices.answers(240.0))}
    assert rows["cpu:0"][3] == "usable" and rows["overlay:hangs"][3] == "left out"


# -- many at once ----------------------------------------------------------------------------
def test_a_few_are_asked_at_a_time(install, tmp_path):
    """The first ones wait for the test, which looks who else has begun."""
    begun = tmp_path / "begun"
    begun.mkdir()
    go = tmp_path / "go"
    entries, modules = {}, {}
    for i in range(2 * probe_processes.AT_ONCE):
        entries[f"npu{i}"] = f"acme_{i}"
        modules[f"acme_{i}"] = (
            f"import os, time\nopen({str(begun / str(i))!r}, 'w').close()\n"
            f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
            + BACKEND.format(name=f"npu{i}")
        )
    install("acme-many", {BACKENDS: entries}, modules)
    found = []
    asking = threading.Thread(target=lambda: found.extend(probe.ask_each(list(entries), 240.0)))
    asking.start()
    while len(list(begun.iterdir())) < probe_processes.AT_ONCE and asking.is_alive():
        time.sleep(0.01)
    time.sleep(0.2)  # in which one too many would begin
    at_once = len(list(begun.iterdir()))
    go.touch()
    asking.join()
    assert at_once == probe_processes.AT_ONCE
    assert [(a.type, a.state) for a in found] == [(name, "usable") for name in entries]


def test_when_nothing_can_be_asked_the_reason_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "python").write_text("#!/bin/sh\necho no python here\nexit 3\n")
    (tmp_path / "python").chmod(0o755)
    with pytest.raises(RuntimeError, match=r"ended with status 3:\nno python here"):
        probe.ask_each(["cpu"], 240.0)


@pytest.mark.skipif(os.name != "posix", reason="sessions are POSIX's")
def test_what_a_plugin_starts_ends_with_it(install, tmp_path):
    told = tmp_path / "pid"
    source = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        f"open({str(told)!r}, 'w').write(str(child.pid))\n" + BACKEND.format(name="npu")
    )
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": source})
    (answer,) = probe.ask_each(["npu"], 240.0)
    assert answer.state == "usable"
    command = ["ps", "-o", "state=", "-p", told.read_text()]
    stop = time.monotonic() + 60
    # It was killed, and ends when the system comes to it.
    while subprocess.run(command, capture_output=True, text=True).stdout.strip() not in ("", "Z"):
        assert time.monotonic() < stop
        time.sleep(0.02)


# -- what is printed -------------------------------------------------------------------------
def on_a_terminal(columns: int, environment: dict[str, str], *words: str) -> str:
    """What the command prints on a terminal of that width."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    drop = {k: v for k, v in environment.items() if k not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tensorbus", *words],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**drop, "TERM": "dumb"},
    )
    os.close(follower)
    said = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # how Linux tells the end
            break
        if not piece:
            break
        said += piece
    os.close(leader)
    assert process.wait(240) == 0, said
    return said.decode().replace("\r\n", "\n")


def test_no_command_is_broken_at_80_columns(install, monkeypatch):
    command = (
        "python -m pip install --extra-index-url https://example.org/simple 'acme-npu[driver]'"
    )
    source = BACKEND.format(name="npu").replace("load=Mine", f"load=Mine, install={command!r}")
    source = source.replace("class Mine", "raise_ = 1\nclass Mine").replace(
        "load=Mine", "load=lambda: 1 / 0"
    )
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": source})
    install_overlay(install, "fast", "raise OSError('the library is missing')")
    said = on_a_terminal(80, {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, "devices")
    lines = said.splitlines()
    assert any(line.endswith(f"What to do: {command}") for line in lines)
    assert any(line.endswith("What to do: reinstall or remove acme-fast") for line in lines)
    table = [line for line in lines if line[:1] in "┏┃┡│└"]
    assert table and max(map(len, table)) <= 80
    assert any(line.startswith("│ cpu:0 ") for line in table)
    assert any(line.startswith("│ overlay:fast ") for line in table)


# -- Ctrl-C ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "words", [["devices"], ["doctor"], ["conformance", "npu", "--jobs", "1"], ["demo"]]
)
def test_ctrl_c_prints_one_line(install, tmp_path, words):
    """Pressed on a terminal it reaches all processes of the group, as here."""
    os.mkfifo(pipe := tmp_path / "loading")
    told = f"import time\nopen({str(pipe)!r}, 'w').close()\ntime.sleep(1000)\n"
    source = BACKEND.format(name="npu")
    if words[0] == "conformance":  # the process that runs the cases is the second to load it
        mark = str(tmp_path / "loaded")
        told = "".join(f"    {line}\n" for line in told.splitlines())
        source = (
            f"import os\nif os.path.exists({mark!r}):\n{told}open({mark!r}, 'w').close()\n{source}"
        )
    else:
        source = told + source
    if words == ["demo"]:
        words = ["demo", "--device", "npu", "--out", str(tmp_path / "out")]
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": source})
    process = subprocess.Popen(
        [sys.executable, "-m", "tensorbus", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    pipe.open().close()  # waits until the plugin is being loaded
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=240)
    assert (process.returncode, err) == (130, "tensorbus: interrupted\n"), out


@pytest.mark.parametrize("how", ["module", "script"])
def test_ctrl_c_while_the_command_is_imported_prints_one_line_too(tmp_path, how):
    (tmp_path / "numpy.py").write_text("raise KeyboardInterrupt")
    script = tmp_path / "tensorbus"
    script.write_text("import sys\nfrom tensorbus.cli import main\nsys.exit(main())\n")
    words = ["-m", "tensorbus"] if how == "module" else [str(script)]
    done = subprocess.run(
        [sys.executable, *words, "doctor"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stderr) == (130, "tensorbus: interrupted\n"), done.stdout


def test_a_program_that_imports_tensorbus_keeps_its_own_interrupts():
    program = "import sys, tensorbus; assert sys.excepthook is sys.__excepthook__"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=240)
