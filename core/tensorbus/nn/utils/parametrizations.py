"""Parametrizations of weights: orthogonal, of a given length, of a given spectral norm."""

from __future__ import annotations

import enum
from typing import Any

import tensorbus
from tensorbus._base.page import show_pages as _show_pages
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.modules.module import Module
from tensorbus.nn.utils._weight_matrices import as_matrix, dim_of_outputs, with_length
from tensorbus.nn.utils.parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _OrthMaps(enum.Enum):
    """The maps from matrices to orthogonal ones."""

    matrix_exp = enum.auto()
    cayley = enum.auto()
    householder = enum.auto()


class _Orthogonal(Module):
    """A matrix of which the columns are orthonormal, or the rows where these are fewer."""

    base: Tensor | None

    def __init__(
        self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        if wide:
            X = X.mT
        reflects = self.orthogonal_map is _OrthMaps.householder
        Q = self._reflected(X) if reflects else self._rotated(X)
        base = getattr(self, "base", None)
        if base is not None:
            Q = base @ Q
        return Q.mT if wide else Q

    def _rotated(self, X: Tensor) -> Tensor:
        """The columns of a map of a skew-symmetric matrix."""
        n, k = X.size(-2), X.size(-1)
        X = X.tril()
        if n != k:
            zeros = X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)
            X = tensorbus.cat([X, zeros], dim=-1)
        A = X - X.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            Q = tensorbus.matrix_exp(A)
        else:
            one = tensorbus.eye(n, dtype=A.dtype, device=A.device)
            Q = tensorbus.linalg.solve(
                tensorbus.add(one, A, alpha=-0.5), tensorbus.add(one, A, alpha=0.5)
            )
        return Q if n == k else Q[..., :k]

    def _reflected(self, X: Tensor) -> Tensor:
        """A product of Householder reflections; the signs of its columns stand on the diagonal."""
        A = X.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
        Q = tensorbus.linalg.householder_product(A, tau)
        return Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @tensorbus.no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {Q.shape}."
            )
        tall = Q.mT if Q.size(-2) < Q.size(-1) else Q
        if hasattr(self, "base"):
            self.base = _completed(tall)
            # The map of minus one is one: what is trained starts where the base is.
            start = tensorbus.zeros_like(Q)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        A, tau = tensorbus.geqrf(tall)
        diagonal = A.diagonal(dim1=-2, dim2=-1)
        signs = diagonal.sign()
        # LAPACK makes no reflection of a column that is right already: its sign is its own.
        diagonal.copy_(tensorbus.where(tau == 0.0, -signs, signs))
        return A.mT if tall is not Q else A


def _completed(Q: Tensor) -> Tensor:
    """A square orthogonal matrix that begins with the columns of *Q*, made orthonormal."""
    n, k = Q.size(-2), Q.size(-1)
    if n == k and _is_orthogonal(Q):
        return Q.clone()
    if n != k:
        more = tensorbus.randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
        Q = tensorbus.cat([Q, more], dim=-1)
    X, tau = tensorbus.geqrf(Q)
    return tensorbus.linalg.householder_product(X, tau) * (
        X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    )


def _is_orthogonal(Q: Tensor) -> bool:
    one = tensorbus.eye(Q.size(-1), dtype=Q.dtype, device=Q.device)
    near = 10.0 * Q.size(-2) * tensorbus.finfo(Q.dtype).eps
    return bool(tensorbus.allclose(Q.mH @ Q, one, atol=near))


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Let a matrix, or a batch of them, stay orthogonal (unitary, if complex) while it is trained.

    Of matrices that are not square the columns are orthonormal, or the rows where they are fewer.

    Args:
        module: whose parameter it is.
        name: the parameter's name.
        orthogonal_map: 'matrix_exp' and 'cayley' map skew-symmetric matrices, 'householder'
            multiplies reflections; by default the first for square and complex matrices, else the
            last.
        use_trivialization: keep the value that is assigned as a matrix by which the map's result is
            multiplied; costs memory, and makes training go better.

    ValueError for a name that is missing, fewer than two dimensions, another map, and for complex
    matrices with 'householder'.

    >>> import tensorbus as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 5))
    >>> Q = layer.weight
    >>> torch.dist(Q.T @ Q, torch.eye(3)) < 1e-5
    tensor(True)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.orthogonal.html
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        rotates = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if rotates else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


def _tensor_of(module: Module, name: str) -> Tensor:
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return found


class _WeightNorm(Module):
    """A tensor by its length and its direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return with_length(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return tensorbus.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train the length and the direction of a tensor apart: weight = g v / |v|.

    The lengths are ``parametrizations.weight.original0``, the directions ``original1``. State dicts
    of the older ``nn.utils.weight_norm`` are taken too.

    Args:
        module: whose parameter it is.
        name: the parameter's name.
        dim: the dim along which each slice has a length of its own; one for all if None.

    >>> from tensorbus import nn
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.size()
    torch.Size([40, 1])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.weight_norm.html
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        old = [f"{prefix}{name}_{letter}" for letter in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{i}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """A tensor over its largest singular value, which power iterations follow."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] "
                f"but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but "
                f"got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                drawn = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(name, F.normalize(drawn, dim=0, eps=eps).detach())
            self._iterate(matrix, 15)

    @tensorbus.no_grad()
    def _iterate(self, matrix: Tensor, count: int) -> None:
        for _ in range(count):
            self._u.copy_(F.normalize(tensorbus.mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(tensorbus.mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # Copies, since the next call writes to both: this one's backward still needs them.
        u, v = self._u.clone(), self._v.clone()
        return weight / tensorbus.vdot(u, tensorbus.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a tensor by its largest singular value, so that its spectral norm is 1.

    Tensors of more than two dimensions are taken as matrices, with *dim* as rows; vectors are
    divided by their length. In training mode each call improves the estimate of the value.

    Args:
        module: whose parameter it is.
        name: the parameter's name.
        n_power_iterations: steps of the estimate for each call.
        eps: what norms are at least, where they divide.
        dim: the dim of the outputs: by default 1 for transposed convolutions, else 0.

    ValueError for a name that is missing and for no iterations, IndexError for a dim that the
    tensor lacks.

    >>> import tensorbus as torch
    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(4, 3), eps=1e-6)
    >>> for _ in range(100):
    ...     weight = layer.weight
    >>> (torch.linalg.matrix_norm(weight, 2) - 1).abs() < 1e-3
    tensor(True)

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.spectral_norm.html
    """
    weight = _tensor_of(module, name)
    made = _SpectralNorm(weight, n_power_iterations, dim_of_outputs(module, dim), eps)
    return register_parametrization(module, name, made)


_show_pages(__name__, [(name, globals()[name]) for name in __all__])
