"""Several launchers, one for each node, that meet in a store served by the first.

The store is the launchers' own. Ranks meet at another port, fresh for every attempt, with a secret
that every launcher derives from the shared one: neither of them is ever sent.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from tensorbus.cli import UsageError
from tensorbus.distributed.errors import DistError, DistNetworkError, DistStoreError
from tensorbus.distributed.first_come import store_at
from tensorbus.distributed.run import ports
from tensorbus.distributed.run.nodes import Failing, Failure, Gone
from tensorbus.distributed.run.plan import Job, Plan
from tensorbus.distributed.secret import job_secret
from tensorbus.distributed.tcp_store import TCPStore
from tensorbus.plugin.wire import Refused

_SILENT = 3.0
"""Seconds of waiting before the launcher says for what."""
_TOGETHER = 30.0
"""Seconds by which launchers that have met may be apart."""
_LAST_WORDS = 10.0
"""Seconds for the launchers that came to hear, too, why the job does not come about."""
_EVENTS = "events"


class Changed:
    """The event that something is known that was not."""


class Cluster:
    """This launcher among the others; what they tell is posted as events."""

    def __init__(
        self, plan: Plan, post: Callable[[object], None], say: Callable[[str], None]
    ) -> None:
        self.plan = plan
        """Whose node rank and number of nodes are known once the launchers have met."""
        self._post, self._say = post, say
        self._held: socket.socket | None = None
        self._said = False
        self._closed = False
        self._done: set[int] = set()
        self._gone: Gone | None = None
        self._store = self._connect()
        try:
            self._take_rank()
            self._nprocs = self._meet()
            self._ear, self._alive = self._store.clone(), self._store.clone()
        except DistNetworkError as e:
            self._store.close()
            raise UsageError(
                f"the launcher of node 0 at {plan.master_addr} port {plan.master_port} has left "
                "while the launchers met: it says why"
            ) from e
        except BaseException as e:
            if isinstance(e, Exception):
                self._part()
            self._store.close()
            raise
        self._alive.last_will(_EVENTS, self._event("gone", reason="its launcher died", status=1))
        threading.Thread(target=self._listen, name="launchers", daemon=True).start()

    # -- meeting -----------------------------------------------------------------------------
    def _part(self) -> None:
        """Leave before all have met; who serves the store is the last of those that came."""
        with contextlib.suppress(DistError):
            parted, end = self._store.add("parted", 1), time.monotonic() + _LAST_WORDS
            cards = [f"node/{node}" for node in range(self.plan.nnodes)]
            while self._store.is_server and time.monotonic() < end:
                if parted >= sum(self._store.check([card]) for card in cards):
                    break
                time.sleep(0.02)
                parted = self._store.add("parted", 0)

    def _connect(self) -> TCPStore:
        plan = self.plan
        host, port = plan.master_addr, plan.master_port
        first = plan.node_rank == 0
        end = time.monotonic() + plan.join_timeout
        if first:
            ports.check(host, port)
        patience = min(_SILENT, plan.join_timeout)
        while True:
            try:
                if plan.node_rank is None:
                    return store_at(host, port, patience)
                return TCPStore(host, port, is_master=first, timeout=patience)
            except (DistNetworkError, RuntimeError) as e:
                if not isinstance(e, DistNetworkError) or isinstance(e.__cause__, Refused):
                    raise UsageError(f"node 0 at {host} port {port}: {e}") from e
                if time.monotonic() >= end:
                    raise UsageError(
                        f"no launcher answered at {host} port {port} within {plan.join_timeout:g} "
                        "s: is that of node 0 running there?"
                    ) from e
            if patience == _SILENT:
                self._say(f"waiting for the launcher of node 0 at {host} port {port}")
            patience = max(1.0, end - time.monotonic())

    def _take_rank(self) -> None:
        """Who serves the store is node 0, the others come in any order, where none was named."""
        plan = self.plan
        if plan.node_rank is not None:
            return
        node = 0 if self._store.is_server else self._store.add("nodes", 1)
        if node >= plan.nnodes:
            raise UsageError(
                f"the job at {plan.master_addr} port {plan.master_port} has all its {plan.nnodes} "
                "nodes already"
            )
        self.plan = replace(plan, node_rank=node)

    def _meet(self) -> list[int]:
        """Wait for all launchers; the number of ranks of each."""
        plan, token = self.plan, secrets.token_hex(8)
        is_open = 0 < plan.fewest_nodes < plan.nnodes
        same = {
            "--nnodes": f"{plan.fewest_nodes}:{plan.nnodes}" if is_open else plan.nnodes,
            "--max-restarts": plan.max_restarts,
            "--rdzv-id": plan.run_id,
        }
        own = json.dumps({"same": same, "nproc": plan.nproc, "token": token})
        taken = self._store.compare_set(f"node/{plan.node_rank}", "", own)
        if taken.decode() != own:
            raise UsageError(
                f"--node-rank {plan.node_rank} is taken by another launcher of this job"
            )
        if is_open:
            self._fix_their_number()
        end = time.monotonic() + plan.join_timeout
        nprocs = []
        for node in range(self.plan.nnodes):
            if not self._await(f"node/{node}", end, f"the launcher of node {node}"):
                raise UsageError(f"node {node} did not come within {plan.join_timeout:g} s")
            card: dict[str, Any] = json.loads(self._store.get(f"node/{node}"))
            for option, value in same.items():
                if card["same"][option] != value:
                    raise UsageError(
                        f"{option} is {value} here, but {card['same'][option]} on node {node}: "
                        "give all launchers the same"
                    )
            nprocs.append(int(card["nproc"]))
        return nprocs

    def _fix_their_number(self) -> None:
        """Node 0 says with how many the job begins: as many as come, once there are enough."""
        plan = self.plan
        begun = time.monotonic()
        if plan.node_rank == 0:
            found, end = 1, begun + plan.join_timeout
            while found < plan.nnodes:
                if found == plan.fewest_nodes:
                    end = time.monotonic() + plan.last_call
                if not self._await(
                    f"node/{found}", end, f"more than {found} of {plan.nnodes} nodes"
                ):
                    break
                found += 1
            if found < plan.fewest_nodes:
                raise UsageError(
                    f"{found} of {plan.fewest_nodes} nodes came within {plan.join_timeout:g} s"
                )
            self._store.set("count", str(found))
        end = begun + plan.join_timeout + plan.last_call + _TOGETHER
        if not self._await("count", end, "the other launchers"):
            raise UsageError("node 0 did not say with how many nodes the job begins")
        count = int(self._store.get("count"))
        if (plan.node_rank or 0) >= count:
            raise UsageError(f"the job has begun without this node, with {count} nodes")
        self.plan = replace(plan, nnodes=count)

    def _await(self, key: str, end: float, what: str) -> bool:
        """Wait for a key, and say so where it takes long; whether it came."""
        while not self._has(key, max(0.01, min(_SILENT, end - time.monotonic()))):
            if time.monotonic() >= end:
                return False
            if not self._said:
                self._say(f"waiting for {what}")
                self._said = True
        return True

    def _has(self, key: str, seconds: float) -> bool:
        try:
            self._store.wait([key], seconds)
        except DistStoreError:
            return False
        return True

    # -- listening ---------------------------------------------------------------------------
    def _event(self, kind: str, **more: object) -> str:
        return json.dumps({"kind": kind, "node": self.plan.node_rank, **more})

    def _listen(self) -> None:
        number = 1
        while not self._closed:
            try:
                self._ear.wait([f"{_EVENTS}/{number}"], 1.0)
                event = json.loads(self._ear.get(f"{_EVENTS}/{number}"))
                number += 1
                self._take(event)
            except DistNetworkError:
                if not self._closed:
                    self._lost(Gone(0, 1, "its launcher died, or was cut off"))
                return
            except DistStoreError:
                continue

    def _take(self, event: dict[str, Any]) -> None:
        if event["node"] == self.plan.node_rank and event["kind"] != "done":
            return
        if event["kind"] == "done":
            self._done.add(event["node"])
            self._post(Changed())
        elif event["kind"] == "failing":
            self._post(Failing(event["attempt"]))
        elif event["kind"] == "gone":
            self._lost(Gone(event["node"], event["status"], event["reason"]))

    def _lost(self, gone: Gone) -> None:
        self._gone = self._gone or gone
        self._post(gone)

    # -- an attempt --------------------------------------------------------------------------
    @property
    def all_succeeded(self) -> bool:
        """Whether the ranks of all nodes have ended well."""
        return len(self._done) == self.plan.nnodes

    def begin(self, attempt: int) -> Job:
        """Node 0 chooses a port and a number, from which all derive the attempt's secret."""
        plan, key = self.plan, f"attempt/{attempt}"
        if plan.node_rank == 0:
            if self._held is not None:
                self._held.close()
            port, self._held = ports.reserve(plan.master_addr, 0)
            self._store.set(key, f"{port} {secrets.token_hex(16)}")
        try:
            self._store.wait([key], _TOGETHER + plan.grace)
            text = self._store.get(key).decode()
        except DistError as e:
            raise UsageError(f"node 0 did not begin attempt {attempt}: {e}") from e
        shared = job_secret(plan.master_addr)
        secret = hmac.new(shared, f"ranks {attempt} {text}".encode(), "sha256").hexdigest()
        first = sum(self._nprocs[: plan.node_rank])
        return Job(attempt, first, sum(self._nprocs), int(text.split()[0]), secret)

    def succeeded(self, job: Job) -> None:
        """Tell that the ranks here have ended well."""
        self._publish("done")

    def failing(self, job: Job) -> None:
        """Tell that a rank failed, so that all are ended."""
        self._publish("failing", attempt=job.attempt)

    def leaving(self, reason: str, status: int) -> None:
        """Tell that this launcher leaves before the end."""
        self._publish("gone", reason=reason, status=status)

    def _publish(self, kind: str, **more: object) -> None:
        # Where the store is gone, so is the job, and the listener says so.
        with contextlib.suppress(DistError):
            self._store.publish(_EVENTS, self._event(kind, **more))

    def agreed(self, job: Job, own: Failure | None) -> Failure | Gone:
        """All launchers report, and take the failure that was first by their clocks."""
        found = []
        try:
            key = f"report/{job.attempt}"
            report = json.dumps(None if own is None else asdict(own))
            self._store.set(f"{key}/{self.plan.node_rank}", report)
            end = time.monotonic() + _TOGETHER + self.plan.grace
            for node in range(self.plan.nnodes):
                while not self._has(f"{key}/{node}", 0.5):
                    if self._gone is not None or time.monotonic() >= end:
                        break
                else:
                    card = json.loads(self._store.get(f"{key}/{node}"))
                    found += [] if card is None else [Failure(**card)]
        except DistError:
            found = [] if own is None else [own]
        if found:
            return min(found, key=lambda failure: (failure.blames, failure.at))
        return self._gone or Gone(0, 1, "it reported a failure that no launcher reports")

    # -- leaving -----------------------------------------------------------------------------
    def close(self) -> None:
        """Leave; node 0 serves until all others have left."""
        self._closed = True
        if self._held is not None:
            self._held.close()
        with contextlib.suppress(DistError):
            self._alive.last_will(_EVENTS, "")
            left = self._store.add("left", 1)
            end = time.monotonic() + _TOGETHER
            while self.plan.node_rank == 0 and left < self.plan.nnodes and self._gone is None:
                if time.monotonic() >= end:
                    break
                time.sleep(0.02)
                left = self._store.add("left", 0)
        for store in (self._ear, self._alive, self._store):
            store.close()
