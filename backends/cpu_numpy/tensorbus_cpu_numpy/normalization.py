"""Variances and normalisation, forward and backward, in blocks that stay in the cache.

Two layouts have kernels: rows in memory with statistics of their own (layers, groups), and planes
whose statistics are those of their channel (batches). Both are matrices whose rows are scaled and
shifted by columns. What has another layout is copied into rows.
"""

from __future__ import annotations

import math

import numpy as np

from tensorbus.plugin import Array
from tensorbus.plugin.array_library import Table
from tensorbus_cpu_numpy import matrix_rows
from tensorbus_cpu_numpy.loops import blocks, by_line, by_rows, offer_of_many
from tensorbus_cpu_numpy.sums import dots, ones, total, weighted

TABLE = Table()

Dims = tuple[int, ...]


class _Layout:
    """*x* as a matrix: a row has statistics of its own, or those of its channel."""

    def __init__(self, x: Array, dims: Dims, along: bool = False):
        """*along*: whether weights are along the rows, so that planes can't be rows."""
        self.count = math.prod([x.shape[d] for d in dims])
        planes = x.ndim > 2 and dims == (0, *range(2, x.ndim)) and not along
        kept = tuple([d for d in range(x.ndim) if d not in dims])
        self._order = tuple(range(x.ndim)) if planes else (*kept, *dims)
        self._shape = [x.shape[d] for d in self._order]
        self.outer = x.shape[0] if planes else 1
        """How many rows have the same statistics."""
        self._width = self.count // self.outer

    def rows(self, x: Array) -> Array:
        return np.ascontiguousarray(x.transpose(self._order)).reshape(-1, self._width)

    def back(self, rows: Array) -> Array:
        """A new matrix in the shape that *x* had, which owns its memory: a gradient is kept so."""
        if self._order == tuple(range(len(self._order))):
            rows.resize(self._shape, refcheck=False)
            return rows
        made = rows.reshape(self._shape).transpose(np.argsort(self._order))
        return np.ascontiguousarray(made)

    def column(self, of_channels: Array) -> Array:
        """A number for each channel, as a number for each row."""
        if self.outer > 1:  # np.tile costs ten microseconds
            of_channels = np.tile(of_channels.reshape(-1), self.outer)
        return of_channels.reshape(-1, 1)

    def moments(self, rows: Array) -> tuple[Array, Array]:
        """For each channel its mean, and the sum of the squares of the distances from it."""
        means, squares = (a.reshape(self.outer, -1) for a in by_rows(_moments, rows))
        mean = np.add.reduce(means, 0) / self.outer
        apart = np.square(means - mean)
        return mean, np.add.reduce(squares, 0) + np.add.reduce(apart, 0) * self._width

    def lines(self, m: Array, r: Array, w: Array | None, b: Array | None) -> tuple[Array, Array]:
        """The factor and the shift of each row, by the statistics of its channel."""
        factor = r if w is None else r * w
        shift = -m * factor
        if b is not None:
            shift = shift + b
        return self.column(factor), self.column(shift)

    def sums(self, of_rows: Array) -> Array:
        """For each channel the sum of what its rows have."""
        return np.add.reduce(of_rows.reshape(self.outer, -1), 0, np.float64)


# -- forward -----------------------------------------------------------------------------------
def var(x: Array, dims: Dims, correction: float) -> Array:
    """The variance over *dims*, from the squares of the distances from the mean."""
    layout = _Layout(x, dims)
    squares = layout.moments(layout.rows(x))[1]
    result = np.true_divide(squares, float(max(layout.count - correction, 0)))
    kept = [n for d, n in enumerate(x.shape) if d not in dims]
    return result.astype(x.dtype, copy=False).reshape(kept)


def _moments(rows: Array) -> tuple[Array, Array]:
    """Of each row its mean, and the sum of the squares of the distances from it.

    The squares less that of the mean, where that is not the larger part: at most a bit is lost.
    After a block in which it mostly is, nothing else than distances is tried.
    """
    means, squares = np.empty((2, len(rows)))
    n, near = rows.shape[1], True
    for part in blocks(rows):
        x, mean, square = rows[part], means[part], squares[part]
        np.true_divide(total(x, (1,)), n, mean)
        if not near:
            square[...] = _squared_distances(x, mean)
            continue
        of_x, of_mean = dots(x, x), np.square(mean) * n
        np.subtract(of_x, of_mean, square)
        far = np.flatnonzero(~((of_mean <= square) & (of_x < np.inf)))
        if far.size:
            square[far] = _squared_distances(x[far], mean[far])
        near = 2 * far.size < len(x)
    return means, squares


def _squared_distances(x: Array, mean: Array) -> Array:
    distance = np.subtract(x, mean.astype(x.dtype)[:, None])
    return dots(distance, distance)


def layer_norm(
    x: Array, w: Array | None, b: Array | None, dims: Dims, eps: float
) -> tuple[Array, Array, Array]:
    """``(x - mean) * rstd * w + b``, with the statistics of the rows over *dims*."""
    layout = _Layout(x, dims, along=True)
    line = [None if a is None else a.reshape(-1) for a in (w, b)]
    made, mean, scale = by_rows(_normalized, layout.rows(x), eps, *line)
    kept = [1 if d in dims else n for d, n in enumerate(x.shape)]
    return layout.back(made), mean.reshape(kept), scale.reshape(kept)


def _normalized(
    rows: Array, eps: float, w: Array | None, b: Array | None
) -> tuple[Array, Array, Array]:
    made = np.empty_like(rows)
    mean, scale = np.empty((2, len(rows), 1), rows.dtype)
    n = rows.shape[1]
    for part in blocks(rows):
        x, y, m, r = rows[part], made[part], mean[part], scale[part]
        np.true_divide(total(x, (1,))[:, None], n, out=m, casting="same_kind")
        np.subtract(x, m, out=y)
        np.true_divide(dots(y, y)[:, None], n, out=r, casting="same_kind")
        r[...] = _reciprocal(r, eps)
        y *= r
        if w is not None:
            by_line(np.multiply, y, w, y)
        if b is not None:
            by_line(np.add, y, b, y)
    return made, mean, scale


def rms_norm(x: Array, w: Array | None, dims: Dims, eps: float) -> tuple[Array, Array]:
    """``x * rstd * w``, with the root mean square of the rows over *dims*."""
    layout = _Layout(x, dims, along=True)
    line = None if w is None else w.reshape(-1)
    made, scale = by_rows(_by_mean_square, layout.rows(x), eps, line)
    kept = [1 if d in dims else n for d, n in enumerate(x.shape)]
    return layout.back(made), scale.reshape(kept)


def _by_mean_square(rows: Array, eps: float, w: Array | None) -> tuple[Array, Array]:
    made = np.empty_like(rows)
    scale = np.empty((len(rows), 1), rows.dtype)
    for part in blocks(rows):
        x, y, r = rows[part], made[part], scale[part]
        np.true_divide(dots(x, x)[:, None], rows.shape[1], out=r, casting="same_kind")
        r[...] = _reciprocal(r, eps)
        np.multiply(x, r, out=y)
        if w is not None:
            by_line(np.multiply, y, w, y)
    return made, scale


def batch_norm(
    x: Array, w: Array | None, b: Array | None, dims: Dims, eps: float
) -> tuple[Array, Array, Array, Array]:
    """``(x - mean) * rstd * w + b``, with the statistics of the channels, and their variance."""
    layout = _Layout(x, dims)
    rows = layout.rows(x)
    mean, squares = layout.moments(rows)
    m, v = (a.astype(x.dtype) for a in (mean, squares / layout.count))
    r = _reciprocal(v, eps)
    return layout.back(by_rows(_scaled, rows, *layout.lines(m, r, w, b))), m, r, v


def batch_norm_inference(
    x: Array, m: Array, v: Array, w: Array | None, b: Array | None, eps: float
) -> Array:
    """``(x - m) / sqrt(v + eps) * w + b``, with *m* and *v* of the channels."""
    layout = _Layout(x, (0, *range(2, x.ndim)))
    lines = layout.lines(m, _reciprocal(v, eps), w, b)
    return layout.back(by_rows(_scaled, layout.rows(x), *lines))


def _reciprocal(v: Array, eps: float) -> Array:
    """The reciprocal of the standard deviation."""
    return np.reciprocal(np.sqrt(v + np.array(eps, v.dtype)))


def _scaled(rows: Array, factor: Array, shift: Array) -> Array:
    made = np.empty_like(rows)
    for part in blocks(rows):
        y = made[part]
        np.multiply(rows[part], factor[part], out=y)
        y += shift[part]
    return made


# -- backward ----------------------------------------------------------------------------------
def normalize_input(
    g: Array,
    x: Array,
    m: Array | None,
    r: Array,
    w: Array | None,
    dims: Dims,
    affine: Dims,
) -> Array:
    """The gradient of ``(x - m) * r * w`` for *x*, on which *m* and *r* hang as well."""
    along = not set(affine).isdisjoint(dims)
    layout = _Layout(x, dims, along)
    rows, g, mean = layout.rows(x), layout.rows(g), m if m is None else layout.column(m)
    if along:
        line = None if w is None else w.reshape(-1)
        return layout.back(by_rows(_input_of_rows, g, rows, mean, layout.column(r), line))
    of_rows = total(g, (1,))
    sums = layout.sums(of_rows) / layout.count
    products = layout.sums(_centred_dots(g, rows, mean, layout.column(r), of_rows)) / layout.count
    wide = r.reshape(-1).astype(np.float64)
    factor = wide if w is None else wide * w
    numbers = factor, factor * wide * wide * products, factor * sums
    columns = [layout.column(a.astype(x.dtype, copy=False)) for a in numbers]
    return layout.back(by_rows(_input_of_planes, g, rows, mean, *columns))


def _input_of_rows(g: Array, x: Array, mean: Array | None, scale: Array, w: Array | None) -> Array:
    """``scale * (y - (sum(y) + distance * scale ** 2 * sum(y * distance)) / n)``, y = g * w.

    Without a mean there is no sum of y. Where means are small, distances are not computed: what is
    due to them is taken from the sums, and added with them.
    """
    made = np.empty_like(g)
    one = ones(g.shape[1], g.dtype)
    for part in blocks(g):
        y, of_x, r = made[part], x[part], scale[part, 0]
        m = None if mean is None else mean[part, 0]
        if m is not None and not _are_small(m, r):
            of_x, m = np.subtract(of_x, m[:, None]), None
        if w is None:
            np.copyto(y, g[part])
        else:
            by_line(np.multiply, g[part], w, y)
        wide = r.astype(np.float64) / -g.shape[1]
        sums = None if mean is None else total(y, (1,))
        products = dots(y, of_x).astype(np.float64)
        if m is not None:
            products -= m * sums
        slope = products * wide * np.square(r, dtype=np.float64)
        matrix_rows.scale(y, r)
        matrix_rows.add_scaled(y, slope.astype(g.dtype, copy=False), of_x)
        if sums is not None:
            shift = sums * wide if m is None else sums * wide - slope * m
            matrix_rows.add_scaled(y, shift.astype(g.dtype, copy=False), one)
    return made


def _are_small(mean: Array, scale: Array) -> bool:
    """Whether the squares of means are at most the variances.

    Then a difference from the mean that is taken last loses no more than one binary digit.
    """
    return bool(np.maximum.reduce(np.abs(mean * scale)) <= 1)


def _input_of_planes(
    g: Array, x: Array, mean: Array, factor: Array, of_distance: Array, shift: Array
) -> Array:
    made = np.empty_like(g)
    for part in blocks(g):
        y = made[part]
        distance = np.subtract(x[part], mean[part])
        distance *= of_distance[part]
        np.multiply(g[part], factor[part], out=y)
        y -= distance
        y -= shift[part]
    return made


def _centred_dots(
    g: Array, x: Array, mean: Array, scale: Array, sums: Array | None = None
) -> Array:
    """The products of the rows of *g* and of the distances from the mean; *sums* are of *g*.

    The products with *x* less those of the mean, where that is within a deviation of zero.
    """
    near = np.abs(mean * scale)[:, 0] <= 1
    if 2 * np.count_nonzero(near) < len(x):
        return by_rows(_dots_of_distances, g, x, mean)
    sums = total(g, (1,)) if sums is None else sums
    made = dots(g, x) - np.multiply(mean[:, 0], sums, dtype=np.float64)
    far = np.flatnonzero(~(near & np.isfinite(made)))
    if far.size:
        made[far] = by_rows(_dots_of_distances, g[far], x[far], mean[far])
    return made


def _dots_of_distances(g: Array, x: Array, mean: Array) -> Array:
    made = np.empty(len(g))
    for part in blocks(g):
        made[part] = dots(g[part], np.subtract(x[part], mean[part]))
    return made


def normalize_weight(g: Array, x: Array, m: Array, r: Array, dims: Dims, affine: Dims) -> Array:
    """The gradient of ``(x - m) * r * w`` for *w*."""
    along = not set(affine).isdisjoint(dims)
    layout = _Layout(x, dims, along)
    rows, g, mean = layout.rows(x), layout.rows(g), m if m is None else layout.column(m)
    if along:
        made = by_rows(_weight_of_rows, g, rows, mean, layout.column(r))
    else:
        made = layout.sums(_centred_dots(g, rows, mean, layout.column(r))) * r.reshape(-1)
    return made.astype(x.dtype, copy=False).reshape([x.shape[d] for d in affine])


def _weight_of_rows(g: Array, x: Array, mean: Array | None, scale: Array) -> Array:
    made = np.zeros(g.shape[1])
    for part in blocks(g):
        if mean is None:
            products = np.multiply(x[part], g[part])
        else:
            products = np.subtract(x[part], mean[part])
            products *= g[part]
        made += weighted(scale[part, 0], products)
    return made


offer_of_many(TABLE, "var", var)
offer_of_many(TABLE, "layer_norm", layer_norm)
offer_of_many(TABLE, "rms_norm", rms_norm)
offer_of_many(TABLE, "batch_norm", batch_norm)
offer_of_many(TABLE, "batch_norm_inference", batch_norm_inference)
offer_of_many(TABLE, "normalize_input", normalize_input)
offer_of_many(TABLE, "normalize_weight", normalize_weight)
