"""Functions that PyTorch has removed: their names say which function has taken their place."""

from __future__ import annotations

from typing import Any, NoReturn

from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.public import public


def _refuse(instead: str) -> NoReturn:
    raise RuntimeError(
        f"This function was deprecated since version 1.9 and is now removed. {instead}"
    )


@public(method=False)
def symeig(input: Any, eigenvectors: bool = False, upper: bool = True, *, out: Any = None) -> Any:
    """Removed: RuntimeError. ``linalg.eigh`` and ``linalg.eigvalsh`` take its place."""
    _refuse(
        "Where torch.symeig(A, upper=upper) read the upper triangle by default, the functions in "
        "its place read the lower one.\n\n"
        "L, _ = torch.symeig(A, upper=upper) should be replaced with:\n"
        "L = torch.linalg.eigvalsh(A, UPLO='U' if upper else 'L')\n\n"
        "L, V = torch.symeig(A, eigenvectors=True) should be replaced with:\n"
        "L, V = torch.linalg.eigh(A, UPLO='U' if upper else 'L')"
    )


@public(method=False)
def eig(input: Any, eigenvectors: bool = False, *, e: Any = None, v: Any = None) -> Any:
    """Removed: RuntimeError. ``linalg.eig`` and ``linalg.eigvals`` take its place."""
    _refuse(
        "torch.linalg.eig gives complex tensors, not pairs of real numbers.\n\n"
        "L, _ = torch.eig(A) should be replaced with:\n"
        "L_complex = torch.linalg.eigvals(A)\n\n"
        "L, V = torch.eig(A, eigenvectors=True) should be replaced with:\n"
        "L_complex, V_complex = torch.linalg.eig(A)"
    )


@public(method=False)
def solve(input: Any, A: Any, *, out: Any = None) -> Any:
    """Removed: RuntimeError. ``linalg.solve`` takes its place, with its arguments reversed."""
    _refuse(
        "torch.linalg.solve has its arguments the other way round and gives no LU factorization, "
        "which torch.linalg.lu_factor does.\n"
        "X = torch.solve(B, A).solution should be replaced with:\n"
        "X = torch.linalg.solve(A, B)"
    )


@public(method=False)
def lstsq(input: Any, A: Any, *, out: Any = None) -> Any:
    """Removed: RuntimeError. ``linalg.lstsq`` takes its place, with its arguments reversed."""
    _refuse(
        "torch.linalg.lstsq has its arguments the other way round, and gives the residuals by "
        "themselves, not behind the solution; torch.linalg.qr gives the QR factorization.\n"
        "X, _ = torch.lstsq(B, A).solution[:A.size(1)] should be replaced with:\n"
        "X = torch.linalg.lstsq(A, B).solution"
    )


@public(method=False)
def matrix_rank(input: Any, tol: Any = None, symmetric: bool = False, *, out: Any = None) -> Any:
    """Removed: RuntimeError. ``linalg.matrix_rank`` takes its place."""
    _refuse(
        "Use torch.linalg.matrix_rank(A, tol, hermitian=symmetric): its parameter 'hermitian' was "
        "called 'symmetric'."
    )


def _symeig(self: Any, eigenvectors: bool = False) -> Any:
    """Removed: RuntimeError. ``linalg.eigh`` and ``linalg.eigvalsh`` take its place."""
    return symeig(self, eigenvectors)


def _eig(self: Any, eigenvectors: bool = False) -> Any:
    """Removed: RuntimeError. ``linalg.eig`` and ``linalg.eigvals`` take its place."""
    return eig(self, eigenvectors)


def _solve(self: Any, other: Any) -> Any:
    """Removed: RuntimeError. ``linalg.solve`` takes its place."""
    return solve(self, other)


def _lstsq(self: Any, other: Any) -> Any:
    """Removed: RuntimeError. ``linalg.lstsq`` takes its place."""
    return lstsq(self, other)


METHODS.update(symeig=_symeig, eig=_eig, solve=_solve, lstsq=_lstsq)
