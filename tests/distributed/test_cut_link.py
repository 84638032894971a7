"""A rank whose cable is pulled: no connection breaks, nothing arrives any more.

Between hosts of their own, joined by virtual cables, where the system lets a test have them; and
everywhere through a relay that stops passing bytes on.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading

import pytest

# -- hosts of their own ----------------------------------------------------------------------
CUT_IN_THE_MIDDLE = """
def go():
    x = torch.ones(300_000)
    for i in range(2000):
        dist.all_reduce(x)
        x.fill_(1.0)
        if RANK == 0 and i == 5:
            print("CUT {victim}", flush=True)
start(timeout={timeout})
survive(go)
"""


@pytest.mark.parametrize(("victim", "how"), [(2, "switch"), (0, "switch"), (1, "card")])
def test_a_host_whose_cable_is_pulled_is_named_by_all_others(on_hosts, prelude, told, victim, how):
    program = prelude + CUT_IN_THE_MIDDLE.format(victim=victim, timeout=4)
    ended = on_hosts(program, how=how)
    for rank in range(3):
        ranks, seconds, text = told(ended, rank)
        assert seconds < 60, text
        if rank != victim:
            assert ranks == [victim] and f"rank {victim}" in text, text
        else:
            assert ranks and victim not in ranks, text


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 2])
def test_a_pulled_cable_is_noticed_long_before_the_timeout(on_hosts, prelude, told, victim):
    """The systems on both sides ask each other whether they are there."""
    program = prelude + CUT_IN_THE_MIDDLE.format(victim=victim, timeout=300)
    ended = on_hosts(program, how="switch")
    for rank in {0, 1, 2} - {victim}:
        ranks, seconds, text = told(ended, rank)
        assert ranks == [victim] and seconds < 100, text


TRAINING = """
from tensorbus import nn
from tensorbus.nn.parallel import DistributedDataParallel
start(timeout=4)
net = DistributedDataParallel(nn.Sequential(nn.Linear(400, 400), nn.Linear(400, 400)))
def go():
    for step in range(2000):
        net(torch.ones(8, 400)).mean().backward()
        if RANK == 0 and step == 3:
            print("CUT 1", flush=True)
survive(go)
"""


@pytest.mark.slow
def test_a_cable_that_is_pulled_during_data_parallel_training(on_hosts, prelude, told):
    ended = on_hosts(prelude + TRAINING)
    for rank in (0, 2):
        ranks, seconds, text = told(ended, rank)
        assert ranks == [1] and seconds < 60, text


# -- a relay that stops ----------------------------------------------------------------------
class Relay:
    """Passes bytes between the ranks until it is cut; then it keeps every connection, silently.

    A connection begins with a line that says where it is to go.
    """

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.cut = threading.Event()
        self._sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._sockets.append(near)
                threading.Thread(target=self._join, args=(near,), daemon=True).start()

    def _join(self, near):
        with contextlib.suppress(OSError, ValueError):
            line = b""
            while not line.endswith(b"\n"):
                line += near.recv(1)
            try:
                far = socket.create_connection(("127.0.0.1", int(line)))
            except OSError:
                near.close()
                return
            self._sockets.append(far)
            other = {near: far, far: near}
            while True:
                for ready in select.select([near, far], [], [], 0.2)[0]:
                    data = ready.recv(65536)
                    if self.cut.is_set():
                        return
                    if not data:
                        other[ready].shutdown(socket.SHUT_WR)
                        return
                    other[ready].sendall(data)

    def close(self):
        for s in [self._listener, *self._sockets]:
            s.close()


@pytest.fixture
def relay():
    made = Relay()
    yield made
    made.close()


THROUGH_THE_RELAY = """
if RANK == 2:
    direct = socket.create_connection
    def relayed(address, *more, **options):
        made = direct(("127.0.0.1", int(os.environ["RELAY"])), *more, **options)
        made.sendall(b"%d\\n" % address[1])
        return made
    socket.create_connection = relayed
start(timeout=3)
def go():
    for i in range(100_000):
        dist.all_reduce(torch.ones(20_000))
        if RANK == 0 and i == 5:
            print("CUT", flush=True)
survive(go)
"""


def test_a_rank_behind_a_relay_that_stops_is_named_by_all_others(start_job, told, relay):
    """Rank 2 connects to the others, to the store too, through the relay."""
    program = "import socket" + THROUGH_THE_RELAY
    job = start_job(program, size=3, RELAY=str(relay.port))
    job.ranks[0].await_line("CUT", 60)
    relay.cut.set()
    ended = job.end()
    for rank in (0, 1):
        ranks, seconds, text = told(ended, rank)
        assert ranks == [2] and "rank 2 hangs or was cut off" in text and seconds < 60, text
    ranks, seconds, text = told(ended, 2)
    assert 2 not in ranks and seconds < 60, text
