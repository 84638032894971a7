"""The device ``opencl``: OpenCL devices through pyopencl."""

from __future__ import annotations

from tensorbus.plugin import Backend, BackendSpec, hookimpl

INSTALL = "pip install 'tensorbus[opencl]'"


def _load() -> Backend:
    from tensorbus_opencl.backend import OpenCLBackend

    return OpenCLBackend()


def _probe() -> None:
    from tensorbus_opencl.devices import probe

    probe()


@hookimpl
def tensorbus_backend() -> BackendSpec:
    """What discovery reads; pyopencl is imported by ``probe`` and ``load``."""
    return BackendSpec(
        name="opencl", load=_load, probe=_probe, api=2, requires=("pyopencl",), install=INSTALL
    )
