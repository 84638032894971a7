"""All that a plugin may import.

A backend, a communication plugin or an overlay needs nothing of tensorbus but the names here.
"""

from typing import TYPE_CHECKING

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
from tensorbus.plugin.backend import (
    API,
    OTHERS,
    POINTWISE,
    PRIMITIVES,
    REDUCTIONS,
    SCANS,
    VIEWS,
    Array,
    Backend,
    Capabilities,
    IndexFault,
    Kernel,
    Traits,
)
from tensorbus.plugin.signatures import SIGNATURES

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
    from tensorbus.plugin.hooks import BackendSpec, CommSpec, OverlaySpec, hookimpl
    from tensorbus.plugin.kernel_language import KernelLanguageBackend

__all__ = [
    "API",
    "COMM_OPTIONAL",
    "COMM_REQUIRED",
    "HOST",
    "OTHERS",
    "POINTWISE",
    "PRIMITIVES",
    "REDUCE_OPS",
    "REDUCTIONS",
    "SCANS",
    "SIGNATURES",
    "VIEWS",
    "Array",
    "ArrayLibraryBackend",
    "Backend",
    "BackendSpec",
    "Capabilities",
    "Comm",
    "CommContext",
    "CommError",
    "CommSpec",
    "CommStore",
    "CommTimeout",
    "IndexFault",
    "Kernel",
    "KernelLanguageBackend",
    "Launch",
    "OverlaySpec",
    "PeerLost",
    "Traits",
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
    "reduce_into",
    "uint8",
]

_COMM = {n for n in __all__ if "omm" in n.lower() and n != "CommSpec"}
_COMM |= {"HOST", "Launch", "PeerLost", "REDUCE_OPS", "reduce_into"}


def __getattr__(name: str) -> object:
    # The base classes are imported when a backend asks for them: a program that runs on one kind
    # of device never pays for the code generator of the other.
    if name in ("BackendSpec", "CommSpec", "OverlaySpec", "hookimpl"):
        # With pluggy, which a program needs when it first names a device and not before.
        from tensorbus.plugin import hooks

        return getattr(hooks, name)
    if name in _COMM:
        from tensorbus.plugin import comm

        return getattr(comm, name)
    if name == "ArrayLibraryBackend":
        from tensorbus.plugin.array_library import ArrayLibraryBackend

        return ArrayLibraryBackend
    if name in ("KernelLanguageBackend", "StridedArray"):
        from tensorbus.plugin import kernel_language

        return getattr(kernel_language, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
