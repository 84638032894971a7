"""``torch.sparse.semi_structured``: two of four elements, for kernels of one maker's devices.

The classes exist for ``isinstance``; no backend has such kernels, so none is ever made.
"""

from __future__ import annotations

from typing import Any

from tensorbus._base.public_place import show_in
from tensorbus._tensor.tensor import Tensor

__all__ = [
    "SparseSemiStructuredTensor",
    "SparseSemiStructuredTensorCUSPARSELT",
    "SparseSemiStructuredTensorCUTLASS",
    "to_sparse_semi_structured",
]


def _refuse(what: str) -> Any:
    raise NotImplementedError(
        f"{what}: no backend has kernels for two of four elements; keep the dense tensor and a "
        "mask (torch.nn.utils.prune), or use to_sparse()"
    )


class SparseSemiStructuredTensor:
    """The class of tensors that keep two of four elements. NotImplementedError: there are none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse(type(self).__name__)


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """As ``SparseSemiStructuredTensor``, for one library of kernels."""


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """As ``SparseSemiStructuredTensor``, for another library of kernels."""


def to_sparse_semi_structured(original_tensor: Tensor, transposed: bool = False) -> Any:
    """Keep two of four elements. RuntimeError off devices of type ``cuda``, as PyTorch's.

    NotImplementedError on these: no backend has kernels for it.
    """
    if original_tensor.device.type != "cuda":
        raise RuntimeError(
            f"Error original_tensor.device= {original_tensor.device} is not supported! Only CUDA "
            "tensors are currently supported."
        )
    return _refuse("to_sparse_semi_structured")


show_in("tensorbus.sparse", [(_n, globals()[_n]) for _n in __all__])
