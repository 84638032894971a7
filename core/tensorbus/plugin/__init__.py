"""All that a plugin may import.

A backend, a communication plugin or an overlay needs nothing of tensorbus but the names here.
"""

import importlib
from typing import TYPE_CHECKING

from tensorbus._base.dlpack import Exporter
from tensorbus._base.dtypes import (
    bfloat16,
    bool,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from tensorbus._base.errors import AcceleratorError, OutOfMemoryError
from tensorbus.plugin.backend import (
    API,
    MEMORY_STATS,
    VIEWS,
    Array,
    Backend,
    Capabilities,
    Imported,
    Kernel,
    Traits,
)
from tensorbus.plugin.faults import IndexFault
from tensorbus.plugin.groups import GROUP_RESULTS, KERNEL_GROUPS
from tensorbus.plugin.primitives import (
    JOINS,
    OTHERS,
    POINTWISE,
    PRIMITIVE_TABLE,
    PRIMITIVES,
    REDUCTIONS,
    SCANS,
    SIGNATURES,
    Primitive,
)

if TYPE_CHECKING:
    from tensorbus.plugin.array_library import ArrayLibraryBackend
    from tensorbus.plugin.comm import (
        COMM_OPTIONAL,
        COMM_REQUIRED,
        HOST,
        REDUCE_OPS,
        Comm,
        CommContext,
        CommError,
        CommStore,
        CommTimeout,
        Launch,
        PeerLost,
        reduce_into,
    )
    from tensorbus.plugin.graph import Block, Graph, Node, NumberType, TensorType, Value
    from tensorbus.plugin.hooks import BackendSpec, CommSpec, OverlaySpec, hookimpl
    from tensorbus.plugin.immutable_arrays import ImmutableArrayBackend
    from tensorbus.plugin.kernel_language import KernelLanguageBackend
    from tensorbus.plugin.overlay import Overlay, may_decline
    from tensorbus.plugin.shapes_only import ShapeArray, ShapeBackend, ShapeStorage
    from tensorbus.plugin.streams import Event, Stream

__all__ = [
    "API",
    "COMM_OPTIONAL",
    "COMM_REQUIRED",
    "GROUP_RESULTS",
    "HOST",
    "JOINS",
    "KERNEL_GROUPS",
    "MEMORY_STATS",
    "OTHERS",
    "POINTWISE",
    "PRIMITIVES",
    "PRIMITIVE_TABLE",
    "REDUCE_OPS",
    "REDUCTIONS",
    "SCANS",
    "SIGNATURES",
    "VIEWS",
    "AcceleratorError",
    "Array",
    "ArrayLibraryBackend",
    "Backend",
    "BackendSpec",
    "Block",
    "Capabilities",
    "Comm",
    "CommContext",
    "CommError",
    "CommSpec",
    "CommStore",
    "CommTimeout",
    "Event",
    "Exporter",
    "Graph",
    "ImmutableArrayBackend",
    "Imported",
    "IndexFault",
    "Kernel",
    "KernelLanguageBackend",
    "Launch",
    "Node",
    "NumberType",
    "OutOfMemoryError",
    "Overlay",
    "OverlaySpec",
    "PeerLost",
    "Primitive",
    "ShapeArray",
    "ShapeBackend",
    "ShapeStorage",
    "Stream",
    "TensorType",
    "Traits",
    "Value",
    "bfloat16",
    "bool",
    "complex64",
    "complex128",
    "dtype",
    "float16",
    "float32",
    "float64",
    "hookimpl",
    "int8",
    "int16",
    "int32",
    "int64",
    "may_decline",
    "reduce_into",
    "uint8",
]

_HOMES = {
    "array_library": ("ArrayLibraryBackend",),
    "comm": (
        "COMM_OPTIONAL",
        "COMM_REQUIRED",
        "HOST",
        "REDUCE_OPS",
        "Comm",
        "CommContext",
        "CommError",
        "CommStore",
        "CommTimeout",
        "Launch",
        "PeerLost",
        "reduce_into",
    ),
    "graph": ("Block", "Graph", "Node", "NumberType", "TensorType", "Value"),
    "hooks": ("BackendSpec", "CommSpec", "OverlaySpec", "hookimpl"),
    "immutable_arrays": ("ImmutableArrayBackend",),
    "kernel_language": ("KernelLanguageBackend", "StridedArray"),
    "overlay": ("Overlay", "may_decline"),
    "shapes_only": ("ShapeArray", "ShapeBackend", "ShapeStorage"),
    "streams": ("Event", "Stream"),
}


def __getattr__(name: str) -> object:
    # These are imported when a plugin asks for them: a program that runs on one kind of device
    # never pays for the code generator of the other, nor for pluggy before it names a device.
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
