"""``torch.__config__``: what computes on the CPU, and with how many threads."""

from __future__ import annotations

import numpy as np

from tensorbus._device.threads import get_num_interop_threads, get_num_threads
from tensorbus.cli import doctor
from tensorbus.version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions of tensorbus and NumPy, and NumPy's BLAS, as text.

    >>> import tensorbus
    >>> print(tensorbus.__config__.show().splitlines()[0])
    tensorbus computes on the CPU with:
    """
    lines = {"tensorbus": __version__, "NumPy": np.__version__, **doctor.libraries()}
    return "\n".join(
        [
            "tensorbus computes on the CPU with:",
            *(f"  - {name}: {v}" for name, v in lines.items()),
            "",
        ]
    )


def parallel_info() -> str:
    """The numbers of threads that kernels on the host may use, as text.

    >>> import tensorbus
    >>> "get_num_threads" in tensorbus.__config__.parallel_info()
    True
    """
    return (
        "Parallel settings:\n"
        f"  torch.get_num_threads() : {get_num_threads()}\n"
        f"  torch.get_num_interop_threads() : {get_num_interop_threads()}\n"
    )
