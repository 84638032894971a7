"""The job's secret: what every process of a job knows and no stranger does."""

from __future__ import annotations

import os

from tensorbus.plugin.wire import is_loopback

VARIABLE = "TENSORBUS_JOB_SECRET"


def job_secret(host: str) -> bytes:
    """The secret for a store at *host*.

    ``RuntimeError`` for an address that other machines can reach where none is set: whoever may
    join a job may run code in it, because object collectives are pickles.
    """
    text = os.environ.get(VARIABLE, "")
    if not text and not is_loopback(host):
        raise RuntimeError(
            f"a job at {host}, which other machines can reach, needs a secret: set {VARIABLE} to "
            f"the same random text on all ranks (the launcher, tensorbus.distributed.run, does)"
        )
    return text.encode()
