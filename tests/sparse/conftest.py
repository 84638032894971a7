"""No op of a sparse tensor runs on the CPU in a device's stead."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensorbus


@pytest.fixture(autouse=True)
def no_fallback() -> Iterator[None]:
    before = tensorbus.get_fallback()
    tensorbus.set_fallback("error")
    yield
    tensorbus.set_fallback(before)
