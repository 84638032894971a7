"""The devices without hardware: strict forgives nothing, null has no data."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import nn
from tensorbus_conformance import run
from tensorbus_conformance.devices.strict import StrictBackend, Violation


def _network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(4 * 3 * 3, 5),
    )  # fmt: skip


def _losses(device: str, batch: int = 6) -> list[float]:
    torch.manual_seed(0)
    network = _network().to(device)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.05)
    x = torch.randn(batch, 1, 8, 8).to(device)
    y = torch.arange(batch).remainder(5).to(device)
    losses = []
    for _ in range(4):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(network(x), y)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def test_strict_computes_as_the_cpu_does() -> None:
    before = torch.fallback_counts()
    np.testing.assert_allclose(_losses("strict"), _losses("cpu"), rtol=1e-4)
    after = torch.fallback_counts()
    assert not [w for w in after if w.endswith(" on strict") and after[w] != before.get(w)]


@pytest.mark.slow
def test_strict_conforms(kernels: str) -> None:
    report = run("strict", pattern=kernels)
    assert report.ok, [f"{r.id}: {r.message}" for r in report.failures[:5]]
    lacking = {d for r in report.results if r.outcome == "not supported" for d in r.id.split("/")}
    assert {"float64", "complex64", "bfloat16"} <= lacking


def test_strict_memory_is_closed_to_the_host() -> None:
    array = StrictBackend().empty((2, 3), torch.float32, 0)
    for read in (np.asarray, bool, len, list, float, lambda a: a + np.ones(3), lambda a: a == a):
        with pytest.raises(Violation, match=r"can't read this device's memory: copy it with .cpu"):
            read(array)


def test_strict_memory_is_poisoned() -> None:
    assert torch.isnan(torch.empty(3, device="strict")).all()
    assert torch.empty(2, dtype=torch.int64, device="strict").tolist() == [99, 99]


def test_strict_lacks_float64() -> None:
    with pytest.raises(TypeError, match="device strict:0 has no float64; it has bool, float16"):
        torch.zeros(2, device="strict").double()


def test_strict_tells_faults_late() -> None:
    x = torch.zeros(3, device="strict")
    taken = x[torch.tensor([0, 7], device="strict")]
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 0 with size 3"):
        taken.tolist()
    assert x.tolist() == [0.0, 0.0, 0.0]  # told once


def test_null_has_shapes_and_no_data() -> None:
    before = torch.accelerator.memory_allocated("null")
    # 64 TiB of activations: they would have to be somewhere, if there were any.
    x = torch.randn(2**20, 1, 8, 8, device="null")
    wide = x.expand(2**20, 2**16, 8, 8).clone()
    assert wide.sum(dim=(2, 3)).shape == (2**20, 2**16)
    assert torch.accelerator.memory_allocated("null") - before == (2**26 + 2**42) * 4
    del x, wide
    assert torch.accelerator.memory_allocated("null") == before
    assert _losses("null", 10_000) == [0.0] * 4
    assert (torch.ones(2, device="null") + 1).tolist() == [0.0, 0.0]


def test_null_sees_errors_of_shape_and_dtype() -> None:
    with pytest.raises(RuntimeError, match=r"must match the size of tensor b \(4\)"):
        torch.ones(3, device="null") + torch.ones(4, device="null")
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        nn.Linear(3, 2).to("null")(torch.ones(5, 4, device="null"))
    found = torch.ones(2, dtype=torch.int8, device="null") / torch.ones(2, 1, device="null")
    assert (found.dtype, found.shape) == (torch.float32, (2, 2))


def test_null_does_not_pass_for_a_device_that_computes() -> None:
    report = run("null", "L1", "L1/add/float32/*")
    assert not report.ok
