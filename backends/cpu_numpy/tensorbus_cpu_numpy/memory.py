"""How the C library keeps the memory of arrays that are gone."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

_LARGEST = (1 << 25) - (1 << 13)
"""Just below 32 MiB, up to which glibc's threshold rises."""


def keep_freed() -> None:
    """Have glibc keep the memory of freed arrays of up to 32 MiB for those that follow.

    At first it takes what is over 128 KiB from the system, and gives it back when it is freed: a
    step of training pays for new pages with each gradient, in small steps half of the time. An
    array above the threshold that is freed raises it, for the whole process. So this one, of which
    no page is touched, does what a large array of the program would do later. Other C libraries,
    and a threshold that ``MALLOC_MMAP_THRESHOLD_`` sets, stay as they are.
    """
    with suppress(MemoryError):
        np.empty(_LARGEST, np.uint8)
