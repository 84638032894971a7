"""Strangers who connect and say nothing keep no rank waiting, however many they are."""

from __future__ import annotations

import contextvars
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus.distributed import world as worlds
from tensorbus.plugin import door, wire


class Crowd:
    """Strangers who connect to a port and say nothing; whoever is sent away comes again."""

    def __init__(self, size):
        self._size, self._ports, self._sockets = size, [], []

    def at(self, port):
        """All of them go to that port, too."""
        self._ports.append(port)
        self._sockets += [(port, self._come(port)) for _ in range(self._size)]

    def again(self):
        """Those who were cut off come again."""
        for i, (port, s) in enumerate(self._sockets):
            s.setblocking(False)
            try:
                while s.recv(1000):
                    pass
            except BlockingIOError:
                continue
            except OSError:
                pass
            s.close()
            self._sockets[i] = port, self._come(port)

    def _come(self, port):
        return socket.create_connection(("127.0.0.1", port), timeout=60)

    def leave(self):
        for _, s in self._sockets:
            s.close()


@pytest.fixture
def attempts(monkeypatch):
    """How often connections of ranks were tried, each with what it came to."""
    made = []
    introduce = wire.introduce

    def counted(sock, secret, deadline):
        try:
            seals = introduce(sock, secret, deadline)
        except BaseException as e:
            made.append(repr(e))
            raise
        made.append("proven")
        return seals

    monkeypatch.setattr(wire, "introduce", counted)
    return made


@pytest.mark.parametrize("size", [40, 200])
def test_silent_strangers_at_rendezvous_and_at_a_running_job(attempts, size):
    """Every connection of a rank is proven at the first attempt, however many wait in silence."""
    crowd = Crowd(size)
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, secret=b"s", timeout=60)
    crowd.at(server.port)
    begin = threading.Barrier(3)

    def rank(number):
        world = worlds.World()
        token = worlds.enter(world)
        try:
            store = dist.TCPStore("127.0.0.1", server.port, secret=b"s", timeout=60)
            dist.init_process_group("tcp", store=store, rank=number, world_size=3, timeout=60)
            comm = dist.group.WORLD.comm_for("cpu")
            crowd.at(comm._links._door.port)
            begin.wait(60)
            for i in range(5):
                x = torch.full((30_000 * i + 1,), number + 1.0)
                dist.all_reduce(x)
                assert (x == 6).all()
                if number == 0:
                    crowd.again()
                dist.isend(x, (number + 1) % 3).wait()
                dist.recv(x, (number - 1) % 3)
            dist.barrier()
            dist.destroy_process_group()
            store.close()
        finally:
            worlds.leave(token)

    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(contextvars.Context().run, rank, number) for number in range(3)]
        for job in jobs:
            job.result(120)
    crowd.leave()
    server.close()
    assert set(attempts) == {"proven"}


def test_the_oldest_of_too_many_strangers_is_sent_away(monkeypatch):
    monkeypatch.setattr(door, "STRANGERS", 4)
    served = threading.Event()
    made = door.Door("127.0.0.1", 0, b"s", lambda connection, seals: served.set(), "door")
    crowd = []
    for _ in range(5):
        crowd.append(socket.create_connection(("127.0.0.1", made.port), timeout=60))
        greeting = wire.read_exactly(crowd[-1], 37, wire.Deadline(60))
        assert greeting.startswith(wire.MAGIC)
    assert crowd[0].recv(100) == b""
    wire.connect("127.0.0.1", made.port, b"s", wire.Deadline(60)).close()
    assert served.wait(60)
    assert crowd[1].recv(100) == b""
    for s in crowd[2:]:
        s.setblocking(False)
        with pytest.raises(BlockingIOError):
            s.recv(100)
    made.close()
    for s in crowd:
        s.setblocking(True)
        s.settimeout(60)
        assert s.recv(100) == b""
        s.close()


def test_one_deadline_holds_for_the_whole_proof(monkeypatch):
    """Not for each of its bytes."""
    monkeypatch.setattr(door, "PROOF_TIME", 0.5)
    made = door.Door("127.0.0.1", 0, b"s", lambda connection, seals: None, "door")
    with socket.create_connection(("127.0.0.1", made.port), timeout=60) as s:
        wire.read_exactly(s, 37, wire.Deadline(60))
        try:
            for _ in range(64):
                s.sendall(b"x")
                s.settimeout(0.1)
                try:
                    assert s.recv(100) == b""
                    break
                except TimeoutError:
                    pass
            else:
                pytest.fail("64 bytes at ten a second were waited for")
        except ConnectionError:
            pass
    made.close()
