"""``tensorbus.sparse``: tensors of which only some elements are kept, and what is done with them.

>>> import tensorbus as torch
>>> x = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
>>> torch.sparse.mm(x, torch.ones(3, 1))
tensor([[3.],
        [4.]])

A sparse tensor is a ``Tensor`` whose array is made of dense tensors: its indices and its values,
which carry the history. ``tensor.py`` has the class and the table of what runs for public
functions, the modules beside it fill the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.public_place import show_in as _show_in
from tensorbus.ops.creation.typed_constructors import DeviceNamespace as _DeviceNamespace
from tensorbus.sparse import arithmetic as _arithmetic
from tensorbus.sparse import copies as _copies
from tensorbus.sparse import printing as _printing
from tensorbus.sparse import shapes as _shapes
from tensorbus.sparse.functions import (
    addmm,
    as_sparse_gradcheck,
    mm,
    sampled_addmm,
    spdiags,
    spsolve,
    sum,
)
from tensorbus.sparse.invariants import check_sparse_tensor_invariants
from tensorbus.sparse.reductions import log_softmax, softmax

if TYPE_CHECKING:
    from tensorbus.sparse.semi_structured import (
        SparseSemiStructuredTensor as SparseSemiStructuredTensor,
    )
    from tensorbus.sparse.semi_structured import (
        SparseSemiStructuredTensorCUSPARSELT as SparseSemiStructuredTensorCUSPARSELT,
    )
    from tensorbus.sparse.semi_structured import (
        SparseSemiStructuredTensorCUTLASS as SparseSemiStructuredTensorCUTLASS,
    )
    from tensorbus.sparse.semi_structured import (
        to_sparse_semi_structured as to_sparse_semi_structured,
    )

solve = spsolve
_TABLE_OF = (
    _arithmetic,
    _copies,
    _printing,
    _shapes,
)  # these fill the table too

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "solve",
    "spdiags",
    "spsolve",
    "sum",
]

_LATER = dict.fromkeys(
    "SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT "
    "SparseSemiStructuredTensorCUTLASS to_sparse_semi_structured".split(),
    "semi_structured",
)

if not TYPE_CHECKING:
    _types = _DeviceNamespace("cpu", sparse=True)
    __getattr__ = _attributes(__name__, _LATER, lambda name: getattr(_types, name, None))

_show_in(__name__, [(n, globals()[n]) for n in __all__])
