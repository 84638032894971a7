"""Further names of devices: what they lead to, and which plugin has one that several declare."""

from __future__ import annotations

import warnings

import pytest

import tensorbus
from tensorbus import discovery
from tensorbus._device import device
from tensorbus._dispatch import kinds
from tensorbus.discovery.metadata import BACKENDS
from tensorbus.distributed import choice

CHIP = """
from tensorbus_cpu_numpy.backend import CpuBackend
from tensorbus.plugin import BackendSpec, hookimpl

class Chip(CpuBackend):
    name = "{name}"

@hookimpl
def tensorbus_backend():
    return BackendSpec("{name}", load=Chip, aliases={aliases})
"""


@pytest.fixture
def chip(install):
    """Installs a device that computes as the cpu does, with further names."""

    def make(name: str, aliases: str, distribution: str | None = None) -> None:
        module = f"acme_{name}"
        source = CHIP.format(name=name, aliases=aliases)
        install(distribution or f"acme-{name}", {BACKENDS: {name: module}}, {module: source})

    yield make
    for name in ("npu", "dsp"):
        kinds.forget(name)


def test_a_further_name_is_the_device_and_shows_nowhere(chip):
    chip("npu", "('gpu', 'Npu-2')")
    assert tensorbus.device("gpu") is tensorbus.device("npu")
    assert tensorbus.device("gpu").type == "npu"
    assert tensorbus.device("gpu:0") is tensorbus.device("npu", 0)
    assert tensorbus.device("Npu-2", 0) is tensorbus.device("npu:0")
    assert discovery.aliases("npu") == ["Npu-2", "gpu"] and discovery.aliases("cpu") == []
    assert "gpu" not in discovery.backend_names()
    x = tensorbus.ones(2, device="gpu").to("gpu:0") + 1
    assert (str(x.device), x.tolist()) == ("npu:0", [2.0, 2.0])
    assert discovery.backend("gpu") is discovery.backend("npu")
    assert tensorbus.accelerator.device_count("gpu") == 1
    assert tensorbus.accelerator.current_device("gpu") == 0
    assert choice.parse("gpu:tcp,cpu:gloo") == {"npu": "tcp", "cpu": "gloo"}
    with pytest.raises(ValueError, match="Duplicate device type npu"):
        choice.parse("gpu:tcp,npu:tcp")
    known = ", ".join(sorted([*discovery.backend_names(), "gpu", "Npu-2"]))
    with pytest.raises(RuntimeError, match=f"Expected one of {known} device type .*: tpu"):
        tensorbus.device("tpu")


def test_a_device_s_own_name_comes_before_another_s_further_name(chip):
    chip("npu", "('dsp', 'cpu')")
    chip("dsp", "()")
    assert tensorbus.device("dsp").type == "dsp" and tensorbus.device("cpu").type == "cpu"


def test_a_further_name_of_two_devices_is_an_error_that_names_both(chip):
    chip("npu", "('gpu', 'chip')")
    chip("dsp", "('gpu',)")
    text = (
        "'gpu' of tensorbus.backends is another name of 2 device types, 'dsp' of acme-dsp 1.0 and "
        "'npu' of acme-npu 1.0: give the one you mean by its own name"
    )
    for _ in range(2):
        with pytest.raises(RuntimeError, match=f"^{text}"):
            tensorbus.device("gpu")
    assert tensorbus.device("chip").type == "npu" and tensorbus.device("dsp").type == "dsp"


def test_a_further_name_of_one_of_our_own_is_ours(chip, monkeypatch):
    chip("npu", "('gpu',)", "tensorbus")
    chip("dsp", "('gpu',)")
    text = "'gpu' of .* another name of tensorbus' own 'npu', but acme-dsp 1.0 claims it too for"
    with pytest.warns(UserWarning, match=text):
        assert tensorbus.device("gpu").type == "npu"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tensorbus.device("gpu").type == "npu" and tensorbus.device("dsp").type == "dsp"


def test_a_broken_plugin_hinders_no_further_name(install, chip):
    install("acme-bad", {BACKENDS: {"bad": "acme_bad"}}, {"acme_bad": "import sys; sys.exit(3)"})
    chip("npu", "('gpu',)")
    assert tensorbus.device("gpu").type == "npu"
    (record,) = [r for r in discovery.records(BACKENDS) if r.name == "bad"]
    assert record.state == "found"
    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        discovery.backend("bad")


@pytest.mark.parametrize(
    ("aliases", "text"),
    [
        ("'gpu'", "TypeError: the aliases of 'npu' are 'gpu': give a tuple of texts"),
        ("(1,)", r"TypeError: the aliases of 'npu' are \(1,\): give a tuple of texts"),
        ("('g:0',)", "ValueError: the alias 'g:0' of 'npu' can't be asked for"),
    ],
)
def test_further_names_that_nobody_could_ask_for_are_refused(chip, aliases, text):
    chip("npu", aliases)
    with pytest.raises(RuntimeError, match=text):
        discovery.backend("npu")


def test_the_suite_tries_further_names(chip, monkeypatch):
    from tensorbus_conformance import run

    chip("npu", "('gpu',)")
    report = run("npu", level="L0", pattern="L0/aliases")
    assert report.ok and report.counts()["pass"] == 1
    monkeypatch.setitem(device._interned, ("gpu", None), tensorbus.device("cpu"))
    (failed,) = run("npu", level="L0", pattern="L0/aliases").failures
    assert "device('gpu') is device(type='cpu'), expected npu" in failed.message
