"""Questions about devices."""

from __future__ import annotations

import dataclasses

import pytest

import tensorbus as tb
from tensorbus import discovery
from tensorbus.plugin import Capabilities


def test_the_usual_line_of_programs_gives_a_device_that_works() -> None:
    device = tb.device("cuda" if tb.cuda.is_available() else "cpu")
    assert tb.ones(2, device=device).sum().item() == 2


def test_types_without_a_device_are_told_apart_from_errors() -> None:
    assert tb.accelerator.is_available("cpu")
    assert not tb.accelerator.is_available("no such type")
    assert tb.accelerator.device_count("no such type") == 0
    if not tb.cuda.is_available():
        assert tb.cuda.device_count() == 0
        tb.cuda.empty_cache()
        with pytest.raises(RuntimeError, match="cuda"):
            tb.ones(1, device="cuda")


def test_current_device(device: str) -> None:
    assert tb.accelerator.current_device(device) == 0
    tb.accelerator.set_device(f"{device}:0")
    tb.accelerator.synchronize(device)
    assert isinstance(tb.accelerator.get_device_name(device), str)
    assert tb.accelerator.memory_allocated(device) >= 0
    with pytest.raises(RuntimeError, match="invalid device .*:7"):
        tb.accelerator.set_device(f"{device}:7")


def test_the_accelerator_is_the_default_device_or_cuda() -> None:
    accelerator = tb.accelerator
    if not any(beside_the_processor(name) for name in discovery.backend_names()):
        assert accelerator.current_accelerator() is None
        assert (accelerator.is_available(), accelerator.device_count()) == (False, 0)
        for call in (
            accelerator.current_device_index, accelerator.synchronize, accelerator.empty_cache,
            accelerator.memory_allocated, lambda: accelerator.set_device_index(None),
        ):  # fmt: skip
            with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is"):
                call()
        with pytest.raises(RuntimeError, match="Cannot access accelerator device 0 when none is"):
            tb.ones(1).to(0)
    with discovery.plugged(type(discovery.backend("cpu"))()) as name:
        before = tb.get_default_device()
        tb.set_default_device(name)
        try:
            assert accelerator.current_accelerator() == tb.device(name)
            assert accelerator.current_accelerator(check_available=True) == tb.device(name)
            assert accelerator.is_available() and accelerator.device_count() == 1
            accelerator.set_device_index(0)
            assert accelerator.current_device_index() == accelerator.current_device_idx() == 0
            accelerator.set_device_index(None)
            accelerator.synchronize()
            accelerator.empty_cache()
            assert accelerator.memory_allocated() == accelerator.memory_allocated(0) >= 0
            assert tb.ones(1, device="cpu").to(0).device == tb.device(f"{name}:0")
            with pytest.raises(RuntimeError, match="invalid device"):
                accelerator.set_device_index(3)
        finally:
            tb.set_default_device(before)


def beside_the_processor(name: str) -> bool:
    """Whether a device of this type can be used here that calls itself an accelerator."""
    try:
        backend = discovery.backend(name)
        return backend.device_count() > 0 and backend.capabilities(0).accelerator
    except RuntimeError:
        return False


class Chip(type(discovery.backend("cpu"))):  # type: ignore[misc]
    """The cpu's backend, as if it drove a chip beside the processor."""

    name, count, accelerates = "aaa", 1, True

    def device_count(self) -> int:
        return self.count

    def capabilities(self, index: int) -> Capabilities:
        return dataclasses.replace(super().capabilities(index), accelerator=self.accelerates)


def test_a_device_that_calls_itself_an_accelerator_is_found() -> None:
    accelerator, chip = tb.accelerator, Chip()
    with discovery.plugged(chip) as name:
        first = "cuda" if tb.cuda.is_available() else name
        assert accelerator.current_accelerator() == tb.device(first)
        assert accelerator.is_available() and accelerator.device_count() >= 1
        assert tb.zeros(1).to(accelerator.current_accelerator()).device.type == first
        for chip.count, chip.accelerates in ((0, True), (1, False)):
            assert accelerator.current_accelerator() != tb.device(name)
    assert accelerator.current_accelerator() != tb.device("strict")


def test_constants() -> None:
    import math

    assert (tb.pi, tb.e, tb.inf) == (math.pi, math.e, math.inf)
    assert math.isnan(tb.nan)
    assert tb.ones(3)[:, tb.newaxis].shape == (3, 1)
