"""The ``cuda`` device of tensorbus, on CuPy.

This module is what discovery imports, so it imports nothing but the hook.
"""

from __future__ import annotations

import importlib.util
from typing import Any

from tensorbus.plugin import Backend, BackendSpec, hookimpl

__all__ = ["tensorbus_backend"]

INSTALL = "pip install 'tensorbus[cuda12]' (or cuda13, as the driver asks for)"


def _load() -> Backend:
    from tensorbus_cuda_cupy.backend import CudaBackend

    return CudaBackend()


def _probe() -> None:
    if importlib.util.find_spec("cupy") is None:
        raise RuntimeError(f"the cuda device needs CuPy, which is not installed: {INSTALL}")
    try:
        import cupy
    except Exception as e:
        raise RuntimeError(
            f"CuPy is installed but can't be imported ({e}); it must fit the CUDA version of the "
            "driver: 'nvidia-smi' shows that one"
        ) from e
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except RuntimeError as e:
        raise RuntimeError(
            f"CuPy {cupy.__version__} finds no usable GPU ({e}); check that 'nvidia-smi' runs and "
            "that the driver is not older than CuPy's CUDA"
        ) from e
    if count == 0:
        raise RuntimeError(
            f"CuPy {cupy.__version__} finds no GPU; CUDA_VISIBLE_DEVICES may hide those there are"
        )
    _compute(cupy)


def _compute(cupy: Any) -> None:
    """A kernel that includes CUDA's headers, and a product: each needs a library of its own."""
    try:
        x = cupy.arange(4).reshape(2, 2).astype(cupy.float16).astype(cupy.float32)
        product = cupy.asnumpy(cupy.matmul(x, x)).tolist()
    except Exception as e:
        raise RuntimeError(
            f"CuPy {cupy.__version__} sees a GPU but can't compute on it ({e}): it needs NVRTC, "
            f"cuBLAS and CUDA's headers beside the driver, which {INSTALL} brings"
        ) from e
    if product != [[2, 3], [6, 11]]:
        raise RuntimeError(
            f"CuPy {cupy.__version__} computes wrong numbers: [[0, 1], [2, 3]] times itself gave "
            f"{product}; check the driver with 'nvidia-smi' and that CuPy fits it"
        )


@hookimpl
def tensorbus_backend() -> BackendSpec:
    """The backend of device type ``cuda``."""
    return BackendSpec(
        name="cuda", load=_load, probe=_probe, api=2, requires=("cupy-cuda12x",), install=INSTALL
    )
