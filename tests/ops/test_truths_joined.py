"""Truth values that meet at one place, on a device that joins them by ``amax`` and ``amin`` alone.

The device ``strict`` refuses what ``JOINS`` does not promise.
"""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import discovery
from tensorbus.plugin import bool as boolean
from tensorbus_conformance.devices.strict import StrictArray, StrictBackend, Violation

START, COMING, AT = [True, False, False], [True, False, True], [0, 0, 1]
CALLS = {
    "index_put": (lambda x, i, s: x.index_put_((i,), s, accumulate=True), [True, True, False]),
    "index_add": (lambda x, i, s: x.index_add(0, i, s), [True, True, False]),
    "put": (lambda x, i, s: x.put_(i, s, accumulate=True), [True, True, False]),
    "scatter_add": (lambda x, i, s: x.scatter_add(0, i, s), [True, True, False]),
    "scatter, add": (lambda x, i, s: x.scatter(0, i, s, reduce="add"), [True, True, False]),
    "scatter, a number": (lambda x, i, s: x.scatter(0, i, True, reduce="add"), [True, True, False]),
    "scatter, multiply": (lambda x, i, s: x.scatter(0, i, s, reduce="multiply"), [False] * 3),
    "sum": (lambda x, i, s: x.scatter_reduce(0, i, s, "sum"), [True, True, False]),
    "prod": (lambda x, i, s: x.scatter_reduce(0, i, s, "prod"), [False] * 3),
    "prod of the new": (
        lambda x, i, s: x.scatter_reduce(0, i, s, "prod", include_self=False),
        [False, True, False],
    ),
}


@pytest.fixture(scope="module", params=["the CPU", "strict", "strict, in order"])
def place(request):
    if request.param == "the CPU":
        yield "cpu"
        return
    ordered = request.param == "strict, in order"
    with discovery.plugged(StrictBackend(deterministic_scatter=not ordered)) as device:
        before = torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(ordered)
        yield device
        torch.use_deterministic_algorithms(before)


@pytest.mark.parametrize("name", CALLS)
def test_they_are_joined_by_or_and_by_and(name, place):
    call, wanted = CALLS[name]
    found = call(*(torch.tensor(v, device=place) for v in (START, AT, COMING)))
    assert found.dtype is torch.bool
    assert found.tolist() == wanted


@pytest.mark.parametrize("join", ["add", "mul"])
def test_the_device_refuses_what_is_not_promised(join):
    put = StrictBackend().kernel("put", boolean, 0)
    out, index, values = (StrictArray(np.array(v)) for v in (START, AT, COMING))
    with pytest.raises(Violation, match=f"joins bool by {join}"):
        put(out, 0, index, values, join, False)
