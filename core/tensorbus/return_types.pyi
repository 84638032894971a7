# Made by scripts/stubs from the functions and methods in core/tensorbus: not edited.

from typing import NamedTuple
from tensorbus._tensor.tensor import Tensor

class aminmax(NamedTuple):
    min: Tensor
    max: Tensor
class cummax(NamedTuple):
    values: Tensor
    indices: Tensor
class cummin(NamedTuple):
    values: Tensor
    indices: Tensor
class kthvalue(NamedTuple):
    values: Tensor
    indices: Tensor
class linalg_cholesky_ex(NamedTuple):
    L: Tensor
    info: Tensor
class max(NamedTuple):
    values: Tensor
    indices: Tensor
class median(NamedTuple):
    values: Tensor
    indices: Tensor
class min(NamedTuple):
    values: Tensor
    indices: Tensor
class mode(NamedTuple):
    values: Tensor
    indices: Tensor
class nanmedian(NamedTuple):
    values: Tensor
    indices: Tensor
class sort(NamedTuple):
    values: Tensor
    indices: Tensor
class topk(NamedTuple):
    values: Tensor
    indices: Tensor
class triangular_solve(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor
