"""Another user of the machine gets into no job, though nobody set a secret."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

import tensorbus.distributed as dist
from tensorbus.distributed import object_collectives
from tensorbus.distributed import world as worlds

OTHER = 65534

# Ranks 0 and 1 are a job of this user; the third process is another user's.
PROGRAM = """
import pickle, socket
from tensorbus.distributed.secret import user_secret
from tensorbus.plugin import wire
from tensorbus_comm_tcp import frames

class Evil:
    def __reduce__(self):
        return os.mkdir, (FOLDER + "/evil",)

def await_file(name):
    while not os.path.exists(f"{FOLDER}/{name}"):
        time.sleep(0.01)

def tell(name, text=""):
    with open(f"{FOLDER}/.{name}.{RANK}", "w") as file:
        file.write(text)
    os.rename(f"{FOLDER}/.{name}.{RANK}", f"{FOLDER}/{name}")

def join(rank):
    dist.init_process_group("tcp", f"tcp://127.0.0.1:{PORT}", rank=rank, world_size=2, timeout=60)

def attack(port, secrets):
    for secret in secrets:
        try:
            wire.connect("127.0.0.1", port, secret, wire.Deadline(60))
            sys.exit(f"{secret!r} was believed")
        except wire.Refused:
            pass
    payload = pickle.dumps([Evil(), Evil()])
    hello = frames.HELLO.pack(bytes(16), 1, frames.MESSAGES)
    for words in (payload, bytes(64) + payload, bytes(64) + hello + payload):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
            try:
                s.sendall(words)
                s.shutdown(socket.SHUT_WR)
                while s.recv(1000):
                    pass
            except TimeoutError:
                raise
            except OSError:
                pass  # they hung up

def stranger():
    # Whatever is imported late comes before this process may no longer read it.
    dist.init_process_group("tcp", store=dist.HashStore(), rank=0, world_size=1)
    dist.destroy_process_group()
    with open(FOLDER + "/job/tensorbus/job-secret") as file:
        assert len(file.read()) > 60  # root, which started the test, can read it
    os.environ["XDG_CONFIG_HOME"] = FOLDER + "/other"
    os.setgroups([]), os.setgid(OTHER), os.setuid(OTHER)
    try:
        open(FOLDER + "/job/tensorbus/job-secret").read()
        sys.exit("another user can read the secret")
    except PermissionError:
        pass
    try:
        join(1)
        sys.exit("another user has joined the job")
    except dist.DistNetworkError as e:
        assert "its secret is another one" in str(e), e
    guesses = [user_secret(), b"\\0", b"tensorbus"]
    attack(PORT, guesses)
    tell("tried")
    await_file("ports")
    for port in open(FOLDER + "/ports").read().split():
        attack(int(port), guesses)
    tell("attacked")

def member():
    if RANK == 1:
        await_file("tried")
    join(RANK)
    ports = [None, None]
    dist.all_gather_object(ports, dist.group.WORLD.comm_for("cpu")._links._door.port)
    if RANK == 0:
        tell("ports", " ".join(map(str, ports)))
        await_file("attacked")
        dist.send_object_list(["hello", {1: 2}], 1)
    else:
        found = [None, None]
        dist.recv_object_list(found)
        assert found == ["hello", {1: 2}]
    dist.barrier()
    dist.destroy_process_group()

stranger() if RANK == 2 else member()
"""


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can be another user for a test",
)
def test_another_user_gets_in_nowhere(start_job):
    # The folders of pytest are its user's own: the other one gets one to which it may come.
    folder = Path(tempfile.mkdtemp(prefix="tensorbus-test-"))
    try:
        folder.chmod(0o777)
        for name in ("job", "other"):
            (folder / name).mkdir()
        os.chown(folder / "other", OTHER, OTHER)
        settings = {"TENSORBUS_JOB_SECRET": "", "XDG_CONFIG_HOME": str(folder / "job")}
        names = f"FOLDER, OTHER = {str(folder)!r}, {OTHER}\n"
        first = "from tensorbus.distributed import secret; secret.user_secret()"
        assert start_job(first, 1, **settings).end()[0].code == 0
        ended = start_job(names + PROGRAM, 3, **settings).end()
        assert [one.code for one in ended] == [0, 0, 0], "\n".join(one.err for one in ended)
        assert not (folder / "evil").exists()
    finally:
        shutil.rmtree(folder)


class Loud:
    """Leaves a trace where it is unpickled."""

    unpickled = 0

    def __reduce__(self):
        return _shout, ()


def _shout():
    Loud.unpickled += 1


@pytest.mark.parametrize("backend", ["local", "tcp"])
def test_only_what_a_rank_signed_is_unpickled(backend, monkeypatch):
    """Whatever a comm delivers: here one rank signs as somebody without the secret."""
    monkeypatch.setattr(Loud, "unpickled", 0)
    sign, pickled = object_collectives._sign, pickle.dumps(Loud())

    def forge(pg, data):
        if pg.rank() == 0 and data == pickled:
            return bytes(32)
        return sign(pg, data)

    monkeypatch.setattr(object_collectives, "_sign", forge)

    def rank():
        me, none = dist.get_rank(), [None]
        if me == 0:
            dist.send_object_list([Loud()], 1)
            dist.broadcast_object_list([Loud()], 0)
            dist.scatter_object_list(none, [1, Loud()], 0)
            assert none == [1]
        else:
            for receive in (
                lambda: dist.recv_object_list(none, 0),
                lambda: dist.broadcast_object_list(none, 0),
                lambda: dist.scatter_object_list(none, None, 0),
            ):
                with pytest.raises(dist.DistBackendError, match="signature of this job"):
                    receive()
            assert none == [None]
        out = [None, None]
        if me == 0:
            dist.all_gather_object(out, Loud())  # it takes its own bad signature for a good one
        else:
            with pytest.raises(dist.DistBackendError, match="signature of this job"):
                dist.all_gather_object(out, 2)
        dist.barrier()

    dist.local.run(rank, 2, backend=backend, timeout=60)
    assert Loud.unpickled == 1  # rank 0's own


def test_signatures_are_a_groups_own():
    def rank():
        other = dist.new_group([0, 1])
        here, there = (g.object_key() for g in (worlds.current().default, other))
        assert len(here) == 32 and here != there
        return here

    assert len(set(dist.local.run(rank, 2))) == 1


def test_a_group_without_a_secret_takes_no_objects():
    def rank():
        world = worlds.current()
        group = type(world.default)(world, "by hand", (0,), 0, {"*": "local"}, 9.0, world.store)
        data = np.frombuffer(bytes(32) + pickle.dumps(Loud()), np.uint8)
        with pytest.raises(RuntimeError, match="no secret that its ranks could sign"):
            object_collectives._unpack(group, data)

    dist.local.run(rank, 1)
    assert Loud.unpickled == 0
