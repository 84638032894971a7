"""Linear algebra: norms and products.

>>> import tensorbus
>>> tensorbus.linalg.norm(tensorbus.tensor([3.0, 4.0]))
tensor(5.)
"""

from tensorbus._base.public_place import show_in as _show_in
from tensorbus.ops.joining.grids import linalg_vander as vander
from tensorbus.ops.matmul.matmul import matmul
from tensorbus.ops.matmul.products import linalg_cross as cross
from tensorbus.ops.matmul.products import matrix_power, multi_dot, vecdot
from tensorbus.ops.reduce.norms import linalg_norm as norm
from tensorbus.ops.reduce.norms import matrix_norm, vector_norm

__all__ = [
    "cross", "matmul", "matrix_norm", "matrix_power", "multi_dot", "norm", "vander", "vecdot",
    "vector_norm",
]  # fmt: skip

_show_in(__name__, [(name, globals()[name]) for name in __all__])
