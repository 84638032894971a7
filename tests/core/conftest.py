"""Devices made for a test: a backend object plugged in under a name of its own."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tensorbus import discovery
from tensorbus._base.dtypes import ALL
from tensorbus.plugin import Backend, Traits
from tensorbus_conformance.devices.strict import StrictBackend


class BoxedBackend(StrictBackend):
    """Opaque arrays on a device that takes whatever the traits given here do not disclaim.

    ``asked`` and ``called`` log the ops.
    """

    name = "boxed"

    def __init__(self, lacking: Any = (), dtypes: Any = None, **traits: Any):
        lenient = dataclasses.asdict(Traits(broadcasts=True, takes_empty=True))
        super().__init__(lacking, dtypes or ALL, **lenient | traits)
        self.asked: list[tuple[str, str]] = []
        self.called: list[str] = []

    def kernel(self, op: str, dtype: Any, index: int) -> Any:
        self.asked.append((op, dtype.name))
        kernel = super().kernel(op, dtype, index)
        if kernel is None:
            return None

        def call(*args: Any, **options: Any) -> Any:
            self.called.append(op)
            return kernel(*args, **options)

        return call


Plug = Callable[[Backend], str]


@contextlib.contextmanager
def plugged() -> Iterator[Plug]:
    """``plug(backend)``: the device type under which a backend object can be used."""
    with contextlib.ExitStack() as stack:
        yield lambda backend: stack.enter_context(discovery.plugged(backend))


@pytest.fixture
def plug() -> Iterator[Plug]:
    """``plug(backend)``: the device type under which a backend object can be used."""
    with plugged() as make:
        yield make


@pytest.fixture
def boxed() -> type[BoxedBackend]:
    """The class of backends whose kernels hold the frontend to the traits."""
    return BoxedBackend


@pytest.fixture(scope="module")
def shared() -> Iterator[Callable[..., str]]:
    """``shared(**traits)``: a boxed device with these traits, one for each set in a module."""
    with plugged() as make:
        made: dict[Any, str] = {}

        def device(**traits: bool) -> str:
            key = tuple(sorted(traits.items()))
            if key not in made:
                made[key] = make(BoxedBackend(**traits))
            return made[key]

        yield device


@pytest.fixture
def accelerator() -> str:
    """A device other than the CPU that works here; skips where there is none."""
    usable = []
    for name in discovery.backend_names():
        try:
            if (
                name not in ("cpu", "meta", "null", "strict")
                and not name[-1].isdigit()
                and discovery.backend(name).device_count()
            ):
                usable.append(name)
        except RuntimeError:
            continue
    if not usable:
        pytest.skip("no accelerator can be used on this machine")
    return usable[0]
