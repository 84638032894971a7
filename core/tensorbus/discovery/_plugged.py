"""A backend object as a device for a while, without a distribution: for tests and experiments."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from typing import TYPE_CHECKING

from tensorbus import discovery
from tensorbus._base import registered
from tensorbus._base.leaving import block
from tensorbus.discovery.metadata import BACKENDS, Record

if TYPE_CHECKING:
    from tensorbus.plugin.backend import Backend

_numbers = itertools.count(1)


@block
def plugged(backend: Backend) -> Generator[str, None, None]:
    """See ``tensorbus.discovery.plugged``."""
    loader = discovery._get()
    if loader._backends.get(backend.name) is backend:
        yield backend.name
        return
    own = backend.name
    name = f"{own}_{next(_numbers)}"
    record = Record(BACKENDS, name, "this program", "", state="loaded")

    def forget() -> None:
        backend.name = own  # type: ignore[misc]
        loader._backends.pop(name, None)
        if record in loader._records:
            loader._records.remove(record)
        registered.device_forgotten(name)

    try:
        backend.name = name  # type: ignore[misc]
        loader._backends[name] = backend
        loader._records.append(record)
        yield name
    finally:
        try:
            forget()
        except BaseException:
            forget()
            raise
