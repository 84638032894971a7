"""Linear algebra: factorizations, systems of equations, norms and products.

>>> import tensorbus
>>> tensorbus.linalg.norm(tensorbus.tensor([3.0, 4.0]))
tensor(5.)
"""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.errors import LinAlgError as LinAlgError
from tensorbus._base.public_place import show_in as _show_in
from tensorbus.op_engine.argument_checks import checked as _checked
from tensorbus.op_engine.out import SAME as _SAME
from tensorbus.op_engine.override import overridable as _overridable
from tensorbus.op_engine.public import with_out as _with_out
from tensorbus.ops.joining import grids as _grids
from tensorbus.ops.linalg import cholesky as _cholesky
from tensorbus.ops.linalg import triangular as _triangular
from tensorbus.ops.matmul import matmul as _matmul
from tensorbus.ops.matmul import products as _products
from tensorbus.ops.reduce import norms as _norms

cholesky = _with_out(_cholesky.linalg_cholesky, "linalg_cholesky", _SAME)
cholesky_ex = _with_out(_cholesky.cholesky_ex, "linalg_cholesky_ex", _SAME)
cross = _with_out(_products.linalg_cross, "linalg_cross", _SAME)
matmul = _with_out(_matmul.matmul, "linalg_matmul", _SAME)
matrix_norm = _with_out(_norms.matrix_norm, "linalg_matrix_norm", _SAME)
matrix_power = _with_out(_products.matrix_power, "linalg_matrix_power", _SAME)
multi_dot = _with_out(_products.multi_dot, "linalg_multi_dot", _SAME)
solve_triangular = _with_out(_triangular.linalg_solve_triangular, "linalg_solve_triangular", _SAME)
vander = _overridable(_grids.linalg_vander, _checked(_grids.linalg_vander, "linalg_vander"))
norm = _with_out(_norms.linalg_norm, "linalg_norm", _SAME)
vecdot = _with_out(_products.vecdot, "linalg_vecdot", _SAME)
vector_norm = _with_out(_norms.vector_norm, "linalg_vector_norm", _SAME)

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cross", "matmul", "matrix_norm", "matrix_power",
    "multi_dot", "norm", "solve_triangular", "vander", "vecdot", "vector_norm",
]  # fmt: skip

_show_in(__name__, [(name, globals()[name]) for name in __all__])
