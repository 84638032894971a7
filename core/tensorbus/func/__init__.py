"""Functions of functions: gradients, products with Jacobians, batches, modules.

>>> import tensorbus as torch
>>> torch.func.grad(lambda x: (x**2).sum())(torch.tensor([1.0, 2.0]))
tensor([2., 4.])
>>> torch.func.vmap(torch.dot)(torch.ones(3, 2), torch.ones(3, 2))
tensor([2., 2., 2.])
"""

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.func.forward import jvp, linearize
from tensorbus.func.jacobians import hessian, jacfwd, jacrev
from tensorbus.func.modules import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from tensorbus.func.rearranging import rearrange
from tensorbus.func.reverse import grad, grad_and_value, vjp
from tensorbus.func.unwrapping import debug_unwrap, functionalize
from tensorbus.func.vmap import vmap

__getattr__ = _attributes(__name__)

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

_show_pages(__name__, [(n, globals()[n]) for n in __all__])
