"""The launcher's options, which are torchrun's, and what can be said of them before a start."""

from __future__ import annotations

import argparse
import importlib.machinery
import os
import re
import secrets
import shutil
import sys
from pathlib import Path
from typing import Any

from tensorbus.cli import UsageError
from tensorbus.distributed.run import ports
from tensorbus.distributed.run.plan import ERR, LOOPBACK, OUT, Plan, cores
from tensorbus.distributed.secret import VARIABLE as SECRET

MOST_RANKS = 4096
DEFAULT_PORT = 29500
"""Where several nodes meet unless the user names another port, as in PyTorch."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options, with dashes and with underscores, the script and its arguments."""

    def option(name: str, *more: str, **settings: Any) -> None:
        names = dict.fromkeys((name, *more, name.replace("-", "_").replace("__", "--", 1)))
        parser.add_argument(*names, **settings)

    option(
        "--nproc-per-node", "--nproc", metavar="N", default="1", dest="nproc",
        help="how many ranks to start here: a number, 'cpu' (one for each processor), 'gpu' (for "
             "each CUDA device), 'auto' (gpu, else cpu), or a device type (default: 1)",
    )  # fmt: skip
    option("--nnodes", metavar="N", default="1", help="how many launchers share the job")
    option("--node-rank", metavar="I", help="which of them this is, 0 first")
    option("--master-addr", metavar="HOST", help="the address of node 0, where the others reach it")
    option("--master-port", metavar="PORT", help="a port on node 0 (one node: a free one)")
    option("--max-restarts", metavar="N", default="0", help="how often to start all ranks again")
    option(
        "--grace-period", metavar="SECONDS", default="5",
        help="how long ranks that were asked to end may take (default: 5)",
    )  # fmt: skip
    option("--module", "-m", action="store_true", help="SCRIPT is a module, as in `python -m`")
    option("--no-python", action="store_true", help="SCRIPT is a program, run without Python")
    option("--log-dir", type=Path, metavar="DIR", help="a folder for what the ranks print")
    streams = "of all ranks (3) or some (0:1,1:3): 1 stdout, 2 stderr, 3 both"
    option("--redirects", "-r", metavar="WHICH", help=f"streams for --log-dir alone, {streams}")
    option("--tee", "-t", metavar="WHICH", help="streams for --log-dir and the terminal, likewise")
    option("--local-ranks-filter", metavar="RANKS", help="show only these ranks' output: 0,3")
    option("--attach", metavar="RANK", help="give one local rank the terminal, without prefix")
    option("--standalone", action="store_true", help="one node, on a free port of its own")
    option("--rdzv-backend", metavar="NAME", default="static", help="static (c10d: the same)")
    option("--rdzv-endpoint", metavar="HOST:PORT", help="--master-addr and --master-port in one")
    option("--rdzv-id", metavar="TEXT", default="none", help="the job's name in logs")
    option("--role", metavar="TEXT", default="default", help="ROLE_NAME in the environment")
    option(
        "--monitor-interval", metavar="SECONDS", default="0.1",
        help="how often to look for what sends no event (default: 0.1)",
    )  # fmt: skip
    parser.add_argument("script", metavar="SCRIPT", help="what each rank runs")
    parser.add_argument(
        "script_args", metavar="ARGS", nargs=argparse.REMAINDER, help="the script's own arguments"
    )


def plan(args: argparse.Namespace) -> Plan:
    """Check everything that can be checked; ``UsageError`` with one sentence otherwise."""
    nproc = _nproc(args.nproc)
    nnodes = _nnodes(args.nnodes)
    address, port = _master(args, nnodes)
    logged, silent = _streams(args, nproc)
    attach = None
    if args.attach is not None:
        attach = _whole("--attach", args.attach, 0, nproc - 1)
        if logged.get(attach) or silent.get(attach):
            raise UsageError(f"--attach {attach}: the output of that rank is redirected")
    return Plan(
        command=_command(args),
        nproc=nproc,
        nnodes=nnodes,
        node_rank=_node_rank(args.node_rank, nnodes),
        master_addr=address,
        master_port=port,
        max_restarts=_whole("--max-restarts", args.max_restarts, 0, 10**6),
        run_id=args.rdzv_id,
        role=args.role,
        grace=_seconds("--grace-period", args.grace_period),
        interval=_seconds("--monitor-interval", args.monitor_interval),
        log_dir=args.log_dir,
        logged=logged,
        silent=silent,
        attached=attach,
    )


# -- numbers -----------------------------------------------------------------------------------
def _whole(option: str, text: str, least: int, most: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise UsageError(f"{option} {text}: give a whole number from {least} to {most}")
    return value


def _seconds(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise UsageError(f"{option} {text}: give a positive number of seconds")
    return value


def _nproc(text: str) -> int:
    if re.fullmatch(r"[+-]?\d+", text):
        return _whole("--nproc", text, 1, MOST_RANKS)
    if text == "cpu":
        return cores()
    if text == "auto":
        return _devices("cuda") or cores()
    kind = "cuda" if text == "gpu" else text
    from tensorbus import discovery

    if kind not in discovery.backend_names():
        raise UsageError(
            f"--nproc {text}: give a whole number from 1 to {MOST_RANKS}, cpu, gpu, auto, or a "
            f"device type ({', '.join(discovery.backend_names())})"
        )
    found = _devices(kind)
    if not found:
        raise UsageError(
            f"--nproc {text}: this machine has no usable {kind} device; `tensorbus devices` says "
            "why. Give a number, or cpu"
        )
    return found


def _devices(kind: str) -> int:
    """How many there are, asked in another process: no driver is loaded into this one."""
    from tensorbus.cli.probe import ask_each

    return len(ask_each([kind], 60.0)[0].devices)


# -- nodes -------------------------------------------------------------------------------------
def _nnodes(text: str) -> int:
    least, colon, most = text.partition(":")
    if colon and least != most:
        raise UsageError(
            f"--nnodes {text}: the number of nodes can't change while a job runs; give one number"
        )
    return _whole("--nnodes", least, 1, MOST_RANKS)


def _node_rank(text: str | None, nnodes: int) -> int:
    if text is None:
        if nnodes > 1:
            raise UsageError(
                f"--nnodes {nnodes} needs --node-rank: 0 on the node of --master-addr, "
                "then 1, 2, ..."
            )
        return 0
    return _whole("--node-rank", text, 0, nnodes - 1)


def _master(args: argparse.Namespace, nnodes: int) -> tuple[str, int]:
    if args.rdzv_backend not in ("static", "c10d"):
        raise UsageError(f"--rdzv-backend {args.rdzv_backend}: give static, or nothing")
    address, port = args.master_addr, args.master_port
    if args.standalone:
        given = [
            option
            for option, value in (
                ("--master-addr", address), ("--master-port", port),
                ("--rdzv-endpoint", args.rdzv_endpoint), ("--nnodes", nnodes > 1),
            )
            if value
        ]  # fmt: skip
        if given:
            raise UsageError(f"--standalone is one node on a free port: leave out {given[0]}")
    if args.rdzv_endpoint:
        if address or port:
            raise UsageError("give --rdzv-endpoint, or --master-addr and --master-port, not both")
        address, colon, port = args.rdzv_endpoint.rpartition(":")
        if not colon:
            address, port = args.rdzv_endpoint, None
        address = address.strip("[]")
    number = 0 if port is None else _whole("the master's port", port, 0, 65535)
    if nnodes == 1:
        address = address or LOOPBACK
        if number:
            ports.check(address, number)
        return address, number
    if not address:
        raise UsageError(f"--nnodes {nnodes} needs --master-addr: where node 0 is reached")
    if not os.environ.get(SECRET):
        raise UsageError(
            f"--nnodes {nnodes} needs a secret: set {SECRET} to the same random text on all nodes, "
            'such as the output of python -c "import secrets; print(secrets.token_hex())"'
        )
    return address, number or DEFAULT_PORT


# -- output ------------------------------------------------------------------------------------
def _streams(args: argparse.Namespace, nproc: int) -> tuple[dict[int, int], dict[int, int]]:
    """What is written to files, and what is not shown, by local rank."""
    redirects = _which("--redirects", args.redirects, nproc)
    tee = _which("--tee", args.tee, nproc)
    if (redirects or tee) and args.log_dir is None:
        raise UsageError(f"{'--redirects' if redirects else '--tee'} needs --log-dir")
    for rank in redirects.keys() & tee.keys():
        if redirects[rank] & tee[rank]:
            raise UsageError(f"rank {rank} is in --redirects and in --tee: give one of them")
    if args.log_dir is not None:
        _check_folder(args.log_dir)
        if not redirects and not tee:
            tee = dict.fromkeys(range(nproc), OUT | ERR)
    logged = {r: redirects.get(r, 0) | tee.get(r, 0) for r in range(nproc)}
    silent = dict(redirects)
    if args.local_ranks_filter is not None:
        words = args.local_ranks_filter.split(",")
        shown = {_whole("--local-ranks-filter", word, 0, nproc - 1) for word in words}
        silent |= dict.fromkeys(set(range(nproc)) - shown, OUT | ERR)
    return logged, silent


def _which(option: str, text: str | None, nproc: int) -> dict[int, int]:
    if text is None:
        return {}
    if re.fullmatch(r"[0-3]", text):
        return dict.fromkeys(range(nproc), int(text)) if int(text) else {}
    found = {}
    for pair in text.split(","):
        match = re.fullmatch(r"(\d+):([0-3])", pair)
        if not match or int(match[1]) >= nproc:
            raise UsageError(
                f"{option} {text}: give 0 to 3 for all ranks, or RANK:0-3 pairs such as 0:1,1:3, "
                f"with ranks below {nproc}"
            )
        found[int(match[1])] = int(match[2])
    return {rank: which for rank, which in found.items() if which}


def _check_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trial = folder / f".tensorbus-{secrets.token_hex(4)}"
        trial.touch()
        trial.unlink()
    except OSError as e:
        raise UsageError(f"--log-dir {folder} can't be written to: {e.strerror or e}") from e


# -- what to run -------------------------------------------------------------------------------
def _command(args: argparse.Namespace) -> tuple[str, ...]:
    script: str = args.script
    # Unbuffered, so that lines come when they are printed and none is lost with a killed rank.
    python = (sys.executable, "-u")
    if args.no_python:
        if args.module:
            raise UsageError("--no-python and --module exclude each other")
        program = shutil.which(script)
        if program is None:
            raise UsageError(f"{script} is not a program that can be run (--no-python)")
        return (program, *args.script_args)
    if args.module:
        _check_module(script)
        return (*python, "-m", script, *args.script_args)
    _check_script(script)
    return (*python, script, *args.script_args)


def _check_module(name: str) -> None:
    first = name.partition(".")[0]
    here = ["" if path == "" else path for path in ("", *sys.path)]
    if (
        first not in sys.builtin_module_names
        and importlib.machinery.PathFinder.find_spec(first, here) is None
    ):
        raise UsageError(f"-m {name}: there is no module {first} here")


def _check_script(script: str) -> None:
    path = Path(script)
    try:
        if path.is_dir():
            path = path / "__main__.py"
        with path.open("rb"):
            pass
    except FileNotFoundError:
        hint = "; for a module give -m" if re.fullmatch(r"\w+(\.\w+)*(?<!\.py)", script) else ""
        raise UsageError(f"there is no script {path}{hint}") from None
    except OSError as e:
        raise UsageError(f"the script {path} can't be read: {e.strerror or e}") from e
