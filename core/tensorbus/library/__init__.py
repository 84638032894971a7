"""Ops of programs: their schemas, their kernels for devices, their gradients and the rest.

>>> import tensorbus as torch
>>> @torch.library.custom_op("example::shifted", mutates_args=())
... def shifted(x: torch.Tensor, by: float) -> torch.Tensor:
...     return x + by
>>> shifted(torch.zeros(2), 1.0), torch.ops.example.shifted(torch.zeros(2), 2.0)
(tensor([1., 1.]), tensor([2., 2.]))
"""

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.public_place import show_in as _show_in
from tensorbus.library.checks import opcheck
from tensorbus.library.compiled_kernels import CompiledKernel, compile_kernel
from tensorbus.library.custom_ops import CustomOpDef, custom_op
from tensorbus.library.fakes import get_ctx
from tensorbus.library.inference import infer_schema
from tensorbus.library.libraries import Library, define, fallthrough_kernel, impl
from tensorbus.library.registering import (
    get_kernel,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from tensorbus.library.tags import Tag as Tag

__getattr__ = _attributes(__name__)

__all__ = [
    "CompiledKernel",
    "CustomOpDef",
    "Library",
    "compile_kernel",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]

_show_in(__name__, [(n, globals()[n]) for n in __all__])
