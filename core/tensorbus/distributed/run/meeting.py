"""How many launchers share a job, which this one is, and where they meet."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from tensorbus.cli import UsageError
from tensorbus.distributed.run import ports
from tensorbus.distributed.run.plan import JOIN_TIMEOUT, LAST_CALL, LOOPBACK
from tensorbus.distributed.run.values import seconds, whole
from tensorbus.distributed.secret import job_secret

MOST_NODES = 4096
STATIC_PORT, AGREED_PORT = 29500, 29400
"""Where several nodes meet unless the user names another port, as in PyTorch."""
_NOTHING_TO_SET = {"close_timeout", "heartbeat_timeout", "is_host", "keep_alive_interval",
                   "keep_alive_max_attempt", "read_timeout", "store_type"}  # fmt: skip
"""Settings of PyTorch's rendezvous that mean nothing to this one."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """What the options say of it."""

    nnodes: int
    fewest: int
    node_rank: int | None
    """None: the launchers agree on that."""
    address: str
    port: int
    join_timeout: float = JOIN_TIMEOUT
    last_call: float = LAST_CALL


def meeting(args: argparse.Namespace) -> Meeting:
    """Check the options that speak of nodes."""
    fewest, nnodes = _nnodes(args.nnodes)
    settings = _settings(args.rdzv_conf)
    if args.rdzv_backend not in ("static", "c10d"):
        raise UsageError(f"--rdzv-backend {args.rdzv_backend}: give static or c10d")
    agreed = args.rdzv_backend == "c10d"
    if fewest < nnodes and not agreed:
        raise UsageError(
            f"--nnodes {args.nnodes}: where the number of nodes is open they agree on their ranks: "
            "give --rdzv-backend c10d, or one number"
        )
    address, port = _master(args, nnodes, AGREED_PORT if agreed else STATIC_PORT)
    given = None if fewest < nnodes else args.node_rank or settings.get("rank")
    node_rank = _node_rank(given, nnodes, agreed)
    join = settings.get("join_timeout") or settings.get("timeout")
    last = settings.get("last_call_timeout")
    return Meeting(
        nnodes, fewest, node_rank, address, port,
        seconds("--rdzv-conf join_timeout", join) if join else JOIN_TIMEOUT,
        seconds("--rdzv-conf last_call_timeout", last) if last else LAST_CALL,
    )  # fmt: skip


def _nnodes(text: str) -> tuple[int, int]:
    least, colon, most = text.partition(":")
    fewest = whole("--nnodes", least, 1, MOST_NODES)
    return fewest, whole("--nnodes", most, fewest, MOST_NODES) if colon else fewest


def _settings(text: str) -> dict[str, str]:
    known = {"join_timeout", "last_call_timeout", "rank", "timeout"}
    found = {}
    for pair in filter(None, text.split(",")):
        key, equals, value = (word.strip() for word in pair.partition("="))
        if not equals or key not in known | _NOTHING_TO_SET:
            raise UsageError(
                f"--rdzv-conf {text}: give KEY=VALUE,... with keys of {', '.join(sorted(known))}"
            )
        found[key] = value
    return found


def _node_rank(text: str | None, nnodes: int, agreed: bool) -> int | None:
    if nnodes == 1:
        return whole("--node-rank", text, 0, 0) if text else 0
    if text is None:
        if agreed:
            return None
        raise UsageError(
            f"--nnodes {nnodes} needs --node-rank: 0 on the node of --master-addr, "
            "then 1, 2, ...; or --rdzv-backend c10d"
        )
    return whole("--node-rank", text, 0, nnodes - 1)


def _master(args: argparse.Namespace, nnodes: int, default_port: int) -> tuple[str, int]:
    address, port, endpoint = args.master_addr, args.master_port, args.rdzv_endpoint
    if args.standalone:
        given = [
            option
            for option, value in (
                ("--master-addr", address), ("--master-port", port), ("--nnodes", nnodes > 1),
            )
            if value
        ]  # fmt: skip
        if given:
            raise UsageError(f"--standalone is one node on a free port: leave out {given[0]}")
        endpoint = None  # torchrun takes no notice of it either
    if endpoint:
        if address or port:
            raise UsageError("give --rdzv-endpoint, or --master-addr and --master-port, not both")
        address, port = _split(endpoint)
    number = 0 if port is None else whole("the master's port", port, 0, 65535)
    address = None if address is None else address.strip("[]")
    if nnodes == 1:
        address = address or LOOPBACK
        if number:
            ports.check(address, number)
        return address, number
    if not address:
        raise UsageError(f"--nnodes {nnodes} needs --master-addr: where node 0 is reached")
    try:
        job_secret(address)
    except RuntimeError as e:
        raise UsageError(
            f"--nnodes {nnodes}: {e}; such as the output of "
            'python -c "import secrets; print(secrets.token_hex())"'
        ) from e
    return address, number or default_port


def _split(endpoint: str) -> tuple[str, str | None]:
    """Host and port of ``host:port``, ``[::1]:port`` or a host alone."""
    host, colon, port = endpoint.rpartition(":")
    if not colon or endpoint.endswith("]"):
        return endpoint, None
    return host, port
