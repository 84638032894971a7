"""The options that torchrun's command lines have, and the old ways to start its ranks."""

from __future__ import annotations

import argparse
import json
import re
import runpy
import signal
import subprocess
import sys

import pytest
from ports import own_port

from tensorbus.distributed import launch
from tensorbus.distributed.run import add_arguments, options

SHOW = """
import json, os, sys
names = ("RANK LOCAL_RANK GROUP_RANK GROUP_WORLD_SIZE WORLD_SIZE CUDA_VISIBLE_DEVICES "
         "TENSORBUS_INTERFACE TENSORBUS_JOB_SECRET").split()
card = {n: os.environ.get(n) for n in names}
card |= {"argv": sys.argv, "path": sys.path[0], "name": __name__, "python": sys.executable}
os.write(1, (json.dumps(card) + "\\n").encode())
"""


def cards(out: str) -> list[dict]:
    """What the ranks printed of themselves, by rank."""
    lines = [re.fullmatch(r"\[rank (\d+)\] (.*)", line) for line in out.splitlines()]
    return [json.loads(found[2]) for found in sorted(lines, key=lambda found: int(found[1]))]


def planned(*words: str):
    """The plan of a command line."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return options.plan(parser.parse_args([*words, "--no-python", "true"]))


# -- how ranks are started ---------------------------------------------------------------------
def test_scripts_for_launch_are_told_their_local_rank(launcher):
    script = launcher.script(SHOW)

    def start(*words: str):
        with pytest.warns(FutureWarning, match="read os.environ\\['LOCAL_RANK'\\] and start them"):
            return launcher.run(*words, command=launch.main)

    told = cards(start("--nproc_per_node=2", script, "--epochs", "3").stdout)
    assert [c["argv"][1:] for c in told] == [[f"--local-rank={r}", "--epochs", "3"] for r in (0, 1)]
    told = cards(start("--use_env", "--nproc_per_node=2", script, "--epochs", "3").stdout)
    assert [c["argv"][1:] for c in told] == [["--epochs", "3"]] * 2
    assert [c["LOCAL_RANK"] for c in told] == ["0", "1"]
    refused = start("--no-python", "true")
    assert refused.returncode == 2 and "with --no-python give --use-env too" in refused.stderr


def test_a_script_by_its_path_and_by_another_python(launcher):
    script = launcher.script(SHOW)
    (card,) = cards(launcher.run("--run-path", "--no-python", "script.py", "a").stdout)
    assert (card["argv"], card["name"]) == ([script, "a"], "__main__")
    assert card["path"] != str(launcher.folder)
    (card,) = cards(launcher.run("script.py", "a").stdout)
    assert (card["argv"], card["path"]) == (["script.py", "a"], str(launcher.folder))
    other = launcher.folder / "python"
    other.write_text(f'#!/bin/sh\necho "[by another] $1"\nexec "{sys.executable}" "$@"\n')
    other.chmod(0o755)
    done = launcher.run("script.py", PYTHON_EXEC=str(other))
    assert done.stdout.startswith("[rank 0] [by another] -u\n[rank 0] {"), done


def test_the_package_runs_by_runpy(capfd, monkeypatch, tmp_path):
    (tmp_path / "s.py").write_text("import os; os.write(1, b'ran\\n')")
    for module, words in (
        ("tensorbus", ["run"]),
        ("tensorbus.distributed.run", []),
        ("tensorbus.distributed.launch", ["--use-env"]),
    ):
        monkeypatch.setattr(sys, "argv", ["x", *words, str(tmp_path / "s.py")])
        with pytest.raises(SystemExit) as ended, pytest.MonkeyPatch.context() as patch:
            patch.delitem(sys.modules, "tensorbus.distributed.launch", raising=False)
            if module.endswith("launch"):
                with pytest.warns(FutureWarning):
                    runpy.run_module(module, run_name="__main__", alter_sys=True)
            else:
                runpy.run_module(module, run_name="__main__", alter_sys=True)
        assert ended.value.code == 0 and capfd.readouterr().out == "[rank 0] ran\n"


# -- what ranks find ---------------------------------------------------------------------------
def test_each_rank_sees_one_device_as_its_first(launcher):
    words = ["--nproc", "2", "--virtual-local-rank", "--local-addr", "192.0.2.7"]
    script = launcher.script(SHOW)
    found = cards(launcher.run(*words, script, CUDA_VISIBLE_DEVICES="4,GPU-7,9").stdout)
    assert [(c["LOCAL_RANK"], c["CUDA_VISIBLE_DEVICES"]) for c in found] == [
        ("0", "4"),
        ("0", "GPU-7"),
    ]
    assert {c["TENSORBUS_INTERFACE"] for c in found} == {"192.0.2.7"}
    short = launcher.run(*words, script, CUDA_VISIBLE_DEVICES="4")
    assert short.returncode == 2
    assert "local rank 1 can't be started: CUDA_VISIBLE_DEVICES=4 has no device" in short.stderr


def test_defaults_come_from_the_environment_as_torchruns_do(monkeypatch):
    monkeypatch.setenv("PET_NPROC_PER_NODE", "3")
    monkeypatch.setenv("PET_MAX_RESTARTS", "2")
    monkeypatch.setenv("PET_VIRTUAL_LOCAL_RANK", "1")
    monkeypatch.setenv("PET_STANDALONE", "0")
    monkeypatch.setenv("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "7")
    plan = planned("--rdzv-endpoint", "127.0.0.1:0", "--max_restarts=4")
    assert (plan.nproc, plan.max_restarts, plan.grace) == (3, 4, 7.0)
    assert plan.virtual_local_rank and plan.master_addr == "127.0.0.1"
    assert planned("--shutdown-timeout", "2.5").grace == 2.5


def test_command_lines_for_torchrun_are_taken(monkeypatch):
    plan = planned(
        "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--nnodes=1", "--rdzv_id=job",
        "--rdzv_conf=timeout=5,read_timeout=60", "--start_method=fork", "--logs-specs=default",
        "--event-log-handler=null", "--monitor_interval=1", "--role=trainer",
    )  # fmt: skip
    assert (plan.master_addr, plan.master_port, plan.run_id) == ("localhost", 0, "job")
    assert (plan.role, plan.interval, plan.join_timeout) == ("trainer", 1.0, 5.0)
    # What --standalone leaves no choice for is not looked at.
    alone = planned("--standalone", "--rdzv-endpoint=elsewhere.invalid:29500", "--nnodes=1:1")
    assert (alone.master_addr, alone.nnodes, alone.node_rank) == ("127.0.0.1", 1, 0)
    monkeypatch.setenv("TENSORBUS_JOB_SECRET", "shared")
    agreed = planned(
        "--nnodes=2:4", "--rdzv-backend=c10d", "--rdzv-endpoint=[::1]", "--node-rank=1"
    )
    assert (agreed.nnodes, agreed.fewest_nodes, agreed.node_rank) == (4, 2, None)
    assert (agreed.master_addr, agreed.master_port) == ("::1", 29400)
    static = planned("--nnodes=2:2", "--node-rank=1", "--master-addr=node0")
    assert (static.nnodes, static.node_rank, static.master_port) == (2, 1, 29500)


# -- output ------------------------------------------------------------------------------------
def test_lines_with_some_texts_are_written_once_more(launcher, tmp_path):
    script = launcher.script(
        "import os\nrank = os.environ['RANK']\n"
        "os.write(1, f'loss 1,{rank}\\nother\\nstep {rank}\\n'.encode())\n"
        "os.write(2, f'warning {rank}\\nloss on stderr\\n'.encode())\n"
    )
    done = launcher.run(
        "--nproc", "2", "--log-dir", "logs", "--redirects", "1:3",
        "--duplicate-stdout-filters", "loss 1,,0,step", "--duplicate_stderr_filters", "warn",
        script,
    )  # fmt: skip
    assert sorted(done.stdout.splitlines()) == [
        f"[rank 0] {x}" for x in ("loss 1,0", "other", "step 0")
    ]
    folder = tmp_path / "logs" / "none" / "attempt_0"
    found = [
        sorted((folder / f"filtered_{stream}.log").read_text().splitlines())
        for stream in ("stdout", "stderr")
    ]
    assert found[0] == ["[rank 0] loss 1,0", "[rank 0] step 0", "[rank 1] step 1"]
    assert found[1] == ["[rank 0] warning 0", "[rank 1] warning 1"]


def test_what_a_rank_recorded_is_told_where_its_output_is_not_seen(launcher, tmp_path):
    script = launcher.script(
        "import os, sys\n"
        "from tensorbus.distributed.elastic.multiprocessing.errors import record\n"
        "@record\ndef main():\n    raise ValueError('no such digit: 11')\n"
        "try: main()\nexcept ValueError: os._exit(3)\n"
    )
    folder = tmp_path / "logs" / "mine" / "attempt_0" / "0"
    folder.mkdir(parents=True)
    (folder / "error.json").write_text("left by another job")
    words = ["--log-dir", "logs", "--rdzv-id", "mine"]
    done = launcher.run(*words, "--attach", "0", script)
    assert done.returncode == 3
    message = json.loads((folder / "error.json").read_text())["message"]
    assert message["message"] == "ValueError: no such digit: 11"
    assert "Its error output ended with:\n  Traceback (most recent call last):\n" in done.stderr
    assert done.stderr.endswith("\n  ValueError: no such digit: 11\n")
    quiet = launcher.run(*words, launcher.script("raise SystemExit(4)"))
    assert quiet.returncode == 4 and "no such digit" not in quiet.stderr
    assert not (folder / "error.json").exists()


# -- signals -----------------------------------------------------------------------------------
def test_signals_that_are_not_handled_do_what_they_do_by_themselves(launcher):
    script = launcher.script("import os, time; os.write(1, b'runs\\n'); time.sleep(1000)")
    process = launcher.start("--signals-to-handle", "SIGTERM,SIGUSR2", script)
    assert process.stdout.readline() == "[rank 0] runs\n"
    process.send_signal(signal.SIGUSR1)
    # The fixture sees that nothing of it is left.
    assert process.wait(timeout=240) == -signal.SIGUSR1


def test_a_signal_that_is_named_ends_the_job_in_order(launcher):
    script = launcher.script("import os, time; os.write(1, b'runs\\n'); time.sleep(1000)")
    process = launcher.start("--signals-to-handle", "SIGALRM", script)
    assert process.stdout.readline() == "[rank 0] runs\n"
    process.send_signal(signal.SIGALRM)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 128 + signal.SIGALRM
    assert err.endswith("tensorbus run: SIGALRM received; all ranks were ended.\n")


# -- nodes that agree on their ranks -------------------------------------------------------------
def agreeing(launcher, port: int, *words: str, **settings: str) -> subprocess.Popen[str]:
    return launcher.start(
        "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", *words,
        **{"TENSORBUS_JOB_SECRET": "shared", **settings},
    )  # fmt: skip


@pytest.mark.parametrize("secret", ["shared", ""])
def test_nodes_agree_on_who_is_first(launcher, secret):
    """On one machine, where all belong to one user, no secret has to be named."""
    port, script = own_port(), launcher.script(SHOW)
    words = ["--nnodes=2", "--nproc=2", "--rdzv-id=job"]
    settings = {"TENSORBUS_JOB_SECRET": secret, "XDG_CONFIG_HOME": str(launcher.folder / "config")}
    started = [agreeing(launcher, port, *words, script, **settings) for _ in range(2)]
    ended = [process.communicate(timeout=120) for process in started]
    assert [p.returncode for p in started] == [0, 0], ended
    found = cards("".join(out for out, _ in ended))
    assert len({c["TENSORBUS_JOB_SECRET"] for c in found}) == 1
    assert [(c["RANK"], c["LOCAL_RANK"], c["GROUP_RANK"], c["WORLD_SIZE"]) for c in found] == [
        ("0", "0", "0", "4"), ("1", "1", "0", "4"), ("2", "0", "1", "4"), ("3", "1", "1", "4"),
    ]  # fmt: skip
    # Each launcher has shown the ranks of one node.
    assert len({c["GROUP_RANK"] for c in cards(ended[0][0])}) == 1


def test_an_open_number_of_nodes_is_what_has_come(launcher):
    script = launcher.script(SHOW)
    alone = agreeing(
        launcher, own_port(), "--nnodes=1:3", "--rdzv-conf=last_call_timeout=0.1", script
    )
    port, words = own_port(), ["--nnodes=1:2", "--rdzv-conf=last_call_timeout=300", script]
    both = [agreeing(launcher, port, *words) for _ in range(2)]
    ended = [process.communicate(timeout=120) for process in (alone, *both)]
    assert [p.returncode for p in (alone, *both)] == [0, 0, 0], ended
    assert [(c["GROUP_WORLD_SIZE"], c["WORLD_SIZE"]) for c in cards(ended[0][0])] == [("1", "1")]
    found = cards(ended[1][0] + ended[2][0])
    assert [(c["GROUP_RANK"], c["GROUP_WORLD_SIZE"]) for c in found] == [("0", "2"), ("1", "2")]


@pytest.mark.slow
def test_nodes_that_do_not_belong_together(launcher):
    hold = launcher.script("import os, time; os.write(1, b'runs\\n'); time.sleep(1000)")
    port = own_port()
    first = agreeing(
        launcher, port, "--nnodes=1:2", "--rdzv-conf=last_call_timeout=0.1", "--rdzv-id=one", hold
    )
    assert first.stdout.readline() == "[rank 0] runs\n"
    late = agreeing(launcher, port, "--nnodes=1:2", "--rdzv-id=one", hold)
    _, err = late.communicate(timeout=120)
    assert late.returncode == 2 and "the job has begun without this node, with 1 nodes" in err
    third = agreeing(launcher, port, "--nnodes=1:2", "--rdzv-id=one", hold)
    _, err = third.communicate(timeout=120)
    assert third.returncode == 2 and "has all its 2 nodes already" in err
    first.terminate()
    first.communicate(timeout=240)
    other = own_port()
    pair = [
        agreeing(launcher, other, "--nnodes=2", f"--rdzv-id={name}", hold)
        for name in ("one", "two")
    ]
    errs = [process.communicate(timeout=120)[1] for process in pair]
    assert {p.returncode for p in pair} == {2}, errs
    assert all("give all launchers the same" in err for err in errs), errs


def test_a_first_node_that_dies_while_others_wait(launcher):
    script, words = launcher.script("raise SystemExit('it was run')"), ["--nnodes=3"]
    port = own_port()
    first = agreeing(launcher, port, *words, script)
    assert first.stderr.readline() == "tensorbus run: waiting for the launcher of node 1\n"
    second = agreeing(launcher, port, *words, script)
    assert second.stderr.readline() == "tensorbus run: waiting for the launcher of node 2\n"
    first.kill()
    _, err = second.communicate(timeout=120)
    assert second.returncode == 2 and "node 0 at 127.0.0.1" in err
    assert err.endswith("has left while the launchers met: it says why\n") and err.count("\n") == 1
