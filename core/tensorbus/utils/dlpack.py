"""DLPack's functions by PyTorch's second name for them, and the numbers of its device types.

>>> import tensorbus
>>> from tensorbus.utils.dlpack import from_dlpack, to_dlpack
>>> from_dlpack(to_dlpack(tensorbus.ones(2)))
tensor([1., 1.])
"""

import enum

from tensorbus import from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """The device types of DLPack, as ``__dlpack_device__`` tells them."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
