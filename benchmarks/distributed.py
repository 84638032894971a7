"""Two ranks on this machine beside gloo: ``python -m benchmarks.distributed [--comm tcp,mpi]``.

Each of the two processes is a rank of two jobs at once, one of ours and one of PyTorch's with
gloo. So both libraries use the same memory, the same cores and the same moments.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import environment
from benchmarks.distributed_cases import cases
from benchmarks.harness import ROOT, Loop, Row, merge, parser, private_copy, show, write_json

ROUND_SECONDS = 0.15
TIMEOUT = 120.0
"""Seconds after which a rank that waits for the other gives up."""


# -- one rank ----------------------------------------------------------------------------------
def measure(comm: str, rank: int, ports: list[int], only: str, rounds: int) -> dict[str, Any]:
    """Measure as one of two ranks: ``{case: {"ours": µs, "theirs": µs}}`` or ``{"error": text}``.

    A rank that is -1 is the one that the comm's own launcher gave.
    """
    from datetime import timedelta

    import torch
    import torch.distributed

    import tensorbus
    import tensorbus.distributed

    torch.set_num_threads(1)
    meeting = {} if rank < 0 else {"rank": rank, "world_size": 2}
    url = None if rank < 0 else f"tcp://127.0.0.1:{ports[0]}"
    tensorbus.distributed.init_process_group(comm, url, timeout=TIMEOUT, **meeting)
    rank = tensorbus.distributed.get_rank()
    torch.distributed.init_process_group(
        "gloo", f"tcp://127.0.0.1:{ports[1]}", timedelta(seconds=TIMEOUT), 2, rank
    )
    results: dict[str, Any] = {}
    ours = private_copy("distributed_cases").cases(comm)
    theirs = private_copy("distributed_cases").cases(comm)
    for our_case, their_case in zip(ours, theirs, strict=True):
        if only not in our_case.name:
            continue
        loops = {"ours": our_case.make(tensorbus), "theirs": their_case.make(torch)}
        results[our_case.name] = together(torch.distributed, loops, rounds)
    tensorbus.distributed.destroy_process_group()
    torch.distributed.destroy_process_group()
    return results if rank == 0 else {}


def together(dist: Any, loops: dict[str, Loop], rounds: int) -> dict[str, float]:
    """The median time of one turn of each loop, in microseconds, on ranks that run the same ones.

    Rank 0 decides how many turns make a round, and in which order the loops come.
    """
    plan: list[Any] = [None]
    turns = {name: _turns(dist, loop) for name, loop in loops.items()}
    if dist.get_rank() == 0:
        order = [random.sample(list(loops), len(loops)) for _ in range(rounds)]
        plan = [(turns, order)]
    dist.broadcast_object_list(plan)
    turns, order = plan[0]
    times: dict[str, list[float]] = {name: [] for name in loops}
    for names in order:
        for name in names:
            dist.barrier()
            times[name].append(_timed(loops[name], turns[name]) / turns[name] * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


def _turns(dist: Any, loop: Loop) -> int:
    loop(2)
    best = float("inf")
    for _ in range(4):
        dist.barrier()
        best = min(best, _timed(loop, 2) / 2)
    return max(1, round(ROUND_SECONDS / best))


def _timed(loop: Loop, turns: int) -> float:
    start = time.perf_counter()
    loop(turns)
    return time.perf_counter() - start


# -- both ranks --------------------------------------------------------------------------------
def run_pair(comm: str, only: str, rounds: int) -> dict[str, Any]:
    """Start two ranks and return what rank 0 measured."""
    ports = ",".join(str(port) for port in _free_ports(2))
    command = [
        sys.executable, "-m", "benchmarks.distributed", "--worker", "--comm", comm,
        "--rounds", str(rounds), "--only", only, "--ports", ports, "--rank",
    ]  # fmt: skip
    if comm == "mpi":
        started = [_start([_mpiexec(), "-n", "2", *command, "-1"])]
    else:
        started = [_start([*command, str(rank)]) for rank in range(2)]
    done = [process.communicate() for process in started]
    if any(process.returncode for process in started):
        texts = "\n".join(out[-1000:] + err for out, err in done)
        raise RuntimeError(f"two ranks with the comm {comm} failed:\n{texts}")
    # gloo and launchers print too.
    lines = [line for out, _ in done for line in out.splitlines() if line.startswith('{"')]
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def _start(command: list[str]) -> subprocess.Popen[str]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    loopback = {"GLOO_SOCKET_IFNAME": "lo" if sys.platform == "linux" else "lo0"}
    pipe = subprocess.PIPE
    env = {**os.environ, **threads, **loopback}
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=pipe, stderr=pipe, text=True)


def _mpiexec() -> str:
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise RuntimeError("there is no mpiexec: pip install '.[mpi]', or leave mpi out of --comm")
    return found


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


def collect(comm: str, processes: int, rounds: int, only: str = "") -> list[Row]:
    """Measure with one comm in *processes* pairs of processes."""
    found = [run_pair(comm, only, rounds) for _ in range(processes)]
    return merge(cases(comm), found, suffix=f", {comm}")


def main() -> int:
    options = parser(__doc__.splitlines()[0], processes=5, rounds=9)
    options.add_argument("--comm", default="tcp,mpi", help="the comms, separated by commas")
    options.add_argument("--quick", action="store_true", help="fewer processes and rounds")
    options.add_argument("--rank", type=int, default=0, help="internal")
    options.add_argument("--ports", default="", help="internal")
    args = options.parse_args()
    if args.worker:
        ports = [int(port) for port in args.ports.split(",")]
        found = measure(args.comm, args.rank, ports, args.only, args.rounds)
        if found:
            print("\n" + json.dumps(found), flush=True)
        return 0
    if args.quick:
        args.processes, args.rounds = 2, 5
    header = environment.describe()
    environment.show(header)
    rows = [
        row
        for comm in args.comm.split(",")
        for row in collect(comm, args.processes, args.rounds, args.only)
    ]
    show("Two ranks beside gloo", rows)
    after = f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"
    print(f"load of the last minute, this benchmark included: {after}")
    if args.json:
        write_json(args.json, header, {"distributed": rows})
    return 1 if any(row.error for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
