"""Bags of embeddings, by loops over their definition."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tensorbus_conformance.op import E, I, Op, S, T

_F = "nn.functional."


def embedding_bag(
    indices: np.ndarray,
    table: np.ndarray,
    offsets: np.ndarray | None = None,
    *_: Any,
    mode: str = "mean",
    per_sample_weights: np.ndarray | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
    **__: Any,
) -> np.ndarray:
    """Each bag's rows, one after the other."""
    flat = indices.reshape(-1)
    if offsets is None:
        bounds = list(range(0, flat.size + 1, indices.shape[1]))
    else:
        bounds = offsets.tolist() + ([] if include_last_offset else [flat.size])
    factors = np.ones(flat.size) if per_sample_weights is None else per_sample_weights.reshape(-1)
    padding = -1 if padding_idx is None else padding_idx % len(table)
    made = np.zeros((len(bounds) - 1, table.shape[1]))
    for bag, (start, stop) in enumerate(itertools.pairwise(bounds)):
        kept = np.arange(start, stop)[flat[start:stop] != padding]
        if kept.size:
            rows = table[flat[kept]] * factors[kept, None]
            made[bag] = getattr(rows, mode)(0)
    return made


def _max_norm(
    indices: np.ndarray, table: np.ndarray, max_norm: float
) -> tuple[np.ndarray, np.ndarray]:
    table = table.copy()
    for row in set(indices.reshape(-1).tolist()):
        norm = np.sqrt((table[row] ** 2).sum())
        if norm > max_norm:
            table[row] *= max_norm / (norm + 1e-7)
    return embedding_bag(indices, table), table


def _call_max_norm(indices: Any, table: Any, max_norm: float) -> Any:
    import tensorbus.nn.functional as F

    table = table.clone()
    return F.embedding_bag(indices, table, max_norm=max_norm), table


def _terms(indices: np.ndarray, table: np.ndarray, *args: Any, **kwargs: Any) -> np.ndarray:
    factors = kwargs.pop("per_sample_weights", None)
    if factors is not None:
        kwargs["per_sample_weights"] = np.abs(factors)
    return embedding_bag(indices, np.abs(table), *args, **kwargs)


def _flat() -> tuple[T, ...]:
    """Ten indices into five rows, the bounds of four bags, one of them empty."""
    return I([1, 0, 4, 1, 1, 3, 2, 0, 4, 4]), T(5, 3), I([0, 3, 3, 7])


_EACH = T(10)
_WRONG = "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "


def _sparse_gradient(
    indices: np.ndarray,
    table: np.ndarray,
    bounds: np.ndarray,
    per_sample_weights: np.ndarray | None = None,
    padding_idx: int = -1,
    **_: Any,
) -> np.ndarray:
    """Of the sum of the bags, each times its number."""
    made = np.zeros_like(table)
    for bag, (start, stop) in enumerate(itertools.pairwise(bounds.tolist())):
        for k in range(start, stop):
            if indices[k] != padding_idx:
                factor = 1 if per_sample_weights is None else per_sample_weights[k]
                made[indices[k]] += (bag + 1) * factor
    return made


def _sparse_terms(
    indices: np.ndarray,
    table: np.ndarray,
    bounds: np.ndarray,
    per_sample_weights: np.ndarray | None = None,
    **options: Any,
) -> np.ndarray:
    factors = None if per_sample_weights is None else np.abs(per_sample_weights)
    return _sparse_gradient(indices, table, bounds, factors, **options)


def _found_gradient(indices: Any, table: Any, bounds: Any, **options: Any) -> Any:
    import tensorbus
    import tensorbus.nn.functional as F

    leaf = table.detach().requires_grad_()
    with tensorbus.enable_grad():
        made = F.embedding_bag(indices, leaf, bounds, sparse=True, **options)
        bags = tensorbus.arange(1, len(bounds), dtype=made.dtype, device=made.device)
        total = (made * bags.unsqueeze(1)).sum()
    (found,) = tensorbus.autograd.grad(total, leaf)
    assert found.is_sparse
    return found


def _call_sparse_gradient(*args: Any, **options: Any) -> Any:
    """By the rows, which are made when they are read."""
    import tensorbus

    found = _found_gradient(*args, **options)
    rows = found._values()
    return tensorbus.zeros_like(args[1]).index_add(0, found._indices()[0], rows)


def _call_summed_gradient(*args: Any, **options: Any) -> Any:
    """Without anyone reading the rows."""
    return _found_gradient(*args, **options).to_dense()


OPS = [
    Op(
        _F + "embedding_bag",
        embedding_bag,
        [
            *(S(mode, *_flat(), mode=mode) for mode in ("sum", "mean", "max")),
            *(
                S(f"{mode}-padding", *_flat(), mode=mode, padding_idx=-1)
                for mode in ("sum", "mean", "max")
            ),
            *(
                S(f"{mode}-rows", I([[1, 0, 4], [2, 2, 2]]), T(5, 3), mode=mode)
                for mode in ("sum", "mean", "max")
            ),
            *(
                S(f"{mode}-nothing", I(np.zeros(0, np.int64)), T(5, 3), I([0, 0]), mode=mode)
                for mode in ("sum", "mean", "max")
            ),
            S("factors", *_flat(), mode="sum", per_sample_weights=_EACH),
            S("factors-padding", *_flat(), mode="sum", per_sample_weights=_EACH, padding_idx=1),
            S("bounds", *_flat()[:2], I([0, 3, 3, 10]), mode="sum", include_last_offset=True),
            S("many", I(np.arange(300).reshape(6, 50) % 7), T(7, 20), mode="sum"),
            S("many-padding", I(np.arange(300).reshape(6, 50) % 7), T(7, 20), padding_idx=3),
        ],
        ulp=4,
        scale=_terms,
        grad_ulp=64,
        errors=[
            E(
                "index",
                RuntimeError,
                _WRONG + "5",
                I([5]),
                T(5, 3),
                I([0]),
                trait="host_sync",
            ),
            E(
                "below",
                RuntimeError,
                _WRONG + "-1",
                I([0, -1]),
                T(5, 3),
                I([0]),
                mode="max",
                trait="host_sync",
            ),
            E(
                "first",
                RuntimeError,
                r"offsets\[0\] has to be 0, i\.e\., the first sequence in the mini-batch has to "
                r"start from position 0\. However, got 1",
                I([0, 1]),
                T(5, 3),
                I([1]),
                trait="host_sync",
            ),
            E(
                "mode",
                ValueError,
                "mode has to be one of sum, mean or max",
                *_flat(),
                mode="prod",
            ),
        ],
        family="nn",
    ),
    Op(
        _F + "embedding_bag-max_norm",
        _max_norm,
        [S("plain", I([[1, 0, 1]]), T(4, 3, grad=False), 1.0)],
        ulp=8,
        gradient=False,
        call=_call_max_norm,
        family="nn",
    ),
    *(
        Op(
            _F + name,
            _sparse_gradient,
            [
                S(
                    variant,
                    *_flat()[:2],
                    I([0, 3, 3, 9]),
                    mode="sum",
                    include_last_offset=True,
                    **more,
                )
                for variant, more in (
                    ("plain", {}),
                    ("padding", {"padding_idx": 4}),
                    ("factors", {"per_sample_weights": T(10, grad=False), "padding_idx": 0}),
                )
            ],
            ulp=64,
            scale=_sparse_terms,
            gradient=False,
            call=call,
            family="nn",
        )
        for name, call in (
            ("embedding_bag-sparse", _call_sparse_gradient),
            ("embedding_bag-summed", _call_summed_gradient),
        )
    ),
]
