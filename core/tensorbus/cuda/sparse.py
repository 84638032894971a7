"""``torch.cuda.sparse``: constructors of sparse tensors on CUDA devices, by their older names."""

from typing import TYPE_CHECKING

from tensorbus.ops.creation.typed_constructors import DeviceNamespace as _DeviceNamespace

if not TYPE_CHECKING:
    _types = _DeviceNamespace("cuda", sparse=True)

    def __getattr__(name: str) -> object:
        return getattr(_types, name)
