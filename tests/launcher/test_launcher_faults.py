"""A rank that dies, signals, restarts, a killed launcher: what is told, and what is left."""

from __future__ import annotations

import os
import re
import signal
import socket
import time

import pytest
from ports import own_port

RANK = "import os, signal, subprocess, sys, time\nrank = int(os.environ['RANK'])\n"
SLEEP = RANK + "print('runs', flush=True); time.sleep(1000)\n"
WITH_HELPER = (
    RANK + "subprocess.Popen(['sleep', '1000'])\nprint('runs', flush=True); time.sleep(1000)"
)
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
# Opening a named pipe waits for its other end: rank 0 goes on when rank 1 has come so far.
MEET = "open('meet', 'w' if rank else 'r').close()\n"


def said(text: str) -> str:
    """The launcher's own words."""
    return text[text.index("tensorbus run:") :]


def await_ranks(process, count: int) -> None:
    for _ in range(count):
        assert process.stdout.readline().endswith("runs\n")


def test_the_rank_that_raises_is_named_with_its_traceback(launcher):
    script = launcher.script(
        RANK + "if rank == 1: raise ValueError('no such digit: 11')\ntime.sleep(1000)"
    )
    done = launcher.run("--nproc", "3", script)
    assert done.returncode == 1
    assert re.fullmatch(
        r"tensorbus run: rank 1 failed first: exit code 1 \(process \d+, after \d+\.\d s\)\. "
        r"All ranks were ended\.\nIts error output ended with:\n"
        r"  Traceback \(most recent call last\):\n(?s:.*)\n  ValueError: no such digit: 11\n",
        said(done.stderr),
    ), done.stderr
    assert not launcher.left()


@pytest.mark.parametrize(
    ("last_act", "status", "how"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "killed by SIGKILL, perhaps by the kernel"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "killed by SIGSEGV; PYTHONFAULTHANDLER=1"),
        ("print('the disk is full', file=sys.stderr); os._exit(7)", 7, "exit code 7"),
    ],
)
def test_how_a_rank_ended_is_the_status(launcher, last_act, status, how):
    act = f"if rank == 0: {last_act}\n"
    done = launcher.run("--nproc", "2", launcher.script(RANK + act + "time.sleep(1000)"))
    assert done.returncode == status
    assert f"tensorbus run: rank 0 failed first: {how}" in done.stderr
    assert ("\n  the disk is full\n" in done.stderr) == (status == 7)


def test_a_rank_that_will_not_end_is_ended(launcher):
    os.mkfifo(launcher.folder / "meet")
    script = launcher.script(RANK + STUBBORN + MEET + "if rank == 0: sys.exit(3)\ntime.sleep(1000)")
    done = launcher.run("--nproc", "2", "--grace-period", "0.3", script)
    assert done.returncode == 3
    assert "rank 0 failed first: exit code 3" in done.stderr


FAILS_IN_COLLECTIVE = """
import os, time
import tensorbus as torch, tensorbus.distributed as dist
dist.init_process_group("tcp", timeout=120)
x = torch.ones(2)
dist.all_reduce(x)
if dist.get_rank() == {guilty}:
    {act}
dist.all_reduce(x)
"""


@pytest.mark.parametrize("guilty", [0, 1])
def test_the_cause_is_named_not_those_who_fail_because_of_it(launcher, guilty):
    # Rank 0 leaves the job in order, so that the others have ended before it.
    text = FAILS_IN_COLLECTIVE.format(guilty=guilty, act="raise KeyError('the cause')")
    done = launcher.run("--nproc", "2", launcher.script(text))
    assert done.returncode == 1
    words = said(done.stderr)
    assert f"rank {guilty} failed first: exit code 1" in words and "'the cause'" in words


def test_a_killed_rank_is_named_not_those_who_noticed(launcher):
    text = FAILS_IN_COLLECTIVE.format(guilty=1, act="os.kill(os.getpid(), 9)")
    done = launcher.run("--nproc", "2", launcher.script(text))
    assert done.returncode == 137 and "rank 1 failed first: killed by SIGKILL" in done.stderr


# -- signals -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("number", "stubborn"), [(2, False), (15, False), (15, True), (1, False)])
def test_signals_end_all_and_leave_nothing(launcher, number, stubborn):
    script = launcher.script(WITH_HELPER.replace("print", STUBBORN * stubborn + "print"))
    # Those that obey are given the time to say so.
    grace = "0.4" if stubborn else "60"
    process = launcher.start("--nproc", "2", "--grace-period", grace, script)
    await_ranks(process, 2)
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    name = signal.Signals(number).name
    assert err.endswith(f"tensorbus run: {name} received; all ranks were ended.\n")
    assert ("KeyboardInterrupt" in err) == (name == "SIGINT")


def test_ranks_may_end_in_order_within_the_grace_period(launcher):
    script = launcher.script(
        RANK + "def end(*_):\n    time.sleep(0.3); print('saved', rank); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\nprint('runs', flush=True); time.sleep(1000)"
    )
    process = launcher.start("--nproc", "2", "--grace-period", "60", script)
    await_ranks(process, 2)
    process.terminate()
    out, _ = process.communicate(timeout=120)
    assert sorted(out.splitlines()) == ["[rank 0] saved 0", "[rank 1] saved 1"]
    assert process.returncode == 143


def test_a_second_signal_ends_at_once(launcher):
    process = launcher.start("--nproc", "2", "--grace-period", "1000", launcher.script(
        RANK + "signal.signal(signal.SIGTERM, lambda *_: print('asked', flush=True))\n"
        "print('runs', flush=True)\nwhile True: time.sleep(1000)"))  # fmt: skip
    await_ranks(process, 2)
    process.terminate()
    assert process.stdout.readline().endswith("asked\n")
    process.terminate()
    process.communicate(timeout=120)
    assert process.returncode == 143


def test_user_signals_are_handed_on_and_end_nothing(launcher):
    script = launcher.script(
        RANK + "signal.signal(signal.SIGUSR1, lambda *_: (print('usr1', rank), sys.exit(0)))\n"
        "print('runs', flush=True); time.sleep(1000)"
    )
    process = launcher.start("--nproc", "2", script)
    await_ranks(process, 2)
    process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(timeout=120)
    assert sorted(out.splitlines()) == ["[rank 0] usr1 0", "[rank 1] usr1 1"]
    assert (process.returncode, err) == (0, "")


def test_a_killed_launcher_leaves_no_process_and_no_port(launcher):
    script = launcher.script(
        RANK + STUBBORN + "import socket\n"
        "if rank == 0: held = socket.create_server(('127.0.0.1', int(os.environ['MASTER_PORT'])))\n"
        "print(os.environ['MASTER_PORT'], flush=True)\n"
        "subprocess.Popen(['sleep', '1000'])\n"
        "print('runs', flush=True); time.sleep(1000)"
    )
    process = launcher.start("--nproc", "2", script)
    ports = set()
    lines = 0
    while lines < 2:
        word = process.stdout.readline().split()[-1]
        lines += word == "runs"
        ports |= {int(word)} if word.isdigit() else set()
    process.kill()
    process.wait(timeout=120)
    stop = time.monotonic() + 60
    while launcher.left():
        assert time.monotonic() < stop, launcher.left()
        time.sleep(0.05)
    (port,) = ports
    socket.create_server(("127.0.0.1", port)).close()


# -- restarts ----------------------------------------------------------------------------------
def test_restarts_start_all_ranks_afresh(launcher, tmp_path):
    script = launcher.script(
        RANK + "n = int(os.environ['TENSORBUS_RESTART_COUNT'])\n"
        # One write: of what print writes piece by piece, a rank that is ended may leave a part.
        "line = f\"{n} {os.environ['MASTER_PORT']} {os.environ['TENSORBUS_JOB_SECRET']}\\n\"\n"
        "os.write(1, line.encode())\n"
        "if n < 2:\n    if rank == 1: sys.exit(5)\n    time.sleep(1000)"
    )
    done = launcher.run("--nproc", "2", "--max-restarts", "3", script)
    assert done.returncode == 0, done.stderr
    seen = {tuple(line.split()[2:]) for line in done.stdout.splitlines()}
    assert sorted(n for n, _, _ in seen) == ["0", "1", "2"]
    assert len({port for _, port, _ in seen}) == len({secret for *_, secret in seen}) == 3
    assert re.findall(r"Restart \d of 3", done.stderr) == ["Restart 1 of 3", "Restart 2 of 3"]
    secrets = [secret for *_, secret in seen]
    assert not any(secret in done.stderr for secret in secrets)


def test_an_interrupted_failure_is_not_restarted(launcher):
    os.mkfifo(launcher.folder / "meet")
    script = launcher.script(
        RANK + "signal.signal(signal.SIGTERM, lambda *_: print('asked', flush=True))\n" + MEET
        + "if rank == 0: sys.exit(3)\nwhile True: time.sleep(1000)"
    )  # fmt: skip
    process = launcher.start("--nproc", "2", "--max-restarts", "5", "--grace-period", "60", script)
    assert process.stdout.readline() == "[rank 1] asked\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 3
    assert "rank 0 failed first: exit code 3" in err and "Restart" not in err


def test_after_the_last_restart_the_status_is_the_ranks(launcher):
    done = launcher.run("--max-restarts", "1", launcher.script("raise SystemExit(9)"))
    assert done.returncode == 9
    assert done.stderr.count("rank 0 failed first: exit code 9") == 2


# -- several nodes -----------------------------------------------------------------------------
def nodes(launcher, script: str, *more: str, counts: tuple[int, ...] = (1, 2)):
    port = own_port()
    return [
        launcher.start(
            "--nproc", str(count), "--nnodes", str(len(counts)), "--node-rank", str(node),
            "--rdzv-endpoint", f"127.0.0.1:{port}", *more, script, TENSORBUS_JOB_SECRET="shared",
        )
        for node, count in enumerate(counts)
    ]  # fmt: skip


def test_two_nodes_are_one_job(launcher):
    script = launcher.script(
        RANK + "import tensorbus as torch, tensorbus.distributed as dist\n"
        "dist.init_process_group('tcp', timeout=120)\n"
        "x = torch.tensor([rank + 1])\ndist.all_reduce(x)\n"
        "print(x.item(), *(os.environ[n] for n in ('WORLD_SIZE', 'GROUP_RANK', 'LOCAL_RANK')))\n"
        "dist.destroy_process_group()\n"
    )
    started = nodes(launcher, script)
    outs = [process.communicate(timeout=120) for process in started]
    assert [p.returncode for p in started] == [0, 0], outs
    assert outs[0][0] == "[rank 0] 6 3 0 0\n"
    assert sorted(outs[1][0].splitlines()) == ["[rank 1] 6 3 1 0", "[rank 2] 6 3 1 1"]


def test_a_node_waits_for_the_first(launcher):
    script = launcher.script(RANK + "print(rank)")
    first, second = (
        ["--nnodes", "2", "--node-rank", node, "--master-addr", "127.0.0.1", script]
        for node in ("0", "1")
    )
    port = ["--master-port", str(own_port())]
    waiting = launcher.start(*port, *second, TENSORBUS_JOB_SECRET="shared")
    assert "waiting for the launcher of node 0" in waiting.stderr.readline()
    assert launcher.run(*port, *first, TENSORBUS_JOB_SECRET="shared").stdout == "[rank 0] 0\n"
    assert waiting.communicate(timeout=120) == ("[rank 1] 1\n", "")


def test_a_failure_on_one_node_ends_and_restarts_all(launcher):
    script = launcher.script(
        RANK + "if rank == 2: raise ValueError('on the second node')\ntime.sleep(1000)"
    )
    started = nodes(launcher, script, "--max-restarts", "1")
    errs = [process.communicate(timeout=120)[1] for process in started]
    assert [p.returncode for p in started] == [1, 1]
    for err in errs:
        assert len(re.findall(r"run: rank 2 on node 1 failed first: exit code 1", err)) == 2, err
        assert "  ValueError: on the second node\n" in said(err)


def test_a_launcher_that_is_killed_ends_the_other(launcher):
    started = nodes(launcher, launcher.script(SLEEP), counts=(1, 1))
    for process in started:
        await_ranks(process, 1)
    started[1].kill()
    _, err = started[0].communicate(timeout=120)
    assert started[0].returncode == 1
    assert "tensorbus run: node 1 has left (its launcher died); all ranks were ended." in err


def test_a_node_with_another_secret_is_refused(launcher):
    started = nodes(launcher, launcher.script(SLEEP), counts=(1,) * 2)[:1]
    words = list(started[0].args)[3:]
    words[words.index("--node-rank") + 1] = "1"
    other = launcher.run(*words, TENSORBUS_JOB_SECRET="guessed")
    assert other.returncode == 2 and "its secret is another one" in other.stderr
    assert "guessed" not in other.stderr
