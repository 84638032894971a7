"""Calls of every function of the array API standard, as programs over a namespace ``xp``.

``f``, ``g`` are arrays of real floating dtypes, ``i``, ``j`` of integers, ``b``, ``c`` of truth
values, ``z``, ``w`` complex; the letters' arrays broadcast with each other.
"""

from __future__ import annotations

FLOAT, INTEGER, BOOL, COMPLEX = "f", "i", "b", "z"

UNARY = {
    "f": "abs acos acosh asin asinh atan atanh ceil conj cos cosh exp expm1 floor isfinite isinf "
    "isnan log log10 log1p log2 negative positive real reciprocal round sign signbit sin sinh sqrt "
    "square tan tanh trunc",
    "i": "abs bitwise_invert ceil floor isfinite isinf isnan negative positive round sign square "
    "trunc",
    "b": "bitwise_invert logical_not",
    "z": "abs acos acosh asin asinh atan atanh conj cos cosh exp expm1 imag isfinite isinf isnan "
    "log log10 log1p log2 negative positive real reciprocal round sign sin sinh sqrt square tan "
    "tanh",
}
BINARY = {
    "f": "add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal "
    "logaddexp maximum minimum multiply nextafter not_equal pow remainder subtract",
    "i": "add bitwise_and bitwise_or bitwise_xor equal floor_divide greater greater_equal less "
    "less_equal maximum minimum multiply not_equal remainder subtract",
    "b": "bitwise_and bitwise_or bitwise_xor equal logical_and logical_or logical_xor not_equal",
    "z": "add divide equal multiply not_equal pow subtract",
}
SECOND = {"f": "g", "i": "j", "b": "c", "z": "w"}

REDUCTIONS = {
    "f": "max min mean prod std sum var all any count_nonzero argmax argmin",
    "i": "max min prod sum all any count_nonzero argmax argmin",
    "b": "all any count_nonzero",
    "z": "prod sum mean all any count_nonzero",
}

ELEMENTWISE = tuple(
    f"xp.{name}({letter})" for letter, names in UNARY.items() for name in names.split()
) + tuple(
    f"xp.{name}({letter}, {SECOND[letter]})"
    for letter, names in BINARY.items()
    for name in names.split()
)

SCALARS = (
    "xp.add(f, 2)", "xp.add(2, f)", "xp.add(f, 2.5)", "xp.subtract(1, i)", "xp.multiply(i, 3)",
    "xp.pow(f, 2)", "xp.pow(2.0, f)", "xp.maximum(f, 0.0)", "xp.minimum(1, i)", "xp.add(z, 1j)",
    "xp.multiply(z, 2.0)", "xp.logical_and(b, True)", "xp.bitwise_or(i, 1)", "xp.equal(i, 2)",
    "xp.less(f, 1.0)", "xp.copysign(f, -1.0)", "xp.atan2(1.0, f)", "xp.where(b, f, 0.0)",
    "xp.where(b, 1, i)", "xp.bitwise_left_shift(i, 2)", "xp.bitwise_right_shift(i, 1)",
    "xp.clip(f, -1.0, 1.0)", "xp.clip(f, None, 0.5)", "xp.clip(i, 1, None)", "xp.clip(f)",
    "xp.clip(f, g, None)", "xp.clip(i, 1, 3)", "xp.remainder(i, 3)", "xp.floor_divide(i, 2)",
)  # fmt: skip

REDUCED = tuple(
    f"xp.{name}({letter}{options})"
    for letter, names in REDUCTIONS.items()
    for name in names.split()
    for options in ("", ", axis=0", ", axis=-1", ", axis=1, keepdims=True", ", keepdims=True")
) + tuple(
    f"xp.{name}({letter}, axis={axis})"
    for letter, names in REDUCTIONS.items()
    for name in names.split()
    for axis in ("(0, 1)", "()", "(-1, 0)")
    if not name.startswith("arg")
)

STATISTICS = (
    "xp.std(f, correction=1)", "xp.var(f, axis=0, correction=1.5)", "xp.var(f, correction=0.5)",
    "xp.sum(i, dtype=xp.float64)", "xp.prod(i, axis=0, dtype=xp.int32)",
    "xp.sum(xp.zeros((0, 3)), axis=0)", "xp.prod(xp.zeros((0, 3)), axis=0)", "xp.sum(xp.ones(()))",
    "xp.all(xp.zeros((0, 3), dtype=xp.bool))", "xp.any(xp.zeros((0, 3), dtype=xp.bool))",
    "xp.max(xp.ones(()))", "xp.cumulative_sum(f, axis=0)", "xp.cumulative_sum(f[0, :])",
    "xp.cumulative_sum(i, axis=1, include_initial=True)", "xp.cumulative_prod(i, axis=0)",
    "xp.cumulative_prod(f, axis=1, include_initial=True)", "xp.cumulative_sum(i, axis=-1)",
    "xp.cumulative_sum(f, axis=0, dtype=xp.float64)", "xp.cumulative_sum(z, axis=1)",
    "xp.diff(f)", "xp.diff(f, axis=0)", "xp.diff(i, n=2)", "xp.diff(f, prepend=g[:, :1])",
    "xp.diff(f, axis=0, append=g[:1, :])", "xp.mean(z)",
)  # fmt: skip

CREATION = (
    "xp.arange(5)", "xp.arange(5.0)", "xp.arange(1, 8, 3)", "xp.arange(5, 1, -2)",
    "xp.arange(5, 1)", "xp.arange(0)", "xp.arange(-3)", "xp.arange(3, dtype=xp.float64)",
    "xp.arange(0, 1, 0.25, dtype=xp.float64)", "xp.asarray([[1, 2], [3, 4]])", "xp.asarray(True)",
    "xp.asarray([1, 2.5], dtype=xp.float64)", "xp.asarray(f)", "xp.asarray(f, copy=True)",
    "xp.asarray([1, 2], dtype=xp.int8)", "xp.asarray(1j, dtype=xp.complex64)", "xp.asarray([])",
    "xp.empty((2, 3)).shape", "xp.empty(3).shape", "xp.empty_like(i).dtype == i.dtype",
    "xp.eye(3)", "xp.eye(2, 3)", "xp.eye(3, 2, k=1)", "xp.eye(3, k=-1, dtype=xp.int32)",
    "xp.eye(2, 2, k=5)", "xp.eye(0)", "xp.full((2, 2), 3)", "xp.full(2, 1.5)", "xp.full((), True)",
    "xp.full((1,), 1j)", "xp.full((2,), 3, dtype=xp.float64)", "xp.full_like(f, 2.5)",
    "xp.full_like(i, 2, dtype=xp.float64)", "xp.linspace(0, 1, 5)",
    "xp.linspace(0.0, 1.0, 4, endpoint=False, dtype=xp.float64)", "xp.linspace(3, 3, 1)",
    "xp.linspace(2, -2, 5, dtype=xp.float64)", "xp.linspace(0, 1, 0)",
    "xp.linspace(0, 1j, 3, dtype=xp.complex128)", "xp.meshgrid(xp.arange(2), xp.arange(3))",
    "xp.meshgrid(xp.arange(2), xp.arange(3), indexing='ij')", "xp.ones((2, 0))", "xp.ones(3)",
    "xp.ones((2,), dtype=xp.int16)", "xp.ones_like(b)", "xp.zeros(())", "xp.zeros_like(z)",
    "xp.zeros_like(i, dtype=xp.bool)", "xp.tril(f)", "xp.triu(f, k=1)", "xp.tril(i, k=-1)",
)  # fmt: skip

MANIPULATION = (
    "xp.broadcast_arrays(f, g[:1, :])", "xp.broadcast_to(f[:1, :], (4, 3))",
    "xp.broadcast_shapes((2, 1), (3,))", "xp.concat((f, g))", "xp.concat([f, g], axis=1)",
    "xp.concat([f, g], axis=None)", "xp.concat([i, i[:0, :]], axis=-2)", "xp.expand_dims(f, 0)",
    "xp.expand_dims(f, axis=-1)", "xp.expand_dims(f, axis=1)", "xp.flip(f)", "xp.flip(f, axis=0)",
    "xp.flip(f, axis=(0, -1))", "xp.moveaxis(f, 0, 1)", "xp.moveaxis(f, -1, 0)",
    "xp.moveaxis(xp.reshape(xp.arange(24), (2, 3, 4)), (0, 1), (-1, 0))",
    "xp.permute_dims(f, (1, 0))", "xp.repeat(f, 2)", "xp.repeat(f, 2, axis=0)",
    "xp.repeat(i, xp.asarray([1, 0, 2]), axis=1)", "xp.reshape(f, (3, 2))", "xp.reshape(f, (-1,))",
    "xp.reshape(f, (6,), copy=True)", "xp.reshape(f, (1, 6), copy=False)", "xp.roll(f, 1)",
    "xp.roll(f, -1, axis=0)", "xp.roll(f, (1, 2), axis=(0, 1))", "xp.squeeze(f[:1, :], 0)",
    "xp.squeeze(f[:1, :1], (0, -1))", "xp.stack((f, g))", "xp.stack([f, g], axis=-1)",
    "xp.take(f, xp.asarray([1, 0, 1]), axis=0)", "xp.take(f[0, :], xp.asarray([2, -1]))",
    "xp.take_along_axis(f, xp.asarray([[0, 2], [1, -1]]), axis=1)", "xp.tile(f, (2, 1))",
    "xp.tile(f, (2, 1, 2))", "xp.tile(f, (3,))", "xp.unstack(f)", "xp.unstack(f, axis=1)",
    "xp.matrix_transpose(f)", "f.T", "f.mT", "xp.concat((i, i))", "xp.stack((b, c))",
)  # fmt: skip

SEARCHING = (
    "xp.nonzero(i)", "xp.nonzero(b)", "xp.nonzero(f)", "xp.where(b, f, g)", "xp.where(c, z, w)",
    "xp.searchsorted(xp.arange(5.0), xp.asarray([0.5, 2.0, 9.0]))", "xp.isin(i, j)",
    "xp.searchsorted(xp.arange(5), xp.asarray([0, 2, 9]), side='right')", "xp.isin(i, 1)",
    "xp.searchsorted(xp.asarray([3, 1, 2]), xp.asarray([2]), sorter=xp.asarray([1, 2, 0]))",
    "xp.sort(f)", "xp.sort(f, axis=0, descending=True)",
    "xp.argsort(f)", "xp.argsort(i, descending=True)", "xp.argsort(i, axis=0, stable=True)",
    "xp.argsort(xp.asarray([1, 0, 1, 0]), descending=True)", "xp.unique_all(i)",
    "xp.unique_counts(i)", "xp.unique_inverse(i)", "xp.unique_values(i)", "xp.unique_values(f)",
    "xp.unique_all(xp.asarray([3, 1, 3, 2, 1]))", "xp.unique_all(b)", "xp.unique_counts(z)",
    "xp.unique_values(xp.zeros((0,)))", "xp.unique_all(xp.asarray(3))",
)  # fmt: skip

DTYPES = (
    "xp.astype(f, xp.float64)", "xp.astype(i, xp.float32)", "xp.astype(f, xp.bool)",
    "xp.astype(f, xp.float64, copy=False)", "xp.astype(b, xp.int8)", "xp.astype(i, xp.complex64)",
    "xp.can_cast(xp.int8, xp.int16)", "xp.can_cast(xp.int16, xp.int8)",
    "xp.can_cast(xp.float32, xp.complex64)", "xp.can_cast(f, xp.float64)",
    "xp.can_cast(xp.uint8, xp.int16)", "xp.can_cast(xp.float64, xp.float32)",
    "xp.finfo(xp.float32).eps", "xp.finfo(f).bits", "xp.finfo(xp.complex128).max",
    "xp.finfo(xp.float64).smallest_normal", "xp.finfo(xp.complex64).dtype == xp.float32",
    "xp.iinfo(xp.int16).max", "xp.iinfo(i).min", "xp.iinfo(xp.uint8).bits",
    *(
        f"[xp.isdtype(xp.{d}, k) for k in ('bool', 'signed integer', 'unsigned integer', "
        "'integral', 'real floating', 'complex floating', 'numeric', xp.int8, "
        "('bool', xp.float64))]"
        for d in "bool int8 uint8 int64 float32 float64 complex64 complex128".split()
    ),
    *(
        f"xp.result_type(xp.{a}, xp.{b}) == xp.{c}"
        for a, b, c in (
            ("int8", "int16", "int16"), ("uint8", "int8", "int16"),
            ("float32", "float64", "float64"),
            ("float32", "complex128", "complex128"), ("float64", "complex64", "complex128"),
            ("bool", "bool", "bool"), ("uint8", "int64", "int64"),
        )
    ),
    "xp.result_type(xp.ones((), dtype=xp.float64), xp.ones((2,), dtype=xp.float32)) == xp.float64",
    "xp.result_type(xp.int8, 1) == xp.int8", "xp.result_type(xp.float32, 1.5) == xp.float32",
)  # fmt: skip

PROMOTION = tuple(
    f"xp.{f}(xp.ones({s}, dtype=xp.{a}), xp.ones({t}, dtype=xp.{b}))"
    for f in ("add", "multiply", "maximum", "equal")
    for s, t in (("(2,)", "()"), ("()", "(2,)"), ("(2,)", "(2,)"))
    for a, b in (("int8", "int64"), ("float32", "float64"), ("uint8", "int8"), ("int64", "int16"))
) + tuple(
    f"xp.{f}((xp.ones((2,), dtype=xp.{a}), xp.ones((2,), dtype=xp.{b})))"
    for f in ("concat", "stack")
    for a, b in (("int8", "int64"), ("float32", "float64"), ("float32", "complex64"))
)

LINALG = (
    "xp.matmul(f, xp.matrix_transpose(g))", "xp.matmul(f, g[0, :])", "xp.matmul(i, i.T)",
    "xp.tensordot(f, g, axes=2)", "xp.tensordot(f, g, axes=((1,), (1,)))", "xp.vecdot(f, g)",
    "xp.tensordot(f, g, axes=0)", "xp.vecdot(z, w)",
    "xp.vecdot(f, g, axis=-2)",
    "xp.linalg.cholesky(p)", "xp.linalg.cholesky(p, upper=True)", "xp.linalg.cross(f, g)",
    "xp.linalg.cross(z, w)", "xp.linalg.det(p)", "xp.linalg.diagonal(f)",
    "xp.linalg.diagonal(f, offset=1)", "xp.linalg.diagonal(i, offset=-1)",
    "xp.linalg.eigh(p).eigenvalues", "xp.linalg.eigvalsh(p)", "xp.linalg.inv(p)",
    "xp.abs(xp.linalg.eigvals(p))",
    "xp.linalg.eig(p).eigenvalues.dtype == xp.linalg.eigvals(p).dtype",
    "xp.linalg.matmul(f, g.T)", "xp.linalg.matrix_norm(f)", "xp.linalg.matrix_norm(f, ord=1)",
    "xp.linalg.matrix_norm(f, ord=-xp.inf, keepdims=True)", "xp.linalg.matrix_norm(f, ord=2)",
    "xp.linalg.matrix_norm(f, ord='nuc')", "xp.linalg.matrix_norm(z, ord='fro')",
    "xp.linalg.matrix_power(p, 3)", "xp.linalg.matrix_power(p, -1)", "xp.linalg.matrix_power(p, 0)",
    "xp.linalg.matrix_rank(p)", "xp.linalg.matrix_rank(xp.ones((3, 3)))",
    "xp.linalg.matrix_rank(p, rtol=0.9)", "xp.linalg.matrix_transpose(f)",
    "xp.linalg.outer(f[0, :], g[1, :])", "xp.linalg.pinv(p)", "xp.linalg.pinv(p[:, :2])",
    "xp.linalg.pinv(p, rtol=0.5)", "xp.linalg.qr(p).Q @ xp.linalg.qr(p).R",
    "xp.linalg.qr(p[:, :2], mode='complete').Q.shape", "xp.linalg.slogdet(p).sign",
    "xp.linalg.slogdet(p).logabsdet", "xp.linalg.solve(p, f[0, :])", "xp.linalg.solve(p, f.T)",
    "xp.linalg.solve(xp.stack((p, p)), f.T)", "xp.linalg.svd(p).S", "xp.linalg.svdvals(p)",
    "xp.linalg.svd(p[:, :2], full_matrices=False).U.shape", "xp.linalg.svd(p[:, :2]).U.shape",
    "xp.linalg.tensordot(f, g)", "xp.linalg.trace(f)", "xp.linalg.trace(i, offset=1)",
    "xp.linalg.trace(i, dtype=xp.float64)", "xp.linalg.vecdot(f, g)", "xp.linalg.vector_norm(f)",
    "xp.linalg.vector_norm(f, axis=0, ord=1)", "xp.linalg.vector_norm(f, axis=(0, 1), ord=3)",
    "xp.linalg.vector_norm(f, keepdims=True, ord=xp.inf)", "xp.linalg.vector_norm(z, axis=-1)",
    "xp.linalg.vector_norm(f, axis=1, ord=0)",
)  # fmt: skip

FFT = (
    *(f"xp.fft.{n}(z)" for n in ("fft", "ifft", "fftn", "ifftn")),
    *(f"xp.fft.{n}(f)" for n in ("rfft", "rfftn", "ihfft")),
    *(f"xp.fft.{n}(z)" for n in ("irfft", "irfftn", "hfft")),
    "xp.fft.fft(z, n=4, axis=0, norm='ortho')", "xp.fft.irfft(z, n=5, norm='forward')",
    "xp.fft.fftn(z, s=(2, 2), axes=(0, 1))", "xp.fft.fftfreq(5)", "xp.fft.rfftfreq(6, d=0.5)",
    "xp.fft.fftshift(f)", "xp.fft.ifftshift(f, axes=1)", "xp.fft.fftshift(f, axes=(0,))",
)  # fmt: skip

INFO = (
    "xp.__array_namespace_info__().capabilities()['boolean indexing']",
    "xp.__array_namespace_info__().capabilities()['data-dependent shapes']",
    "sorted(xp.__array_namespace_info__().default_dtypes())",
    "[xp.isdtype(d, 'integral') for d in xp.__array_namespace_info__().dtypes(kind='real floating')"
    ".values()]",
    "sorted(xp.__array_namespace_info__().dtypes(kind=('real floating', 'bool')))",
    "sorted(xp.__array_namespace_info__().dtypes(kind='complex floating'))",
    "xp.__array_namespace_info__().default_device() in xp.__array_namespace_info__().devices()",
    "xp.e, xp.pi, xp.inf, xp.newaxis", "xp.isnan(xp.asarray(xp.nan))",
)  # fmt: skip

ARRAY = (
    "f + g", "f - 2", "2 / f", "i // 2", "i % j", "f ** 2", "i & j", "i | 1", "~i", "-f", "+f",
    "abs(f)", "f == g", "f != 2", "f < g", "f <= g", "f > 0", "f >= g", "b ^ c", "i << 1", "i >> 1",
    "f @ g.T", "f[0, 1]", "f[:, 1]", "f[..., 0]", "f[b]", "f[None, ...].shape", "f[1, ...]",
    "i[xp.asarray([0, 1]), xp.asarray([2, 0])]", "f.shape", "f.ndim", "bool(f[0, 0])",
    "int(i[0, 0])",
    "float(f[0, 0])", "complex(z[0, 0])", "f.to_device(f.device)", "f.dtype == g.dtype",
    "i[i > 1]", "f[::2, :]", "len(f.__dlpack_device__())",
)  # fmt: skip

PROGRAMS = (*ELEMENTWISE, *SCALARS, *REDUCED, *STATISTICS, *CREATION, *MANIPULATION, *SEARCHING,
            *DTYPES, *PROMOTION, *LINALG, *FFT, *INFO, *ARRAY)  # fmt: skip

REFUSED = (
    ("xp.squeeze(f, 0)", ValueError), ("xp.nonzero(xp.asarray(1))", ValueError),
    ("xp.isdtype(xp.int8, 'number')", ValueError), ("xp.astype(z, xp.float32)", TypeError),
    ("xp.take(f, xp.asarray([0]))", ValueError), ("xp.cumulative_sum(f)", ValueError),
    ("xp.asarray([1.0], copy=False)", ValueError), ("xp.add(1, 2)", TypeError),
    ("xp.reshape(f.T, (6,), copy=False)", ValueError), ("xp.sum(f, axis=5)", IndexError),
    ("xp.sum(f, axis=(0, 0))", ValueError), ("xp.expand_dims(f, axis=4)", IndexError),
    ("xp.linalg.cross(f[:, :2], g[:, :2])", ValueError), ("xp.add(f, 'a')", TypeError),
    ("f.__array_namespace__(api_version='2020.01')", ValueError),
    ("xp.searchsorted(f[0, :], g, side='middle')", ValueError),
    ("xp.linspace(0, 1, -1)", ValueError), ("xp.result_type(1)", ValueError),
    ("xp.meshgrid(xp.arange(2), xp.arange(2.0))", ValueError),
    ("xp.__array_namespace_info__().dtypes(kind='number')", ValueError),
    ("xp.isdtype(float, 'bool')", TypeError), ("xp.can_cast('f4', xp.float32)", TypeError),
    ("xp.astype(f, float)", TypeError), ("xp.finfo('f4')", TypeError),
    ("xp.result_type('f4', f)", TypeError), ("xp.iinfo(int)", TypeError),
    ("xp.linalg.cross(f, p[0, :], axis=-2)", IndexError),
)  # fmt: skip
