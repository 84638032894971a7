"""``ImmutableArrayBackend`` over a library that stands for JAX: NumPy, closed to writes."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import discovery
from tensorbus.plugin import (
    PRIMITIVES,
    ImmutableArrayBackend,
    float16,
    float32,
    int32,
    int64,
    uint8,
)
from tensorbus.plugin.immutable_arrays.boxes import Box, places
from tensorbus_conformance import run


class Closed:
    """NumPy's functions without ``out=``, whose results cannot be written."""

    def __getattr__(self, name: str) -> Any:
        return closed(getattr(np, name))


def closed(function: Any) -> Any:
    if isinstance(function, type) or not callable(function):
        return function

    def call(*args: Any, **options: Any) -> np.ndarray:
        assert "out" not in options
        made = np.asarray(function(*args, **options))
        made.flags.writeable = False
        return made

    if hasattr(function, "accumulate"):
        call.accumulate = closed(function.accumulate)  # type: ignore[attr-defined]
    return call


class Frozen(ImmutableArrayBackend):
    """Every array without padding; what a storage holds is closed before it gets there."""

    name = "frozen"
    xp = Closed()

    def boxed(self, flat: Any, shape: Any) -> Box:
        flat.flags.writeable = False
        return super().boxed(flat, shape)

    def write(self, box: Box, flat: Any) -> None:
        flat.flags.writeable = False
        super().write(box, flat)

    def placed(self, array: Any, index: Any, values: Any, op: str) -> Any:
        made = super().placed(array, index, values, op)
        made.flags.writeable = False
        return made


class Padded(Frozen):
    """Few shapes, as for a library that compiles for each."""

    name = "padded"

    def capacity(self, n: int) -> int:
        return 1 << (n - 1).bit_length() if n else 0


BACKENDS = pytest.mark.parametrize("backend", [Frozen(), Padded()], ids=lambda b: b.name)


def failures(report: Any) -> list[str]:
    return [f"{r.id}: {r.message}" for r in report.results if r.bad]


# -- the suite -------------------------------------------------------------------------------
@BACKENDS
def test_its_runtime_conforms(backend):
    report = run(backend, profile="core", level="L0")
    assert failures(report) == [] and report.counts()["pass"] > 300


FAST = (
    "L1/*/int8/*",
    "L1/*/float32/strided",
    "L1/*/float32/expanded",
    "L1/*/float32/out*",
    "L1/[mpst]*/float16/*",
)


@pytest.mark.parametrize("pattern", FAST)
def test_its_kernels_conform(pattern):
    report = run(Padded(), profile="core", level="L1", pattern=pattern)
    assert failures(report) == [] and report.counts()["pass"] > 10


@pytest.mark.slow
@BACKENDS
@pytest.mark.parametrize("level", ["L1", "L2"])
def test_it_conforms_at_a_whole_level(backend, level):
    report = run(backend, profile="core", level=level)
    assert failures(report) == [] and report.counts()["pass"] > 2500


def test_it_offers_every_primitive():
    backend = Frozen()
    integral = [op for op in PRIMITIVES if backend.kernel(op, float32, 0) is None]
    assert sorted(integral) == ["bitwise_and", "bitwise_or", "bitwise_xor", "lshift", "rshift"]
    assert all(backend.kernel(op, int32, 0) for op in integral)
    assert backend.kernel("no such op", float32, 0) is None


# -- boxes -----------------------------------------------------------------------------------
def test_places_are_the_strides_in_row_major_order():
    assert places((2, 3), (1, 2), 5, 8).tolist() == [5, 7, 9, 6, 8, 10, 1 << 61, 1 << 61]
    assert places((), (), 4, 1).tolist() == [4]


@BACKENDS
def test_what_was_read_does_not_change_when_its_box_is_written(backend):
    x = backend.from_host(np.arange(6, dtype=np.float32), float32, 0)
    before = backend.read(x)
    view = backend.as_strided(x, (3,), (-2,), 5, float32, float32)
    backend.copy_(view, float32, 7, None)
    assert before[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert backend.to_host(x, float32).tolist() == [0, 7, 2, 7, 4, 7]
    assert not backend.read(x).flags.writeable


@BACKENDS
def test_a_copy_of_a_whole_array_moves_nothing_and_shares_nothing(backend):
    x = backend.from_host(np.arange(5), int64, 0)
    y = backend.empty((5,), int64, 0)
    backend.copy_(y, int64, x, int64)
    assert backend.read(y) is backend.read(x)
    backend.kernel("add", int64, 0)(x, x, out=x)
    assert backend.to_host(x, int64).tolist() == [0, 2, 4, 6, 8]
    assert backend.to_host(y, int64).tolist() == [0, 1, 2, 3, 4]


@BACKENDS
def test_bytes_are_those_of_the_last_write_in_whichever_dtype(backend):
    x = backend.from_host(np.array([1, -2, 3], np.int32), int32, 0)
    octets = backend.as_strided(x, (12,), (1,), 0, int32, uint8)
    assert backend.to_host(octets, uint8).tolist() == [1, 0, 0, 0, 254, 255, 255, 255, 3, 0, 0, 0]
    backend.copy_(backend.as_strided(x, (1,), (1,), 1, int32, uint8), uint8, 1, None)
    assert backend.to_host(x, int32).tolist() == [257, -2, 3]
    halves = backend.from_host(np.arange(3, dtype=np.float16), float16, 0)
    whole = backend.as_strided(halves, (1,), (1,), 0, float16, int32)
    assert backend.to_host(whole, int32).tolist() == [0x3C000000]
    assert backend.storage_size(halves, float16) == 6


def test_numbers_of_both_signs_become_small_integers_by_way_of_int64():
    backend = Frozen()
    x = backend.from_host(np.array([300 + 1j, -1 + 9j]), torch.complex128, 0)
    y = backend.empty((2,), uint8, 0)
    seen = []
    backend.cast = lambda *args: seen.append(args[1:]) or ImmutableArrayBackend.cast(backend, *args)
    backend.copy_(y, uint8, x, torch.complex128)
    assert backend.to_host(y, uint8).tolist() == [44, 255]
    assert seen == [(torch.complex128, uint8)]


def test_padding_of_a_line_changes_no_extreme_and_no_order():
    backend = Padded()
    for values in ([-3, -2, -7], [-np.inf, -np.inf, -np.inf], [np.inf, np.nan, np.inf]):
        x = np.array([values], np.float32)
        box = backend.from_host(x, float32, 0)
        for op, expected in [
            ("amax", x.max(1)),
            ("amin", x.min(1)),
            ("argmax", x.argmax(1)),
            ("argmin", x.argmin(1)),
            ("argsort", x.argsort(1, kind="stable")),
        ]:
            made = backend.kernel(op, float32, 0)(box, (1,) if op in ("amax", "amin") else 1)
            np.testing.assert_array_equal(backend.to_host(made, made.dtype), expected, err_msg=op)


class Waiting(Frozen):
    """Its first partial write goes on when the second has had every chance to begin."""

    def __init__(self):
        self.inside, self.go_on = threading.Event(), threading.Event()

    def placed(self, array, index, values, op):
        if not self.inside.is_set():
            self.inside.set()
            assert self.go_on.wait(60)
        return super().placed(array, index, values, op)


def test_two_threads_write_into_two_views_of_one_storage():
    backend = Waiting()
    x = backend.from_host(np.zeros(4, np.float32), float32, 0)
    halves = [backend.as_strided(x, (2,), (1,), at, float32, float32) for at in (0, 2)]
    threads = [
        threading.Thread(target=backend.copy_, args=(half, float32, 1.0, None)) for half in halves
    ]
    threads[0].start()
    assert backend.inside.wait(60)
    assert x.storage.lock.locked()  # so the second write reads what the first has written
    threads[1].start()
    backend.go_on.set()
    for thread in threads:
        thread.join(60)
    assert backend.to_host(x, float32).tolist() == [1, 1, 1, 1]


@BACKENDS
def test_operands_broadcast_and_numbers_are_arrays(backend):
    x = backend.from_host(np.arange(3, dtype=np.float32), float32, 0)
    y = backend.from_host(np.arange(2, dtype=np.float32).reshape(2, 1), float32, 0)
    two = backend.scalar(2, float32)
    assert type(two) is Box and two.shape == ()
    kernel = backend.kernel("mul", float32, 0)
    assert backend.to_host(kernel(x, y), float32).tolist() == [[0, 0, 0], [0, 1, 2]]
    assert backend.to_host(kernel(two, y), float32).tolist() == [[0], [2]]
    assert backend.to_host(kernel(two, two), float32).tolist() == 4.0
    less = backend.kernel("lt", float32, 0)(two, x)
    assert less.dtype is torch.bool


# -- programs --------------------------------------------------------------------------------
@BACKENDS
def test_a_network_trains_as_on_the_cpu(backend):
    def train(device):
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Conv2d(1, 3, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(48, 3)
        ).to(device)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
        x, y = torch.randn(8, 1, 6, 6).to(device), (torch.arange(8) % 3).to(device)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    before = torch.get_fallback()
    torch.set_fallback("error")
    try:
        with discovery.plugged(backend) as device:
            assert train(device) == pytest.approx(train("cpu"), rel=1e-4)
            x = torch.zeros(2, 3, device=device)
            x.t()[1] += torch.arange(2.0, device=device)
            x[:, [0, 2]] = -1
            assert x.tolist() == [[-1, 0, -1], [-1, 1, -1]]
            with pytest.raises(IndexError, match="out of range|out of bounds"):
                x[torch.tensor([5], device=device)]
    finally:
        torch.set_fallback(before)
