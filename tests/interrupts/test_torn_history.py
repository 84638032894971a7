"""Ctrl-C in a write: gradients afterwards are right, or refused as after any write in place."""

from __future__ import annotations

import functools
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.interrupts.injector import Injector
from tests.interrupts.writes import WRITES, B, C, V, W, expected, slopes, start

import tensorbus as torch
from tensorbus.distributed import compose
from tensorbus.plugin.comm import HOST

REFUSED = "modified by an inplace operation"


@functools.cache
def _slopes(name: str, times: int, of: str) -> list[np.ndarray]:
    if WRITES[name][2] is None:
        times = 0
    return slopes(lambda w, v: float((expected(name, times, w, v)[of] * C).sum()))


KEPT = {"h": [18 * W, 0 * V], "w": [2 * W, 0 * V], "b": [B, 0 * V]}
"""The gradients of ``kept``: those of the values at the time of the forward pass."""


def _gradients(s: SimpleNamespace, loss: Any) -> list[np.ndarray] | None:
    """The gradients of w and v; None where the backward pass refuses."""
    try:
        found = torch.autograd.grad(loss, (s.w, s.v), retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        assert REFUSED in str(error), error
        return None
    return [np.zeros((2, 2)) if g is None else np.array(g.tolist()) for g in found]


def _close(a: Any, b: Any) -> bool:
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-6, atol=1e-7)


def _writes_seen(name: str, s: SimpleNamespace, most: int) -> int | None:
    """How many whole writes the values show; None where they show no number of them."""
    target, _, write = WRITES[name]
    found = np.array(getattr(s, target).tolist())
    if write is None:
        return 0 if _close(found, expected(name, 0, W, V)[target]) else None
    for times in range(most + 1):
        if _close(found, expected(name, times, W, V)[target]):
            return times
    return None


def judge(name: str, s: SimpleNamespace, most: int, place: str) -> bool:
    """Fail for a gradient that is wrong; whether one of a written tensor was refused."""
    target, _, write = WRITES[name]
    times = _writes_seen(name, s, most)
    for of, loss in s.kept.items():
        found = _gradients(s, loss)
        if found is not None:
            assert all(map(_close, found, KEPT[of])), (place, of, found)
    if target == "w" or np.shape(C) != tuple(getattr(s, target).shape):
        return False
    t = getattr(s, target)
    if not t.requires_grad:
        wanted = _slopes(name, times or 0, target)
        assert not np.any(wanted), (place, "no history", times)
        return False
    found = _gradients(s, (t * torch.tensor(C)).sum())
    if found is None:
        return True
    if times is None and write is None:  # random numbers, which depend on nothing
        assert not np.any(found), (place, found)
        return False
    assert times is not None, (place, "half written, and not refused")
    wanted = _slopes(name, times, target)
    assert all(map(_close, found, wanted)), (place, times, found, wanted)
    if target == "h":
        (own,) = torch.autograd.grad((t * torch.tensor(C)).sum(), t)
        assert _close(own.tolist(), C)
        s.h.grad = None
        (t * torch.tensor(C)).sum().backward()
        assert _close(s.h.grad.tolist(), C), (place, "retained")
    return False


def interrupt(name: str, most: int, error: type[BaseException] = KeyboardInterrupt) -> int:
    """Interrupt a write at up to *most* places; how many gradients were refused."""
    write = WRITES[name][1]
    for _ in range(2):  # what is made at the first use
        s = start()
        write(s)
        assert not judge(name, s, 1, "not interrupted")
    s, counter = start(), Injector()
    assert not counter.run(lambda: write(s))
    places = list(range(counter.count))
    if len(places) > most:
        places = sorted(random.Random(name).sample(places, most))
    refused = 0
    for at in places:
        for again in (False, True):
            s, injector = start(), Injector(at, error)
            assert injector.run(lambda s=s: write(s)), injector.place
            if again:
                write(s)
            refused += judge(name, s, 1 + again, f"{at} {injector.place} {again}")
    return refused


@pytest.mark.parametrize("name", WRITES)
def test_a_gradient_after_an_interrupt_is_right_or_refused(name):
    interrupt(name, 12)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITES)
def test_it_is_at_every_place(name):
    interrupt(name, 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITES)
def test_it_is_when_a_handler_of_alarms_raises(name):
    interrupt(name, 10_000, TimeoutError)


OPTIMIZERS = {
    "SGD": {"momentum": 0.9}, "Adam": {"amsgrad": True}, "AdamW": {}, "NAdam": {}, "RAdam": {},
    "Adamax": {}, "Adadelta": {}, "Adagrad": {}, "ASGD": {}, "Rprop": {},
    "RMSprop": {"momentum": 0.9, "centered": True}, "LBFGS": {"max_iter": 2},
}  # fmt: skip


def interrupt_a_step(name: str, most: int) -> None:
    """Interrupt an optimizer's first step; the next must find all the state that it needs."""

    def begin() -> tuple[Any, Any]:
        w = torch.tensor(W, requires_grad=True)
        optimizer = getattr(torch.optim, name)([w], **OPTIMIZERS[name])

        def loss() -> Any:
            optimizer.zero_grad()
            found = (w * w).sum()
            found.backward()
            return found

        loss()
        return optimizer, loss

    optimizer, loss = begin()
    optimizer.step(loss)
    counter, (optimizer, loss) = Injector(), begin()
    counter.run(lambda: optimizer.step(loss))
    for at in sorted(random.Random(name).sample(range(counter.count), min(most, counter.count))):
        injector, (optimizer, loss) = Injector(at), begin()
        if injector.run(lambda step=optimizer.step, loss=loss: step(loss)):
            assert np.isfinite(optimizer.step(loss).item()), injector.place


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_goes_on_after_an_interrupt(name):
    interrupt_a_step(name, 12)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_it_goes_on_from_every_place(name):
    interrupt_a_step(name, 1000)


class _Comm:
    """A comm of which only the receive is real."""

    name = "one"

    def __init__(self, direct):
        place = "cpu" if direct else HOST
        self._takes = {place: (torch.float64,)}

    def capabilities(self):
        return self._takes

    def recv(self, array, dtype, src, tag, timeout):
        array[:2] = 9.0
        array[2:] = 9.0
        return src


@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("direct", [True, False])
def test_a_message_that_an_interrupt_stops_is_counted(direct, contiguous):
    group = SimpleNamespace(routes={}, comm_for=lambda device: _Comm(direct))

    def begin() -> SimpleNamespace:
        s = SimpleNamespace(w=torch.tensor(W, requires_grad=True))
        base = torch.tensor(B)
        s.b = base if contiguous else base.t()
        s.before = s.b.tolist()
        s.kept = (s.b * s.w).sum()
        return s

    def receive(s: SimpleNamespace) -> None:
        compose.receive(group, s.b, 0, 0, 1.0)

    receive(begin())  # what is made at the first use
    s, counter = begin(), Injector()
    version = s.b._version
    counter.run(lambda: receive(s))
    assert s.b.tolist() == [[9.0, 9.0], [9.0, 9.0]]
    assert s.b._version == version + 1
    for at in range(counter.count):
        s, injector = begin(), Injector(at)
        assert injector.run(lambda s=s: receive(s))
        try:
            s.kept.backward()
        except RuntimeError as error:
            assert REFUSED in str(error)
        else:
            assert s.b.tolist() == s.before, injector.place
            assert s.w.grad.tolist() == s.before, injector.place
