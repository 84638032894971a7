"""Finding OpenCL devices, and saying what is missing where there are none."""

from __future__ import annotations

from typing import Any

ICD_HINT = (
    "Install the driver of your device, or PoCL for the CPU: "
    "apt-get install pocl-opencl-icd ocl-icd-libopencl1, or pip install 'pyopencl[pocl]'"
)


def find_devices() -> list[Any]:
    """All usable devices, GPUs and accelerators before CPUs; RuntimeError where there are none."""
    try:
        import pyopencl
    except ImportError as error:
        raise RuntimeError(
            f"device 'opencl' needs the package pyopencl, which cannot be imported ({error}). "
            "Install it with: pip install 'tensorbus[opencl]'"
        ) from error
    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.Error as error:
        raise RuntimeError(
            f"device 'opencl' found no OpenCL platform: no driver (ICD) is registered ({error}). "
            + ICD_HINT
        ) from error
    found = []
    for platform in platforms:
        try:
            found += [device for device in platform.get_devices() if device.available]
        except pyopencl.Error:
            continue  # a platform without devices says so by an error
    if not found:
        names = ", ".join(platform.name for platform in platforms) or "none"
        raise RuntimeError(
            f"device 'opencl' found no device on the OpenCL platforms present ({names}). "
            + ICD_HINT
        )
    return sorted(found, key=lambda device: bool(device.type & pyopencl.device_type.CPU))


def probe() -> None:
    """Raise RuntimeError, with a sentence on what is missing and the remedy."""
    find_devices()
