"""``torch.cuda.profiler``: starts and stops a profiler of the device's maker; none is attached.

``torch.profiler.profile`` is the profiler here.
"""

from __future__ import annotations

from collections.abc import Generator

from tensorbus._base.leaving import block as _block
from tensorbus._base.page import show_pages as _show_pages
from tensorbus._base.warning import warn_user as _warn_user

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Let an attached profiler record: a warning, for no backend tells it."""
    _warn_user(
        "torch.cuda.profiler: no backend tells a profiler of the device's maker to start or stop; "
        "torch.profiler.profile records what runs"
    )


def stop() -> None:
    """Let an attached profiler record no more: nothing happens."""


@_block
def profile() -> Generator[None, None, None]:
    """A block between ``start`` and ``stop``."""
    try:
        start()
        yield
    finally:
        stop()


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])
