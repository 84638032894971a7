"""What version 2 of the plugin contract added to discovery: overlay objects, optional methods."""

from __future__ import annotations

import sys
import warnings

import pytest

import tensorbus
from tensorbus import discovery
from tensorbus.discovery.metadata import BACKENDS, OVERLAYS
from tensorbus.plugin import hooks
from tensorbus_conformance import run

BACKEND = """
from tensorbus.plugin import Backend, BackendSpec, hookimpl

class Mine(Backend):
    name = "npu"
    def device_count(self):
        return 1
    def compile(self, source, index):
        "Of version 1: a program in the device's language."

@hookimpl
def tensorbus_backend():
    return BackendSpec("npu", load=Mine, api={api})
"""

OBJECT = """
from tensorbus.plugin import Overlay, OverlaySpec, hookimpl

asked = []

def probe():
    {probe}

class Fast(Overlay):
    name = "{own}"
    def __init__(self, backend):
        self.backend = backend
    def kernel(self, op, dtype, index):
        asked.append((op, dtype.name, index))
        return self.backend.kernel("neg" if op == "abs" else op, dtype, index)

@hookimpl
def tensorbus_overlay():
    return OverlaySpec("fast", "cpu", ("sum", "prod"), load={load}, probe=probe,
                       requires=("fastlib",), install="pip install 'acme-fast[lib]'")
"""


def state(group: str, name: str) -> str:
    (record,) = [r for r in discovery.records(group) if r.name == name]
    return record.state


def install_object(install, own="fast", load="Fast", probe="asked.append('probe')", op="prod"):
    source = OBJECT.format(own=own, load=load, probe=probe).replace('"prod"', repr(op))
    install("acme-fast", {OVERLAYS: {"fast": "acme_fast"}}, {"acme_fast": source})


def test_an_overlay_object_is_loaded_when_it_is_first_asked_for(install):
    install_object(install)
    (spec,) = discovery.overlays("cpu", "sum")
    assert sys.modules["acme_fast"].asked == [] and state(OVERLAYS, "fast") == "found"
    overlay = discovery.overlay(spec)
    assert state(OVERLAYS, "fast") == "loaded"
    assert overlay.backend is discovery.backend("cpu")
    assert discovery.overlay(spec) is overlay
    assert sys.modules["acme_fast"].asked == ["probe"], "once"
    assert overlay.kernel("sum", tensorbus.float32, 0) is not None
    assert overlay.compile(None, 0) is None
    assert overlay.copy_(None, None, None, None) is NotImplemented


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"probe": "import fastlib"}, r"No module named 'fastlib'.*pip install 'acme-fast\[lib\]'"),
        ({"probe": "raise SystemExit(3)"}, "SystemExit: 3"),
        ({"load": "lambda backend: 7"}, "returned int, not a tensorbus.plugin.Overlay"),
        ({"own": "faster"}, "whose name is 'faster': give both the same name"),
    ],
)
def test_an_overlay_object_that_fails_is_left_out_with_one_warning(how, text, install):
    install_object(install, **how)
    (spec,) = discovery.overlays("cpu", "sum")
    with pytest.warns(
        UserWarning, match=f"overlay 'fast' of acme-fast 1.0 can't be used: .*{text}"
    ):
        assert discovery.overlay(spec) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert discovery.overlay(spec) is None
    assert state(OVERLAYS, "fast") == "failed"


@pytest.mark.parametrize(
    ("arguments", "word"), [({}, "neither"), ({"kernel": int, "load": int}, "both")]
)
def test_an_overlay_has_one_of_load_and_kernel(arguments, word):
    with pytest.raises(TypeError, match=f"OverlaySpec of 'fast' has {word} of load and kernel"):
        hooks.OverlaySpec("fast", "cpu", ("sum",), **arguments)


@pytest.mark.parametrize(
    ("how", "outcome", "text"),
    [
        ({}, "pass", ""),
        ({"op": "prood"}, "fail", "the overlay 'fast' lists what is no op: prood"),
        ({"load": "lambda backend: 7"}, "fail", "the overlay 'fast' can't be loaded"),
    ],
)
@pytest.mark.filterwarnings("ignore:an overlay is left out")
def test_the_suite_judges_the_overlays_of_a_device(how, outcome, text, install):
    install_object(install, **how)
    (result,) = run("cpu", pattern="L0/overlays").results
    assert result.outcome == outcome and text in result.message


# -- optional methods --------------------------------------------------------------------------
@pytest.mark.parametrize(("api", "offered"), [(1, False), (2, True)])
def test_a_method_of_a_later_version_is_not_asked_for(api, offered, install):
    source = BACKEND.format(api=api)
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": source})
    npu = discovery.backend("npu")
    assert (discovery.offered(npu, "compile") is not None) is offered
    assert discovery.offered(npu, "device_count")() == 1
    assert discovery.offered(npu, "new_stream") is None
    with discovery.plugged(type(npu)()):
        assert discovery.offered(npu, "device_count") is not None
