"""A backend object as a device for a while, without a distribution: for tests and experiments."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorbus import discovery
from tensorbus._base import registered
from tensorbus.discovery.metadata import BACKENDS, Record

if TYPE_CHECKING:
    from tensorbus.plugin.backend import Backend

_numbers = itertools.count(1)


@contextlib.contextmanager
def plugged(backend: Backend) -> Iterator[str]:
    """See ``tensorbus.discovery.plugged``."""
    loader = discovery._get()
    if loader._backends.get(backend.name) is backend:
        yield backend.name
        return
    own = backend.name
    name = f"{own}_{next(_numbers)}"
    record = Record(BACKENDS, name, "this program", "", state="loaded")
    backend.name = name  # type: ignore[misc]
    loader._backends[name] = backend
    loader._records.append(record)
    try:
        yield name
    finally:
        backend.name = own  # type: ignore[misc]
        del loader._backends[name]
        loader._records.remove(record)
        registered.device_forgotten(name)
