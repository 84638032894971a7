"""``torch.backends.cpu``: which vector instructions the host's processor offers.

>>> import tensorbus
>>> tensorbus.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
True
"""

from typing import TYPE_CHECKING

import numpy as np

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.page import show_pages as _show_pages

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """ "AVX512", "AVX2" or "DEFAULT": the widest x86 vectors that NumPy finds on this processor."""
    shown = np.show_config(mode="dicts")
    simd = (shown or {}).get("SIMD Extensions", {})
    found = {*simd.get("baseline", ()), *simd.get("found", ())}
    # NumPy names levels of the x86-64 architecture since its version 2.4.
    if found & {"AVX512F", "AVX512_SKX", "X86_V4"}:
        return "AVX512"
    return "AVX2" if found & {"AVX2", "X86_V3"} else "DEFAULT"


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
