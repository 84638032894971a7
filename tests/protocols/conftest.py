"""What tests of ``torch.library`` share."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

import tensorbus as torch
from tensorbus import library
from tensorbus._base.modes import RARE, this_thread


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """No mode of a test lives on behind it, whatever it raised."""
    before = this_thread.handlers, this_thread.batches, RARE.active
    yield
    gc.collect()
    torch.ones(1).exp()
    assert (this_thread.handlers, this_thread.batches, RARE.active) == before


@pytest.fixture
def lib() -> Iterator[Any]:
    """A library whose ops end with the test."""
    made = library.Library("calls", "FRAGMENT")
    yield made
    made._destroy()
