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
from tensorbus.ops.linalg import determinants as _determinants
from tensorbus.ops.linalg import eigenvalues as _eigenvalues
from tensorbus.ops.linalg import general_eigenvalues as _general_eigenvalues
from tensorbus.ops.linalg import ldl as _ldl
from tensorbus.ops.linalg import least_squares as _least_squares
from tensorbus.ops.linalg import lu_functions as _lu
from tensorbus.ops.linalg import matrix_norms as _matrix_norms
from tensorbus.ops.linalg import powers as _powers
from tensorbus.ops.linalg import pseudo_inverse as _pseudo_inverse
from tensorbus.ops.linalg import qr as _qr
from tensorbus.ops.linalg import reflections as _reflections
from tensorbus.ops.linalg import singular_values as _singular_values
from tensorbus.ops.linalg import solving as _solving
from tensorbus.ops.linalg import triangular as _triangular
from tensorbus.ops.matmul import matmul as _matmul
from tensorbus.ops.matmul import products as _products
from tensorbus.ops.reduce import norms as _norms
from tensorbus.ops.views import strided as _strided

cholesky = _with_out(_cholesky.linalg_cholesky, "linalg_cholesky", _SAME)
cholesky_ex = _with_out(_cholesky.cholesky_ex, "linalg_cholesky_ex", _SAME)
cond = _with_out(_matrix_norms.cond, "linalg_cond", _SAME)
cross = _with_out(_products.linalg_cross, "linalg_cross", _SAME)
det = _with_out(_determinants.linalg_det, "linalg_det", _SAME)
eig = _with_out(_general_eigenvalues.linalg_eig, "linalg_eig", _SAME)
eigh = _with_out(_eigenvalues.linalg_eigh, "linalg_eigh", _SAME)
eigvals = _with_out(_general_eigenvalues.eigvals, "linalg_eigvals", _SAME)
eigvalsh = _with_out(_eigenvalues.eigvalsh, "linalg_eigvalsh", _SAME)
householder_product = _with_out(
    _reflections.householder_product, "linalg_householder_product", _SAME
)
inv = _with_out(_solving.linalg_inv, "linalg_inv", _SAME)
inv_ex = _with_out(_solving.inv_ex, "linalg_inv_ex", _SAME)
ldl_factor = _with_out(_ldl.ldl_factor, "linalg_ldl_factor", _SAME)
ldl_factor_ex = _with_out(_ldl.ldl_factor_ex, "linalg_ldl_factor_ex", _SAME)
ldl_solve = _with_out(_ldl.ldl_solve, "linalg_ldl_solve", _SAME)
lstsq = _with_out(_least_squares.lstsq, "linalg_lstsq", _SAME)
lu = _with_out(_lu.linalg_lu, "linalg_lu", _SAME)
lu_factor = _with_out(_lu.lu_factor, "linalg_lu_factor", _SAME)
lu_factor_ex = _with_out(_lu.lu_factor_ex, "linalg_lu_factor_ex", _SAME)
lu_solve = _with_out(_lu.linalg_lu_solve, "linalg_lu_solve", _SAME)
matmul = _with_out(_matmul.matmul, "linalg_matmul", _SAME)
matrix_norm = _with_out(_matrix_norms.matrix_norm, "linalg_matrix_norm", _SAME)
matrix_power = _with_out(_powers.matrix_power, "linalg_matrix_power", _SAME)
matrix_rank = _with_out(_pseudo_inverse.matrix_rank, "linalg_matrix_rank", _SAME)
multi_dot = _with_out(_products.multi_dot, "linalg_multi_dot", _SAME)
norm = _with_out(_matrix_norms.linalg_norm, "linalg_norm", _SAME)
pinv = _with_out(_pseudo_inverse.linalg_pinv, "linalg_pinv", _SAME)
qr = _with_out(_qr.linalg_qr, "linalg_qr", _SAME)
slogdet = _with_out(_determinants.linalg_slogdet, "linalg_slogdet", _SAME)
solve = _with_out(_solving.linalg_solve, "linalg_solve", _SAME)
solve_ex = _with_out(_solving.solve_ex, "linalg_solve_ex", _SAME)
solve_triangular = _with_out(_triangular.linalg_solve_triangular, "linalg_solve_triangular", _SAME)
svd = _with_out(_singular_values.linalg_svd, "linalg_svd", _SAME)
svdvals = _with_out(_singular_values.svdvals, "linalg_svdvals", _SAME)
tensorinv = _with_out(_solving.tensorinv, "linalg_tensorinv", _SAME)
tensorsolve = _with_out(_solving.tensorsolve, "linalg_tensorsolve", _SAME)
vecdot = _with_out(_products.vecdot, "linalg_vecdot", _SAME)
vector_norm = _with_out(_norms.vector_norm, "linalg_vector_norm", _SAME)
diagonal = _overridable(
    _strided.linalg_diagonal, _checked(_strided.linalg_diagonal, "linalg_diagonal")
)
matrix_exp = _overridable(_powers.matrix_exp, _checked(_powers.matrix_exp, "linalg_matrix_exp"))
vander = _overridable(_grids.linalg_vander, _checked(_grids.linalg_vander, "linalg_vander"))

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor",
    "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve",
    "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm",
    "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals",
    "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip

_show_in(__name__, [(name, globals()[name]) for name in __all__])
