"""Questions about devices."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

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


@pytest.fixture
def as_cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The host under another name, which ``torch.cuda`` is made to ask."""

    class Card(Chip):
        """One of two."""

        count = 2

        def capabilities(self, index: int) -> Capabilities:
            return dataclasses.replace(
                super().capabilities(0),
                name=f"card {index}",
                memory_total=2**34,
                details={"compute capability": f"{7 + index}.5"},
            )

    with discovery.plugged(Card()) as name:
        monkeypatch.setattr(tb.cuda, "_TYPE", name)
        yield name


def test_a_device_is_current_within_its_block(as_cuda: str) -> None:
    with tb.cuda.device(1):
        assert tb.cuda.current_device() == 1
        with tb.cuda.device(None), tb.cuda.device(-1), tb.cuda.device_of(tb.ones(1)):
            assert tb.cuda.current_device() == 1
        with tb.cuda.device(f"{as_cuda}:0"):
            assert tb.cuda.current_device() == 0
    assert tb.cuda.current_device() == 0
    with pytest.raises(KeyError), tb.cuda.device(1):
        raise KeyError
    assert tb.cuda.current_device() == 0
    with pytest.raises(RuntimeError, match="invalid device"), tb.cuda.device(2):
        pass
    assert tb.cuda.current_device() == 0


def test_an_accelerator_is_current_within_its_block(as_cuda: str) -> None:
    before = tb.get_default_device()
    tb.set_default_device(as_cuda)
    try:
        with tb.accelerator.device_index(1):
            assert tb.accelerator.current_device_index() == 1
            with tb.accelerator.device_index(None):
                assert tb.accelerator.current_device_index() == 1
        assert tb.accelerator.current_device_index() == 0
    finally:
        tb.set_default_device(before)


def test_what_a_device_is(as_cuda: str) -> None:
    assert tb.cuda.is_initialized() and tb.cuda._initialized
    tb.cuda.init()
    found = tb.cuda.get_device_properties(1)
    assert (found.name, found.major, found.minor, found.total_memory) == ("card 1", 8, 5, 2**34)
    assert tb.cuda.get_device_capability(0) == (7, 5)
    assert not tb.cuda.is_tf32_supported()
    with tb.cuda.device(1):
        assert tb.cuda.is_tf32_supported()
    dtypes = tb.accelerator.get_device_capability(as_cuda)["supported_dtypes"]
    assert tb.float64 in dtypes
    assert tb.cuda.is_bf16_supported() == (tb.bfloat16 in dtypes)


def test_all_devices_have_one_stream_of_random_numbers(as_cuda: str) -> None:
    tb.cuda.manual_seed_all(5)
    assert tb.cuda.initial_seed() == tb.initial_seed() == 5
    state, states = tb.cuda.get_rng_state(), tb.cuda.get_rng_state_all()
    drawn = tb.rand(3)
    assert len(states) == 2
    tb.cuda.set_rng_state(state)
    assert tb.equal(tb.rand(3), drawn)
    tb.cuda.set_rng_state_all(states)
    assert tb.equal(tb.rand(3), drawn)
    tb.cuda.seed()
    assert tb.cuda.initial_seed() != 5
