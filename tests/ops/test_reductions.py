"""Reductions and running sums beside PyTorch: dims, layouts, dtypes, empty and 0-dim tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

LAYOUTS = ("row-major", "transposed", "strided", "expanded", "0-dim", "empty", "empty inside")
SEVERAL = "sum mean amax amin any all var std logsumexp nansum nanmean std_mean var_mean".split()
ONE = "prod argmax argmin".split()
RUNNING = "cumsum cumprod logcumsumexp".split()


def sample(m: Any, dtype: str = "float32", layout: str = "row-major") -> Any:
    rng = np.random.RandomState(0)
    shape = (3, 4, 2)
    if dtype == "bool":
        values = rng.randint(0, 2, shape).astype(bool)
    elif "int" in dtype:
        values = rng.randint(0 if dtype == "uint8" else -5, 6, shape)
    else:
        values = rng.randn(*shape).round(3) * 1.5
    x = m.tensor(values.tolist(), dtype=getattr(m, dtype))
    return {
        "row-major": lambda: x,
        "transposed": lambda: x.permute(2, 0, 1),
        "strided": lambda: x[:, ::2],
        "expanded": lambda: x[0:1].expand(3, 4, 2),
        "0-dim": lambda: x[0, 1, 0],
        "empty": lambda: x[:0],
        "empty inside": lambda: x[:, :0],
    }[layout]()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*SEVERAL, *ONE])
def test_dims(name: str, layout: str, like_torch: Callable[..., None], device: str) -> None:
    dims: list[Any] = [0, -1]
    if name not in ONE:
        dims += [(0, 2), (-1, 1), [0, 1, 2]]
        if name != "logsumexp":
            dims += [None] if name in ("any", "all") else [None, ()]
    for dim in dims if device == "cpu" else dims[1:4:2]:
        for keepdim in (False, True):
            like_torch(
                lambda m, d=dim, k=keepdim: getattr(m, name)(
                    sample(m, layout=layout), dim=d, keepdim=k
                )
            )


@pytest.mark.parametrize("name", [*SEVERAL, *ONE])
def test_dtypes(name: str, like_torch: Callable[..., None], device: str) -> None:
    dtypes = ["float32", "float64", "float16", "uint8", "int8", "int32", "int64", "bool"]
    for dtype in dtypes if device == "cpu" else ["float32", "int32", "bool"]:
        if name != "logsumexp":
            like_torch(lambda m, d=dtype: getattr(m, name)(sample(m, d)))
        like_torch(lambda m, d=dtype: getattr(m, name)(sample(m, d), 1))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "nansum", "cumsum", "cumprod"])
def test_result_dtypes(name: str, like_torch: Callable[..., None]) -> None:
    for source, target in (("float32", "float64"), ("int32", "float64"), ("float32", "int32")):
        like_torch(
            lambda m, s=source, t=target: getattr(m, name)(sample(m, s), 1, dtype=getattr(m, t)),
            text=True,
        )


@pytest.mark.parametrize("name", [*SEVERAL, *ONE, *RUNNING])
def test_wrong_dims(name: str, like_torch: Callable[..., None]) -> None:
    like_torch(lambda m: getattr(m, name)(sample(m), 3), text=True)
    like_torch(lambda m: getattr(m, name)(sample(m), -4), text=True)
    if name in SEVERAL:
        like_torch(lambda m: getattr(m, name)(sample(m), dim=(0, 0)), text=True)
        like_torch(lambda m: getattr(m, name)(sample(m), dim=(0, -3)), text=True)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", RUNNING)
def test_running(name: str, layout: str, like_torch: Callable[..., None]) -> None:
    for dim in (0, -1):
        like_torch(lambda m, d=dim: getattr(m, name)(sample(m, layout=layout), d))


@pytest.mark.parametrize("name", [*SEVERAL, *ONE])
def test_numpy_names(name: str, like_torch: Callable[..., None]) -> None:
    like_torch(lambda m: getattr(m, name)(sample(m), axis=1))
    if name not in ("nansum", "nanmean"):
        like_torch(lambda m: getattr(m, name)(sample(m), axis=1, keepdims=True))
    if name not in ("std_mean", "var_mean"):
        like_torch(lambda m: getattr(sample(m), name)(axis=-1))


def test_spread(like_torch: Callable[..., None]) -> None:
    for correction in (0, 1, 2, 100):
        like_torch(lambda m, c=correction: m.var(sample(m), correction=c))
        like_torch(lambda m, c=correction: m.std(sample(m), dim=0, correction=c))
    for unbiased in (True, False):
        like_torch(lambda m, u=unbiased: m.var(sample(m), u))
        like_torch(lambda m, u=unbiased: sample(m).std(1, u, True))
        like_torch(lambda m, u=unbiased: m.var_mean(sample(m), unbiased=u))
    like_torch(lambda m: m.tensor([1.0]).var())


@pytest.mark.parametrize("p", [0, 1, 2, 3, 0.5, -1, float("inf"), -float("inf"), "fro"])
def test_norms(p: Any, like_torch: Callable[..., None]) -> None:
    for layout in ("row-major", "transposed", "0-dim", "empty"):
        for dim in (None, 0, (0, 1)):
            like_torch(lambda m, k=layout, d=dim: m.norm(sample(m, layout=k), p, d))
    if p != "fro":
        like_torch(lambda m: m.linalg.vector_norm(sample(m), p, (0, 2), True))
    if p in (1, -1, float("inf"), -float("inf"), "fro"):
        like_torch(lambda m: m.linalg.matrix_norm(sample(m), p))
        like_torch(lambda m: m.linalg.matrix_norm(sample(m), p, (0, 2), True))
        like_torch(lambda m: m.linalg.norm(sample(m)[0], p))


def test_norm_of_a_single_number(like_torch: Callable[..., None]) -> None:
    def gradient(m: Any, p: float, scale: float) -> Any:
        x = m.tensor([1.5, -2.5, 3.0], requires_grad=True)
        (x * scale).norm(p).backward()
        return x.grad

    for p in (1, 1.5, 2, 3, float("inf")):
        for scale in (1.0, 0.0):
            like_torch(lambda m, p=p, s=scale: gradient(m, p, s))


STATISTICS: dict[str, Callable[[Any], Any]] = {
    "diff": lambda m: m.diff(sample(m)),
    "diff twice along 0": lambda m: m.diff(sample(m), 2, 0),
    "diff of truth values": lambda m: m.diff(sample(m, "bool"), dim=1),
    "diff with more": lambda m: m.diff(sample(m), dim=0, prepend=sample(m), append=sample(m)),
    "diff of too few": lambda m: m.diff(m.ones(2), n=5),
    "diff of 0-dim": lambda m: m.diff(m.tensor(1.0)),
    "cov": lambda m: m.cov(sample(m)[0]),
    "cov of a vector": lambda m: m.cov(m.tensor([1.0, 2.0, 4.0]), correction=0),
    "cov with weights": lambda m: m.cov(
        sample(m)[:, :, 0], fweights=m.tensor([1, 2, 1, 3]), aweights=m.tensor([0.1, 0.2, 1.0, 0.5])
    ),
    "cov of three dimensions": lambda m: m.cov(sample(m)),
    "corrcoef": lambda m: m.corrcoef(sample(m)[:, :, 0]),
    "trapezoid": lambda m: m.trapezoid(sample(m), dx=0.5, dim=1),
    "trapezoid over x": lambda m: m.trapezoid(sample(m), m.tensor([0.0, 1.0, 3.0, 4.0]), dim=1),
    "cumulative_trapezoid": lambda m: m.cumulative_trapezoid(sample(m), dim=1),
    "logcumsumexp of a wide range": lambda m: m.logcumsumexp(m.tensor([-900.0, 900.0, 0.0]), 0),
    "nansum": lambda m: m.nansum(m.tensor([1.0, float("nan"), 2.0])),
    "nanmean": lambda m: m.nanmean(m.tensor([[1.0, float("nan")], [2.0, 4.0]]), 0),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_statistics(name: str, like_torch: Callable[..., None]) -> None:
    like_torch(STATISTICS[name], text=True)


def _gradient(
    f: Callable[[Any], Any], values: list[Any], dtype: str = "float32"
) -> Callable[..., Any]:
    def run(m: Any) -> Any:
        x = m.tensor(values, dtype=getattr(m, dtype), requires_grad=True)
        f(x).sum().backward()
        return x.grad

    return run


GRADIENTS = {
    "std of equal values": _gradient(lambda x: x.std(1), [[2.0, 2, 2], [1, 2, 5]]),
    "std of halves whose variance is beyond float16": _gradient(
        lambda x: x.std(), [0.0, 300.0, 900.0], "float16"
    ),
    "prod of nothing": _gradient(lambda x: x[:0].prod(0), [[1.0, 2.0]]),
    "topk of none": _gradient(lambda x: x.topk(0).values, [1.0, 2.0]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_at_the_edges(name: str, like_torch: Callable[..., None]) -> None:
    like_torch(GRADIENTS[name])
