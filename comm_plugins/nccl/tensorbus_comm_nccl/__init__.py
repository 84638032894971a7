"""The ``nccl`` comm of tensorbus: NVIDIA's NCCL through CuPy, one GPU for each rank.

This module is what discovery imports, so it imports nothing but the hook.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from tensorbus.plugin import Comm, CommContext, CommSpec, hookimpl

__all__ = ["tensorbus_comm"]

INSTALL = "pip install 'tensorbus[cuda12]' (or cuda13, as the driver asks for)"


def _probe() -> None:
    if importlib.util.find_spec("cupy") is None:
        raise RuntimeError(
            f"the comm nccl, which moves GPU memory alone, needs CuPy, which is not installed: "
            f"{INSTALL}; without a GPU name 'gloo', 'tcp' or 'mpi'"
        )
    try:
        import cupy
        from cupy.cuda import nccl
    except Exception as e:
        raise RuntimeError(
            f"CuPy is installed but can't be imported ({e}); it must fit the CUDA version of the "
            "driver: 'nvidia-smi' shows that one"
        ) from e
    if not nccl.available:
        raise RuntimeError(f"CuPy {cupy.__version__} finds no NCCL library: {INSTALL} brings it")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except RuntimeError as e:
        raise RuntimeError(
            f"CuPy {cupy.__version__} finds no usable GPU ({e}), and NCCL moves nothing but GPU "
            f"memory: use the comm 'gloo', 'tcp' or 'mpi' here"
        ) from e
    if count == 0:
        raise RuntimeError(
            f"CuPy {cupy.__version__} finds no GPU; CUDA_VISIBLE_DEVICES may hide those there are"
        )


def _load() -> Callable[[CommContext], Comm]:
    from tensorbus_comm_nccl.comm import NcclComm

    return NcclComm


@hookimpl
def tensorbus_comm() -> CommSpec:
    """The comm ``nccl``: the choice for CUDA tensors where it can be used."""
    return CommSpec(
        name="nccl",
        load=_load,
        devices=("cuda",),
        priority=10,
        probe=_probe,
        api=2,
        requires=("cupy-cuda12x", "nvidia-nccl-cu12"),
        install=INSTALL,
    )
