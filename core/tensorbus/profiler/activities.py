"""What a profile may watch, and the types of devices under the numbers that traces give them."""

from __future__ import annotations

import enum


class ProfilerActivity(enum.Enum):
    """What a profile watches: what runs on the host, and what is launched on devices.

    >>> from tensorbus.profiler import ProfilerActivity, profile
    >>> profile(activities=[ProfilerActivity.CPU]).activities
    {<ProfilerActivity.CPU: 0>}
    """

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class DeviceType(enum.Enum):
    """The types of devices, with the numbers that PyTorch's traces give them.

    >>> from tensorbus.profiler import DeviceType
    >>> DeviceType(4)
    <DeviceType.OPENCL: 4>
    """

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20


def supported_activities() -> set[ProfilerActivity]:
    """What can be watched here: the host alone. What it launches on devices is timed there, too.

    >>> from tensorbus import profiler
    >>> profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Whether PyTorch's library Kineto is there: False, for this profiler does without.

    >>> from tensorbus import profiler
    >>> profiler.kineto_available()
    False
    """
    return False
