"""What JAX has no function for, or another one than the contract wants."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from tensorbus.plugin.array_library.table import ALL, COMPLEX, FLOAT, INTEGER, ORDERED, Table

TABLE = Table()

UPDATES = {"set": "set", "add": "add", "mul": "multiply", "amax": "max", "amin": "min"}


def bitwise(function):
    """*function*, which moves half widths as integers: XLA would take them by way of float32."""

    def move(array, index, values, *op):
        if array.dtype.itemsize != 2 or op not in ((), ("set",)):
            return function(array, index, values, *op)
        bits = function(array.view(jnp.int16), index, values.view(jnp.int16), *op)
        return bits.view(array.dtype)

    return move


@bitwise
@jax.jit
def pick(array, index, fill):
    flat = array.reshape(-1)
    place = jnp.minimum(index, flat.size)  # JAX would cut a larger index to 32 bits
    return jnp.where(index < flat.size, flat.at[place].get(mode="clip"), fill)


@bitwise
@partial(jax.jit, static_argnums=3)
def placed(array, index, values, op):
    place = jnp.minimum(index, array.size)
    if array.dtype == bool:  # "or" and "and"
        op = {"add": "amax", "mul": "amin"}.get(op, op)
    return getattr(array.at[place], UPDATES[op])(values, mode="drop")


def to_odd(x):
    """Numbers of 64 bits as float32 whose last bit is one where anything was lost.

    XLA rounds to half widths by way of float32, and so twice; after this, once.
    """
    if x.dtype != jnp.float64:
        rest = jnp.where(x & 4095 == 0, 0, 2048)
        x = jnp.where(jnp.abs(x) < 1 << 52, x, x & ~4095 | rest).astype(jnp.float64)
    near = x.astype(jnp.float32)
    bits, back = near.view(jnp.int32), near.astype(jnp.float64)
    nudge = jnp.where(jnp.abs(back) < jnp.abs(x), 1, -1)
    exact = (back == x) | (bits & 1 == 1) | ~jnp.isfinite(near)
    return jnp.where(exact, bits, bits + nudge.astype(jnp.int32)).view(jnp.float32)


def row(op, *categories):
    """Puts a function into the table, compiled."""

    def decorate(function):
        compiled = jax.jit(function)
        TABLE.add(op, categories, lambda xp, dtype: compiled)
        return function

    return decorate


@row("pow", INTEGER)
def power(x, y):
    """Squares and multiplies; of 1 and -1 alone are the reciprocals not 0."""
    result, base, left = jnp.ones_like(x), x, jnp.maximum(y, 0)
    for _ in range(8 * y.dtype.itemsize):
        result = jnp.where(left & 1 == 1, result * base, result)
        base, left = base * base, left >> 1
    inverse = jnp.where(x == 1, 1, jnp.where(x == -1, jnp.where(y & 1 == 1, -1, 1), 0))
    return jnp.where(y < 0, inverse.astype(x.dtype), result)


def halving(function):
    """A reduction that joins the halves of each line: the error of a pairwise sum, and NaN wins."""

    def total(x):
        while x.shape[1] > 1:
            half = x.shape[1] // 2
            rest = x[:, 2 * half :]
            x = jnp.concatenate([function(x[:, :half], x[:, half : 2 * half]), rest], 1)
        return x[:, 0]

    return total


row("sum", *ALL)(halving(jnp.add))
row("amax", *ORDERED)(halving(jnp.maximum))
row("amin", *ORDERED)(halving(jnp.minimum))


def running(function):
    """A scan of ``lax``, which knows no truth values."""
    return lambda x: function(x.astype(jnp.uint8) if x.dtype == bool else x, axis=1).astype(x.dtype)


row("cummax", *ORDERED)(running(lax.cummax))
row("cummin", *ORDERED)(running(lax.cummin))


# XLA divides by one number as it multiplies with its reciprocal: these are not compiled as one.
def divide(x, y):
    return jnp.true_divide(*jnp.broadcast_arrays(x, y))


def floor_divide(x, y):
    """Python's algorithm, in float32 for the half widths."""
    if x.dtype.itemsize == 2:
        wide = floor_divide(x.astype(jnp.float32), y.astype(jnp.float32))
        return wide.astype(x.dtype)
    rest = jnp.fmod(x, y)
    quotient = divide(x - rest, y) - ((rest != 0) & ((rest < 0) != (y < 0)))
    whole = jnp.floor(quotient)
    whole = jnp.where(quotient - whole > 0.5, whole + 1, whole)
    return jnp.where(y == 0, divide(x, y), whole)


TABLE.add("div", [FLOAT, COMPLEX], lambda xp, dtype: divide)
TABLE.add("floor_divide", [FLOAT], lambda xp, dtype: floor_divide)
