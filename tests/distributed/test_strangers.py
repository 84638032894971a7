"""Strangers who connect learn nothing and join nothing, and the job goes on."""

from __future__ import annotations

import contextlib
import hashlib
import random
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus.plugin import CommContext, CommError, door, float64, wire
from tensorbus.plugin.calls import Call
from tensorbus.plugin.seal import Seal
from tensorbus_comm_tcp import frames
from tensorbus_comm_tcp.comm import TcpComm


def noise(seed):
    """What a stranger may send: nothing, random bytes, headers that promise a lot."""
    rng = random.Random(seed)
    choices = [
        b"",
        rng.randbytes(rng.randrange(1, 5000)),
        wire.MAGIC + rng.randbytes(32),
        struct.pack("!Q", 2**63) * 40,
        frames.Header(Call.of("broadcast", 2**62), 1).pack(Seal(b"another")) * 3,
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    ]
    return choices[seed % len(choices)]


def visit(port, seed):
    """Connect, say something, and return all that is heard before the other side hangs up."""
    heard = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        try:
            s.sendall(noise(seed))
            if seed % 3 == 0:
                s.shutdown(socket.SHUT_WR)
            while part := s.recv(65536):
                heard += part
        except TimeoutError:
            raise
        except OSError:
            pass  # they hung up
    return heard


def tells_nothing(heard):
    """Whether it is the fixed word, a random number, and zeros for a wrong proof."""
    return not heard or (heard.startswith(wire.MAGIC) and heard[len(wire.MAGIC) + 32 :] in REFUSALS)


REFUSALS = b"", bytes(32)


@pytest.fixture
def quick(monkeypatch):
    """Strangers that say too little are cut off sooner than in earnest."""
    monkeypatch.setattr(door, "PROOF_TIME", 1.0)


def test_strangers_at_the_store(quick):
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, secret=b"a secret")
    server.set("key", "hidden")
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda seed: visit(server.port, seed), range(30)))
    assert all(map(tells_nothing, answers))
    assert len(set(answers)) > 20  # a fresh number each time
    friend = dist.TCPStore("127.0.0.1", server.port, secret=b"a secret", timeout=30)
    assert friend.get("key") == b"hidden"
    friend.close()
    server.close()


def test_strangers_at_the_ports_of_a_running_job(quick):
    ports, barrier = [None] * 2, threading.Barrier(2)

    def rank():
        me = dist.get_rank()
        comm = dist.group.WORLD.comm_for("cpu")
        ports[me] = comm._links._door.port
        barrier.wait()
        strangers = [
            threading.Thread(target=visit, args=(port, seed)) for port in ports for seed in range(8)
        ]
        for t in strangers:
            t.start()
        for i in range(30):
            x = torch.full((1000 * i,), float(me + 1))
            dist.all_reduce(x)
            assert (x == 3).all()
            (dist.send if me else dist.recv)(x, 1 - me)
        for t in strangers:
            t.join()
        dist.barrier()

    dist.local.run(rank, 2, backend="tcp", timeout=60)


BYTES = st.one_of(
    st.binary(max_size=200),
    st.binary(max_size=60).map(lambda b: wire.MAGIC + b),
    st.binary(min_size=64, max_size=64),
    st.tuples(st.integers(0, 255), st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1)).map(
        lambda t: struct.pack("!BHI", *t)
    ),
    st.tuples(st.integers(0, 255), st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**40)).map(
        lambda t: frames.Header(Call(t[0], t[2]), t[1]).pack(Seal(b"another"))
    ),
)


def say(sock, data):
    """Say it and all there is to say, and hear the other side out."""
    heard = b""
    try:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        while part := sock.recv(65536):
            heard += part
    except TimeoutError:
        raise
    except OSError:
        pass  # they hung up
    return heard


@pytest.fixture(scope="module")
def two_ranks():
    """The ports of a store and of two comms that are open, and what proves that they live."""
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, secret=b"s", timeout=60)
    comms = [TcpComm(CommContext("g", r, (0, 1), 60.0, server, b"s")) for r in range(2)]
    pool = ThreadPoolExecutor(2)

    def works():
        arrays = [np.full(5, r + 1.0) for r in range(2)]
        jobs = [
            pool.submit(c.all_reduce, a, float64, "sum", 60.0)
            for c, a in zip(comms, arrays, strict=True)
        ]
        for job in jobs:
            job.result(60)
        return all((a == 3).all() for a in arrays) and server.add("count", 0) == 0

    ports = [server.port, *(c._links._door.port for c in comms)]
    yield ports, works
    for comm in comms:
        comm.close()
    server.close()
    pool.shutdown()


FUZZ = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


@FUZZ
@given(data=BYTES)
def test_any_bytes_of_strangers_are_refused(two_ranks, data):
    ports, works = two_ranks
    for port in ports:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
            heard = say(s, data)
        assert tells_nothing(heard)
    assert works()


@FUZZ
@given(data=BYTES)
def test_any_bytes_after_the_proof_concern_nobody_else(two_ranks, data):
    """Of a program that knows the secret: at the store, and at a comm as another group's member."""
    ports, works = two_ranks
    for port in ports:
        with wire.connect("127.0.0.1", port, b"s", wire.Deadline(60)) as s:
            say(s, data)
    assert works()


def test_a_frame_of_any_size_takes_no_memory_before_its_bytes_come(two_ranks):
    """A member that promises an exabyte breaks its own connection."""
    ports, works = two_ranks
    hello = frames.HELLO.pack(hashlib.sha256(b"g").digest()[:16], 0, frames.MESSAGES)
    for nbytes in (2**62, 2**40, 2**33):
        s, seals = wire.connect_sealed("127.0.0.1", ports[2], b"s", wire.Deadline(60))
        with s:
            first = hello + seals.outgoing.sign(hello)
            header = frames.Header(Call.of("message", nbytes), 1).pack(seals.outgoing)
            assert say(s, first + header + b"few") == b""
    assert works()


def test_more_strangers_than_are_heard_at_once():
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, secret=b"s", timeout=60)
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(80)]
    time.sleep(0.2)
    server.set("still", "there")
    for s in silent:
        s.close()
    friend = dist.TCPStore("127.0.0.1", server.port, secret=b"s", timeout=60)
    assert friend.get("still") == b"there"
    friend.close()
    server.close()


def pair(connecting, listening):
    """What both sides of a proof come to."""
    a, b = socket.socketpair()
    outcomes = [None, None]

    def run(i, f, s):
        try:
            f(s)
            outcomes[i] = "proven"
        except (OSError, ValueError) as e:
            outcomes[i] = type(e).__name__
            s.close()

    threads = [
        threading.Thread(target=run, args=(0, connecting, a)),
        threading.Thread(target=run, args=(1, listening, b)),
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join(5)
    a.close()
    b.close()
    return outcomes


def test_both_sides_prove_the_secret():
    def introduce(secret):
        return lambda s: wire.introduce(s, secret, wire.Deadline(2))

    def welcome(secret):
        return lambda s: wire.welcome(s, secret, wire.Deadline(2))

    assert pair(introduce(b"k"), welcome(b"k")) == ["proven", "proven"]
    assert pair(introduce(b"k"), welcome(b"l")) == ["Refused", "Refused"]
    for nothing in (introduce(b""), welcome(b"k")), (introduce(b"k"), welcome(b"")):
        assert "proven" not in pair(*nothing)

    def impostor(s):
        """Listens without the secret, and plays the other's own proof back."""
        s.sendall(wire.MAGIC + bytes(32))
        s.sendall(s.recv(64)[32:])

    assert pair(introduce(b"k"), impostor)[0] == "Refused"


def test_a_member_that_speaks_nonsense_is_a_broken_connection_for_others_only():
    """Proven, but with lengths that lie: its connection ends, the store lives."""
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, secret=b"s")
    for body, signed in (
        (b"\xff" * 7, False),
        (struct.pack("!BHI", 0, 9, 2**31), False),
        (struct.pack("!BHI", 0, 2, 4) + b"\xff" * 4, True),
        (struct.pack("!BHI", 0, 2, 4) + bytes(4) + bytes(16), False),
    ):
        s, seals = wire.connect_sealed("127.0.0.1", server.port, b"s", wire.Deadline(60))
        s.sendall(body + (seals.outgoing.sign(body) if signed else b""))
        s.shutdown(socket.SHUT_WR)
        s.settimeout(60)
        assert s.recv(100) == b""
        s.close()
    s, seals = wire.connect_sealed("127.0.0.1", server.port, b"s", wire.Deadline(60))
    nonsense = struct.pack("!BHI", 99, 0, 0)
    s.sendall(nonsense + seals.outgoing.sign(nonsense))
    assert s.recv(100)[0] == 1  # an error in words
    s.close()
    server.set("alive", "yes")
    server.close()


@pytest.mark.parametrize(
    "data", [b"\0" * frames.SIZE, b"TBC2" + b"\xff" * (frames.SIZE - 4)], ids=["zeros", "ones"]
)
def test_bytes_that_are_no_header(data):
    with pytest.raises(RuntimeError, match="no header: the stream is out of step"):
        frames.unpack(data, Seal(b"k"))


def test_frames_that_were_changed_repeated_or_left_out():
    here, headers = Seal(b"k"), [frames.Header(Call.of("barrier"), n) for n in range(3)]
    first, second, third = (header.pack(here) for header in headers)
    assert len(first) == frames.SIZE
    there = Seal(b"k")
    assert [frames.unpack(data, there) for data in (first, second)] == headers[:2]
    for wrong in (
        [first, first],
        [first, third],
        [first[:12] + b"\1" + first[13:]],
        [first[:-1] + bytes([first[-1] ^ 1])],
    ):
        there = Seal(b"k")
        with pytest.raises(CommError, match="changed, repeated or left out"):
            for data in wrong:
                frames.unpack(data, there)
    with pytest.raises(CommError, match="changed, repeated or left out"):
        frames.unpack(first, Seal(b"of another connection"))


def test_machines_of_another_byte_order_are_told():
    store = dist.HashStore()
    context = CommContext("g", 1, (0, 1), 3.0, store, b"s")
    store.set("tcp/0", "1 middle 127.0.0.1")
    comm = TcpComm(context)
    with pytest.raises(CommError, match="rank 0 runs on a middle-endian machine") as caught:
        comm.barrier(3.0)
    assert caught.value.ranks == (0,)
    comm.close()


class Between:
    """Takes connections, makes each one to somebody else, and changes one of the bytes passed on.

    It passes the proof of the secret on as it is, which neither side can see.
    """

    def __init__(self, port, at):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._target, self._at = port, at
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                for pair, at in (((near, far), self._at), ((far, near), None)):
                    threading.Thread(target=self._pass_on, args=(*pair, at), daemon=True).start()

    def _pass_on(self, here, there, at):
        passed = 0
        with contextlib.suppress(OSError):
            while data := bytearray(here.recv(1 << 16)):
                if at is not None and passed <= at < passed + len(data):
                    data[at - passed] ^= 1
                passed += len(data)
                there.sendall(data)
        for s in (here, there):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._listener.close()


PROOF = 64
"""The bytes of a connecting side's half of it."""


def test_who_stands_between_and_passes_the_proof_on_can_change_nothing():
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, secret=b"s", timeout=30)
    request = len(struct.pack("!BHI", 0, 2, 16) + b"....key....value")
    for at in (None, *range(PROOF, PROOF + request + 16, 5)):
        between = Between(server.port, at)
        client = dist.TCPStore("127.0.0.1", between.port, secret=b"s", timeout=30)
        if at is None:
            client.set("key", "value")
            assert server.get("key") == b"value"
            server.delete_key("key")
        else:
            client.set_patience(0.5)
            with pytest.raises(dist.DistNetworkError):
                client.set("key", "value")
            assert server.num_keys() == 0, at
        client.close()
        between.close()
    server.close()


def test_who_stands_between_two_ranks_can_make_up_no_header():
    # The group's digest, a rank, what the connection is for; then the first frame.
    hello = frames.HELLO.size + 16
    for at in (PROOF + 3, PROOF + hello - 1, PROOF + hello + 9, PROOF + hello + 30):
        store = dist.HashStore()
        first = TcpComm(CommContext("g", 0, (0, 1), 30.0, store, b"s"))
        port, *more = store.get("tcp/0").decode().split(" ")
        between = Between(int(port), at)
        store.set("tcp/0", " ".join([str(between.port), *more]))
        second = TcpComm(CommContext("g", 1, (0, 1), 30.0, store, b"s"))
        second.send(np.full(3, 7.0), float64, 0, 0, 30.0)
        with pytest.raises(CommError, match="did not|no message|changed, repeated or left out"):
            first.recv(np.zeros(3), float64, 1, 0, 0.5)
        for made in (first, second, between):
            made.close()
