"""What ranks find, and what becomes of what they print."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from ports import own_port

from tensorbus import cli
from tensorbus.distributed.run import main, ports
from tensorbus.plugin.wire import listen

SHOW = """
import json, os, sys
names = ("RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR MASTER_PORT "
         "TENSORBUS_JOB_SECRET TENSORBUS_RESTART_COUNT TORCHELASTIC_RESTART_COUNT "
         "TORCHELASTIC_RUN_ID OMP_NUM_THREADS OPENBLAS_NUM_THREADS").split()
print(json.dumps({n: os.environ.get(n) for n in names} | {"argv": sys.argv[1:]}))
"""


def cards(out: str) -> list[dict]:
    lines = sorted(out.splitlines())
    return [json.loads(re.sub(r"^\[rank \d+\] ", "", line)) for line in lines]


def test_each_rank_finds_who_it_is(launcher):
    options = ["--nproc_per_node=3", "--rdzv-id", "mine", "--max_restarts", "2"]
    words = ["a", "--", "--nproc", "9", "-m"]
    done = launcher.run(*options, launcher.script(SHOW), *words, OMP_NUM_THREADS="")
    assert done.returncode == 0, done.stderr
    found = cards(done.stdout)
    assert [c["RANK"] for c in found] == [c["LOCAL_RANK"] for c in found] == ["0", "1", "2"]
    share = str(max(1, len(os.sched_getaffinity(0)) // 3))
    for card in found:
        assert card["argv"] == words
        assert (card["WORLD_SIZE"], card["LOCAL_WORLD_SIZE"], card["GROUP_RANK"]) == ("3", "3", "0")
        assert card["TENSORBUS_RESTART_COUNT"] == card["TORCHELASTIC_RESTART_COUNT"] == "0"
        assert card["TORCHELASTIC_RUN_ID"] == "mine" and card["MASTER_ADDR"] == "127.0.0.1"
        assert card["OMP_NUM_THREADS"] == share
        assert len(card["TENSORBUS_JOB_SECRET"]) == 64
    assert len({(c["MASTER_PORT"], c["TENSORBUS_JOB_SECRET"]) for c in found}) == 1
    assert done.stderr == ""


def test_threads_that_the_user_chose_stay(launcher):
    done = launcher.run("--nproc", "2", launcher.script(SHOW), OMP_NUM_THREADS="7")
    assert [c["OMP_NUM_THREADS"] for c in cards(done.stdout)] == ["7", "7"]


def test_modules_programs_and_folders(launcher):
    launcher.script("import sys; print(__name__, sys.argv[1:])", "mine.py")
    done = launcher.run("-m", "mine", "x")
    assert done.stdout == "[rank 0] __main__ ['x']\n", done.stderr
    done = launcher.run("--no-python", "sh", "-c", 'echo "$RANK of $WORLD_SIZE"')
    assert done.stdout == "[rank 0] 0 of 1\n", done.stderr
    launcher.script("print(__file__)", "__main__.py")
    assert "__main__.py" in launcher.run(".").stdout


def test_the_first_local_rank_reads_what_the_launcher_is_given(launcher, monkeypatch, tmp_path):
    (tmp_path / "input").write_text("to all of you\n")
    script = launcher.script("import sys; print(repr(sys.stdin.read()))")
    command = f"'{sys.executable}' -m tensorbus.distributed.run --nproc 2 {script} < input"
    done = launcher.run("--no-python", "sh", "-c", command)
    assert sorted(re.findall(r"\[rank \d\] '.*'", done.stdout)) == [
        r"[rank 0] 'to all of you\n'",
        "[rank 1] ''",
    ]


# -- output ------------------------------------------------------------------------------------
def test_much_output_of_both_streams_stays_whole(launcher):
    script = launcher.script(
        "import sys\n"
        "for i in range(4000):\n"
        "    sys.stdout.write(f'o{i:05}' + 'x' * 100 + '\\n')\n"
        "    sys.stderr.write(f'e{i:05}' + 'y' * 100 + '\\n')\n"
    )
    done = launcher.run("--nproc", "3", script)
    for text, letter, fill in ((done.stdout, "o", "x"), (done.stderr, "e", "y")):
        lines = text.splitlines()
        assert len(lines) == 12000
        for rank in range(3):
            own = [line for line in lines if line.startswith(f"[rank {rank}] ")]
            assert own == [f"[rank {rank}] {letter}{i:05}{fill * 100}" for i in range(4000)]


def test_lines_without_end_bars_and_bytes(launcher):
    script = launcher.script(
        "import os\n"
        r"os.write(1, b'10%\r20%\r\xff\xfe 100%\nwindows\r\nno end')" + "\n"
        "os.write(2, b'z' * 3_000_000)\n"
    )
    done = launcher.run("--no-python", sys.executable, script)
    lines = ["\udcff\udcfe 100%", "windows", "no end"]
    assert done.stdout.splitlines() == [f"[rank 0] {line}" for line in lines]
    parts = done.stderr.splitlines()
    assert len(parts) > 1 and all(p.startswith("[rank 0] z") for p in parts)
    assert sum(p.count("z") for p in parts) == 3_000_000


def test_files_of_the_streams(launcher, tmp_path):
    script = launcher.script(
        "import os, sys; print('out', os.environ['RANK']); print('err', file=sys.stderr)"
    )
    logs = tmp_path / "logs"
    done = launcher.run(
        "--nproc", "2", "--log-dir", str(logs), "--redirects", "0:3", "--tee", "1:1", script
    )
    assert done.stdout == "[rank 1] out 1\n" and done.stderr == "[rank 1] err\n"
    files = {str(p.relative_to(logs)): p.read_text() for p in logs.rglob("*.log")}
    assert files == {
        "none/attempt_0/0/stdout.log": "out 0\n",
        "none/attempt_0/0/stderr.log": "err\n",
        "none/attempt_0/1/stdout.log": "out 1\n",
    }
    done = launcher.run("--nproc", "2", "--local-ranks-filter", "1", script)
    assert done.stdout == "[rank 1] out 1\n" and done.stderr == "[rank 1] err\n"


def test_a_reader_that_goes_ends_the_job(launcher):
    script = launcher.script("while True: print('x' * 1000)")
    command = f"'{sys.executable}' -m tensorbus.distributed.run --nproc 2 {script}"
    done = launcher.run(
        "--no-python", "bash", "-c", f"{command} | head -1; echo ${{PIPESTATUS[0]}}"
    )
    assert re.fullmatch(r"\[rank 0\] \[rank \d\] x+\n\[rank 0\] 141\n", done.stdout), done.stdout


def test_a_closed_output_is_no_reason_to_end(launcher):
    script = launcher.script("import sys; print('x' * 1000); print('done', file=sys.stderr)")
    command = f"'{sys.executable}' -m tensorbus.distributed.run --nproc 2 {script} >&-; echo $?"
    done = launcher.run("--no-python", "sh", "-c", command)
    assert done.stdout == "[rank 0] 0\n"
    assert done.stderr.count("] done") == 2


# -- wrong input -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["missing.py"], "there is no script missing.py"),
        (["json.tool"], "there is no script json.tool; for a module give -m"),
        (["."], "there is no script __main__.py"),
        (["-m", "missing_module.part"], "-m missing_module.part: there is no module m"),
        (["--no-python", "no-such-program"], "no-such-program is not a program"),
        (["--no-python", "-m", "json"], "--no-python and --module exclude each other"),
        (["--nproc", "0", "s.py"], "--nproc 0: give a whole number from 1 to 4096"),
        (["--nproc", "-2", "s.py"], "--nproc -2: give a whole number from 1 to 4096"),
        (["--nproc", "two", "s.py"], r"--nproc two: give a whole number .*, cpu, gpu, auto, or a"),
        (["--nnodes", "1:3", "s.py"], "--nnodes 1:3: where the number of nodes is open they agr"),
        (["--nnodes", "3:2", "s.py"], "--nnodes 2: give a whole number from 3 to 4096"),
        (["--rdzv-conf", "speed=9", "s.py"], "--rdzv-conf speed=9: give KEY=VALUE,... with keys "),
        (["--rdzv-conf", "join_timeout=no", "s.py"], "join_timeout no: give a positive number of"),
        (["--signals-to-handle", "SIGTERM,SIGMOON", "s.py"], "SIGMOON is no signal that can be ha"),
        (["--signals-to-handle", "SIGKILL", "s.py"], "SIGKILL is no signal that can be handled"),
        (["--event-log-handler", "mine", "s.py"], "--event-log-handler mine: there is no other"),
        (["--duplicate-stdout-filters", "a", "s.py"], "--duplicate-stdout-filters needs --log-dir"),
        (["--run-path", "missing.py"], "there is no script missing.py"),
        (["--run-path", "-m", "json"], "--run-path and --module exclude each other"),
        (["--nnodes", "2", "--master-addr", "10.0.0.1", "s.py"], "needs a secret: set TENSORBUS_J"),
        (["--nnodes", "2", "s.py"], "--nnodes 2 needs --master-addr"),
        (["--standalone", "--master-port", "9", "s.py"], "leave out --master-port"),
        (["--standalone", "--nnodes", "2", "s.py"], "leave out --nnodes"),
        (["--rdzv-endpoint", "h:1", "--master-port", "1", "s.py"], "give --rdzv-endpoint, or "),
        (["--rdzv-backend", "etcd", "s.py"], "--rdzv-backend etcd: give static or c10d"),
        (["--master-port", "70000", "s.py"], "the master's port 70000: give a whole number"),
        (["--master-addr", "nowhere.invalid", "s.py"], "nowhere.invalid"),
        (["--max-restarts", "-1", "s.py"], "--max-restarts -1: give a whole number"),
        (["--grace-period", "0", "s.py"], "--grace-period 0: give a positive number of seconds"),
        (["--redirects", "3", "s.py"], "--redirects needs --log-dir"),
        (["--log-dir", "logs", "--tee", "5:1", "s.py"], "--tee 5:1: give 0 to 3 for all ranks"),
        (["--log-dir", "logs", "-t", "1", "-r", "3", "s.py"], "rank 0 is in --redirects and in"),
        (["--log-dir", "s.py/x", "s.py"], "--log-dir s.py/x can't be written to"),
        (["--attach", "1", "s.py"], "--attach 1: give a whole number from 0 to 0"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line(words, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TENSORBUS_JOB_SECRET", raising=False)
    (tmp_path / "s.py").write_text("raise SystemExit('the script was run')")
    assert main(words) == 2
    printed = capsys.readouterr()
    assert re.search(sentence, printed.err) and printed.err.count("\n") == 1, printed.err
    assert printed.out == ""


def test_a_busy_port_is_named(tmp_path, capsys):
    (tmp_path / "s.py").write_text("")
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        assert main(["--master-port", str(port), str(tmp_path / "s.py")]) == 2
    assert f"port {port} of 127.0.0.1 is in use: give another" in capsys.readouterr().err


def test_an_unreadable_script(tmp_path, capsys):
    if os.geteuid() == 0:
        pytest.skip("root may read any file: run this test as another user")
    (tmp_path / "s.py").write_text("")
    (tmp_path / "s.py").chmod(0)
    assert main([str(tmp_path / "s.py")]) == 2
    assert "can't be read: Permission denied" in capsys.readouterr().err


def test_nproc_by_processors(monkeypatch):
    from tensorbus.distributed.run import options

    assert options._nproc("cpu") == len(os.sched_getaffinity(0))
    monkeypatch.setattr(options, "_devices", lambda kind: 3 if kind == "cuda" else 1)
    assert (options._nproc("auto"), options._nproc("gpu"), options._nproc("opencl")) == (3, 3, 1)
    monkeypatch.setattr(options, "_devices", lambda kind: 0)
    assert options._nproc("auto") == len(os.sched_getaffinity(0))
    with pytest.raises(cli.UsageError, match="no usable cuda device"):
        options._nproc("gpu")


def test_the_examples_of_the_page(launcher):
    page = (Path(__file__).parents[2] / "docs" / "launcher.md").read_text("utf-8")
    train, ranks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    shown = re.search(r"^\$ tensorbus run (--nproc 2) train.py\n(.*?)^```", page, re.M | re.S)
    done = launcher.run(*shown[1].split(), launcher.script(train, "train.py"))
    assert sorted(done.stdout.splitlines()) == shown[2].splitlines(), done.stderr
    port = str(own_port())
    script = launcher.script(ranks.replace("29500", port), "ranks.py")
    out = subprocess.check_output([sys.executable, script], text=True, timeout=180)
    assert sorted(out.splitlines()) == ["rank 0 has [2.0, 2.0]", "rank 1 has [2.0, 2.0]"]


def test_a_reserved_port_is_given_to_nobody_else_and_taken_by_its_number():
    port, held = ports.reserve("127.0.0.1", 0)
    others = []
    try:
        for _ in range(200):
            others.append(socket.socket())
            others[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            others[-1].bind(("127.0.0.1", 0))
        assert port not in [other.getsockname()[1] for other in others]
        with listen("127.0.0.1", port) as server:
            assert server.getsockname()[1] == port
    finally:
        for other in (held, *others):
            other.close()
