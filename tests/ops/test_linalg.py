"""Matrix products, einsum and their kin beside PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus


def made(m: Any, *shape: int, seed: int = 0) -> Any:
    return m.tensor(np.random.RandomState(seed).randn(*shape).round(2).tolist())


SHAPES = [(3,), (2, 3), (3, 2), (4, 2, 3), (4, 3, 2), (1, 3, 2), (5, 1, 2, 3), (0, 3), (3, 0), ()]


PAIRS = list(itertools.product(SHAPES, SHAPES))
ON_DEVICES = [
    *(("cpu", a, b) for a, b in PAIRS),
    *(("opencl", a, b) for a, b in PAIRS if len(a) < 4 and len(b) < 4),
]


@pytest.mark.parametrize(("device", "a", "b"), ON_DEVICES, indirect=["device"])
def test_matmul(a: Any, b: Any, like_torch: Callable[..., None]) -> None:
    like_torch(lambda m: m.ones(a) @ m.ones(b))


PRODUCTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda m: made(m, 3, 2).t() @ made(m, 4, 3).t(),
    "mm": lambda m: m.mm(made(m, 2, 3), made(m, 3, 4)),
    "mm of a batch": lambda m: m.mm(m.ones(1, 2, 3), m.ones(3, 4)),
    "bmm": lambda m: m.bmm(made(m, 2, 2, 3), made(m, 2, 3, 4)),
    "mv": lambda m: m.mv(made(m, 2, 3), made(m, 3)),
    "dot": lambda m: m.dot(made(m, 3), made(m, 3, seed=1)),
    "dot of matrices": lambda m: m.dot(m.ones(2, 2), m.ones(2, 2)),
    "vdot": lambda m: m.vdot(made(m, 3), made(m, 3, seed=1)),
    "outer": lambda m: m.outer(made(m, 2), made(m, 3)),
    "ger": lambda m: m.ger(made(m, 2), made(m, 3)),
    "inner": lambda m: m.inner(made(m, 2, 3), made(m, 4, 3)),
    "inner of a misfit": lambda m: m.inner(m.ones(3, 2), m.ones(3)),
    "addmm": lambda m: m.addmm(made(m, 4), made(m, 2, 3), made(m, 3, 4), beta=2, alpha=0.5),
    "addmv": lambda m: m.addmv(made(m, 2), made(m, 2, 3), made(m, 3), beta=0),
    "addr": lambda m: m.addr(made(m, 2, 3), made(m, 2), made(m, 3), alpha=3),
    "addbmm": lambda m: m.addbmm(made(m, 2, 4), made(m, 5, 2, 3), made(m, 5, 3, 4), beta=2),
    "baddbmm": lambda m: m.baddbmm(made(m, 5, 2, 4), made(m, 5, 2, 3), made(m, 5, 3, 4)),
    "kron": lambda m: m.kron(made(m, 2, 2), made(m, 3)),
    "cross": lambda m: m.cross(made(m, 2, 3), made(m, 2, 3, seed=1)),
    "cross along 0": lambda m: m.cross(made(m, 3, 2), made(m, 3, 2, seed=1), dim=0),
    "cross without three": lambda m: m.linalg.cross(m.ones(2, 2), m.ones(2, 2)),
    "linalg.cross broadcast": lambda m: m.linalg.cross(made(m, 1, 3), made(m, 4, 3)),
    "tensordot": lambda m: m.tensordot(made(m, 2, 3, 4), made(m, 3, 4, 5)),
    "tensordot of lists": lambda m: m.tensordot(made(m, 2, 3), made(m, 4, 2), ([0], [1])),
    "tensordot of none": lambda m: m.tensordot(made(m, 2), made(m, 3), 0),
    "tensordot negative": lambda m: m.tensordot(m.ones(2), m.ones(2), -1),
    "tensordot of a misfit": lambda m: m.tensordot(m.ones(3, 2), m.ones(4, 3), 1),
    "chain_matmul": lambda m: m.chain_matmul(made(m, 2, 9), made(m, 9, 3), made(m, 3, 4)),
    "multi_dot": lambda m: m.linalg.multi_dot([made(m, 9), made(m, 9, 3), made(m, 3)]),
    "matrix_power": lambda m: m.linalg.matrix_power(made(m, 3, 3), 5),
    "matrix_power 0": lambda m: m.linalg.matrix_power(made(m, 2, 3, 3), 0),
    "vecdot": lambda m: m.linalg.vecdot(made(m, 2, 3), made(m, 2, 3, seed=1)),
    "cdist": lambda m: m.cdist(made(m, 2, 3), made(m, 4, 3, seed=1)),
    "cdist p=1": lambda m: m.cdist(made(m, 5, 2, 3), made(m, 5, 4, 3, seed=1), p=1.0),
    "cdist of a misfit": lambda m: m.cdist(m.ones(2, 3), m.ones(4, 2)),
    "trace": lambda m: m.trace(made(m, 2, 3)),
    "trace of a vector": lambda m: m.trace(m.ones(2)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, like_torch: Callable[..., None]) -> None:
    like_torch(PRODUCTS[name], text=True, strides=name in ("transposed", "mm", "bmm"))


EQUATIONS = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ij,jk": [(2, 3), (3, 4)],
    "ij->ji": [(2, 3)],
    "ij": [(2, 3)],
    "ba": [(2, 3)],
    "ii": [(3, 3)],
    "ii->i": [(3, 3)],
    "i,j->ij": [(2,), (3,)],
    "i,i": [(3,), (3,)],
    "bij,bjk->bik": [(5, 2, 3), (5, 3, 4)],
    "bij,bjk->ik": [(5, 2, 3), (5, 3, 4)],
    "...ij,...jk->...ik": [(5, 2, 3), (3, 4)],
    "...i,...i->...": [(5, 2, 2), (2, 2)],
    "i...->...": [(2, 3, 4)],
    "ij,j,i->": [(2, 3), (3,), (2,)],
    "ijk,jil->kl": [(2, 3, 4), (3, 2, 5)],
    "ij,ij->ij": [(2, 3), (2, 1)],
    "bhid,bhjd->bhij": [(2, 2, 3, 4), (2, 2, 5, 4)],
    "ij , jk -> ik": [(2, 3), (3, 4)],
    "ij,jk->ii": [(2, 3), (3, 4)],
    "ij,jk->il": [(2, 3), (3, 4)],
    "ij,jk->ik ": [(2, 3), (2, 4)],
    "ijk": [(2, 3)],
    "i1": [(2, 3)],
    "ij,jk,kl": [(2, 3), (3, 4)],
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation: str, like_torch: Callable[..., None]) -> None:
    shapes = EQUATIONS[equation]
    like_torch(
        lambda m: m.einsum(equation, *(made(m, *s, seed=n) for n, s in enumerate(shapes))),
        strides=False,
        text="1" not in equation,
    )


def test_einsum_by_numbers(like_torch: Callable[..., None]) -> None:
    like_torch(
        lambda m: m.einsum(made(m, 2, 3), [0, 1], made(m, 3, 4), [1, 2], [2, 0]), strides=False
    )
    like_torch(lambda m: m.einsum(made(m, 5, 2, 3), [..., 0, 1], [..., 1, 0]), strides=False)


def test_gradients_of_einsum(like_torch: Callable[..., None]) -> None:
    def program(m: Any) -> Any:
        a, b = made(m, 2, 3).requires_grad_(), made(m, 3, 4).requires_grad_()
        (m.einsum("ij,jk->ki", a, b) * made(m, 4, 2, seed=5)).sum().backward()
        return [a.grad, b.grad]

    like_torch(program, strides=False)


BATCHES: list[tuple[int, ...]] = [(), (2,), (2, 3), (1,)]
SIZES = [(3, 3), (2, 4), (4, 2), (1, 1), (1, 3), (3, 1)]


def laid_out(m: Any, *tensors: Any) -> list[list[int]]:
    """The strides of tensors."""
    return [list(x.stride()) for x in tensors]


@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_factors_lie_column_by_column(batch: tuple[int, ...], like_torch: Any) -> None:
    def program(m: Any) -> Any:
        found = []
        for size in SIZES:
            a = m.rand(*batch, *size)
            lu, pivots = m.linalg.lu_factor(a)
            found += laid_out(m, lu, pivots, *m.linalg.lu_factor_ex(a.mT.contiguous().mT))
            found += laid_out(m, *m.linalg.lu(a), *m.lu_unpack(lu, pivots))
            found += laid_out(m, *m.lu_unpack(lu.contiguous(), pivots), *m.geqrf(a))
            if size[0] == size[1]:
                found += laid_out(m, *m.linalg.ldl_factor(a), *m.linalg.ldl_factor_ex(a + a.mT))
        return found

    like_torch(program)


def test_factors_are_no_views(like_torch: Any) -> None:
    def program(m: Any) -> Any:
        a = made(m, 3, 3).requires_grad_()
        lu, _ = m.linalg.lu_factor(a)
        lu.square().sum().backward()
        of_batch = m.vmap(lambda x: m.linalg.lu_factor_ex(x)[0], in_dims=2)(made(m, 3, 3, 4))
        parts = m.linalg.lu(a)
        with m.inference_mode():
            unseen = m.linalg.lu_factor(made(m, 3, 3))[0]
        made_of_it = laid_out(m, lu.clone(), lu * 2, lu.contiguous(), m.zeros_like(lu), a.grad)
        made_of_it += laid_out(m, *parts, of_batch, unseen)
        return [lu._is_view(), lu.is_contiguous(), *made_of_it]

    like_torch(program)


def test_factors_put_into_other_tensors(like_torch: Any) -> None:
    def program(m: Any) -> Any:
        a, found = made(m, 3, 3), []
        for factor in (m.linalg.lu_factor, m.linalg.ldl_factor):
            for into in (m.empty(0), m.empty(3, 3), m.empty(3, 3).mT, m.empty(2, 2)):
                out = (into, m.empty(0, dtype=m.int32))
                factor(a, out=out)
                found += [*laid_out(m, *out), *out]
        return found

    like_torch(program)


def test_shapes_without_values_have_the_strides_of_factors(oracle: Any) -> None:
    def program(m: Any) -> Any:
        found = []
        for batch, size in itertools.product(BATCHES, SIZES):
            a = m.empty(*batch, *size, device="meta")
            found += laid_out(m, *m.linalg.lu_factor_ex(a), *m.linalg.lu(a))
            if size[0] == size[1]:
                found += laid_out(m, *m.linalg.ldl_factor_ex(a))
        return found

    assert program(tensorbus) == oracle(program)
