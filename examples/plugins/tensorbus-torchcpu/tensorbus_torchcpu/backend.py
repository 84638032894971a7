"""``TorchBackend``: memory, copies and views. The kernels are in ``kernels.py``.

Methods and their arguments are those of ``tensorbus.plugin.Backend``, which documents them.
"""

import numpy as np
import torch

from tensorbus import plugin
from tensorbus.plugin import Backend, Capabilities, OutOfMemoryError, Traits
from tensorbus_torchcpu import kernels

DTYPES = {
    getattr(plugin, name): getattr(torch, name)
    for name in (
        "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
    ).split()
}


class TorchBackend(Backend):
    """One device, whose arrays are ``torch.Tensor`` objects."""

    name = "torchcpu"
    traits = Traits(
        broadcasts=True,
        takes_empty=True,
        negative_strides=False,
        survives_fork=False,  # PyTorch's pool of OpenMP threads does not
    )

    # -- devices -----------------------------------------------------------------------------
    def device_count(self):
        return 1

    def capabilities(self, index):
        details = {"torch": torch.__version__, "threads": str(torch.get_num_threads())}
        return Capabilities("PyTorch on the CPU", frozenset(DTYPES), details=details)

    def set_num_threads(self, n):
        torch.set_num_threads(n)

    # -- memory ------------------------------------------------------------------------------
    def empty(self, shape, dtype, index):
        try:
            return torch.empty(shape, dtype=DTYPES[dtype])
        except RuntimeError as error:
            raise OutOfMemoryError(int(np.prod(shape, dtype=object)) * dtype.itemsize) from error

    def from_host(self, array, dtype, index):
        return torch.from_numpy(np.array(array, order="C")).view(DTYPES[dtype])

    def to_host(self, array, dtype):
        if dtype is plugin.bfloat16:  # NumPy has none: its bits cross
            array = array.view(torch.uint16)
        return np.array(array.numpy(), order="C")

    def copy_(self, dst, dst_dtype, src, src_dtype):
        if src_dtype is None:
            src = self.scalar(src, dst_dtype)
        elif src_dtype.is_complex and not dst_dtype.is_complex:
            # PyTorch would drop the imaginary part with a warning, and for truth values too.
            src = src != 0 if dst_dtype is plugin.bool else src.real
        dst.copy_(src)

    # -- views -------------------------------------------------------------------------------
    def as_strided(self, array, shape, strides, offset, dtype, new_dtype):
        # Not torch.as_strided, which keeps the dtype.
        view = torch.empty(0, dtype=DTYPES[new_dtype])
        return view.set_(array.untyped_storage(), offset, shape, strides)

    def layout(self, array, dtype):
        return array.untyped_storage().data_ptr(), array.storage_offset(), array.stride()

    def storage_size(self, array, dtype):
        return array.untyped_storage().nbytes()

    def data_ptr(self, array):
        return array.data_ptr()

    def is_contiguous(self, array, dtype):
        return array.is_contiguous()

    # -- kernels -----------------------------------------------------------------------------
    def dtype(self, dtype):
        return DTYPES[dtype]

    def scalar(self, value, dtype):
        # An array without dimensions: PyTorch's promotion of Python numbers has no say then.
        return torch.tensor(value, dtype=DTYPES[dtype])

    def kernel(self, op, dtype, index):
        if dtype.is_floating_point and op in kernels.FLOAT:
            return kernels.FLOAT[op]
        return (kernels.COMPLEX if dtype.is_complex else kernels.TABLE).get(op)
