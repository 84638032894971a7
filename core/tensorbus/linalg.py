"""Linear algebra: norms and products.

>>> import tensorbus
>>> tensorbus.linalg.norm(tensorbus.tensor([3.0, 4.0]))
tensor(5.)
"""

from tensorbus.ops.linalg import matmul
from tensorbus.ops.norms import linalg_norm as norm
from tensorbus.ops.norms import matrix_norm, vector_norm

__all__ = ["matmul", "matrix_norm", "norm", "vector_norm"]
