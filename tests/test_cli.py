"""The ``tensorbus`` command: tables, sentences and exit statuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tensorbus import cli
from tensorbus.cli import devices, probe
from tensorbus.discovery.metadata import BACKENDS, COMMANDS
from tensorbus.version import __version__

BACKEND = """
from tensorbus.plugin import Backend, BackendSpec, Capabilities, float32, hookimpl, int64

class Mine(Backend):
    name = "npu"
    def device_count(self):
        return {count}
    def capabilities(self, index):
        return Capabilities(f"Acme NPU {{index}}", frozenset([float32, int64]), 3 << 30)

@hookimpl
def tensorbus_backend():
    return BackendSpec("npu", load=Mine)
"""


def run(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tensorbus", *words],
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
        timeout=240,
    )


@pytest.fixture
def only_npu(install, monkeypatch):
    def make(source: str) -> None:
        install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": source}, "0.7")
        monkeypatch.setenv("TENSORBUS_PLUGINS", "npu")

    return make


def npu_row() -> tuple[str, ...]:
    (row,) = [r for r in devices.rows(devices.answers(240.0)) if r[0].startswith("npu")]
    return row


# -- devices ---------------------------------------------------------------------------------
def test_each_device_is_a_row(only_npu):
    only_npu(BACKEND.format(count=2))
    rows = [r for r in devices.rows(devices.answers(240.0)) if r[0].startswith("npu")]
    assert rows == [
        (f"npu:{i}", "acme_npu", "acme-npu 0.7", "usable", "float32, int64", "3.0 GiB",
         f"Acme NPU {i}")
        for i in range(2)
    ]  # fmt: skip


def test_a_plugin_that_crashes_is_a_row(only_npu):
    only_npu("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    row = npu_row()
    assert row[3] == "crashed" and "was killed by SIGSEGV" in row[6]


def test_a_plugin_that_ends_the_process_is_a_row(only_npu):
    only_npu("import os\nos._exit(7)")
    row = npu_row()
    assert row[3] == "crashed" and "ended with status 7" in row[6]


def test_a_plugin_that_hangs_is_a_row_and_its_process_is_gone(only_npu, tmp_path):
    pid = tmp_path / "pid"
    only_npu(f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(1000)")
    (answer,) = probe.ask_each(["npu"], timeout=2.0)
    assert answer.state == "no answer" and "within 2 seconds" in answer.reason
    if pid.exists() and pid.read_text():  # a busy machine may not have come so far
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


def test_a_hanging_plugin_takes_no_time_from_the_others(install, monkeypatch, tmp_path):
    """The first plugin hangs until the second is loaded: both are asked at once."""
    loaded = str(tmp_path / "loaded")
    first = (
        f"import os, time\nwhile not os.path.exists({loaded!r}): time.sleep(0.01)\n"
        "raise OSError('the other was loaded')"
    )
    second = f"open({loaded!r}, 'w').close()\n" + BACKEND.format(count=1)
    install("acme-slow", {BACKENDS: {"slow": "acme_slow"}}, {"acme_slow": first})
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": second})
    monkeypatch.setenv("TENSORBUS_PLUGINS", "slow,npu")
    slow, npu = probe.ask_each(["slow", "npu"], timeout=240.0)
    assert slow.state == "not usable" and "the other was loaded" in slow.reason
    assert npu.state == "usable"


def test_a_plugin_that_prints_while_it_loads_spoils_nothing(only_npu):
    only_npu("print('{ hello')\n" + BACKEND.format(count=1))
    assert npu_row()[3] == "usable"


def test_a_broken_plugin_is_a_row_with_the_way_out(only_npu):
    only_npu("raise OSError('libnpu.so is missing')")
    row = npu_row()
    assert row[3] == "not usable"
    assert row[6] == "libnpu.so is missing\nWhat to do: reinstall or remove acme-npu"


def test_a_plugin_without_device_is_a_row(only_npu):
    only_npu(BACKEND.format(count=0))
    assert npu_row()[3] == "not usable" and "finds no device" in npu_row()[6]


def test_a_backend_that_fails_when_asked_about_itself_is_a_row(only_npu):
    only_npu(BACKEND.format(count=1).replace("return Capabilities", "raise KeyError"))
    assert npu_row()[3] == "not usable" and "KeyError" in npu_row()[6]


def test_a_name_claimed_twice_is_one_row_that_names_both(install, monkeypatch):
    for name in ("acme-a", "acme-b"):
        install(name, {BACKENDS: {"npu": "acme_npu"}})
    row = npu_row()
    assert row[2] == "acme-a 1.0\nacme-b 1.0" and row[3] == "not usable"
    assert "claimed by 2 distributions" in row[6]


def test_what_the_variable_leaves_out_is_listed_as_such(only_npu):
    only_npu(BACKEND.format(count=1))
    (row,) = [r for r in devices.rows(devices.answers(240.0)) if r[0] == "cpu"]
    assert row[3] == "left out" and "TENSORBUS_PLUGINS" in row[6]


def test_the_table_is_printed():
    done = run("devices", TENSORBUS_PLUGINS="cpu")
    assert done.returncode == 0, done.stderr
    assert "cpu:0" in done.stdout and "tensorbus_cpu_numpy" in done.stdout
    assert f"tensorbus {__version__}" in done.stdout and "usable" in done.stdout


@pytest.mark.parametrize("memory", [None, 0, 1 << 30])
def test_memory_may_be_unknown(memory):
    device = probe.Device(0, "x", ["float32"], memory, {})
    row = devices.rows([probe.Answer("none", probe.USABLE, [device])])[0]
    assert row[5] == {None: "", 0: "0.0 GiB", 1 << 30: "1.0 GiB"}[memory]


def test_an_answer_survives_its_journey_as_json(only_npu):
    only_npu(BACKEND.format(count=1))
    (answer,) = probe.ask_each(["npu"], timeout=240.0)
    assert answer.devices == [probe.Device(0, "Acme NPU 0", ["float32", "int64"], 3 << 30, {})]
    assert json.dumps(answer.devices[0].dtypes) == '["float32", "int64"]'


# -- doctor ----------------------------------------------------------------------------------
def test_doctor_prints_what_a_bug_report_needs(only_npu):
    only_npu("print('a word before the end')\nimport os\nos.abort()")
    done = run(
        "doctor", OPENBLAS_CORETYPE="Haswell", TENSORBUS_REQUIRE="x", PYTHONPATH=":".join(sys.path)
    )
    assert done.returncode == 0, done.stderr
    for text in (
        f"tensorbus: {__version__}",
        "python: CPython 3.",
        "BLAS: ",
        "OPENBLAS_CORETYPE: Haswell",
        "TENSORBUS_REQUIRE: x",
        "TENSORBUS_PLUGINS: npu",
        "cpu: left out (tensorbus ",
        "npu: crashed (acme-npu 0.7)",
    ):
        assert text in done.stdout


def test_doctor_shows_the_traceback_of_a_broken_plugin(only_npu, capsys):
    only_npu("def inner():\n    raise OSError('gone')\ninner()")
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "in inner" in out and "OSError: gone" in out


# -- the command line ------------------------------------------------------------------------
def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"tensorbus {__version__}\n"


def test_no_command_prints_the_commands(capsys):
    assert cli.main([]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in cli.BUILT_IN)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fly"], "invalid choice: 'fly'"),
        (["devices", "--timeout", "soon"], "invalid float value: 'soon'"),
        (["devices", "--timeout", "-1"], "--timeout must be a positive number"),
        (["devices", "--timeout", "nan"], "--timeout must be a positive number"),
        (["devices", "--colour"], "unrecognized arguments: --colour"),
    ],
)
def test_wrong_input_is_a_sentence_and_status_2(words, sentence):
    done = run(*words)
    assert done.returncode == 2
    assert sentence in done.stderr and "Traceback" not in done.stderr


def test_a_wrong_variable_is_a_sentence_and_status_2():
    done = run("devices", TENSORBUS_PLUGINS="kom:tcp")
    assert done.returncode == 2
    assert "TENSORBUS_PLUGINS=kom:tcp" in done.stderr and "Traceback" not in done.stderr


def test_a_reader_that_leaves_is_no_error():
    command = f"{sys.executable} -m tensorbus doctor | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=240)
    assert done.stdout == "versions:\n" and done.stderr == ""


@pytest.mark.parametrize("command", ["devices", "doctor"])
def test_a_full_disk_is_a_sentence(command):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m tensorbus {command} > /dev/full"],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 1
    assert done.stderr == "tensorbus: the output can't be written: No space left on device\n"


def test_a_closed_output_is_no_error():
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m tensorbus --version >&-"],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr


# -- commands of plugins ---------------------------------------------------------------------
HELLO = """
from tensorbus.cli import UsageError

def add_arguments(parser):
    parser.add_argument("--to", default="you")

def run(args):
    if args.to == "nobody":
        raise UsageError("there is nobody to greet: give --to a name")
    print("hello", args.to)
    return 5
"""


def test_a_plugin_brings_a_command(install, capsys):
    install("acme-cli", {COMMANDS: {"hello": "acme_cli"}}, {"acme_cli": HELLO})
    assert cli.main(["hello", "--to", "all"]) == 5
    assert capsys.readouterr().out == "hello all\n"
    assert cli.main(["hello", "--to", "nobody"]) == 2
    assert capsys.readouterr().err == "tensorbus: there is nobody to greet: give --to a name\n"


def test_help_lists_a_plugins_command_without_importing_it(install, capsys):
    install("acme-cli", {COMMANDS: {"hello": "acme_cli"}}, {"acme_cli": "raise OSError"})
    assert cli.main([]) == 0
    assert "a command of acme-cli 1.0" in capsys.readouterr().out
    assert "acme_cli" not in sys.modules


def test_a_broken_command_is_a_sentence(install, capsys):
    install("acme-cli", {COMMANDS: {"hello": "acme_cli"}}, {"acme_cli": "raise OSError('no')"})
    assert cli.main(["hello"]) == 2
    assert "command 'hello' of acme-cli 1.0 can't be used: OSError: no" in capsys.readouterr().err


def test_doctor_keeps_the_secret_of_a_job():
    told = run("doctor", TENSORBUS_JOB_SECRET="do not tell").stdout
    assert "TENSORBUS_JOB_SECRET" in told and "do not tell" not in told
