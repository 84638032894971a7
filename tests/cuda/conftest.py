"""The device ``cuda``: real CuPy, over host memory or on a GPU.

``TENSORBUS_CUDA=host`` puts the stand-in of ``tests/support/cuda_host`` under CuPy, for the whole
process; ``gpu`` takes what is there. Without it nothing here is collected: the other tests want a
machine without the device. ``tests/backends/test_cuda_on_host.py`` runs each file so.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PLACE = os.environ.get("TENSORBUS_CUDA", "")
if PLACE == "host":
    import cuda_host

    cuda_host.install(devices=2)
elif PLACE != "gpu":
    collect_ignore_glob = ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Kernels are compiled in each of these tests: they have the time of the slow lane."""
    here = str(Path(__file__).parent)
    for item in items:  # of the whole run, of which most lie elsewhere
        if str(item.path).startswith(here):
            item.add_marker("slow")


@pytest.fixture(scope="session")
def backend():
    """The backend itself; its arrays are CuPy's."""
    from tensorbus import discovery

    return discovery.backend("cuda")
