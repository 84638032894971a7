"""Functions of functions: what runs a function for each element of a batch.

>>> import tensorbus as torch
>>> torch.func.vmap(torch.dot)(torch.ones(3, 2), torch.ones(3, 2))
tensor([2., 2., 2.])
"""

from tensorbus._base.page import show_pages as _show_pages
from tensorbus.func.vmap import vmap

__all__ = ["vmap"]

_show_pages(__name__, [(n, globals()[n]) for n in __all__])
