"""All stores answer alike; what differs is who can see the keys."""

from __future__ import annotations

import threading
import time

import pytest

import tensorbus.distributed as dist


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def stores(request, tmp_path):
    """Two views of one store, as two processes would have them."""
    if request.param == "hash":
        one = dist.HashStore(timeout=30)
        pair = [one, one]
    elif request.param == "file":
        pair = [dist.FileStore(str(tmp_path / "store"), 2, 30) for _ in range(2)]
    else:
        server = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=30)
        pair = [server, dist.TCPStore("127.0.0.1", server.port, timeout=30)]
        if request.param == "prefix":
            pair = [dist.PrefixStore("mine", s) for s in pair]
    yield pair
    for store in reversed(pair):
        store.close()
    assert not list(tmp_path.iterdir())


def test_keys(stores):
    a, b = stores
    a.set("text", "é")
    a.set("bytes", b"\0\xff")
    assert (b.get("text"), b.get("bytes")) == ("é".encode(), b"\0\xff")
    assert b.add("n", 5) == 5 and a.add("n", -7) == -2 and b.get("n") == b"-2"
    b.append("log", "one ")
    a.append("log", "two")
    assert a.get("log") == b"one two"
    assert a.check(["text", "n"]) and not b.check(["text", "other"])
    assert b.num_keys() == 4
    assert a.delete_key("n") and not b.delete_key("n") and b.num_keys() == 3
    b.multi_set(["x", "y"], ["1", "2"])
    assert a.multi_get(["y", "x"]) == [b"2", b"1"]
    a.set("empty", "")
    assert b.get("empty") == b""


def test_compare_set(stores):
    a, b = stores
    assert a.compare_set("k", "missing", "v") == b"missing"
    assert not b.check(["k"])
    assert a.compare_set("k", "", "first") == b"first"
    assert b.compare_set("k", "", "second") == b"first"
    assert b.compare_set("k", "first", "third") == b"third"
    assert a.get("k") == b"third"


def test_waiting(stores):
    a, b = stores
    begun = time.monotonic()
    threading.Timer(0.15, lambda: a.set("late", "here")).start()
    assert b.get("late") == b"here"
    assert 0.1 < time.monotonic() - begun < 30
    with pytest.raises(dist.DistStoreError, match=r"wait timeout after 200ms, keys: never"):
        b.wait(["late", "never"], 0.2)
    b.set_timeout(0.1)
    with pytest.raises(dist.DistStoreError, match="after 100ms, keys: nor this"):
        b.get("nor this")


def test_counting_from_many_threads(stores):
    def count(store):
        for _ in range(25):
            store.add("n", 1)

    threads = [threading.Thread(target=count, args=(s,)) for s in stores * 2]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert stores[0].add("n", 0) == 100


def test_what_is_no_value(stores):
    with pytest.raises(TypeError, match="a store keeps str and bytes, not int"):
        stores[0].set("k", 1)
    stores[0].set("word", "abc")
    with pytest.raises((ValueError, dist.DistStoreError), match="abc|holds no number"):
        stores[1].add("word", 1)
    assert stores[1].get("word") == b"abc"


def test_a_last_will_is_published_when_the_connection_breaks():
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=30)
    doomed, careful = (dist.TCPStore("127.0.0.1", server.port, timeout=30) for _ in range(2))
    assert doomed.last_will("news", "it died") and careful.last_will("news", "never said")
    assert server.publish("news", "first") == 1
    careful.last_will("news", "")
    careful.close()
    doomed.close()
    assert server.get("news/2") == b"it died"
    time.sleep(0.1)
    assert not server.check(["news/3"])
    server.close()


def test_a_server_that_is_gone_is_told():
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=60)
    client = dist.TCPStore("127.0.0.1", server.port, timeout=60)
    threading.Timer(0.1, server.close).start()
    begun = time.monotonic()
    with pytest.raises(dist.DistError):
        client.get("never")
    with pytest.raises(dist.DistNetworkError, match=r"is gone, so the process that serves it"):
        client.set("a", "b")
    assert time.monotonic() - begun < 30
    client.close()


def test_the_master_waits_for_its_workers():
    with pytest.raises(dist.DistStoreError, match="waiting for clients. 1/2 clients joined"):
        dist.TCPStore("127.0.0.1", 0, world_size=2, is_master=True, timeout=0.2)


def test_a_file_that_is_no_store(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, of some length")
    store = dist.FileStore(str(path))
    with pytest.raises(dist.DistStoreError, match="is not a store's file"):
        store.get("a")
    store.close()
    assert path.read_text().startswith("these are my notes")
