"""Kinds: one object for each device and dtype."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from typing import Any

import pytest

import tensorbus as torch
from tensorbus import discovery
from tensorbus._dispatch import kinds
from tensorbus._dispatch.dead_backend import DeadBackend
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._dispatch.wrapping import wrap_number
from tensorbus.rows.registry import TABLES

CPU = torch.device("cpu")


def test_they_are_interned() -> None:
    kind = kind_of(CPU, torch.float32)
    assert torch.ones(2)._k is torch.zeros(3, 4)._k is kind
    assert torch.ones(2, dtype=torch.float64)._k is kind.of(torch.float64)
    assert kind.of(torch.float64) is not kind and kind.bool.dtype is torch.bool
    assert kind.i64 is kind_of(CPU, torch.int64)
    assert repr(kind) == "<kind cpu torch.float32>"


def test_threads_get_the_same_object(plug: Any, boxed: Any) -> None:
    device = torch.device(plug(boxed()))
    start, found = threading.Barrier(8), []

    def ask() -> None:
        start.wait()
        found.append(kind_of(device, torch.float32))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    sys.setswitchinterval(interval)
    assert len(found) == 8 and len({id(kind) for kind in found}) == 1


@pytest.mark.parametrize(
    "remade", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_and_pickles_are_the_same_object(remade: Any) -> None:
    kind = kind_of(CPU, torch.float32)
    assert remade(kind) is kind
    assert remade(torch.float32) is torch.float32
    assert remade(CPU) is CPU
    size = torch.Size((2, 3))
    assert remade(size) == size and type(remade(size)) is torch.Size


def test_devices_without_an_index_mean_the_current_one(plug: Any, boxed: Any) -> None:
    class Two(boxed):
        def device_count(self) -> int:
            return 2

    name = plug(Two())
    bare, zero, one = (torch.device(d) for d in (name, f"{name}:0", f"{name}:1"))
    assert kind_of(bare, torch.float32) is kind_of(zero, torch.float32)
    try:
        kinds.set_current_index(name, 1)
        assert kind_of(bare, torch.float32) is kind_of(one, torch.float32)
        assert torch.ones(2, device=name).device == one
    finally:
        kinds.set_current_index(name, 0)
    assert torch.ones(2, device=name).device == zero
    with pytest.raises(RuntimeError, match=r"has 2 device\(s\) of type"):
        torch.ones(2, device=f"{name}:2")
    with pytest.raises(RuntimeError, match="there is one CPU"):
        torch.ones(2, device="cpu:1")


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (300, torch.uint8, 44),
        (-1, torch.uint8, 255),
        (128, torch.int8, -128),
        (2**63, torch.int64, -(2**63)),
        (3, torch.float32, 3.0),
        (2, torch.bool, True),
        (1.5, torch.complex64, 1.5 + 0j),
    ],
)
def test_numbers_wrap_into_the_dtype(value: Any, dtype: Any, expected: Any) -> None:
    found = wrap_number(value, dtype)
    assert found == expected and type(found) is type(expected)


def test_constants_keep_signs_of_zero_and_are_bounded() -> None:
    kind = kind_of(CPU, torch.float32)
    x = torch.ones(1)
    assert (x / 0.0).item() == float("inf") and (x / -0.0).item() == -float("inf")
    assert (x * float("nan")).isnan().all()
    assert (x * True).dtype is torch.float32
    for n in range(2000):
        x + n
    assert len(kind.consts) <= kinds._CONSTANTS_LIMIT


def test_opaque_constants_are_known_by_their_number(plug: Any, boxed: Any) -> None:
    kind = kind_of(torch.device(plug(boxed())), torch.float32)
    for value in (2.5, 0.0, -0.0, 1):
        constant = kind.const(value)
        assert kind.const(value) is constant
        assert str(kind.number_of(constant)) == str(float(value))
    assert kind.number_of(7) == 7


def test_a_kind_whose_backend_did_not_survive_a_fork_refuses_all():
    kind = Kind(torch.device("meta"), torch.float32, discovery.backend("meta"))
    try:
        x = kind.empty((2,))
        assert kind.is_contiguous(kind.copy_(x, x))
        kind.kill(DeadBackend("meta"))
        calls = (
            lambda: kind.add(x, x), lambda: kind.is_contiguous(x), lambda: kind.copy_(x, x),
            lambda: kind.empty((2,)),
        )  # fmt: skip
        for call in calls:
            with pytest.raises(RuntimeError, match="the parent process used device 'meta'"):
                call()
    finally:
        TABLES.remove(kind)
