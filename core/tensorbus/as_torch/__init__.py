"""The alias: ``import torch`` and all below it are tensorbus, for one process.

    python -m tensorbus.as_torch script.py ...      # a program that was written for PyTorch

    import tensorbus.as_torch
    tensorbus.as_torch.install()                    # or at the top of a program of one's own
    import torch                                    # is tensorbus, with or without a real torch

``torch.__version__`` is the version of PyTorch whose names these are, with ours behind the ``+``;
``importlib.metadata.version("torch")`` gives the same. Modules compiled for PyTorch's library
cannot work on our tensors: importing one is an ImportError that says so.
"""

from __future__ import annotations

import sys

import tensorbus
from tensorbus import version
from tensorbus._base.absent import PYTORCH
from tensorbus.as_torch.extensions import CompiledForPyTorch
from tensorbus.as_torch.importing import Alias
from tensorbus.torch_version import TorchVersion

__all__ = ["install"]


def install() -> None:
    """Make ``import torch`` be tensorbus from now on, in this process.

    A second call changes nothing. RuntimeError where the real torch has been imported before: its
    tensors and ours would meet under one name.
    """
    loaded = sys.modules.get("torch")
    if loaded is tensorbus:
        return
    if loaded is not None:
        raise RuntimeError(
            "torch has been imported already, from "
            f"{getattr(loaded, '__file__', None)}: call tensorbus.as_torch.install() before "
            "anything imports torch, or run the program with python -m tensorbus.as_torch"
        )
    sys.meta_path[:0] = [Alias(_version()), CompiledForPyTorch()]
    tensorbus.__version__ = TorchVersion(_version())
    tensorbus.__name__ = "torch"  # libraries compare it with the first part of a path
    sys.modules["torch"] = tensorbus


def _version() -> str:
    return f"{PYTORCH}.0+tensorbus.{version.__version__}"
