"""The launcher's options as they are declared: torchrun's, and a few of our own."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from tensorbus.distributed.run.binding import MODES

GRACE = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options, with dashes and with underscores, the script and its arguments.

    As with torchrun, an option's default can come from the environment: ``PET_NPROC_PER_NODE``.
    """

    def option(name: str, *more: str, **settings: Any) -> None:
        names = dict.fromkeys((name, *more, name.replace("-", "_").replace("__", "--", 1)))
        given = os.environ.get("PET_" + name.removeprefix("--").replace("-", "_").upper())
        if given is not None:
            flag = settings.get("action") == "store_true"
            settings["default"] = given not in ("", "0") if flag else given
        parser.add_argument(*names, **settings)

    def flag(name: str, *more: str, **settings: Any) -> None:
        option(name, *more, action="store_true", **settings)

    option(
        "--nproc-per-node", "--nproc", metavar="N", default="1", dest="nproc",
        help="how many ranks to start here: a number, 'cpu' (one for each processor), 'gpu' (for "
             "each CUDA device), 'auto' (gpu, else cpu), or a device type (default: 1)",
    )  # fmt: skip
    option(
        "--nnodes", metavar="N", default="1",
        help="how many launchers share the job; MIN:MAX starts with those that have come",
    )  # fmt: skip
    option("--node-rank", metavar="I", help="which of them this is, 0 first")
    option("--master-addr", metavar="HOST", help="the address of node 0, where the others reach it")
    option("--master-port", metavar="PORT", help="a port on node 0 (one node: a free one)")
    option("--local-addr", metavar="HOST", help="this machine's address, as the others reach it")
    flag("--standalone", help="one node, on a free port of its own")
    option(
        "--rdzv-backend", metavar="NAME", default="static",
        help="static: --node-rank says who a node is; c10d: the launchers agree on that",
    )  # fmt: skip
    option("--rdzv-endpoint", metavar="HOST:PORT", help="--master-addr and --master-port in one")
    option("--rdzv-id", metavar="TEXT", default="none", help="the job's name, and that of its logs")
    option(
        "--rdzv-conf", metavar="KEY=VALUE,...", default="",
        help="join_timeout=S: how long launchers wait for each other (default: 900); "
             "last_call_timeout=S: for more than MIN of them (30)",
    )  # fmt: skip
    option("--max-restarts", metavar="N", default="0", help="how often to start all ranks again")
    option(
        "--grace-period", "--shutdown-timeout", "--shutdown_timeout", metavar="SECONDS",
        default=os.environ.get(GRACE) or "5", dest="grace_period",
        help="how long ranks that were asked to end may take (default: 5)",
    )  # fmt: skip
    option(
        "--signals-to-handle", metavar="NAMES",
        help="the signals that end the job in order, such as SIGTERM,SIGINT; SIGUSR1 and SIGUSR2 "
             "are handed on to the ranks",
    )  # fmt: skip
    option(
        "--monitor-interval", metavar="SECONDS", default="0.1",
        help="how often to look for what sends no event (default: 0.1)",
    )  # fmt: skip
    flag("--module", "-m", help="SCRIPT is a module, as in `python -m`")
    flag("--no-python", help="SCRIPT is a program, run without Python")
    flag("--run-path", help="SCRIPT is run by runpy.run_path: its folder is not on the path")
    option("--log-dir", type=Path, metavar="DIR", help="a folder for what the ranks print")
    streams = "of all ranks (3) or some (0:1,1:3): 1 stdout, 2 stderr, 3 both"
    option("--redirects", "-r", metavar="WHICH", help=f"streams for --log-dir alone, {streams}")
    option("--tee", "-t", metavar="WHICH", help="streams for --log-dir and the terminal, likewise")
    option("--local-ranks-filter", metavar="RANKS", help="show only these ranks' output: 0,3")
    for stream in ("stdout", "stderr"):
        option(
            f"--duplicate-{stream}-filters", metavar="TEXTS", default="",
            help=f"also write lines of {stream} with one of these texts (loss,step) to "
                 f"filtered_{stream}.log in --log-dir",
        )  # fmt: skip
    option("--attach", metavar="RANK", help="give one local rank the terminal, without prefix")
    option("--role", metavar="TEXT", default="default", help="ROLE_NAME in the environment")
    flag("--virtual-local-rank", help="each rank sees one CUDA device, as LOCAL_RANK 0")
    option(
        "--start-method", choices=("spawn", "fork", "forkserver"), default="spawn",
        help="for torchrun's command lines: ranks that are scripts start in one way",
    )  # fmt: skip
    for name, only in (("--event-log-handler", "null"), ("--logs-specs", "default")):
        option(name, metavar="NAME", default=only, help=f"for torchrun's command lines: {only}")
    option(
        "--numa-binding", choices=MODES,
        help="bind each rank to processors near its device: those of the NUMA node or the socket, "
             "an equal share of the node's cores, or cores with one cache",
    )  # fmt: skip
    parser.add_argument("script", metavar="SCRIPT", help="what each rank runs")
    parser.add_argument(
        "script_args", metavar="ARGS", nargs=argparse.REMAINDER, help="the script's own arguments"
    )
