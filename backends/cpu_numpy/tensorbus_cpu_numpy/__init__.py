"""The ``cpu`` device of tensorbus, on NumPy.

This module is what discovery imports, so it imports nothing but the hook.
"""

from __future__ import annotations

from tensorbus.plugin import Backend, BackendSpec, hookimpl

__all__ = ["tensorbus_backend"]


def _load() -> Backend:
    from tensorbus_cpu_numpy.backend import CpuBackend

    return CpuBackend()


@hookimpl
def tensorbus_backend() -> BackendSpec:
    """The backend of device type ``cpu``."""
    return BackendSpec(
        name="cpu", load=_load, api=2, requires=("numpy",), install="pip install numpy"
    )
