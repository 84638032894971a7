"""Planes of other sizes, and sampled at any places."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance.formats import INT64
from tensorbus_conformance.op import E, Op, S, T

_F = "nn.functional."


# -- interpolate -----------------------------------------------------------------------------
def _cubic(x: float, a: float) -> float:
    x = abs(x)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def _lanczos(x: float) -> float:
    return float(np.sinc(x) * np.sinc(x / 3)) if abs(x) < 3 else 0.0


_FILTERS: dict[str, tuple[Callable[[float], float], float]] = {
    "linear": (lambda x: max(1 - abs(x), 0.0), 1),
    "cubic": (lambda x: _cubic(x, -0.5), 2),
    "lanczos": (_lanczos, 3),
}


def _row(mode: str, at: int, n: int, size: int, factor: Any, aligned: bool, antialias: bool) -> Any:
    """The weights of all *n* elements in the element *at* of *size*."""
    weights: Any = np.zeros(n)
    if aligned:
        scale = (n - 1) / (size - 1) if size > 1 else 0.0
    else:
        scale = 1 / factor if factor else n / size
    if mode == "area":
        start, end = at * n // size, -(-(at + 1) * n // size)
        weights[start:end] = 1 / (end - start)
    elif mode.startswith("nearest"):
        weights[min(math.floor((at + (0.5 if mode.endswith("exact") else 0)) * scale), n - 1)] = 1
    elif antialias:
        weigh, radius = _FILTERS[mode]
        wide, center = max(scale, 1.0), scale * (at + 0.5)
        for i in range(n):
            if int(center - radius * wide + 0.5) <= i < int(center + radius * wide + 0.5):
                weights[i] = weigh((i - center + 0.5) / wide)
        weights /= weights.sum()
    else:
        place = scale * at if aligned else scale * (at + 0.5) - 0.5
        if mode == "linear":
            place = max(place, 0.0)
        for i in range(math.floor(place) - 1, math.floor(place) + 3):
            share = _cubic(i - place, -0.75) if mode == "cubic" else max(1 - abs(i - place), 0)
            weights[min(max(i, 0), n - 1)] += share
    return weights


_OF_LINES = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}


def interpolate(
    x: np.ndarray, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False, magnitudes: bool = False,
) -> np.ndarray:  # fmt: skip
    """A matrix of weights for each dimension."""
    dims = x.ndim - 2
    factors: Any = [None] * dims
    if scale_factor is not None:
        factors = [scale_factor] * dims if np.isscalar(scale_factor) else scale_factor
        size = [int(n * f) for n, f in zip(x.shape[2:], factors, strict=True)]
        if recompute_scale_factor:
            factors = [None] * dims
    sizes = [size] * dims if isinstance(size, int) else size
    for d, (m, factor) in enumerate(zip(sizes, factors, strict=True)):
        n = x.shape[d + 2]
        rows = [
            _row(_OF_LINES.get(mode, mode), at, n, m, factor, bool(align_corners), antialias)
            for at in range(m)
        ]
        matrix = np.abs(rows) if magnitudes else np.array(rows)
        x = np.moveaxis(np.tensordot(x, matrix, (d + 2, 1)), -1, d + 2)
    return np.ascontiguousarray(x)


def _magnitude(x: np.ndarray, *args: Any, **kwargs: Any) -> np.ndarray:
    return interpolate(np.abs(x), *args, **{**kwargs, "magnitudes": True})


def _aligned(mode: str) -> Callable[..., Any]:
    return lambda x, size=None, scale_factor=None: interpolate(
        x, size, scale_factor, mode, True if mode == "bilinear" else None
    )


_LINE, _PLANE, _VOLUME = T(2, 2, 5), T(1, 2, 5, 4), T(1, 1, 3, 2, 4)

INTERPOLATED = [
    Op(
        _F + "interpolate",
        interpolate,
        [
            S("nearest", _LINE, 8),
            S("nearest-planes", _PLANE, (3, 7)),
            S("nearest-volumes", _VOLUME, scale_factor=2),
            S("nearest-exact", _PLANE, scale_factor=0.75, mode="nearest-exact"),
            S("area", _PLANE, (3, 3), mode="area"),
            S("area-lines", _LINE, 2, mode="area"),
            S("area-volumes", _VOLUME, (2, 3, 3), mode="area"),
            S("linear", _LINE, scale_factor=1.6, mode="linear"),
            S("linear-recomputed", _LINE, None, 1.5, "linear", False, True),
            S("bilinear", _PLANE, scale_factor=2, mode="bilinear"),
            S("bilinear-smaller", _PLANE, (2, 3), mode="bilinear"),
            S("bilinear-aligned", _PLANE, (7, 2), None, "bilinear", True),
            S("bilinear-one", _PLANE, 1, None, "bilinear", True),
            S("bilinear-antialias", _PLANE, (2, 6), mode="bilinear", antialias=True),
            S("bicubic", _PLANE, (7, 3), mode="bicubic"),
            S("bicubic-aligned", _PLANE, (7, 3), None, "bicubic", True),
            S("bicubic-antialias", _PLANE, (2, 3), mode="bicubic", antialias=True),
            S("lanczos", _PLANE, (2, 5), mode="lanczos", antialias=True),
            S("trilinear", _VOLUME, scale_factor=(2, 1.5, 0.5), mode="trilinear"),
            S("trilinear-aligned", _VOLUME, 3, None, "trilinear", True),
            S("no-batch", T(0, 2, 3, 4), 5, mode="bilinear"),
        ],
        scale=_magnitude,
        ulp=8,
        grad_ulp=32,
        errors=[
            E(
                "both",
                ValueError,
                "only one of size or scale_factor should be defined",
                T(1, 1, 4),
                2,
                2.0,
            ),
            E(
                "corners",
                ValueError,
                r"align_corners option can only be set with the interpolating modes: linear \| "
                r"bilinear \| bicubic \| trilinear",
                T(1, 1, 4),
                2,
                align_corners=True,
            ),
            E(
                "rank",
                NotImplementedError,
                "Got 3D input, but bilinear mode needs 4D input",
                T(1, 1, 4),
                2,
                mode="bilinear",
            ),
            E(
                "zero",
                RuntimeError,
                r"Input and output sizes should be greater than 0, but got input \(H: 4, W: 4\) "
                r"output \(H: 0, W: 2\)",
                T(1, 1, 4, 4),
                (0, 2),
            ),
            E(
                "dtype",
                NotImplementedError,
                "\"upsample_nearest2d_channels_last\" not implemented for 'Long'",
                T(1, 1, 4, 4),
                2,
                dtype=INT64,
            ),
        ],
        family="nn",
    ),
    *(
        Op(
            f"{_F}upsample{name}",
            _aligned(mode),
            [S("plain", _PLANE, scale_factor=2), S("size", _PLANE, (3, 6))],
            scale=lambda x, *args, **kwargs: np.abs(x).max(),
            ulp=8,
            family="nn",
        )
        for name, mode in (("", "nearest"), ("_nearest", "nearest"), ("_bilinear", "bilinear"))
    ),
]


# -- grid_sample -----------------------------------------------------------------------------
def _inside(place: np.ndarray, n: int, padding: str, aligned: bool) -> np.ndarray:
    if padding == "zeros":
        return place
    if padding == "reflection":
        low, high = (0.0, n - 1.0) if aligned else (-0.5, n - 0.5)
        while high > low and ((place < low) | (place > high)).any():
            place = np.where(place < low, 2 * low - place, place)
            place = np.where(place > high, 2 * high - place, place)
    return np.clip(place, 0.0, n - 1.0)


def _shares(
    at: np.ndarray, n: int, mode: str, padding: str, aligned: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The elements of a dimension that places take from; beyond the border they are 0."""
    place = ((at + 1) * (n - 1) if aligned else (at + 1) * n - 1) / 2
    if mode == "bicubic":
        taps = [np.floor(place) + step for step in (-1, 0, 1, 2)]
        cubic = np.vectorize(_cubic, otypes=[float])
        return [(_inside(i, n, padding, aligned), cubic(i - place, -0.75)) for i in taps]
    place = _inside(place, n, padding, aligned)
    if mode == "nearest":
        return [(np.rint(place), np.ones_like(place))]
    low = np.floor(place)
    return [(i, np.maximum(1 - np.abs(i - place), 0)) for i in (low, low + 1)]


def grid_sample(
    x: np.ndarray, grid: np.ndarray, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> np.ndarray:  # fmt: skip
    """Tap by tap, for all places: some cases have tens of thousands, and ask many times."""
    sizes = x.shape[2:]
    out: Any = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    batch = np.arange(len(x)).reshape(-1, *(1 for _ in sizes))
    along = [
        _shares(grid[..., -1 - d], n, mode, padding_mode, bool(align_corners))
        for d, n in enumerate(sizes)
    ]
    for taps in itertools.product(*along):
        there = np.logical_and.reduce(
            [(i >= 0) & (i < n) for (i, _), n in zip(taps, sizes, strict=True)]
        )
        share: Any = math.prod(share for _, share in taps)
        where = [np.clip(i, 0, n - 1).astype(int) for (i, _), n in zip(taps, sizes, strict=True)]
        taken = np.moveaxis(x[(batch, slice(None), *where)], -1, 1)
        out += np.where(there[:, None], taken * share[:, None], 0.0)
    return out


def _grid_magnitude(x: np.ndarray, grid: np.ndarray, *args: Any, **kwargs: Any) -> Any:
    """Errors of the places count as the slopes do: that of the steepest step between pixels."""
    return 8 * np.abs(x).max(initial=0)


_GRID = T(data=[[[[-0.55, -0.7], [0.13, 0.28]], [[0.62, 0.91], [-1.35, 0.4]],
                 [[1.7, -1.2], [-0.2, 0.55]]]])  # fmt: skip
_GRID3 = T(data=[[[[[-0.55, -0.7, 0.3], [0.13, 0.28, -0.6], [1.4, 0.3, -1.6]]]]])

SAMPLED = [
    Op(
        _F + "grid_sample",
        grid_sample,
        [
            *(
                S(
                    f"{mode}-{padding}{'-aligned' if aligned else ''}",
                    T(1, 2, 3, 4),
                    _GRID if mode != "nearest" else T(data=_GRID.data, grad=False),
                    mode,
                    padding,
                    aligned,
                )
                for mode in ("bilinear", "nearest", "bicubic")
                for padding in ("zeros", "border", "reflection")
                for aligned in (False, True)
            ),
            S("volumes", T(1, 2, 2, 3, 4), _GRID3, "bilinear", "zeros", False),
            S("volumes-border", T(1, 1, 2, 3, 4), _GRID3, "bilinear", "border", True),
            S("no-batch", T(0, 2, 3, 3), T(0, 2, 2, 2), align_corners=False),
        ],
        scale=_grid_magnitude,
        ulp=8,
        grad_ulp=256,
        errors=[
            E(
                "mode",
                ValueError,
                r"nn.functional.grid_sample\(\): expected mode to be 'bilinear', 'nearest' or "
                "'bicubic', but got: 'cubic'",
                T(1, 1, 2, 2),
                T(1, 1, 1, 2),
                "cubic",
            ),
            E(
                "batch",
                RuntimeError,
                r"grid_sampler\(\): expected grid and input to have same batch size, but got input "
                r"with sizes \[1, 1, 2, 2\] and grid with sizes \[2, 1, 1, 2\]",
                T(1, 1, 2, 2),
                T(2, 1, 1, 2),
                align_corners=False,
            ),
        ],
        family="nn",
    ),
]


def affine_grid(theta: np.ndarray, size: Any, align_corners: bool | None = None) -> np.ndarray:
    """Place by place: (x, y, 1) mapped."""
    _, _, *sizes = size
    out: Any = np.zeros((theta.shape[0], *sizes, len(sizes)))
    for b, *place in np.ndindex(theta.shape[0], *sizes):
        at = [
            (2 * i / (m - 1) - 1 if m > 1 else 0.0) if align_corners else (2 * i + 1) / m - 1
            for i, m in zip(place, sizes, strict=True)
        ]
        out[(b, *place)] = theta[b] @ np.array([*at[::-1], 1.0])
    return out


MAPPED = [
    Op(
        name,
        affine_grid,
        [
            S("planes", T(2, 2, 3), (2, 1, 3, 4), False),
            S("planes-aligned", T(2, 2, 3), (2, 1, 3, 4), True),
            S("volumes", T(1, 3, 4), (1, 2, 2, 3, 2), False),
        ],
        scale=lambda theta, *args: np.abs(theta).max() * 4,
        ulp=4,
        errors=errors,
        family="nn",
    )
    for name, errors in (
        (
            _F + "affine_grid",
            [
                E(
                    "shape",
                    ValueError,
                    r"Expected a batch of 2D affine matrices of shape Nx2x3 for size "
                    r"\(1, 1, 2, 2\)\. Got torch\.Size\(\[1, 3, 3\]\)\.",
                    T(1, 3, 3),
                    (1, 1, 2, 2),
                    False,
                )
            ],
        ),
        ("affine_grid_generator", []),
    )
]


# -- across channels, and draws ----------------------------------------------------------------
def local_response_norm(
    x: np.ndarray, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> np.ndarray:
    """Channel by channel."""
    out: Any = np.zeros(x.shape)
    for c in range(x.shape[1]):
        around = slice(max(c - size // 2, 0), c + (size - 1) // 2 + 1)
        squares = (x[:, around] ** 2).sum(1) / size
        out[:, c] = x[:, c] / (k + alpha * squares) ** beta
    return out


NORMED = Op(
    _F + "local_response_norm",
    local_response_norm,
    [
        S("plain", T(2, 5, 3), 3, 0.5),
        S("even", T(1, 4, 2, 3), 2, 0.5, 0.6, 1.5),
        S("wide", T(1, 3, 2, 1, 2), 7, 1.0, 1.0, 2.0),
    ],
    scale=lambda x, *args: np.abs(x),
    ulp=8,
    errors=[
        E(
            "rank",
            ValueError,
            r"Expected 3D or higher dimensionality\s+input \(got 2 dimensions\)",
            T(2, 3),
            2,
        )
    ],
    family="nn",
)

DRAWN = Op(
    _F + "gumbel_softmax",
    lambda x, *args, **kwargs: (x == x.max(-1, keepdims=True)) * 1.0,
    [
        S("hard", T(data=[[0.0, 9000.0, 1.0], [7000.0, 2.0, -3.0]]), hard=True),
        S("soft", T(data=[[0.0, 9000.0, 1.0], [7000.0, 2.0, -3.0]]), 0.5),
    ],
    ulp=0,
    gradient=False,
    family="nn",
)

OPS = [*INTERPOLATED, *SAMPLED, *MAPPED, NORMED, DRAWN]
