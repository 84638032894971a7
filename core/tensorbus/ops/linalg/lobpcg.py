"""A few eigenvalues of large Hermitian matrices (LOBPCG: Knyazev, 2001)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import is_grad_enabled
from tensorbus.op_engine.arguments import check_device, check_tensors
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.public import public
from tensorbus.ops.joining.joining import cat
from tensorbus.ops.linalg.checks import check_factored_inside
from tensorbus.ops.linalg.cholesky import linalg_cholesky
from tensorbus.ops.linalg.eigenvalues import linalg_eigh
from tensorbus.ops.linalg.triangular import solved
from tensorbus.ops.random.random import randn


def _chosen(values: Tensor, vectors: Tensor, k: int, largest: bool) -> tuple[Tensor, Tensor]:
    """The *k* outermost of ascending eigenvalues, from the outside, and their vectors."""
    if not largest:
        return values.narrow(-1, 0, k), vectors.narrow(-1, 0, k)
    start = values._s[-1] - k
    return values.narrow(-1, start, k).flip(-1), vectors.narrow(-1, start, k).flip(-1)


class LOBPCG:
    """The state of an iteration, as a *tracker* sees it."""

    def __init__(
        self, A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, k: int, niter: int,
        tol: float, largest: bool, tracker: Callable[[Any], Any] | None,
    ):  # fmt: skip
        self.A, self.B, self.X, self.iK, self.tracker = A, B, X, iK, tracker
        self.iparams = {"m": A._s[-1], "n": X._s[-1], "k": k, "niter": niter}
        self.fparams = {"tol": tol}
        self.bparams = {"largest": largest}
        self.ivars = {"istep": 0, "converged_count": 0}
        self.fvars: dict[str, Any] = {}
        self.tvars: dict[str, Tensor] = {}
        self.bvars = {"force_stop": False}
        self.E: Tensor
        self.R: Tensor
        self.S: Tensor

    def run(self) -> None:
        """Iterate until the first k pairs have converged, or for *niter* steps."""
        self._improve([self.X])
        self._measure()
        direction: list[Tensor] = []
        while not self._stops():
            self.ivars["istep"] += 1
            residual = self.R if self.iK is None else self.iK @ self.R
            before = self.X
            self._improve([before, residual, *direction])
            along = before.mH @ self._weighted(self.X)
            direction = [self.X - before @ along]
            self._measure()

    def _weighted(self, x: Tensor) -> Tensor:
        return x if self.B is None else self.B @ x

    def _improve(self, parts: list[Tensor]) -> None:
        """The best pairs in the space that the columns of all parts span (Rayleigh and Ritz)."""
        basis = core("linalg_qr")(cat(parts, -1), False)[0]
        if self.B is not None:
            factor = linalg_cholesky(basis.mH @ self._weighted(basis))
            basis = solved(factor.mH, basis, True, False)
        self.S = basis
        values, vectors = linalg_eigh(basis.mH @ (self.A @ basis))
        self.E, inner = _chosen(values, vectors, self.iparams["n"], self.bparams["largest"])
        self.X = basis @ inner

    def _measure(self) -> None:
        """The residuals, relative to the norms of what they are differences of."""
        X, E = self.X, self.E.unsqueeze(-2)
        product, weighted = self.A @ X, self._weighted(X)
        self.R = product - weighted * E
        size = product.norm(2, -2) + (weighted * E).norm(2, -2)
        error = self.R.norm(2, -2) / size.where(size > 0, 1)
        self.tvars["rerr"] = error
        done = (error.narrow(-1, 0, self.iparams["k"]) < self.fparams["tol"]).cumprod(-1)
        if done._k.has_values and done._s.numel():
            self.ivars["converged_count"] = int(done.sum(-1).min().item())

    def _stops(self) -> bool:
        if self.tracker is not None:
            self.tracker(self)
        return (
            not self.A._k.has_values
            or self.bvars["force_stop"]
            or self.ivars["converged_count"] >= self.iparams["k"]
            or self.ivars["istep"] >= self.iparams["niter"]
        )


def _whole(A: Tensor, B: Tensor | None, k: int, largest: bool) -> tuple[Tensor, Tensor]:
    """By all eigenvalues, whose gradients are those of some of them."""
    if B is None:
        values, vectors = linalg_eigh(A)
        return _chosen(values, vectors, k, largest)
    factor = linalg_cholesky(B)
    half = solved(factor, A, False)
    values, vectors = linalg_eigh(solved(factor, half.mH, False))
    values, vectors = _chosen(values, vectors, k, largest)
    return values, solved(factor.mH, vectors, True)


def _symmetric(x: Tensor) -> Tensor:
    return (x + x.mH) * 0.5


@public(method=False)
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[Any], Any] | None = None,
    ortho_iparams: Mapping[str, int] | None = None,
    ortho_fparams: Mapping[str, float] | None = None,
    ortho_bparams: Mapping[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The *k* largest eigenvalues of Hermitian matrices, and their vectors: ``A @ x = E * x``.

    (..., m, m) -> (..., k) and (..., m, k), the outermost first; with *largest* False the smallest.
    With *B*, positive definite, ``A @ x = E * B @ x``. *X* (..., m, n) begins the iteration, random
    columns where it is not given; *iK* is a preconditioner. It ends after *niter* steps, 1000 by
    default, or when the residuals are below *tol*, the square root of the dtype's precision; a
    *tracker* is called with its state before each, and may set ``bvars["force_stop"]``. Each step
    makes an orthonormal basis by QR, whatever *method* and the *ortho* parameters say. Where a
    gradient is recorded all eigenvalues are computed. ValueError where m < 3 n.
    """
    check_tensors("lobpcg", A=A)
    if len(A._s) < 2:
        raise IndexError(f"lobpcg: A must have at least 2 dimensions, but has {len(A._s)}")
    if A._s[-1] != A._s[-2]:
        raise AssertionError(f"A must be square, got shape {A._s}")
    check_factored_inside("linalg_eigh_cpu", A)
    m = A._s[-1]
    count = (1 if X is None else X._s[-1]) if k is None else k
    size = (count if n is None else n) if X is None else X._s[-1]
    if m < 3 * size:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than "
            f"3 x the number of requested eigenpairs (={size})"
        )
    if not 0 < count <= size:
        raise ValueError(f"lobpcg: k must be from 1 to n={size}, but is {count}")
    for other in (B, X, iK):
        if other is not None:
            check_device(A, other)
    if X is not None and tuple(X._s[-2:]) != (m, size):
        raise AssertionError(f"X shape mismatch: got {X._s}, expected {(m, size)}")
    outermost = True if largest is None else largest
    if is_grad_enabled() and (A.requires_grad or (B is not None and B.requires_grad)):
        whole = None if B is None else _symmetric(B)
        return _whole(_symmetric(A), whole, count, outermost)
    if X is None:
        X = randn(*A._s[:-2], m, size, dtype=A._k.dtype, device=A._k.device)
    state = LOBPCG(
        A.detach(), None if B is None else B.detach(), X.detach(), iK, count,
        1000 if niter is None else niter,
        dtypes.finfo(A._k.dtype).eps ** 0.5 if tol is None else tol, outermost, tracker,
    )  # fmt: skip
    state.run()
    E, found = state.E.narrow(-1, 0, count), state.X.narrow(-1, 0, count)
    return E.contiguous(), found.contiguous()
