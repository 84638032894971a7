"""How ranks meet, who may, and what they are told who do not fit."""

from __future__ import annotations

import datetime
import os
import socket
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus.distributed import agreement, first_come, multicast, rendezvous, secret
from tensorbus.distributed.file_store import FileStore

SUM = """
x = torch.tensor([1.0 + dist.get_rank()])
dist.all_reduce(x)
print(dist.get_rank(), dist.get_world_size(), x.item(), dist.get_backend())
dist.destroy_process_group()
"""


def in_threads(*calls):
    """What each call returns or raises, run at the same time."""
    results = [None] * len(calls)

    def run(i, call):
        try:
            results[i] = call()
        except Exception as e:
            results[i] = e

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    return results


# -- the ways to meet ------------------------------------------------------------------------
def test_by_file_ranks_are_agreed_and_the_file_is_gone(start_job, tmp_path):
    path = tmp_path / "a job"
    program = f"dist.init_process_group(init_method='file://{path}', world_size=3, timeout=60)"
    env = {"TENSORBUS_JOB_SECRET": ""}
    gone = f"\nassert not os.path.exists({str(path)!r})"
    ended = start_job(program + SUM + gone, 3, **env).end()
    assert [e.code for e in ended] == [0] * 3, ended
    outs = sorted(e.out.split() for e in ended)
    assert outs == [[str(r), "3", "6.0", "tcp"] for r in range(3)]
    assert not path.exists()


def test_by_address_ranks_are_agreed(start_job):
    program = """
dist.init_process_group("gloo", f"tcp://{HOST}:{PORT}", world_size=SIZE, timeout=60)
from tensorbus.distributed.world import current
assert current().owns_store == (dist.get_rank() == 0)
"""
    ended = start_job(program + SUM, 3).end()
    outs = sorted(e.out.split() for e in ended)
    assert outs == [[str(r), "3", "6.0", "gloo"] for r in range(3)], ended


def test_at_an_address_of_another_machine_nobody_serves_unasked(monkeypatch):
    monkeypatch.setattr(first_come, "is_here", lambda host: False)
    with pytest.raises(dist.DistNetworkError, match="timed out after 300ms"):
        first_come.store_at("127.0.0.1", 1, 0.3)
    server = dist.TCPStore("127.0.0.1", 0, is_master=True)
    found = first_come.store_at("127.0.0.1", server.port, 60.0)
    assert not found.is_server
    found.close()
    server.close()


def test_a_server_that_was_just_ending_is_replaced():
    with socket.create_server(("127.0.0.1", 0)) as ending:
        port = ending.getsockname()[1]

        def end():
            # The process has found the port in use, and asks who is there.
            ending.accept()[0].close()
            ending.close()

        _, store = in_threads(end, lambda: first_come.store_at("127.0.0.1", port, 60.0))
    assert store.is_server
    store.close()


def test_by_environment(start_job):
    program = f"""
os.environ.update(RANK=str(RANK), WORLD_SIZE=str(SIZE), MASTER_ADDR="localhost",
                  MASTER_PORT=str(PORT), LOCAL_RANK=str(RANK + 5))
dist.init_process_group(timeout=60)
assert dist.get_node_local_rank() == RANK + 5
{SUM}"""
    assert [e.out.split()[:3] for e in start_job(program, 2).end()] == [
        ["0", "2", "3.0"],
        ["1", "2", "3.0"],
    ]


def test_by_a_store_of_the_users_own(tmp_path):
    store = dist.FileStore(str(tmp_path / "store"), 1)
    dist.init_process_group("tcp", store=store, rank=0, world_size=1)
    x = torch.ones(2)
    dist.all_reduce(x)
    dist.destroy_process_group()
    assert not dist.is_initialized()
    store.close()
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"init_method": "tcp://127.0.0.1", "rank": 0, "world_size": 1}, "port number missing"),
        ({"init_method": "tcp://127.0.0.1:1", "rank": 0}, "world size parameter missing"),
        ({"init_method": "tcp://127.0.0.1:1", "rank": 2, "world_size": 2}, "ranks go from 0 to"),
        ({"init_method": "file://", "world_size": 1}, "path missing"),
        ({"init_method": "mailto:me"}, "No rendezvous handler for mailto://"),
        ({}, "environment variable RANK expected, but not set"),
        ({"init_method": "x", "store": dist.HashStore()}, "Cannot specify both"),
        ({"backend": "cpu:tcp,cpu:local"}, "Duplicate device type cpu"),
        ({"backend": "cpu:tcp:x"}, "custom backend string argument is invalid"),
        ({"backend": "nothing"}, "no plugin declares 'nothing' in tensorbus.comms: gloo, local"),
        ({"timeout": datetime.timedelta(seconds=-1)}, "a timeout must be positive"),
        ({"timeout": "1"}, "Expected timeout argument to be of type datetime.timedelta, got 1"),
    ],
)
def test_what_is_missing_or_wrong_is_told(arguments, text, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises((ValueError, RuntimeError, TypeError)) as caught:
        dist.init_process_group(**arguments)
    assert text in str(caught.value)
    assert not dist.is_initialized()


def test_calls_before_init_say_so():
    for call in (dist.get_rank, dist.get_world_size, dist.barrier, dist.destroy_process_group):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()
    with pytest.raises(ValueError, match="make sure to call init_process_group"):
        dist.all_reduce(torch.ones(1))
    assert dist.group.WORLD is None and dist.GroupMember.WORLD is None


def test_init_twice_is_refused():
    def rank():
        with pytest.raises(ValueError, match="initialize the default process group twice!"):
            dist.init_process_group("local", store=dist.HashStore(), rank=0, world_size=1)

    dist.local.run(rank, 1)


# -- those who do not fit --------------------------------------------------------------------
def test_a_wrong_world_size_is_told_to_both():
    store = dist.HashStore()
    first, second = in_threads(
        lambda: agreement.agree(store, 0, 2, 60.0, "here"),
        lambda: (store.wait(["who/0"]), agreement.agree(store, 1, 3, 60.0, "here")),
    )
    for error in (first, second):
        assert isinstance(error, dist.DistStoreError)
        assert "started with world_size 3, but the job at here has world_size 2" in str(error)


def test_a_rank_that_is_taken_is_told_to_both():
    store = dist.HashStore()
    first, second = in_threads(
        lambda: agreement.agree(store, 1, 3, 60.0, "here"),
        lambda: (store.wait(["who/1"]), agreement.agree(store, 1, 3, 60.0, "here")),
    )
    for error in (first, second):
        assert "rank 1 was started twice, as process" in str(error) and "two jobs" in str(error)


def test_the_store_stays_until_all_know_why_the_job_does_not_come_about():
    store = dist.HashStore()
    first, second = in_threads(
        lambda: (store.wait(["who/1"]), agreement.agree(store, 0, 3, 0.5)),
        lambda: agreement.agree(store, 1, 3, 60.0),
    )
    assert "of 3 ranks 1 did not come: 2" in str(first)
    assert str(second) == f"rank 1 stops: {first}"
    agreement.await_heard(store, 0, 3, 60.0)  # both have heard
    store.delete_key("heard/1")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(agreement.await_heard, store, 0, 3, 60.0)
        with pytest.raises(TimeoutError):
            waiting.result(0.3)
        store.set("heard/1", "1")
        waiting.result(60)


class _Serving(dist.PrefixStore):
    """The store of the rank that serves it, which takes its rank when another one has come."""

    is_server = True

    def __init__(self, store, come):
        super().__init__("job", store)
        self.come = come

    def add(self, key, amount):
        assert self.come.wait(60)
        return super().add(key, amount)


class _Coming(dist.PrefixStore):
    """The store of a rank that is given one: an event tells that it waits, or was given one."""

    def __init__(self, store, come):
        super().__init__("job", store)
        self.come = come

    def wait(self, keys, timeout=None):
        self.come.set()
        super().wait(keys, timeout)

    def set(self, key, value):
        super().set(key, value)
        self.come.set()


def test_nobody_is_given_the_rank_of_who_serves_the_store_however_late_it_takes_that():
    table, come = dist.HashStore(), threading.Event()
    ranks = in_threads(
        lambda: agreement.agree(_Serving(table, come), 0, 2, 60.0, served=True),
        lambda: agreement.agree(_Coming(table, come), -1, 2, 60.0, served=True),
    )
    assert ranks == [0, 1]


class _EndsWhenHeard(dist.HashStore):
    """A store whose process ends as soon as it has what it waits for: no answer comes any more."""

    def set(self, key, value):
        super().set(key, value)
        if key == "refused" or key.startswith("heard/"):
            raise dist.DistNetworkError("the other side closed the connection")


@pytest.mark.parametrize(
    "joins, text",
    [
        (lambda store: agreement.agree(store, 2, 3, 0.01), "of 3 ranks 2 did not come: 0, 1"),
        (lambda store: agreement.agree(store, 2, 4, 60.0), "world_size 4, but the job at"),
        (lambda store: agreement.agree(store, 1, 3, 60.0), "rank 1 stops: rank 0 left"),
    ],
    ids=["time-out", "wrong size", "refused"],
)
def test_a_rank_knows_the_reason_though_the_store_ends_before_it_answers(joins, text):
    store = _EndsWhenHeard()
    store.compare_set("world_size", "", "3")
    if "stops" in text:
        dist.HashStore.set(store, "refused", "rank 0 left")
    with pytest.raises(dist.DistStoreError) as caught:
        joins(store)
    assert text in str(caught.value)


def test_ranks_that_are_given_out_are_none_that_somebody_named():
    store = dist.HashStore()

    def given():
        store.wait(["taken/0", "taken/2"], 60.0)
        return agreement.agree(store, -1, 4, 60.0)

    first = [partial(agreement.agree, store, r, 4, 60.0) for r in (0, 2)]
    named = in_threads(*first, given, given)
    assert named[:2] == [0, 2] and sorted(named[2:]) == [1, 3]


@pytest.mark.parametrize("rank", [-1, 0])
def test_a_late_rank_is_refused_and_the_job_goes_on(rank):
    store = dist.HashStore()
    assert agreement.agree(store, rank, 1, 60.0, "here") == 0
    with pytest.raises(dist.DistStoreError, match=r"too late: the job at here has all its 1 ranks"):
        agreement.agree(store, rank, 1, 60.0, "here")
    assert not store.check(["refused"])


def test_two_jobs_on_one_file(tmp_path):
    url = f"file://{tmp_path}/job"
    outcomes = in_threads(*[lambda: rendezvous.meet(url, -1, 2, 10.0)] * 3)
    met = [m for m in outcomes if isinstance(m, rendezvous.Meeting)]
    refused = [e for e in outcomes if isinstance(e, Exception)]
    assert sorted(m.rank for m in met) == [0, 1] and len(refused) == 1
    assert isinstance(refused[0], dist.DistStoreError)
    for meeting in met:
        meeting.store.close()
    assert os.listdir(tmp_path) in ([], ["job"])  # the third may have begun a job of its own


def test_a_file_that_a_crashed_job_left_is_told(tmp_path):
    left = FileStore(str(tmp_path / "job"), 2)
    for key in ("world_size", "joined", "next_rank"):
        left.set(f"job/{key}", "2")
    left.set("job/ready", "1")
    with pytest.raises(dist.DistStoreError, match="one that crashed has left it behind"):
        rendezvous.meet(f"file://{tmp_path}/job", -1, 2, 2.0)
    left.close()


def test_a_port_in_use_is_told():
    server = dist.TCPStore("127.0.0.1", 0, is_master=True)
    with pytest.raises(dist.DistNetworkError, match="failed to listen .* another rank 0"):
        dist.TCPStore("127.0.0.1", server.port, is_master=True)
    server.close()


def test_nobody_listens():
    with pytest.raises(dist.DistNetworkError, match="timed out after 300ms"):
        dist.TCPStore("127.0.0.1", 1, timeout=0.3)


# -- secrets ---------------------------------------------------------------------------------
def test_an_address_that_others_reach_needs_a_secret(monkeypatch):
    monkeypatch.delenv(secret.VARIABLE, raising=False)
    for host in ("10.0.0.1", "example.org", "0.0.0.0", "::"):
        with pytest.raises(RuntimeError, match="needs a secret: set TENSORBUS_JOB_SECRET"):
            secret.job_secret(host)
    own = {secret.job_secret(host) for host in ("127.0.0.1", "127.3.2.1", "localhost", "::1")}
    assert len(own) == 1 and len(own.pop()) == 64  # the user's own, the same every time
    monkeypatch.setenv(secret.VARIABLE, "s")
    assert secret.job_secret("example.org") == b"s"


def test_another_secret_is_refused_at_once_and_the_job_goes_on():
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, secret=b"right")
    with pytest.raises(dist.DistNetworkError, match="its secret is another one"):
        dist.TCPStore("127.0.0.1", server.port, secret=b"wrong")
    friend = dist.TCPStore("127.0.0.1", server.port, secret=b"right")
    friend.set("a", "b")
    assert server.get("a") == b"b"
    friend.close()
    server.close()


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_the_file_is_its_owners_only(tmp_path):
    path = tmp_path / "job"
    path.touch(0o644)
    store = dist.FileStore(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    store.close(remove=True)
    assert not path.exists()


# -- multicast -------------------------------------------------------------------------------
def test_what_is_a_multicast_group():
    groups = ["239.1.2.3", "224.0.0.1", "ff15::7:1"]
    assert [multicast.is_group(h) for h in [*groups, "10.0.0.1", "::1", "localhost"]] == [
        True, True, True, False, False, False,
    ]  # fmt: skip


MEET = """
import sys
import tensorbus as torch, tensorbus.distributed as dist
dist.init_process_group(None, "tcp://{host}:29700", world_size=3, timeout=60{rank})
from tensorbus.distributed.world import current
assert current().owns_store == (dist.get_rank() == 0)
dist.send(torch.ones(1), (dist.get_rank() + 1) % 3)
dist.recv(torch.ones(1), (dist.get_rank() - 1) % 3)
"""


@pytest.mark.parametrize(
    ("group", "rank"),
    [("239.7.7.7", ""), ("[ff15::7:1]", ""), ("239.7.7.7", ", rank=int(sys.argv[1])")],
)
def test_by_multicast_between_hosts_of_their_own(on_hosts, group, rank):
    """Nothing of this leaves the machine. Hosts meet by IPv6 with addresses of the link alone."""
    ended = on_hosts(MEET.format(host=group, rank=rank) + SUM, size=3, seconds=90)
    lines = sorted(one.out.split() for one in ended)
    assert lines == [[str(r), "3", "6.0", "tcp"] for r in range(3)], ended
