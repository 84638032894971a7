"""Plugins that were written for version 1 of the contract still load and do what they did."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus import discovery
from tensorbus._dispatch.resolve import resolve
from tensorbus.discovery.metadata import BACKENDS, COMMS, OVERLAYS
from tensorbus.plugin import hooks
from tensorbus_conformance import run

FOLDER = Path(__file__).parent / "api_1"
ENTRIES = {
    BACKENDS: {"one": "tensorbus_one"},
    OVERLAYS: {"acme": "acme_softmax"},
    COMMS: {"alone": "acme_alone"},
}


@pytest.fixture
def old(install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The plugins of version 1, installed."""
    install("acme-old", ENTRIES)
    monkeypatch.syspath_prepend(FOLDER)
    before = {**sys.modules}
    yield
    driver = sys.modules.get("tensorbus_one.driver")
    if driver is not None:
        driver._folder.cleanup()  # else a later test is warned of it
    for name in {*sys.modules} - {*before}:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
            del sys.modules[name]


def test_version_1_is_supported():
    assert 1 in hooks.SUPPORTED_API and hooks.SUPPORTED_API[-1] == hooks.API == 2


def test_the_backend_loads_and_its_runtime_conforms(old):
    backend = discovery.backend("one")
    assert type(backend).__module__ == "tensorbus_one.backend"
    report = run("one", pattern="L0/*/float32*/*")
    assert len(report.results) >= 30
    assert [f"{r.id}: {r.message}" for r in report.results if r.bad] == []


def test_its_method_compile_is_not_taken_for_the_door_of_version_2(old):
    backend = discovery.backend("one")
    assert discovery.offered(backend, "compile") is None
    assert discovery.offered(backend, "as_array") is None, "inherited"
    assert discovery.offered(backend, "scalar") is not None


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler: install gcc")
def test_its_compiled_kernels_train(old):
    torch.set_fallback("error")
    torch.manual_seed(0)

    def train(device: str) -> list[float]:
        x = torch.tensor([[0.5, -1.0], [1.5, 2.0], [-0.5, 0.25]], device=device)
        w = torch.tensor([[0.1], [-0.2]], device=device, requires_grad=True)
        losses = []
        for _ in range(3):
            loss = ((x @ w) * x[:, :1]).sum()
            loss.backward()
            with torch.no_grad():
                w -= w.grad * 0.5
            w.grad = None
            losses.append(loss.item())
        return losses

    try:
        assert train("one") == pytest.approx(train("cpu"), rel=1e-5)
    finally:
        torch.set_fallback("warn")


def test_the_overlay_serves(old, monkeypatch):
    import acme_softmax

    ran, softmax = [], acme_softmax.softmax
    monkeypatch.setattr(acme_softmax, "softmax", lambda x, dim: ran.append(dim) or softmax(x, dim))
    x = torch.tensor([[0.0, 0.0], [0.0, np.log(3.0)]])
    entry = resolve(x._k, "softmax")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(entry(x.numpy(), 1), [[0.5, 0.5], [0.25, 0.75]], rtol=1e-6)
        np.testing.assert_allclose(entry(x.numpy(), 0)[:, 0], [0.5, 0.5], rtol=1e-6)
    assert ran == [1, 0], "the second is declined and left to the next"


def test_the_comm_moves_tensors(old):
    def rank() -> list[float]:
        out = torch.zeros(3)
        dist.all_gather_into_tensor(out, torch.ones(3))
        return out.tolist()

    assert dist.local.run(rank, 1, backend="alone") == [[1.0, 1.0, 1.0]]
