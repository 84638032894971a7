"""Pools of volumes, pools by norms and at random places, and pooled values put back."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from tensorbus_conformance.formats import INT64
from tensorbus_conformance.op import E, I, Op, S, T
from tensorbus_conformance.samples import nn_pooling

_F = "nn.functional."
_MAX = ("same", INT64)


def _over(name: str, n: int) -> Any:
    """The reference of a pool, for *n* dimensions."""
    return nn_pooling.of_dims(name, n)


def _with_indices(reference: Any) -> Any:
    return lambda *args, **kwargs: reference(*args, **{**kwargs, "return_indices": True})


# -- norms -----------------------------------------------------------------------------------
def _norm(n: int) -> Any:
    average = _over("average", n)

    def reference(
        x: np.ndarray, p: float, kernel: Any, stride: Any = None, ceil_mode: bool = False
    ) -> np.ndarray:
        if math.isinf(p):
            found = _over("max", n)(math.copysign(1, p) * abs(x), kernel, stride, 0, 1, ceil_mode)
            return np.abs(found)
        places = kernel**n if isinstance(kernel, int) else math.prod(kernel)
        mean = average(x**p, kernel, stride, 0, ceil_mode)
        return np.asarray((np.maximum(np.abs(mean), 0) * np.sign(mean) * places) ** (1 / p))

    return reference


def _norms(n: int) -> Op:
    shape: tuple[int, ...] = (1, 2, 5, 4)[: n + 2] if n < 3 else (1, 1, 4, 3, 3)
    x = T(*shape, of="positive")
    return Op(
        f"{_F}lp_pool{n}d",
        _norm(n),
        [
            S("plain", x, 2, 2),
            S("stride", x, 3, 2, 1),
            S("ceil", x, 1.5, 2, 2, True),
            S("largest", T(*shape), math.inf, 2),
            S("least", T(*shape), -math.inf, 2, 1),
            S("unbatched", T(*shape[1:], of="positive"), 2, 3),
        ],
        # In 16 bits the powers and their mean are rounded before the root is taken.
        ulp=16,
        grad_ulp=128,
        family="nn",
    )


# -- back ------------------------------------------------------------------------------------
def _unpooled(n: int) -> Any:
    def reference(
        x: np.ndarray, indices: np.ndarray, kernel: int, stride: Any = None, padding: int = 0,
        output_size: Any = None,
    ) -> np.ndarray:  # fmt: skip
        step = kernel if stride is None else stride
        usual = [(m - 1) * step + kernel - 2 * padding for m in x.shape[-n:]]
        size = usual if output_size is None else output_size[-n:]
        out: Any = np.zeros((*x.shape[:-n], *size))
        for at in np.ndindex(*x.shape):
            out[(*at[:-n], *np.unravel_index(indices[at], size))] = x[at]
        return out

    return reference


_PLACES = {1: [[[1, 2, 5], [0, 3, 4]]], 2: [[[[0, 6], [9, 15]], [[1, 3], [12, 10]]]],
           3: [[[[[5, 2], [8, 13]]]]]}  # fmt: skip
_FIT = {1: (7,), 2: (1, 2, 5, 4), 3: (1, 1, 3, 4, 4)}
_INSIDE = {1: "6x1", 2: "4x4", 3: "2x4x4"}


def _unpool(n: int) -> Op:
    places = np.array(_PLACES[n])
    return Op(
        f"{_F}max_unpool{n}d",
        _unpooled(n),
        [
            S("plain", T(*places.shape), I(places), 2),
            S("size", T(*places.shape), I(places), 2, output_size=_FIT[n]),
            S("unbatched", T(*places.shape[1:]), I(places[0]), 2),
        ],
        ulp=0,
        errors=[
            E(
                "index",
                RuntimeError,
                rf"Found an invalid max index: 99 \(output volumes are of size {_INSIDE[n]}\)",
                T(*places.shape),
                I(np.where(places == places.max(), 99, places)),
                2,
                trait="host_sync",
            ),
            E(
                "shape",
                RuntimeError,
                r"Expected shape of indices to be same as that of the input tensor .*",
                T(*places.shape[:-1], 1),
                I(places),
                2,
            ),
            E(
                "size",
                ValueError,
                r'invalid output_size "\(9, .*\)" \(dim 0 must be between .* and .*\)'
                if n > 1
                else r'invalid output_size "\(9,\)" \(dim 0 must be between 4 and 8\)',
                T(*places.shape),
                I(places),
                2,
                output_size=(9,) * n,
            ),
        ],
        family="nn",
    )


# -- random places ---------------------------------------------------------------------------
def _sequence(sample: float, n: int, size: int, kernel: int) -> list[int]:
    step = (n - kernel) / (size - 1) if size > 1 else 0.0
    starts = [int((i + sample) * step) - int(sample * step) for i in range(size - 1)]
    return [*starts, n - kernel]


def _fractional(n: int) -> Any:
    def reference(
        x: np.ndarray, kernel: int, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        whole = x.shape[-n:]
        size = output_size or [int(m * r) for m, r in zip(whole, output_ratio, strict=True)]
        lead = x.shape[:-n]
        batch = x.reshape(-1, *x.shape[-n - 1 :])
        values: Any = np.zeros((*batch.shape[:2], *size))
        indices: Any = np.zeros(values.shape, np.int64)
        for b, c in np.ndindex(*batch.shape[:2]):
            drawn = _random_samples[b, c][:: -1 if n == 2 else 1]
            starts = [_sequence(*row, kernel) for row in zip(drawn, whole, size, strict=True)]
            for at in np.ndindex(*size):
                window = [
                    range(s[i], s[i] + kernel) for s, i in zip(starts, at, strict=True)
                ]  # fmt: skip
                best = max(itertools.product(*window), key=lambda place: batch[(b, c, *place)])
                values[(b, c, *at)] = batch[(b, c, *best)]
                indices[(b, c, *at)] = np.ravel_multi_index(best, whole)
        shape = (*lead, *size)
        return (values.reshape(shape), indices.reshape(shape)) if return_indices else (
            values.reshape(shape)
        )  # fmt: skip

    return reference


def _at_random(n: int) -> Op:
    # So few values that they lie far apart: differences are to meet no other maximum.
    samples, shape = {2: ([[[0.125, 0.75], [0.5, 0.25]]], (1, 2, 6, 5)),
                      3: ([[[0.625, 0.25, 0.875]]], (1, 1, 4, 5, 3))}[n]  # fmt: skip
    drawn = T(data=samples, grad=False)
    size = (3, 2) if n == 2 else (2, 3, 1)
    return Op(
        f"{_F}fractional_max_pool{n}d",
        _fractional(n),
        [
            S("plain", T(*shape), 2, size, _random_samples=drawn),
            S("ratio", T(*shape), 2, None, (0.5,) * n, _random_samples=drawn),
            S("indices", T(*shape), 2, size, return_indices=True, _random_samples=drawn),
            S("unbatched", T(*shape[1:]), 2, size, _random_samples=drawn),
        ],
        result=_MAX,
        ulp=0,
        errors=[
            E(
                "size",
                RuntimeError,
                rf"fractional_max_pool{n}d{'_out' * (n - 2)}\(\): pool (time|height) 3 too large "
                r"relative to input \1 4",
                T(1, 1, *(4,) * n),
                3,
                3,
            ),
            E(
                "nothing",
                ValueError,
                f"fractional_max_pool{n}d requires specifying either an output_size or an "
                "output_ratio",
                T(1, 1, *(4,) * n),
                2,
            ),
        ],
        family="nn",
    )


def _drawn_indices(n: int) -> Op:
    plain = _at_random(n)
    return Op(
        f"{_F}fractional_max_pool{n}d_with_indices",
        _with_indices(plain.reference),
        [next(s for s in plain.samples if s.variant == "plain")],
        result=_MAX,
        ulp=0,
        family="nn",
    )


def _maxima(n: int) -> list[Op]:
    x = T(1, 2, *(4, 3, 2)[:n])
    return [
        Op(name, _with_indices(_over(of, n)), [S("plain", x, 2)], result=_MAX, ulp=0, family="nn")
        for name, of in (
            (f"{_F}max_pool{n}d_with_indices", "max"),
            (f"{_F}adaptive_max_pool{n}d_with_indices", "adaptive_max"),
        )
    ]


VOLUMES = [
    Op(
        _F + "max_pool3d",
        _over("max", 3),
        [
            S("plain", T(2, 1, 4, 4, 2), 2),
            S("strides", T(1, 1, 4, 5, 3), (2, 3, 1), (1, 2, 1)),
            S("padding", T(1, 1, 3, 4, 3), 3, 2, (1, 0, 1)),
            S("dilation", T(1, 1, 4, 3, 5), 2, 1, 0, (1, 2, 3)),
            S("ceil", T(1, 1, 4, 4, 4), 3, 2, 1, ceil_mode=True),
            S("indices", T(1, 2, 3, 4, 2), 2, 1, return_indices=True),
            S("unbatched", T(2, 3, 4, 2), 2, return_indices=True),
            S("no-batch", T(0, 2, 4, 4, 4), 2),
            S("ties", T(1, 2, 4, 4, 3, of="ties", grad=False), 2, 1, return_indices=True),
        ],
        result=_MAX,
        ulp=0,
        errors=[
            E(
                "rank",
                RuntimeError,
                r"non-empty 4D or 5D \(batch mode\) tensor expected for input",
                T(2, 4, 4),
                2,
            )
        ],
        family="nn",
    ),
    Op(
        _F + "avg_pool3d",
        _over("average", 3),
        [
            S("plain", T(2, 1, 4, 4, 2), 2),
            S("strides", T(1, 2, 4, 5, 3), (2, 3, 1), (1, 2, 1)),
            S("padding", T(1, 1, 3, 4, 3), 3, 2, (1, 0, 1)),
            S("without-pad", T(1, 1, 4, 5, 4), 3, 2, 1, count_include_pad=False),
            S("ceil", T(1, 1, 4, 5, 4), 3, 2, 1, True),
            S("ceil-without-pad", T(1, 1, 4, 5, 4), 3, 2, 1, True, False),
            S("divisor", T(1, 1, 3, 3, 3), 2, 1, 1, divisor_override=5),
            S("unbatched", T(2, 3, 4, 2), 2),
            S("no-batch", T(0, 2, 4, 4, 4), 2),
        ],
        scale=lambda x, *args, **kwargs: _over("average", 3)(np.abs(x), *args, **kwargs),
        ulp=4,
        grad_ulp=8,
        errors=[
            E(
                "divisor",
                RuntimeError,
                "divisor must be not zero",
                T(1, 2, 2, 2),
                2,
                divisor_override=0,
            )
        ],
        family="nn",
    ),
    Op(
        f"{_F}avg_pool3d-whole",
        lambda *args, **kwargs: np.trunc(_over("average", 3)(*args, **kwargs)).astype(np.int64),
        [
            S("plain", T(2, 2, 4, 4, 3), 2),
            S("without-pad", T(1, 2, 5, 4, 4), 3, 2, 1, count_include_pad=False),
            S("ceil", T(1, 2, 5, 4, 4), 3, 2, 1, True),
            S("negative-divisor", T(1, 2, 4, 4, 2), 2, divisor_override=-2),
        ],
        dtypes=(INT64,),
        ulp=0,
        call=lambda *args, **kwargs: _library().avg_pool3d(*args, **kwargs),
        family="nn",
    ),
    Op(
        _F + "adaptive_max_pool3d",
        _over("adaptive_max", 3),
        [
            S("plain", T(1, 2, 3, 5, 2), (2, 3, 2)),
            S("none", T(1, 1, 4, 5, 3), (None, 2, 5)),
            S("indices", T(1, 1, 4, 5, 3), (3, 2, 2), True),
            S("unbatched", T(2, 3, 4, 2), 2, return_indices=True),
        ],
        result=_MAX,
        ulp=0,
        family="nn",
    ),
    Op(
        _F + "adaptive_avg_pool3d",
        _over("adaptive_average", 3),
        [
            S("plain", T(1, 2, 4, 5, 3), (2, 3, 2)),
            S("one", T(2, 2, 3, 4, 2), 1),
            S("none", T(1, 1, 4, 5, 3), (None, 2, 5)),
            S("unbatched", T(2, 3, 4, 2), 2),
        ],
        scale=lambda x, *args: _over("adaptive_average", 3)(np.abs(x), *args),
        ulp=4,
        grad_ulp=8,
        family="nn",
    ),
]


def _library() -> Any:
    import tensorbus.nn.functional

    return tensorbus.nn.functional


OPS = [
    *VOLUMES,
    *(op for n in (1, 2, 3) for op in (*_maxima(n), _norms(n), _unpool(n))),
    *(op for n in (2, 3) for op in (_at_random(n), _drawn_indices(n))),
]
