"""The 49 primitives: PyTorch's own functions where they do what the contract says.

Names and arguments are those of ``docs/primitives.md``. PyTorch looks at the dtype itself, so one
function serves all dtypes but where ``FLOAT`` or ``COMPLEX`` has another.
"""

import operator

import numpy as np
import torch

from tensorbus.plugin import IndexFault


def into(out, result):
    """The result, which is written into *out* where there is one."""
    return result if out is None else out.copy_(result)


def wide(dtype):
    """What to compute in: the contract wants float32 for the half widths."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


# -- where PyTorch's arithmetic is not what the contract says --------------------------------
def guarded(x, y):
    """(divisors without 0 and -1, where they were -1).

    PyTorch raises for 0, and the least integer by -1 kills the process.
    """
    minus = (y == -1) & (y < 0)  # a uint8 of 255 equals PyTorch's -1, too
    return torch.where(minus | (y == 0), 1, y), minus


def floor_divide(x, y, out=None):
    divisor, minus = guarded(x, y)
    return into(out, torch.where(minus, -x, torch.floor_divide(x, divisor)))


def fmod(x, y, out=None):
    return into(out, torch.fmod(x, guarded(x, y)[0]))


def by_numpy(function):
    """A kernel of floats that computes with a NumPy function, over the same memory."""

    def run(*operands, out=None):
        dtype = operands[0].dtype
        with np.errstate(all="ignore"):
            result = function(*[x.to(wide(dtype)).numpy() for x in operands])
        return into(out, torch.from_numpy(np.asarray(result)).to(dtype))

    return run


def by_parts(function):
    """A kernel of complex numbers that computes with their real and imaginary parts."""

    def run(x, y, out=None):
        parts = function(torch.view_as_real(x), torch.view_as_real(y))
        return into(out, torch.view_as_complex(parts))

    return run


# -- several steps ---------------------------------------------------------------------------
def prod(x, dims, dtype, out=None):
    for dim in reversed(dims):
        x = torch.prod(x, dim, dtype=wide(dtype))
    return into(out, x.to(dtype))


def ordered(x):
    """The array as one that PyTorch finds the extremes of."""
    return x.view(torch.uint8) if x.dtype is torch.bool else x


def matmul(a, b, dtype, out=None):
    work = wide(dtype)
    return into(out, torch.matmul(a.to(work), b.to(work)).to(dtype))


def arange(n, start, step, dtype):
    whole = isinstance(start, int) and isinstance(step, int) and not dtype.is_floating_point
    i = torch.arange(n, dtype=torch.int64 if whole else torch.float64)
    return (i * step + start).to(dtype)


def random_bits(key, offset, n):
    # NumPy's generator of that name advances before its first block.
    philox = np.random.Philox(counter=(offset - 1) % 2**256, key=key[0] | key[1] << 64)
    return torch.from_numpy(philox.random_raw(n).view(np.int64))


# -- indices ---------------------------------------------------------------------------------
def checked(i, dim, n, wrap=False):
    """The indices, counted from the start; ``IndexFault`` for the first that is outside."""
    bad = (i < (-n if wrap else 0)) | (i >= n)
    if bad.any():
        raise IndexFault(int(i[bad][0]), dim, n)
    return torch.where(i < 0, i + n, i) if wrap else i


def scatter(out, dim, i, src, op):
    return write(out, dim, checked(i, dim, out.shape[dim]), src, op)


def put(out, dim, i, src, op, wrap=False):
    """Whole slices are elements whose index is the same all over a slice."""
    shape = (*out.shape[:dim], len(i), *out.shape[dim + 1 :])
    column = [-1 if d == dim else 1 for d in range(out.ndim)]
    i = checked(i, dim, out.shape[dim], wrap).reshape(column).expand(shape)
    return write(out, dim, i, src, op)


def write(out, dim, i, src, op):
    src = src.expand(i.shape)
    if op == "set":
        return out.scatter_(dim, i, src)
    return out.scatter_reduce_(dim, i, src, {"add": "sum", "mul": "prod"}.get(op, op))


# -- the tables ------------------------------------------------------------------------------
AS_THEY_ARE = """
    abs floor round sqrt exp expm1 log log1p sin cos tanh add sub mul div pow atan2 maximum minimum
    eq ne lt le bitwise_and bitwise_or bitwise_xor where amax amin
""".split()
# No primitives: the frontend composes these of primitives, but of real numbers only.
BESIDES = "tan asin acos atan sinh cosh asinh acosh atanh log2 log10 rsqrt reciprocal".split()
WRITTEN_HERE = (floor_divide, fmod, prod, matmul, put, scatter, arange, random_bits)
REAL_ONLY = """
    floor round floor_divide fmod atan2 maximum minimum lt le amax amin argmax argmin cummax cummin
    argsort
""".split()

TABLE = {
    **{name: getattr(torch, name) for name in AS_THEY_ARE + BESIDES},
    **{function.__name__: function for function in WRITTEN_HERE},
    "lshift": torch.bitwise_left_shift,
    "rshift": torch.bitwise_right_shift,
    "sum": lambda x, dims, dtype, out=None: torch.sum(x, dims, dtype=dtype, out=out),
    "argmax": lambda x, dim, out=None: torch.argmax(ordered(x), dim, out=out),
    "argmin": lambda x, dim, out=None: torch.argmin(ordered(x), dim, out=out),
    "cumsum": lambda x, dim, dtype, out=None: torch.cumsum(x, dim, dtype=dtype, out=out),
    "cumprod": lambda x, dim, dtype, out=None: torch.cumprod(x, dim, dtype=dtype, out=out),
    "cummax": lambda x, dim, out=None: into(out, torch.cummax(x, dim).values),
    "cummin": lambda x, dim, out=None: into(out, torch.cummin(x, dim).values),
    "take": lambda x, dim, i, wrap=False: x.index_select(dim, checked(i, dim, x.shape[dim], wrap)),
    "gather": lambda x, dim, i: x.gather(dim, checked(i, dim, x.shape[dim])),
    "argsort": lambda x, dim: torch.argsort(x, stable=True, dim=dim),
    # Views: without these the frontend makes them with as_strided.
    "permute": torch.permute,
    "reshape": torch.Tensor.view,
    "expand": torch.Tensor.expand,
    "slice": lambda x, dim, *range: x[(slice(None),) * dim + (slice(*range),)],
    "select": torch.select,
    "unsqueeze": torch.unsqueeze,
    "transpose": torch.transpose,
    "leading": operator.getitem,
}

FLOAT = {
    # PyTorch's roots are off by a unit for some numbers, its remainders of huge quotients wrong.
    "sqrt": by_numpy(np.sqrt),
    "fmod": by_numpy(np.fmod),
    "floor_divide": by_numpy(np.floor_divide),
}

COMPLEX = {
    **{name: kernel for name, kernel in TABLE.items() if name not in REAL_ONLY},
    # PyTorch adds as x + 1 * y, and 1 * y has a NaN where y has an infinity.
    "add": by_parts(torch.add),
    "sub": by_parts(torch.sub),
}
