"""What the launcher's options say, checked before anything is started."""

from __future__ import annotations

import argparse
import re
import signal
from typing import TYPE_CHECKING

from tensorbus.cli import UsageError
from tensorbus.distributed.run.binding import ADDRESS, processors
from tensorbus.distributed.run.commands import command
from tensorbus.distributed.run.meeting import meeting
from tensorbus.distributed.run.outputs import outputs
from tensorbus.distributed.run.plan import SIGNALS, Plan, cores
from tensorbus.distributed.run.values import seconds, whole

if TYPE_CHECKING:
    from tensorbus.cli.probe import Device

MOST_RANKS = 4096


def plan(args: argparse.Namespace) -> Plan:
    """Check everything that can be checked; ``UsageError`` with one sentence otherwise."""
    _refuse_what_is_not_offered(args)
    nproc = _nproc(args.nproc)
    nodes, shown = meeting(args), outputs(args, nproc)
    return Plan(
        command=command(args),
        nproc=nproc,
        nnodes=nodes.nnodes,
        fewest_nodes=nodes.fewest,
        node_rank=nodes.node_rank,
        master_addr=nodes.address,
        master_port=nodes.port,
        local_addr=args.local_addr,
        join_timeout=nodes.join_timeout,
        last_call=nodes.last_call,
        max_restarts=whole("--max-restarts", args.max_restarts, 0, 10**6),
        run_id=args.rdzv_id,
        role=args.role,
        grace=seconds("--grace-period", args.grace_period),
        signals=_signals(args.signals_to_handle),
        interval=seconds("--monitor-interval", args.monitor_interval),
        processors=_bound(args.numa_binding, nproc),
        virtual_local_rank=args.virtual_local_rank,
        log_dir=args.log_dir,
        logged=shown.logged,
        silent=shown.silent,
        filters=shown.filters,
        attached=shown.attached,
    )


def _refuse_what_is_not_offered(args: argparse.Namespace) -> None:
    for option, value, only in (
        ("--event-log-handler", args.event_log_handler, "null"),
        ("--logs-specs", args.logs_specs, "default"),
    ):
        if value != only:
            raise UsageError(f"{option} {value}: there is no other than {only}")


def _signals(text: str | None) -> tuple[str, ...]:
    if text is None:
        return SIGNALS
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        known = name in signal.Signals.__members__ and name not in ("SIGKILL", "SIGSTOP")
        if not known:
            raise UsageError(
                f"--signals-to-handle {text}: {name or 'nothing'} is no signal that can be handled "
                "here, such as SIGTERM or SIGUSR1"
            )
    return names


def _nproc(text: str) -> int:
    if re.fullmatch(r"[+-]?\d+", text):
        return whole("--nproc", text, 1, MOST_RANKS)
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


def _bound(mode: str | None, nproc: int) -> tuple[frozenset[int], ...]:
    """The processors of each rank, near the devices of the first type that says where they are."""
    if mode is None:
        return ()
    from tensorbus import discovery

    types = sorted(discovery.backend_names(), key=lambda name: (name != "cuda", name))
    found = ([device.details.get(ADDRESS, "") for device in _asked(type)] for type in types)
    return processors(mode, nproc, next((each for each in found if each and all(each)), []))


def _devices(kind: str) -> int:
    """How many there are."""
    return len(_asked(kind))


def _asked(kind: str) -> list[Device]:
    """The devices of a type, asked in another process: no driver is loaded into this one."""
    from tensorbus.cli.probe import ask_each

    return ask_each([kind], 60.0)[0].devices
